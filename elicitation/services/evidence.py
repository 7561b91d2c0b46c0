"""Evidence of outside work: judged in the policy's order, kept when money may have moved, used at most once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from elicitation.models import Elicitation, Evidence, EvidenceStatus, Provider, Service
from elicitation.models.evidence import WAITING
from elicitation.policy import evidence as rules
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.destinations import Binding, Destination, EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome, Reach, ResultMatch, SubjectMatch
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.recheck import standing_destination, withdrawn
from elicitation.services import actors, clock, digests, lookup, refusals, revisions, sealing
from elicitation.services.actors import Actor
from elicitation.services.lookup import Person
from elicitation.services.move import Step, Superseded, expire_if_due, move, remark, settled, standing
from elicitation.services.revisions import InForce


@dataclass(frozen=True, slots=True)
class Claim:
    """What a provider, or a service that its destination trusts, says happened."""

    result_ref: str
    occurred_at: datetime | None = None
    person: Person | None = None


@dataclass(frozen=True, slots=True)
class Received:
    """``entry`` is ``None`` for whoever may not know it; ``afterwards`` is written once the caller has its reply."""

    outcome: EvidenceOutcome
    entry: Elicitation | None
    now: datetime
    afterwards: Trespass | None = None


@dataclass(frozen=True, slots=True)
class Trespass:
    """A caller named an entry that is not its own. The owner's log gets it; the caller learns nothing, in no time."""

    entry: Elicitation
    by: Actor
    outcome: EvidenceOutcome

    def record(self) -> None:
        with transaction.atomic():
            refusals.note(self.entry, self.by, self.outcome, clock.now(), unnamed=True)


_STATUS: Final[dict[EvidenceOutcome, EvidenceStatus]] = {
    EvidenceOutcome.COMPLETED: EvidenceStatus.HELD,
    EvidenceOutcome.UNBOUND_HELD: EvidenceStatus.UNBOUND,
    EvidenceOutcome.HELD: EvidenceStatus.HELD,
    EvidenceOutcome.POLICY_WITHDRAWN_HELD: EvidenceStatus.WITHDRAWN,
    EvidenceOutcome.EXPIRED_DENIED: EvidenceStatus.LATE,
    EvidenceOutcome.NOT_PENDING_DENIED: EvidenceStatus.LATE,
    EvidenceOutcome.CONFLICT_DENIED: EvidenceStatus.CONFLICT,
}


def receive(caller: Service | Provider, uid: UUID | None, claim: Claim, source: EvidenceSource) -> Received:
    """Judge ``claim`` about the entry ``uid`` and do what follows. Raises ``Contended``."""
    by = actors.service(caller) if isinstance(caller, Service) else actors.provider(caller)

    def attempt() -> Received:
        entry, reach = (None, Reach.ABSENT) if uid is None else lookup.reach(uid, caller)
        now = clock.now()
        trespass = rules.out_of_reach(reach)
        if entry is None or trespass is not None:
            note = None if entry is None or trespass is None else Trespass(entry, by, trespass)
            return Received(EvidenceOutcome.UNKNOWN_IGNORED, None, now, note)
        expire_if_due(entry, actors.SCHEDULER, now)
        try:
            with transaction.atomic():
                return Received(_judge(entry, caller, by, claim, source, now), entry, now)
        except IntegrityError:
            raise Superseded from None  # the same reference was stored meanwhile: read again

    return settled(attempt)


def _judge(
    entry: Elicitation, caller: Service | Provider, by: Actor, claim: Claim, source: EvidenceSource, now: datetime
) -> EvidenceOutcome:
    policy = revisions.active()
    destination = standing_destination(standing(entry), policy.document)
    known = result_digests(entry, claim.result_ref)
    outcome = rules.check(
        rules.Evidence(
            state=State(entry.state),
            mode=Mode(entry.mode),
            delivery=Delivery(entry.delivery),
            from_destination=_from_destination(entry, caller, destination, source),
            subject=_subject_match(entry, claim, destination),
            result=_result_match(entry, known),
            occurred_at=claim.occurred_at,
            window_ends_at=entry.window_ends_at,
            now=now,
            withdrawn=withdrawn(standing(entry), policy.document) is not None,
        )
    )
    match outcome:
        case EvidenceOutcome.COMPLETED:
            row, _ = _keep(entry, claim, source, known, outcome, now)
            use(entry, by, row, now)
        case EvidenceOutcome.HELD:
            _hold(entry, by, Event.EVIDENCE, claim, source, known, outcome, policy, now)
        case EvidenceOutcome.POLICY_WITHDRAWN_HELD:
            # A pushed question without consent waits for the answer, which is judged under the policy then in force.
            pushed = State(entry.state) is State.ADMITTED and entry.delivery != Delivery.URL_REQUIRED
            event = Event.EVIDENCE if pushed else Event.EVIDENCE_WITHDRAWN
            _hold(entry, by, event, claim, source, known, outcome, policy, now)
        case EvidenceOutcome.EXPIRED_DENIED | EvidenceOutcome.NOT_PENDING_DENIED:
            row, new = _keep(entry, claim, source, known, outcome, now)
            if new:
                remark(entry, late_evidence=True)
            refusals.note(entry, by, outcome, now, related_id=row.uid)
        case EvidenceOutcome.UNBOUND_HELD | EvidenceOutcome.CONFLICT_DENIED:
            row, new = _keep(entry, claim, source, known, outcome, now)
            if new:
                remark(entry)
            refusals.note(entry, by, outcome, now, related_id=row.uid)
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
    return outcome


def _hold(
    entry: Elicitation,
    by: Actor,
    event: Event,
    claim: Claim,
    source: EvidenceSource,
    known: list[str],
    outcome: EvidenceOutcome,
    policy: InForce,
    now: datetime,
) -> None:
    """Keep evidence that waits; the same evidence again is a repeat and changes nothing."""
    row, new = _keep(entry, claim, source, known, outcome, now)
    if not new:
        refusals.note(entry, by, outcome, now, related_id=row.uid)
        return
    held = event is Event.EVIDENCE
    if held:
        Evidence.objects.filter(pk=row.pk).update(status=EvidenceStatus.HELD)
    split = digests.split(row.result_digest)
    record = {"outcome": outcome, "related_id": row.uid, "result_digest": split.hex, "policy_revision": policy.number}
    changes = {"held_evidence": True} if held else {}
    move(entry, by, Step(event=event, changes=changes, record=record), at=now)


def _keep(
    entry: Elicitation,
    claim: Claim,
    source: EvidenceSource,
    known: list[str],
    outcome: EvidenceOutcome,
    now: datetime,
) -> tuple[Evidence, bool]:
    """The row of this reference for this entry, and whether it was made now."""
    assert entry.provider is not None
    row = Evidence.objects.filter(elicitation=entry, result_digest__in=known).first()
    if row is not None:
        return row, False
    row = Evidence.objects.create(
        elicitation=entry,
        provider=entry.provider,
        source=source,
        status=_STATUS[outcome],
        result_ref=sealing.seal(claim.result_ref, seal_purpose(entry)),
        result_digest=known[0],
        subject_given=claim.person is not None,
        occurred_at=claim.occurred_at,
        received_at=now,
    )
    return row, True


def use(entry: Elicitation, by: Actor, row: Evidence, now: datetime, *, before: Step | None = None) -> None:
    """Complete ``entry`` with ``row``, after the step ``before`` in the same move if one is given.

    The caller has judged the evidence. Raises ``Superseded``, ``TransitionRefused``.
    """
    if not Evidence.objects.filter(pk=row.pk).exclude(status=EvidenceStatus.USED).update(status=EvidenceStatus.USED):
        raise Superseded
    consented = bool(entry.consent_source) or (before is not None and "consent_source" in before.changes)
    changes: dict[str, Any] = {
        "completed_at": now,
        "completion_source": row.source,
        "result_ref": row.result_ref,
        "result_digest": row.result_digest,
    }
    if not consented:
        changes["consent_source"] = "evidence_only"
    split = digests.split(row.result_digest)
    record = {
        "outcome": EvidenceOutcome.COMPLETED,
        "completion_source": row.source,
        "consent_source": changes.get("consent_source", ""),
        "related_id": row.uid,
        "result_digest": split.hex,
        "policy_revision": revisions.active().number,
    }
    evidence = Step(event=Event.EVIDENCE, changes=changes, record=record)
    move(entry, by, *((before, evidence) if before else (evidence,)), at=now)


def waiting(entry: Elicitation, state: State, now: datetime) -> tuple[Evidence | None, EvidenceOutcome | None]:
    """Judge the evidence that waits on ``entry`` again, as if it stood in ``state``.

    The row that passes every check with ``completed``; else ``None`` with the outcome of the last one that does not;
    ``(None, None)`` when nothing waits.
    """
    policy = revisions.active()
    place = standing(entry)
    destination = standing_destination(place, policy.document)
    outcome: EvidenceOutcome | None = None
    for row in Evidence.objects.filter(elicitation=entry, status__in=WAITING).order_by("pk"):
        bound = row.subject_given or (destination is not None and destination.binding is Binding.ASSERTED)
        outcome = rules.check(
            rules.Evidence(
                state=state,
                mode=Mode(entry.mode),
                delivery=Delivery(entry.delivery),
                from_destination=True,  # judged when it came
                subject=SubjectMatch.ABSENT_BOUND if bound else SubjectMatch.ABSENT,
                result=_result_match(entry, [row.result_digest]),
                occurred_at=row.occurred_at or row.received_at,
                window_ends_at=entry.window_ends_at,
                now=now,
                withdrawn=withdrawn(place, policy.document) is not None,
            )
        )
        if outcome is EvidenceOutcome.COMPLETED:
            return row, outcome
    return None, outcome


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


def _result_match(entry: Elicitation, known: list[str]) -> ResultMatch:
    if State(entry.state) is State.COMPLETE:
        return ResultMatch.SAME if entry.result_digest in known else ResultMatch.OTHER
    if not entry.result_exclusive:
        return ResultMatch.NEW
    others = Elicitation.objects.filter(provider=entry.provider, result_digest__in=known, result_exclusive=True)
    return ResultMatch.REUSED if others.exists() else ResultMatch.NEW


def result_digests(entry: Elicitation, result_ref: str) -> list[str]:
    """The reference's digest under every live key; a reference is the provider's, whoever reports it."""
    return digests.candidates(digests.RESULT, [entry.provider.slug if entry.provider else "", result_ref])


def seal_purpose(entry: Elicitation) -> str:
    """A stored reference opens for its own entry alone."""
    return f"result:{entry.uid}"
