"""What a provider says beside completion: the work failed for good, or a completion was taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from audit.ledger import append
from audit.signals import raise_signal
from elicitation.models import Elicitation, Evidence, EvidenceStatus, Provider
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, lookup, proof, refusals
from elicitation.services.actors import Actor
from elicitation.services.evidence import Claim, Received, trespass_of
from elicitation.services.move import Step, TransitionRefused, about, expire_if_due, move, remark, settled


class ProviderOutcome(StrEnum):
    """What became of a provider's word."""

    FAILED = "failed"
    REVERSED = "reversed"


def fail(provider: Provider, uid: UUID | None, claim: Claim) -> Received:
    """The work failed, finally: a pending entry ends, and may be asked again. Raises ``Contended``."""

    def judged(entry: Elicitation, by: Actor, now: datetime) -> str:
        step = Step(event=Event.PROVIDER_FAILURE, changes={"cancelled_by": "provider"}, record={"outcome": "failed"})
        try:
            move(entry, by, step, at=now)
        except TransitionRefused:
            refusals.note(entry, by, EvidenceOutcome.NOT_PENDING_DENIED, now)
            return EvidenceOutcome.NOT_PENDING_DENIED
        return ProviderOutcome.FAILED

    return _heard(provider, uid, claim, judged)


def reverse(provider: Provider, uid: UUID | None, claim: Claim) -> Received:
    """The completed work was taken back, such as money refunded: shown to the call that takes the result, and a
    signal. Evidence that was not used yet is used no more. Raises ``Contended``."""

    def judged(entry: Elicitation, by: Actor, now: datetime) -> str:
        known = proof.result_digests(entry, claim.result_ref)
        if State(entry.state) is not State.COMPLETE:
            return _unused(entry, by, known, now)
        if entry.result_digest not in known:
            refusals.note(entry, by, EvidenceOutcome.CONFLICT_DENIED, now)
            return EvidenceOutcome.CONFLICT_DENIED
        if entry.reversed_at is not None:
            refusals.note(entry, by, EvidenceOutcome.DUPLICATE_IGNORED, now)
            return EvidenceOutcome.DUPLICATE_IGNORED
        move(
            entry, by, Step(event=Event.REVERSAL, changes={"reversed_at": now}, record={"outcome": "reversed"}), at=now
        )
        raise_signal("reversal", entry.tenant.slug, entry.uid.hex, now)
        return ProviderOutcome.REVERSED

    return _heard(provider, uid, claim, judged)


def _unused(entry: Elicitation, by: Actor, known: list[str], now: datetime) -> str:
    """Take back evidence that waits or came late; without any there is nothing to take back."""
    mine = Evidence.objects.filter(elicitation=entry, result_digest__in=known)
    if not mine.exclude(status=EvidenceStatus.REVERSED).update(status=EvidenceStatus.REVERSED):
        refusals.note(entry, by, EvidenceOutcome.NOT_PENDING_DENIED, now)
        return EvidenceOutcome.NOT_PENDING_DENIED
    remark(entry, **proof.kept(entry))
    append(now, about(entry, by, Event.REVERSAL, state_from=entry.state, state_to=entry.state, outcome="reversed"))
    return ProviderOutcome.REVERSED


def _heard(
    provider: Provider, uid: UUID | None, claim: Claim, judged: Callable[[Elicitation, Actor, datetime], str]
) -> Received:
    """The checks that come before: whose entry it is, whose provider, and which person, if one is named."""
    by = actors.provider(provider)

    def attempt() -> Received:
        entry, reach = (None, lookup.Reach.ABSENT) if uid is None else lookup.reach(uid, provider)
        now = clock.now()
        trespass = trespass_of(entry, reach, by)
        if entry is None or reach is not lookup.Reach.OWN:
            return Received(EvidenceOutcome.UNKNOWN_IGNORED, None, now, trespass)
        expire_if_due(entry, actors.SCHEDULER, now)
        denied = None
        if entry.provider_id != provider.pk:
            denied = EvidenceOutcome.WRONG_PROVIDER_DENIED
        elif claim.person is not None and not lookup.is_persons(entry, claim.person):
            denied = EvidenceOutcome.WRONG_USER_DENIED
        if denied is not None:
            refusals.note(entry, by, denied, now)
            return Received(denied, entry, now)
        return Received(judged(entry, by, now), entry, now)

    return settled(attempt)
