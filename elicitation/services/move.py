"""The only writer of an elicitation's state: a guarded update and its ledger entries, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

from django.db import IntegrityError, transaction
from django.db.models import F, Q

from audit.ledger import Entry, append
from elicitation.models import Elicitation, Evidence, EvidenceStatus
from elicitation.models.evidence import WAITING
from elicitation.policy.decision import Delivery, Mode, Purpose, Wire
from elicitation.policy.lifecycle import Allowed, Event, Facts, Refused, State, step
from elicitation.policy.recheck import Standing
from elicitation.services import clock, digests, revisions
from elicitation.services.actors import Actor

#: How often an event is decided again when somebody else was first. Each try means that another event succeeded.
TRIES: Final = 64

P = TypeVar("P")
T = TypeVar("T")


class Refusal(Exception):
    """A caller's event that changes nothing; each kind is a class of its own."""


class TransitionRefused(Refusal):
    """The event is not in the table for the present state. Nothing changed."""

    def __init__(self, state: State) -> None:
        super().__init__(f"refused in state {state}")
        self.state = state


class Superseded(Exception):
    """Somebody was first: read again, decide again."""


class Contended(Exception):
    """The entry changed under every try; the caller may try again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of a move. ``changes`` are columns of the entry, ``record`` further columns of its ledger entry."""

    event: Event
    changes: Mapping[str, Any] = field(default_factory=dict)
    record: Mapping[str, Any] = field(default_factory=dict)


def facts(entry: Elicitation) -> Facts:
    return Facts(
        mode=Mode(entry.mode),
        delivery=Delivery(entry.delivery),
        held=entry.held_evidence,
        late=entry.late_evidence,
    )


def standing(entry: Elicitation) -> Standing:
    """What the policy in force is asked about an entry that an earlier revision admitted."""
    return Standing(
        wire=Wire(entry.wire),
        mode=Mode(entry.mode),
        purpose=Purpose(entry.purpose),
        origin=entry.origin,
        path_prefix=entry.path_prefix,
        provider=entry.provider.slug if entry.provider else "",
        tenant=entry.tenant.slug,
        service=entry.service.slug,
    )


def overdue(entry: Elicitation, now: datetime) -> bool:
    """Half open: at the deadline it is over."""
    return entry.deadline is not None and entry.deadline <= now


def state_at(entry: Elicitation, now: datetime) -> State:
    """The state that a reader is told: what the deadline makes of it, also before the sweep has run."""
    state = State(entry.state)
    if overdue(entry, now):
        outcome = step(state, Event.DEADLINE, facts(entry))
        if isinstance(outcome, Allowed):
            return outcome.to
    return state


def settled(attempt: Callable[[], T | Refusal]) -> T:
    """Run ``attempt`` in a transaction of its own, again for as long as somebody else is first.

    A refusal that ``attempt`` returns is raised after the commit, so that what it noted on the ledger stays.
    Raises ``Contended`` after ``TRIES``.
    """

    def ready(_: None) -> Any:
        return attempt()

    return cast("T", prepared(lambda: None, ready))


def prepared(prepare: Callable[[], P], attempt: Callable[[P], T | Refusal]) -> T:
    """:func:`settled` with work that needs no transaction, and so must hold none open: done anew for each try.

    A constraint of the database that refuses the write is a race that was lost: the next try reads what won it.
    """
    for _ in range(TRIES):
        material = prepare()
        try:
            with transaction.atomic():
                result = attempt(material)
        except (Superseded, IntegrityError):
            continue
        if isinstance(result, Refusal):
            raise result
        return result
    raise Contended


def expire_if_due(entry: Elicitation, by: Actor, now: datetime) -> bool:
    """Make the deadline's move when it has passed. Returns whether it had. Raises ``Superseded``."""
    if not overdue(entry, now):
        return False
    move(entry, by, Step(event=Event.DEADLINE), at=now)
    return True


def move(entry: Elicitation, by: Actor, *steps: Step, at: datetime) -> None:
    """Apply ``steps`` in order as one change, with one ledger entry each; ``entry`` then shows the new values.

    ``entry`` is the row as it was read when the policy decided; ``at`` is the database's time. Raises
    ``TransitionRefused`` when a step is not in the table, ``Superseded`` when the row is no longer what was read
    or its deadline has passed meanwhile.
    """
    state, known = State(entry.state), facts(entry)
    changes: dict[str, Any] = {}
    passages: list[tuple[Step, State, State]] = []
    for item in steps:
        outcome = step(state, item.event, known)
        if isinstance(outcome, Refused):
            raise TransitionRefused(outcome.state)
        passages.append((item, state, outcome.to))
        changes.update(item.changes)
        state = outcome.to
    with transaction.atomic(savepoint=False):
        changes.update(_consequences(entry, State(entry.state), state, at))
        rows = Elicitation.objects.filter(_guard(entry, steps), pk=entry.pk, state=entry.state, version=entry.version)
        if rows.update(state=state, version=F("version") + 1, **changes) != 1:
            raise Superseded
        entry.state, entry.version = state, entry.version + 1
        for column, value in changes.items():
            setattr(entry, column, value)
        append(at, *(_entry(entry, by, *passage) for passage in passages))


def remark(entry: Elicitation, **changes: Any) -> None:
    """Store something about ``entry`` that moves no state: the version grows all the same. Raises ``Superseded``."""
    rows = Elicitation.objects.filter(pk=entry.pk, version=entry.version)
    if rows.update(version=F("version") + 1, **changes) != 1:
        raise Superseded
    entry.version += 1
    for column, value in changes.items():
        setattr(entry, column, value)


def _guard(entry: Elicitation, steps: tuple[Step, ...]) -> Q:
    """The deadline, judged by the clock of the writing statement: over for its own event, ahead for all others."""
    if entry.deadline is None:
        return Q()
    if any(item.event is Event.DEADLINE for item in steps):
        return Q(deadline__lte=clock.statement())
    return Q(deadline__gt=clock.statement())


def _consequences(entry: Elicitation, before: State, after: State, at: datetime) -> dict[str, Any]:
    """What follows from the state alone: the new deadline, and what becomes of evidence that still waits."""
    if after is before:
        return {}
    if after is State.RETRY_REQUIRED:
        seconds = revisions.active().document.windows.retry_seconds
        return {"deadline": at + timedelta(seconds=seconds)}
    if not after.terminal:
        return {}  # consent does not restart the window
    waiting = Evidence.objects.filter(elicitation=entry, status__in=WAITING)
    if after is State.COMPLETE:
        waiting.update(status=EvidenceStatus.CONFLICT)
        return {"deadline": None, "held_evidence": False}
    late = waiting.update(status=EvidenceStatus.LATE) > 0
    return {"deadline": None, "held_evidence": False, "late_evidence": entry.late_evidence or late}


def _entry(entry: Elicitation, by: Actor, item: Step, before: State, after: State) -> Entry:
    columns: dict[str, Any] = {
        "state_from": before,
        "state_to": after,
        "outcome": "moved" if after is not before else "recorded",
        "deadline": entry.deadline,
    }
    return about(entry, by, item.event, **(columns | dict(item.record)))


def about(entry: Elicitation, by: Actor, event: str, **columns: Any) -> Entry:
    """A ledger entry about ``entry``, with the columns that every such entry has."""
    operation = digests.split(entry.operation_digest)
    common: dict[str, Any] = {
        "tenant": entry.tenant.slug,
        "event": event,
        "actor_kind": by.kind,
        "actor_id": by.id,
        "role": by.role,
        "elicitation_id": entry.uid,
        "service": entry.service.slug,
        "provider": entry.provider.slug if entry.provider else "",
        "client_id": entry.client_id,
        "subject": entry.subject.handle if entry.subject else None,
        "operation_digest": operation.hex,
        "digest_key_id": operation.kid,
        "wire": entry.wire,
        "mode": entry.mode,
        "delivery": entry.delivery,
        "purpose": entry.purpose,
        "id_class": entry.id_class,
        "admission_revision": entry.revision.number,
    }
    return Entry(**(common | columns))
