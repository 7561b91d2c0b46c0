"""What an operator does to a stuck entry, with a reason, on the record; each move is the same as a service's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeVar
from uuid import UUID

from elicitation.models import Elicitation, Evidence, EvidenceStatus
from elicitation.policy.lifecycle import Event, Refused, State, step
from elicitation.services import actors, clock, refusals
from elicitation.services.actors import Actor
from elicitation.services.lookup import RELATED
from elicitation.services.move import (
    Refusal,
    Step,
    TransitionRefused,
    expire_if_due,
    facts,
    move,
    settled,
)
from elicitation.services.recovery import Retried, hear, moved, retried
from elicitation.services.registry import Change, Changed

T = TypeVar("T")


class CancelReason(StrEnum):
    """Why an operator ended an entry. ``OTHER`` needs a note."""

    USER_ABANDONED = "user_abandoned"
    PROVIDER_OUTAGE = "provider_outage"
    DUPLICATE_REQUEST = "duplicate_request"
    WRONG_DESTINATION = "wrong_destination"
    TEST_TRAFFIC = "test_traffic"
    SECURITY = "security"
    OTHER = "other"


class CloseReason(StrEnum):
    """What became of evidence that came late. ``OTHER`` needs a note."""

    REFUNDED = "refunded"
    DUPLICATE = "duplicate"
    NOT_OURS = "not_ours"
    OTHER = "other"


def cancel(uid: UUID, by: Actor, reason: CancelReason, seen: State | None = None) -> Changed:
    """End a stuck entry. ``seen`` is the state on which the person decided: in another one nothing happens.

    Raises ``TransitionRefused``, ``Contended``.
    """
    changes: dict[str, Any] = {"cancelled_by": "operator", "cancel_reason": reason}
    ending = Step(event=Event.CANCEL, changes=changes, record={"reason_code": reason})
    return _attempt(uid, by, seen, lambda entry, now: moved(entry, by, ending, now))


def mark_lost(uid: UUID, by: Actor, seen: State | None = None) -> Changed:
    """The person says that the work is done, and nothing arrived. Raises ``TransitionRefused``, ``Contended``."""

    def lost(entry: Elicitation, now: datetime) -> Changed | Refusal:
        return moved(entry, by, Step(event=Event.LOST, changes={"lost_at": entry.lost_at or now}), now)

    return _attempt(uid, by, seen, lost)


def retry(uid: UUID, by: Actor, seen: State | None = None) -> Retried:
    """Look for the result in what is held, then at the provider. Raises ``TransitionRefused``, ``Contended``."""
    said = hear(Elicitation.objects.select_related(*RELATED).get(uid=uid))
    return _attempt(uid, by, seen, lambda entry, now: retried(entry, by, now, said))


@dataclass(frozen=True, slots=True)
class Closed(Changed):
    """``late``: it was late evidence that was open, and not only an outcome that nobody knows."""

    late: bool


def close(uid: UUID, by: Actor, reason: CloseReason, seen: State | None = None) -> Closed:
    """Settle outside of the desk what an entry left behind: evidence that came late, or a confirmation that was lost
    and never found. It leaves the queue, and the operation may be asked anew.

    The state stays. Raises ``TransitionRefused`` where nothing is open, ``Contended``.
    """

    def closed(entry: Elicitation, now: datetime) -> Closed | Refusal:
        allowed = step(State(entry.state), Event.CLOSE, facts(entry))
        if isinstance(allowed, Refused) or not (entry.late_evidence or entry.unresolved):
            refusals.note(entry, by, "transition_refused", now)
            return TransitionRefused(State(entry.state))
        late, rows = entry.late_evidence, lock_evidence(entry.pk)
        kept = [row.pk for row in rows if row.status == EvidenceStatus.LATE]
        Evidence.objects.filter(pk__in=kept).update(status=EvidenceStatus.CLOSED)
        record = {"reason_code": reason, "outcome": "" if late else "unknown"}
        changes = {"late_evidence": False, "unresolved": False}
        move(entry, by, Step(event=Event.CLOSE, changes=changes, record=record), at=now)
        return Closed(entry, Change.MOVED, now, late)

    return _attempt(uid, by, seen, closed)


def lock_evidence(entry_id: int) -> list[Evidence]:
    """The evidence of the entry with this number, held until the transaction ends: always in one order, and before
    the entry itself, so that nobody waits for somebody who waits for them."""
    return list(Evidence.objects.select_for_update().filter(elicitation=entry_id).order_by("pk"))


def _attempt(uid: UUID, by: Actor, seen: State | None, act: Callable[[Elicitation, datetime], T | Refusal]) -> T:
    def attempt() -> T | Refusal:
        entry, now = Elicitation.objects.select_related(*RELATED).get(uid=uid), clock.now()
        expire_if_due(entry, actors.SCHEDULER, now)
        if seen is not None and State(entry.state) is not seen:
            refusals.note(entry, by, "transition_refused", now)
            return TransitionRefused(State(entry.state))
        return act(entry, now)

    return settled(attempt)
