"""Logs to prune: written and sealed, exported, verified as an auditor does it, and tampered with as an owner can."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID, uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from audit import nightly, note, retention, seal, triggers, verify
from audit.exporting.selection import Selection
from audit.ledger import Entry, append
from audit.models import Export, Leaf, LedgerEntry, Log, Prune, Subtree
from audit.retention import NotDone, Obstacle
from audit.verify import Format, Report
from elicitation.services import actors, clock, exports
from elicitation.services.exports import Wanted
from elicitation.services.retention import carry_out, order

HELD: Final = UUID("6f1c1a52-8f0e-4d3b-9a57-1c2d3e4f5a6b")
AUDITOR: Final = actors.Actor(actors.ActorKind.OPERATOR, "1", "auditor")
WHOLE: Final = Selection()


def write(count: int, *, tenant: str = "acme", about: UUID | None = None) -> None:
    """So many entries, sealed."""
    entry = Entry(tenant=tenant, event="shown", actor_kind="client", elicitation_id=about or uuid4())
    with transaction.atomic():
        append(clock.now(), *[entry] * count)
    seal_all()


def seal_all() -> None:
    while seal.seal(clock.now()):
        pass


def acme() -> Log:
    return Log.objects.get(tenant="acme")


def exported(selection: Selection = WHOLE, kind: Format = Format.JSONL) -> Export:
    """A ready export of what is sealed."""
    export = exports.ask(acme(), Wanted(kind, selection), AUDITOR)
    for _ in range(50):
        exports.carry_on(60)
        export.refresh_from_db()
        if export.status == Export.Status.READY:
            return export
    raise AssertionError(export.status)


def prune(upto: int) -> Prune:
    done = order(retention.plan(acme(), upto), actors.shell())
    carry_out(done)
    done.refresh_from_db()
    return done


def verified() -> Report:
    """What an auditor finds who exports the whole log now and brings its key."""
    seal_all()
    export = exported()
    log = acme()
    keys = [verify.parse_key(note.verifier_key(log.origin, seed)) for seed in seal.keys().values()]
    return verify.verify(exports.path_of(export), keys)


def watched() -> tuple[str, int | None]:
    """What the desk's own verification finds in all that is stored, and the leaf that it is about."""
    seal_all()
    nightly.request(acme(), clock.now())
    while nightly.verify(clock.now(), 60):
        pass
    log = acme()
    return log.verdict, log.verdict_leaf


def leaves() -> list[int]:
    return list(Leaf.objects.filter(log=acme()).order_by("index").values_list("index", flat=True))


def everything() -> list[Any]:
    return [list(model.objects.order_by("pk").values()) for model in (LedgerEntry, Leaf, Subtree, Log, Prune)]


@contextmanager
def refused(obstacle: Obstacle) -> Iterator[None]:
    before = everything()
    with pytest.raises(NotDone) as problem:
        yield
    assert problem.value.obstacle is obstacle
    assert everything() == before


@contextmanager
def tampering(*guards: triggers.Guard) -> Iterator[None]:
    """What an owner of the database can do: lift the guards, and put them back."""
    postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        for guard in guards:
            for name in guard.postgresql_names() if postgresql else guard.sqlite_names():
                cursor.execute(f"DROP TRIGGER {name}" + (f" ON {guard.table}" if postgresql else ""))
        yield
        for guard in guards:
            for statement in guard.postgresql() if postgresql else guard.sqlite():
                cursor.execute(statement)


@contextmanager
def refused_by_the_database() -> Iterator[None]:
    before = everything()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
        yield
    assert everything() == before


def order_of_events() -> list[tuple[int, str]]:
    events = dict(LedgerEntry.objects.values_list("pk", "event"))
    return [(leaf.index, events[leaf.entry_id]) for leaf in Leaf.objects.filter(log=acme()).order_by("index")]
