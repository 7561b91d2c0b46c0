"""Judging one claim about one entry: examined in the policy's order, then carried out by its outcome."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from audit.ledger import append
from audit.signals import raise_signal
from elicitation.models import Elicitation, Evidence, EvidenceStatus, Provider, Service
from elicitation.policy import evidence as rules
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.destinations import Binding, Destination, EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome, SubjectMatch
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.recheck import standing_destination, withdrawn
from elicitation.services import digests, lookup, proof, refusals, revisions, sealing
from elicitation.services.actors import Actor
from elicitation.services.lookup import Person
from elicitation.services.move import Step, about, move, remark, standing


@dataclass(frozen=True, slots=True)
class Claim:
    """What a provider, or a service that its destination trusts, says happened."""

    result_ref: str
    occurred_at: datetime | None = None
    person: Person | None = None


_STATUS: Final[dict[EvidenceOutcome, EvidenceStatus]] = {
    EvidenceOutcome.COMPLETED: EvidenceStatus.HELD,
    EvidenceOutcome.UNBOUND_HELD: EvidenceStatus.UNBOUND,
    EvidenceOutcome.HELD: EvidenceStatus.HELD,
    EvidenceOutcome.POLICY_WITHDRAWN_HELD: EvidenceStatus.WITHDRAWN,
    EvidenceOutcome.EXPIRED_DENIED: EvidenceStatus.LATE,
    EvidenceOutcome.NOT_PENDING_DENIED: EvidenceStatus.LATE,
    EvidenceOutcome.CONFLICT_DENIED: EvidenceStatus.CONFLICT,
}


#: What was dealt with stays so, however often it is sent again.
_SETTLED: Final = (EvidenceStatus.USED, EvidenceStatus.CLOSED)

#: These say that the sender may not speak, so nothing else about the entry is told.
_DENIED_BY_SENDER: Final = frozenset({EvidenceOutcome.WRONG_PROVIDER_DENIED, EvidenceOutcome.WRONG_USER_DENIED})


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim with its outcome. ``known`` are the digests of its reference; ``taken_back``: the provider has already
    said that it took this result back."""

    claim: Claim
    source: EvidenceSource
    outcome: EvidenceOutcome
    known: list[str]
    taken_back: bool


def examine(
    entry: Elicitation, caller: Service | Provider, claim: Claim, source: EvidenceSource, now: datetime
) -> Judged:
    """What becomes of ``claim``; changes nothing."""
    policy = revisions.active()
    destination = standing_destination(standing(entry), policy.document)
    known = proof.result_digests(entry, claim.result_ref)
    outcome = rules.check(
        rules.Evidence(
            state=State(entry.state),
            mode=Mode(entry.mode),
            delivery=Delivery(entry.delivery),
            from_destination=_from_destination(entry, caller, destination, source),
            subject=_subject_match(entry, claim, destination),
            result=proof.result_match(entry, known),
            occurred_at=claim.occurred_at,
            window_ends_at=entry.window_ends_at,
            now=now,
            withdrawn=withdrawn(standing(entry), policy.document) is not None,
            page_missing=proof.page_missing(entry, destination),
        )
    )
    taken_back = Evidence.objects.filter(
        elicitation=entry, result_digest__in=known, status=EvidenceStatus.REVERSED
    ).exists()
    if taken_back and outcome not in _DENIED_BY_SENDER:
        outcome = EvidenceOutcome.CONFLICT_DENIED  # events may come out of order; what was taken back stays so
        return Judged(claim, source, outcome, known, taken_back=True)
    return Judged(claim, source, outcome, known, taken_back=False)


def carry_out(entry: Elicitation, by: Actor, judged: Judged, now: datetime) -> None:
    """Do what follows from the outcome. To be called in the transaction in which it was examined.

    Raises ``Superseded``, ``TransitionRefused``.
    """
    outcome = judged.outcome
    if judged.taken_back:
        refusals.note(entry, by, outcome, now)
        return
    status = _STATUS.get(outcome, EvidenceStatus.LATE)
    match outcome:
        case EvidenceOutcome.COMPLETED:
            row, _ = _keep(entry, judged, status, now)
            proof.use(entry, by, row, now)
        case EvidenceOutcome.UNBOUND_HELD if State(entry.state).terminal:
            over = EvidenceStatus.CONFLICT if State(entry.state) is State.COMPLETE else EvidenceStatus.LATE
            kept = _keep(entry, judged, over, now)
            _keep_ended(entry, by, kept, outcome, now)
            if over is EvidenceStatus.CONFLICT and kept[1]:
                raise_signal("conflicting_result", entry.tenant.slug, entry.uid.hex, now)
        case EvidenceOutcome.HELD | EvidenceOutcome.UNBOUND_HELD:
            _hold(entry, by, Event.EVIDENCE, _keep(entry, judged, status, now), outcome, now)
        case EvidenceOutcome.POLICY_WITHDRAWN_HELD:
            # A pushed question without consent waits for the answer, which is judged under the policy then in force.
            pushed = State(entry.state) is State.ADMITTED and entry.delivery != Delivery.URL_REQUIRED
            event = Event.EVIDENCE if pushed else Event.EVIDENCE_WITHDRAWN
            _hold(entry, by, event, _keep(entry, judged, status, now), outcome, now)
        case EvidenceOutcome.EXPIRED_DENIED | EvidenceOutcome.NOT_PENDING_DENIED | EvidenceOutcome.CONFLICT_DENIED:
            _keep_ended(entry, by, _keep(entry, judged, status, now), outcome, now)
        case (
            EvidenceOutcome.DUPLICATE_IGNORED
            | EvidenceOutcome.WRONG_PROVIDER_DENIED
            | EvidenceOutcome.WRONG_USER_DENIED
            | EvidenceOutcome.RESULT_REUSED_DENIED
        ):
            refusals.note(entry, by, outcome, now)
        case (
            EvidenceOutcome.WRONG_TENANT_DENIED | EvidenceOutcome.WRONG_SERVICE_DENIED | EvidenceOutcome.UNKNOWN_IGNORED
        ):
            raise AssertionError("check() judges callers that may know the entry")


def _hold(
    entry: Elicitation,
    by: Actor,
    event: Event,
    kept: tuple[Evidence, bool],
    outcome: EvidenceOutcome,
    now: datetime,
) -> None:
    """Note that evidence waits on a live entry, so that nobody is asked to do the work again; a repeat changes
    nothing."""
    row, changed = kept
    if not changed:
        refusals.note(entry, by, outcome, now, related_id=row.uid)
        return
    record = {
        "outcome": outcome,
        "related_id": row.uid,
        "result_digest": digests.split(row.result_digest).hex,
        "policy_revision": revisions.active().number,
    }
    if event is Event.EVIDENCE:
        remark(entry, **proof.kept(entry))
        append(now, about(entry, by, event, state_from=entry.state, state_to=entry.state, **record))
    else:
        move(entry, by, Step(event=event, changes=proof.kept(entry), record=record), at=now)


def _keep_ended(
    entry: Elicitation, by: Actor, kept: tuple[Evidence, bool], outcome: EvidenceOutcome, now: datetime
) -> None:
    """Note that evidence came which the entry cannot use any more: money may have moved."""
    row, changed = kept
    if changed:
        remark(entry, **proof.kept(entry))
    refusals.note(entry, by, outcome, now, always=changed, related_id=row.uid)


def _keep(
    entry: Elicitation,
    judged: Judged,
    status: EvidenceStatus,
    now: datetime,
) -> tuple[Evidence, bool]:
    """The row of this reference for this entry, and whether it is new or now says more than before."""
    claim, known = judged.claim, judged.known
    row = Evidence.objects.filter(elicitation=entry, result_digest__in=known).first()
    if row is None:
        return keep(entry, claim, judged.source, known[0], status, now), True
    if status is EvidenceStatus.UNBOUND and row.subject_given:
        status = EvidenceStatus(row.status)  # it says less than before
    says_more = {
        "status": status,
        "subject_given": row.subject_given or claim.person is not None,
        "occurred_at": row.occurred_at or claim.occurred_at,
    }
    if row.status in _SETTLED or all(getattr(row, name) == value for name, value in says_more.items()):
        return row, False
    Evidence.objects.filter(pk=row.pk).update(**says_more)
    row.refresh_from_db()
    return row, True


def keep(
    entry: Elicitation, claim: Claim, source: EvidenceSource, digest: str, status: EvidenceStatus, now: datetime
) -> Evidence:
    """A new row for ``claim``, its reference sealed. ``digest`` is the reference's under the current key."""
    assert entry.provider is not None
    return Evidence.objects.create(
        elicitation=entry,
        provider=entry.provider,
        source=source,
        status=status,
        result_ref=sealing.seal(claim.result_ref, proof.seal_purpose(entry)),
        result_digest=digest,
        subject_given=claim.person is not None,
        occurred_at=claim.occurred_at,
        received_at=now,
    )


def _from_destination(
    entry: Elicitation, caller: Service | Provider, destination: Destination | None, source: EvidenceSource
) -> bool:
    trusted = destination is None or source in destination.sources
    if isinstance(caller, Provider):
        return entry.provider_id == caller.pk and trusted
    return destination is not None and trusted


def _subject_match(entry: Elicitation, claim: Claim, destination: Destination | None) -> SubjectMatch:
    if claim.person is not None:
        return SubjectMatch.SAME if lookup.is_persons(entry, claim.person) else SubjectMatch.DIFFERENT
    if destination is not None and destination.binding is Binding.ASSERTED:
        return SubjectMatch.ABSENT_BOUND
    return SubjectMatch.ABSENT
