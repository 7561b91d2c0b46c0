"""When the confirmation is lost: report it, try again from what is held, or end it on the record."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from elicitation.models import Elicitation, Service
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, lookup, proof, refusals
from elicitation.services.actors import Actor
from elicitation.services.lookup import Person
from elicitation.services.move import Refusal, Step, TransitionRefused, move, settled
from elicitation.services.registry import Change, Changed

#: How long a caller waits before it asks again: a provider's webhook usually arrives within this time.
RETRY_AFTER_SECONDS: Final = 15


class RetryOutcome(StrEnum):
    """What a retry found. Evidence that fails a check returns that check's outcome instead."""

    COMPLETED = "completed"
    NO_LOOKUP = "no_lookup"


@dataclass(frozen=True, slots=True)
class Retried:
    entry: Elicitation
    outcome: RetryOutcome | EvidenceOutcome
    now: datetime


def report_lost(service: Service, uid: UUID, person: Person) -> Changed:
    """The person says that the work is done, and nothing arrived: neither success nor failure.

    Raises ``Unknown``, ``TransitionRefused``, ``Contended``.
    """
    by = actors.service(service)

    def attempt() -> Changed | Refusal:
        entry, now = lookup.present(service, uid, person)
        if State(entry.state) is State.RETRY_REQUIRED and entry.lost_at is not None:
            return Changed(entry, Change.REPEATED, now)
        step = Step(event=Event.LOST, changes={"lost_at": entry.lost_at or now})
        return moved(entry, by, step, now)

    return settled(attempt)


def retry(service: Service, uid: UUID, person: Person) -> Retried:
    """Look for the result in what is held. Asking for a result that is there already finds it again.

    Raises ``Unknown``, ``TransitionRefused``, ``Contended``.
    """
    by = actors.service(service)

    def attempt() -> Retried | Refusal:
        entry, now = lookup.present(service, uid, person)
        return retried(entry, by, now)

    return settled(attempt)


def cancel(service: Service, uid: UUID, person: Person) -> Changed:
    """The service gives the question up. Raises ``Unknown``, ``TransitionRefused``, ``Contended``."""
    by = actors.service(service)

    def attempt() -> Changed | Refusal:
        entry, now = lookup.present(service, uid, person)
        if State(entry.state) is State.CANCELLED and entry.cancelled_by == "service":
            return Changed(entry, Change.REPEATED, now)
        return moved(entry, by, Step(event=Event.CANCEL, changes={"cancelled_by": "service"}), now)

    return settled(attempt)


def retried(entry: Elicitation, by: Actor, now: datetime) -> Retried | Refusal:
    """One look for the result. To be called in the transaction of the event."""
    if State(entry.state) is State.COMPLETE:
        return Retried(entry, RetryOutcome.COMPLETED, now)
    row, outcome = proof.waiting(entry, State(entry.state), now)
    found = RetryOutcome.COMPLETED if row is not None else outcome or RetryOutcome.NO_LOOKUP
    step = Step(
        event=Event.RETRY,
        changes={"attempts": entry.attempts + 1},
        record={"outcome": found, "attempt": entry.attempts + 1},
    )
    try:
        if row is None:
            move(entry, by, step, at=now)
        else:
            proof.use(entry, by, row, now, before=step)
    except TransitionRefused as refusal:
        refusals.note(entry, by, "transition_refused", now)
        return refusal
    return Retried(entry, found, now)


def moved(entry: Elicitation, by: Actor, step: Step, now: datetime) -> Changed | Refusal:
    """One step, or the refusal with its note on the ledger. To be called in the transaction of the event."""
    try:
        move(entry, by, step, at=now)
    except TransitionRefused as refusal:
        refusals.note(entry, by, "transition_refused", now)
        return refusal
    return Changed(entry, Change.MOVED, now)
