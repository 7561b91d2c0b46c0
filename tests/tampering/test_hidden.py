"""What would hide an entry from sealing, or a change from the night: rows beside the log, columns that a line does not
show, guards that guard nothing, and clocks that were ahead."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from audit import log_health, nightly, triggers, witness, wording
from audit.ledger import Entry, append
from audit.models import Leaf, LedgerEntry, Log, Mark, Signal
from audit.seal import seal
from tests.audit import exported
from tests.audit.pruned import acme, prune, write
from tests.audit.pruned import exported as exported_whole
from tests.tampering.night import NIGHT, N, look, told
from tests.tampering.owner import FROM, MIDDLE, SIZE, count_on, drop_alphabet, edit, entry_at, sql

pytestmark = pytest.mark.django_db


def next_number() -> int:
    return LedgerEntry.objects.latest("pk").pk + 1


STRAY: dict[str, Callable[[Log], tuple[int, int]]] = {
    "before the first": lambda log: (log.pk, -1),
    "behind the last": lambda log: (log.pk, SIZE + 50),
    "in another tenant's log": lambda _: (Log.objects.get(tenant="globex").pk, 900),
    "in a log that is none": lambda _: (999, 0),
}


@pytest.mark.parametrize("where", STRAY)
def test_a_leaf_that_no_sealer_wrote_hides_no_entry(log: Log, where: str) -> None:
    """Nobody needs to lift a guard for it: an application may insert."""
    place, index = STRAY[where](log)
    ours = exported.entry(SIZE)
    ours.pk = next_number()
    Leaf.objects.create(log_id=place, index=index, entry_id=ours.pk)
    LedgerEntry.objects.bulk_create([ours])
    count_on()
    LedgerEntry.objects.bulk_create([exported.entry(number, tenant="initech") for number in range(3)])
    while seal(NIGHT):
        pass
    log.refresh_from_db()
    assert log.size == SIZE
    assert Log.objects.get(tenant="initech").size == 3
    assert f"log-{log.pk}" in told()
    look(log)
    assert log.verdict in (N.CHECKPOINT, N.UNSEALED)


def test_a_leaf_where_a_prune_has_made_room_takes_no_entry_away(settings: Any, tmp_path: Path) -> None:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    write(600)
    exported_whole()
    done = prune(512)
    log, number = acme(), next_number()
    Leaf.objects.create(log=log, index=5, entry_id=number)
    about = uuid4()
    with transaction.atomic():
        append(NIGHT, Entry(tenant="acme", event="page_decline", actor_kind="user", elicitation_id=about))
    kept = LedgerEntry.objects.filter(elicitation_id=about)
    assert kept.get().pk == number
    taking: dict[str, tuple[str, list[Any]]] = {
        "postgresql": ("SELECT audit_prune_batch(%s, 1000)", [done.uid]),
        "sqlite": ("DELETE FROM audit_ledgerentry WHERE id = %s", [number]),
    }
    with suppress(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(*taking[connection.vendor])
    assert kept.exists()
    seal(NIGHT)
    assert Signal.objects.filter(rule="ledger_broken", tenant="acme").exists()


#: SQLite binds no column to a type; PostgreSQL's times reach back further than a line says.
UNBOUND = {
    "an id with more behind it": "elicitation_id = elicitation_id || '0'",
    "a time with more behind it": "at = at || 'zzz'",
    "a time spelled another way": "at = replace(at, ' ', 'T')",
    "a time to the microsecond nought": "at = substr(at, 1, 19) || '.000000'",
    "two columns in one": """event = event || '","elicitation_id":"' || elicitation_id, elicitation_id = NULL""",
    "a text behind a nought byte": "place = place || char(0) || 'more'",
    "a number that is a text": "latency_ms = 'forty'",
}
if connection.vendor == "postgresql":
    _WRITTEN = "to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US')"
    UNBOUND = {"a time before our era": f"at = ({_WRITTEN} || '+00 BC')::timestamptz"}


@contextmanager
def weaker(log: Log) -> Iterator[None]:
    """PostgreSQL's check of the rows lifted; then one of its name that says less. SQLite looks at new rows alone."""
    if connection.vendor == "postgresql":
        drop_alphabet(log)
    yield
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE {wording.TABLE} ADD CONSTRAINT {wording.NAME} CHECK (event <> '')")


@pytest.mark.parametrize("name", UNBOUND)
def test_a_column_that_its_type_does_not_bind_hides_nothing(log: Log, name: str) -> None:
    with weaker(log):
        sql(f"UPDATE audit_ledgerentry SET {UNBOUND[name]} WHERE id = %s", entry_at(MIDDLE, log))
    look(log)
    assert log.verdict == N.EDITED
    assert log.verdict_leaf in (FROM, MIDDLE)
    assert told()


def test_two_logs_whose_tenants_were_swapped_are_no_ones(log: Log) -> None:
    for slug, then in (("acme", "x"), ("globex", "acme"), ("x", "globex")):
        sql("UPDATE audit_log SET tenant = %s WHERE tenant = %s", then, slug)
    look(log)
    assert (log.verdict, log.verdict_leaf) == (N.EDITED, 0)


def hollow(guard: triggers.Guard, verb: str) -> None:
    """A trigger of the name, or a function of the name, that lets everything through."""
    name = f"{guard.table}_no_{verb}"
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            when = {"update": "UPDATE", "delete": "DELETE", "replace": "INSERT"}[verb]
            cursor.execute(f"DROP TRIGGER {name}")
            cursor.execute(f"CREATE TRIGGER {name} BEFORE {when} ON {guard.table} WHEN 0 BEGIN SELECT 1; END")
            return
        function = f"{guard.table}_{'prune' if guard.covered and verb == 'delete' else 'refuse'}"
        cursor.execute(
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$"
        )


@pytest.mark.parametrize("guard", triggers.SEALED, ids=lambda guard: guard.table)
def test_a_guard_that_lets_everything_through_is_none(log: Log, guard: triggers.Guard) -> None:
    assert triggers.missing(connection) == []
    verbs = ("update", "delete", "truncate") if connection.vendor == "postgresql" else ("update", "delete", "replace")
    for verb in verbs[:2]:
        hollow(guard, verb)
        assert f"{guard.table}_no_{verb}" in triggers.missing(connection)
    look(log)
    assert log.verdict == N.UNGUARDED


def test_a_trigger_that_never_fires_is_no_guard(log: Log) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER audit_leaf_no_update ON audit_leaf")
            cursor.execute(
                "CREATE TRIGGER audit_leaf_no_update BEFORE UPDATE ON audit_leaf FOR EACH ROW WHEN (false) "
                "EXECUTE FUNCTION audit_leaf_refuse()"
            )
            cursor.execute("ALTER TABLE audit_leaf ENABLE ALWAYS TRIGGER audit_leaf_no_update")
    else:
        hollow(triggers.LEAVES, "update")
    assert triggers.missing(connection) == ["audit_leaf_no_update"]


def test_a_clock_that_was_ahead_puts_off_no_verification(log: Log) -> None:
    sql("UPDATE audit_log SET verified_at = %s", NIGHT + timedelta(days=3650))
    Mark.objects.update(looked_at=NIGHT + timedelta(days=3650))
    edit("event", "cancel")(log)
    LedgerEntry.objects.filter(pk=-9).delete()
    for _ in range(50):
        if not nightly.verify(NIGHT, 60):
            break
    log.refresh_from_db()
    assert log.verdict == N.EDITED
    assert Mark.objects.get().looked_at == NIGHT


def test_a_clock_that_was_ahead_puts_off_no_witness(log: Log, settings: Any, tmp_path: Path) -> None:
    settings.DESK_WITNESS_FILE = tmp_path / "seen.notes"
    Log.objects.update(witness_tried_at=NIGHT + timedelta(days=3650))
    assert log.pk in [each.pk for each in witness.due(NIGHT, 10)]


@pytest.mark.parametrize("column", ["filed_size", "witnessed_size"])
def test_a_witness_that_saw_more_than_there_is_is_told(log: Log, column: str) -> None:
    Log.objects.filter(pk=log.pk).update(**{column: 10**9})
    look(log)
    assert log.verdict == N.CHECKPOINT
    assert told()


def test_a_mark_that_is_ahead_of_all_numbers_hides_nothing(log: Log) -> None:
    Mark.objects.update(through=10**9, reached=10**9, writers="")
    LedgerEntry.objects.bulk_create([exported.entry(number) for number in range(SIZE, SIZE + 5)])
    while seal(NIGHT):
        pass
    log.refresh_from_db()
    assert log.size == SIZE + 5
    assert Mark.objects.get().reached < 10**9


def test_what_a_broken_log_does_not_take_is_counted(log: Log) -> None:
    sql("UPDATE audit_log SET edge = %s WHERE id = %s", b"\x07", log.pk)
    LedgerEntry.objects.bulk_create([exported.entry(number) for number in range(SIZE, SIZE + 50)])
    while seal(NIGHT):
        pass
    log.refresh_from_db()
    assert log_health.health(log).unsealed == 50
