"""What a provider says beside completion: the work failed for good, or a completion was taken back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from audit.signals import raise_signal
from elicitation.models import Elicitation, Evidence, EvidenceStatus, Provider
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, lookup, proof, refusals
from elicitation.services.actors import Actor
from elicitation.services.evidence import Received, trespass_of
from elicitation.services.judging import Claim, keep
from elicitation.services.move import Step, TransitionRefused, expire_if_due, move, settled


class ProviderOutcome(StrEnum):
    """What became of a provider's word."""

    FAILED = "failed"
    REVERSED = "reversed"


def failure() -> Step:
    """The step that ends an entry whose work failed, by the provider's word."""
    return Step(event=Event.PROVIDER_FAILURE, changes={"cancelled_by": "provider"}, record={"outcome": "failed"})


def fail(provider: Provider, uid: UUID | None, claim: Claim) -> Received:
    """The work failed, finally: a pending entry ends, and may be asked again. Raises ``Contended``."""

    def judged(entry: Elicitation, by: Actor, now: datetime) -> EvidenceOutcome | ProviderOutcome:
        try:
            move(entry, by, failure(), at=now)
        except TransitionRefused:
            refusals.note(entry, by, EvidenceOutcome.NOT_PENDING_DENIED, now)
            return EvidenceOutcome.NOT_PENDING_DENIED
        return ProviderOutcome.FAILED

    return _heard(provider, uid, claim, judged)


def reverse(provider: Provider, uid: UUID | None, claim: Claim) -> Received:
    """The completed work was taken back, such as money refunded: shown to the call that takes the result, and a
    signal. Evidence that was not used yet is used no more. Raises ``Contended``."""

    def judged(entry: Elicitation, by: Actor, now: datetime) -> EvidenceOutcome | ProviderOutcome:
        known = proof.result_digests(entry, claim.result_ref)
        if State(entry.state) is not State.COMPLETE:
            return _unused(entry, by, claim, known, now)
        other = Evidence.objects.filter(elicitation=entry, result_digest__in=known).exclude(status=EvidenceStatus.USED)
        if (row := other.first()) is not None:
            return _other_gone(entry, by, row, now)
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


def _unused(entry: Elicitation, by: Actor, claim: Claim, known: list[str], now: datetime) -> ProviderOutcome:
    """Take back evidence that waits, came late or is still to come: events may arrive out of order."""
    mine = Evidence.objects.filter(elicitation=entry, result_digest__in=known)
    if not mine.exists():
        keep(entry, claim, EvidenceSource.WEBHOOK, known[0], EvidenceStatus.REVERSED, now)
    elif not mine.exclude(status=EvidenceStatus.REVERSED).update(status=EvidenceStatus.REVERSED):
        refusals.note(entry, by, EvidenceOutcome.DUPLICATE_IGNORED, now)
        return ProviderOutcome.REVERSED
    move(entry, by, Step(event=Event.REVERSAL, changes=proof.kept(entry), record={"outcome": "reversed"}), at=now)
    return ProviderOutcome.REVERSED


def _other_gone(entry: Elicitation, by: Actor, row: Evidence, now: datetime) -> EvidenceOutcome | ProviderOutcome:
    """Another result than the recorded one was taken back, such as the payment made twice: the recorded one stands."""
    if row.status == EvidenceStatus.REVERSED:
        refusals.note(entry, by, EvidenceOutcome.DUPLICATE_IGNORED, now)
        return EvidenceOutcome.DUPLICATE_IGNORED
    Evidence.objects.filter(pk=row.pk).update(status=EvidenceStatus.REVERSED)
    record = {"outcome": ProviderOutcome.REVERSED, "related_id": row.uid}
    move(entry, by, Step(event=Event.REVERSAL, record=record), at=now)
    return ProviderOutcome.REVERSED


def _heard(
    provider: Provider,
    uid: UUID | None,
    claim: Claim,
    judged: Callable[[Elicitation, Actor, datetime], EvidenceOutcome | ProviderOutcome],
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
