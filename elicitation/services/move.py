"""The only writer of an elicitation's state: a guarded update and its ledger entries, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar, cast

from django.db import IntegrityError, OperationalError, transaction
from django.db.models import F, Q

from audit.ledger import Entry, append
from audit.signals import raise_signal
from elicitation.models import Elicitation, Evidence, EvidenceStatus, LookupKind
from elicitation.models.evidence import WAITING
from elicitation.policy.decision import Delivery, Mode, Purpose, Wire
from elicitation.policy.lifecycle import Allowed, Event, Facts, Refused, State, step
from elicitation.policy.recheck import Standing
from elicitation.services import clock, digests, revisions
from elicitation.services.actors import Actor

#: How often an event is decided again when somebody else was first. Each try means that another event succeeded.
TRIES: Final = 64
#: A provider's event usually arrives within this time; after it the reconciler asks.
ASKED_AFTER_LOSS: Final = timedelta(seconds=15)
ASKED_AFTER_END: Final = timedelta(seconds=60)
#: PostgreSQL's deadlock_detected and serialization_failure.
_LOST_RACES: Final = ("40P01", "40001")

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


def maybe_visited(entry: Elicitation) -> bool:
    """Whether the person may have been on the outside page, so that money may have moved."""
    return entry.mode == Mode.URL and (
        entry.shown_at is not None
        or entry.consented_at is not None
        or entry.lost_at is not None
        or entry.held_evidence
        or entry.late_evidence
        or entry.delivery == Delivery.URL_REQUIRED
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

    A constraint of the database that refuses the write is a race that was lost: the next try reads what won it. So is
    a deadlock, which PostgreSQL ends by letting one of the two go.
    """
    for _ in range(TRIES):
        material = prepare()
        try:
            with transaction.atomic():
                result = attempt(material)
        except (Superseded, IntegrityError):
            continue
        except OperationalError as failure:
            if getattr(failure.__cause__, "sqlstate", None) not in _LOST_RACES:
                raise
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
        failed = any(item.event is Event.PROVIDER_FAILURE for item in steps)
        changes.update(_consequences(entry, State(entry.state), state, at, failed=failed))
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


def _consequences(
    entry: Elicitation, before: State, after: State, at: datetime, *, failed: bool = False
) -> dict[str, Any]:
    """What follows from the state alone: the new deadline, what becomes of evidence that still waits, and when the
    provider is asked next. ``failed``: the provider has said so, finally, so nobody asks it again."""
    if after is before:
        return {}
    can_be_asked = entry.provider is not None and entry.provider.lookup != LookupKind.NONE
    if after is State.RETRY_REQUIRED:
        seconds = revisions.active().document.windows.retry_seconds
        asked = at + ASKED_AFTER_LOSS if can_be_asked else None
        return {"deadline": at + timedelta(seconds=seconds), "next_lookup_at": asked}
    if not after.terminal:
        return {}  # consent does not restart the window
    if after is State.COMPLETE:
        _contradict(entry, at)
        over = {"held_evidence": False, "late_evidence": False, "unresolved": False}
        return over | {"deadline": None, "next_lookup_at": None}
    waiting = Evidence.objects.filter(elicitation=entry, status__in=WAITING)
    late = waiting.update(status=EvidenceStatus.LATE) > 0
    return {
        "deadline": None,
        "held_evidence": False,
        "late_evidence": entry.late_evidence or late,
        "unresolved": after is State.EXPIRED and before is State.RETRY_REQUIRED,
        "next_lookup_at": at + ASKED_AFTER_END if can_be_asked and not failed and maybe_visited(entry) else None,
    }


def _contradict(entry: Elicitation, at: datetime) -> None:
    """Evidence with another reference than the one that completes ``entry``: somebody may have paid twice."""
    others = Evidence.objects.filter(elicitation=entry, status__in=[*WAITING, EvidenceStatus.LATE])
    if others.update(status=EvidenceStatus.CONFLICT):
        raise_signal("conflicting_result", entry.tenant.slug, entry.uid.hex, at)


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
