"""When the confirmation is lost: report it, look for it here and at the provider, or end it on the record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from elicitation.models import Elicitation, Service
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, lookup, proof, refusals, status
from elicitation.services.actors import Actor
from elicitation.services.judging import carry_out, examine
from elicitation.services.lookup import Person
from elicitation.services.move import Refusal, Step, TransitionRefused, move, settled, state_at
from elicitation.services.outcomes import failure
from elicitation.services.registry import Change, Changed
from elicitation.services.status import NO_LOOKUP, Heard, LookupOutcome

#: How long a caller waits before it asks again: a provider's webhook usually arrives within this time.
RETRY_AFTER_SECONDS: Final = 15


@dataclass(frozen=True, slots=True)
class Retried:
    """What a retry found. Evidence that fails a check gives that check's outcome."""

    entry: Elicitation
    outcome: LookupOutcome | EvidenceOutcome
    now: datetime

    @property
    def settled(self) -> bool:
        """Whether another retry could find nothing else."""
        return self.outcome in (LookupOutcome.COMPLETED, LookupOutcome.FAILED)


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
    """Look for the result in what is held, then at the provider. Asking for a result that is there already finds it
    again.

    Raises ``Unknown``, ``TransitionRefused``, ``Contended``.
    """
    by = actors.service(service)
    said = hear(lookup.own_of(service, uid, person))

    def attempt() -> Retried | Refusal:
        entry, now = lookup.present(service, uid, person)
        return retried(entry, by, now, said)

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


def hear(entry: Elicitation) -> Heard:
    """What the provider says, where a retry of ``entry`` would need it. To be called before the retry's transaction."""
    now = clock.now()
    if state_at(entry, now) is not State.RETRY_REQUIRED or proof.waiting(entry, State(entry.state), now)[0] is not None:
        return NO_LOOKUP
    return status.ask(entry)


def retried(entry: Elicitation, by: Actor, now: datetime, said: Heard) -> Retried | Refusal:
    """One look for the result, in what is held and in what the provider has ``said``.

    To be called in the transaction of the event. Raises ``Superseded``.
    """
    if State(entry.state) is State.COMPLETE:
        return Retried(entry, LookupOutcome.COMPLETED, now)
    row, kept = proof.waiting(entry, State(entry.state), now)
    try:
        if row is not None:
            proof.use(entry, by, row, now, before=_retry(entry, LookupOutcome.COMPLETED))
            return Retried(entry, LookupOutcome.COMPLETED, now)
        return Retried(entry, _by_word(entry, by, now, said, kept), now)
    except TransitionRefused as refusal:
        refusals.note(entry, by, "transition_refused", now)
        return refusal


def _by_word(
    entry: Elicitation, by: Actor, now: datetime, said: Heard, kept: EvidenceOutcome | None
) -> LookupOutcome | EvidenceOutcome:
    """The retry by the provider's word; where it decides nothing, what is ``kept`` is named before it."""
    changes = status.columns(entry, said, now)
    if said.claim is not None:
        assert entry.provider is not None
        judged = examine(entry, entry.provider, said.claim, EvidenceSource.RECONCILE, now)
        move(entry, by, _retry(entry, judged.outcome, changes), at=now)
        carry_out(entry, actors.provider(entry.provider), judged, now)
        return LookupOutcome.COMPLETED if judged.outcome is EvidenceOutcome.COMPLETED else judged.outcome
    if said.outcome is LookupOutcome.FAILED:
        if said.person is not None and not lookup.is_persons(entry, said.person):
            move(entry, by, _retry(entry, EvidenceOutcome.WRONG_USER_DENIED, changes), at=now)
            return EvidenceOutcome.WRONG_USER_DENIED
        move(entry, by, _retry(entry, said.outcome, changes), failure(), at=now)
        return said.outcome
    outcome = kept or said.outcome
    move(entry, by, _retry(entry, outcome, changes), at=now)
    return outcome


def _retry(
    entry: Elicitation, found: LookupOutcome | EvidenceOutcome, changes: Mapping[str, Any] | None = None
) -> Step:
    attempt = entry.attempts + 1
    return Step(
        event=Event.RETRY,
        changes={"attempts": attempt, **(changes or {})},
        record={"outcome": found, "attempt": attempt},
    )


def moved(entry: Elicitation, by: Actor, step: Step, now: datetime) -> Changed | Refusal:
    """One step, or the refusal with its note on the ledger. To be called in the transaction of the event."""
    try:
        move(entry, by, step, at=now)
    except TransitionRefused as refusal:
        refusals.note(entry, by, "transition_refused", now)
        return refusal
    return Changed(entry, Change.MOVED, now)
