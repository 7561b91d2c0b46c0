"""Honouring evidence that an entry could not use: one operator proposes it, another one carries it out."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from audit.ledger import append
from elicitation.models import Elicitation, Evidence, EvidenceStatus, HonourProposal
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import LIVE, Event, State
from elicitation.services import actors, clock, digests, refusals, revisions
from elicitation.services.actors import Actor
from elicitation.services.lookup import RELATED
from elicitation.services.move import Refusal, Step, Superseded, about, expire_if_due, move, remark, settled
from elicitation.services.operators import lock_evidence
from elicitation.services.proposals import SENTENCES, Obstacle, Stands, obstacle_to, open_evidence, others, over, where
from elicitation.services.registry import Change, Changed

#: How long a proposal waits for a second operator.
WAITS_FOR: Final = timedelta(hours=24)


class NotHonoured(Refusal):
    """Nothing was proposed, carried out or withdrawn, and why; ``state`` is the entry's."""

    def __init__(self, obstacle: Obstacle, state: State) -> None:
        super().__init__(SENTENCES[obstacle])
        self.obstacle = obstacle
        self.state = state


def propose(uid: UUID, evidence_uid: UUID, user_id: int, seen: State | None = None) -> HonourProposal:
    """Propose to honour one piece of open evidence, for 24 hours and as long as nothing happens to the entry.

    A proposal that is void already makes room for it. ``seen`` is the state on which the person decided.
    Raises ``NotHonoured``, ``Contended``.
    """
    by = actors.operator(user_id)

    def attempt() -> HonourProposal | NotHonoured:
        entry, now = _present(Elicitation.objects.values_list("pk", flat=True).get(uid=uid))
        row = open_evidence(entry).filter(uid=evidence_uid).first()
        earlier = HonourProposal.objects.filter(elicitation=entry, status=HonourProposal.Status.OPEN).first()
        elsewhere = seen is not None and State(entry.state) is not seen
        if elsewhere or (earlier is not None and where(earlier, entry, now) is Stands.WAITS):
            return _refused(entry, by, Obstacle.ENTRY_CHANGED, row, now)
        obstacle = obstacle_to(entry, row, now)
        if obstacle is not None or row is None:
            return _refused(entry, by, obstacle or Obstacle.NOT_OPEN, row, now)
        if earlier is not None:
            _decide(earlier, HonourProposal.Status.VOID, None, now)
        ends = now + WAITS_FOR
        remark(entry, **_not_asked_before(entry, ends))
        proposal = HonourProposal.objects.create(
            elicitation=entry,
            evidence=row,
            version=entry.version,
            proposed_by_id=user_id,
            proposed_at=now,
            expires_at=ends,
        )
        append(now, about(entry, by, "honour_proposed", **_recorded(entry, row), deadline=ends))
        return proposal

    return settled(attempt)


def approve(proposal_uid: UUID, user_id: int) -> Changed:
    """Carry out what another operator proposed: the entry completes with the evidence.

    Raises ``NotHonoured``, ``Contended``.
    """
    by = actors.operator(user_id)

    def attempt() -> Changed | NotHonoured:
        proposal, entry, now = _proposed(proposal_uid)
        row = proposal.evidence
        obstacle = over(where(proposal, entry, now))
        if obstacle is None and proposal.proposed_by_id == user_id:
            obstacle = Obstacle.SAME_PERSON
        if obstacle is None:
            _expire_others(entry, now)
            obstacle = obstacle_to(entry, row, now)
        if obstacle is not None:
            return _refused(entry, by, obstacle, row, now)
        _decide(proposal, HonourProposal.Status.APPROVED, user_id, now)
        _use(entry, by, row, now)
        return Changed(entry, Change.MOVED, now)

    return settled(attempt)


def withdraw(proposal_uid: UUID, user_id: int) -> Changed:
    """Take a proposal back, or turn down another operator's. Raises ``NotHonoured``, ``Contended``."""
    by = actors.operator(user_id)

    def attempt() -> Changed | NotHonoured:
        proposal, entry, now = _proposed(proposal_uid)
        obstacle = over(where(proposal, entry, now))
        if obstacle is not None:
            return _refused(entry, by, obstacle, proposal.evidence, now)
        _decide(proposal, HonourProposal.Status.WITHDRAWN, user_id, now)
        remark(entry, **({} if entry.next_lookup_at is None else {"next_lookup_at": now}))
        append(now, about(entry, by, "honour_withdrawn", **_recorded(entry, proposal.evidence)))
        return Changed(entry, Change.MOVED, now)

    return settled(attempt)


def _present(pk: int) -> tuple[Elicitation, datetime]:
    """The entry with the deadline's move made when it was due, and nobody at its evidence until the transaction ends.

    To be called in the transaction of the event.
    """
    lock_evidence(pk)
    entry, now = Elicitation.objects.select_related(*RELATED).get(pk=pk), clock.now()
    expire_if_due(entry, actors.SCHEDULER, now)
    return entry, now


def _proposed(proposal_uid: UUID) -> tuple[HonourProposal, Elicitation, datetime]:
    pk = HonourProposal.objects.values_list("elicitation_id", flat=True).get(uid=proposal_uid)
    entry, now = _present(pk)
    return HonourProposal.objects.select_related("evidence").get(uid=proposal_uid), entry, now


def _expire_others(entry: Elicitation, now: datetime) -> None:
    """An entry whose time is up stands in nobody's way, also where the sweep has not ended it yet."""
    for other in others(entry).filter(state__in=sorted(LIVE), deadline__lte=now).select_related(*RELATED):
        expire_if_due(other, actors.SCHEDULER, now)


def _not_asked_before(entry: Elicitation, ends: datetime) -> dict[str, Any]:
    """While two people decide, nobody asks the provider: its answer would change nothing but void the proposal."""
    return {} if entry.next_lookup_at is None else {"next_lookup_at": max(entry.next_lookup_at, ends)}


def _decide(proposal: HonourProposal, status: HonourProposal.Status, user_id: int | None, now: datetime) -> None:
    rows = HonourProposal.objects.filter(pk=proposal.pk, status=HonourProposal.Status.OPEN)
    if rows.update(status=status, decided_by=user_id, decided_at=now) != 1:
        raise Superseded


def _use(entry: Elicitation, by: Actor, row: Evidence, now: datetime) -> None:
    """Complete ``entry`` with ``row``. What else waits or came late contradicts it from now on."""
    if Evidence.objects.filter(pk=row.pk, status=row.status).update(status=EvidenceStatus.USED) != 1:
        raise Superseded
    changes: dict[str, Any] = {
        "completed_at": now,
        "completion_source": "operator",
        "result_ref": row.result_ref,
        "result_digest": row.result_digest,
        "consent_source": entry.consent_source or "evidence_only",
        "cancelled_by": "",
        "cancel_reason": "",
    }
    record = {
        "outcome": EvidenceOutcome.COMPLETED,
        "completion_source": "operator",
        "consent_source": "" if entry.consent_source else "evidence_only",
        "related_id": row.uid,
        "result_digest": digests.split(row.result_digest).hex,
        "policy_revision": revisions.active().number,
    }
    move(entry, by, Step(event=Event.HONOUR_EVIDENCE, changes=changes, record=record), at=now)


def _recorded(entry: Elicitation, row: Evidence) -> dict[str, Any]:
    return {"state_from": entry.state, "state_to": entry.state, "outcome": "recorded", "related_id": row.uid}


def _refused(entry: Elicitation, by: Actor, obstacle: Obstacle, row: Evidence | None, now: datetime) -> NotHonoured:
    refusals.note(entry, by, obstacle, now, related_id=row.uid if row is not None else None)
    return NotHonoured(obstacle, State(entry.state))
