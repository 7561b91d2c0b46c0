"""Where proposals to honour evidence stand, what could be honoured, and what is in the way. Reads alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from django.db.models import Q, QuerySet

from elicitation.models import Elicitation, Evidence, EvidenceStatus, HonourProposal
from elicitation.policy.evidence import ResultMatch
from elicitation.policy.lifecycle import LIVE, UNRESOLVED, Event, Refused, State, step
from elicitation.services import proof
from elicitation.services.move import facts, overdue


class Obstacle(StrEnum):
    """Why nothing is proposed or carried out, in the ledger's words."""

    NOT_OPEN = "transition_refused"
    ENTRY_CHANGED = "entry_changed"
    PROPOSAL_EXPIRED = "proposal_expired"
    SAME_PERSON = "same_person"
    NEWER_ENTRY = "newer_entry"
    RESULT_REUSED = "result_reused_denied"


SENTENCES: Final[dict[Obstacle, str]] = {
    Obstacle.NOT_OPEN: "This confirmation is not one that the entry could not use, or it was settled already.",
    Obstacle.ENTRY_CHANGED: "Something has happened to the entry since: look at it again.",
    Obstacle.PROPOSAL_EXPIRED: "The proposal is over: its 24 hours have passed, or it was withdrawn or replaced.",
    Obstacle.SAME_PERSON: "Whoever proposed it cannot approve it: it waits for a second operator.",
    Obstacle.NEWER_ENTRY: "The operation has another entry that lives or has a result: honouring this one too would "
    "count the work twice.",
    Obstacle.RESULT_REUSED: "The result has already completed another entry.",
}


class Stands(StrEnum):
    """Where a proposal stands. One that lapsed or was overtaken is void: nobody can approve it any more."""

    WAITS = "waits"
    LAPSED = "lapsed"
    OVERTAKEN = "overtaken"
    REPLACED = "replaced"
    WITHDRAWN = "withdrawn"
    APPROVED = "approved"


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a reader is told about honouring: ``evidence`` that could be honoured, the ``obstacle`` that is in the way
    of all of it, and every proposal so far, oldest first."""

    evidence: tuple[Evidence, ...]
    obstacle: Obstacle | None
    proposals: tuple[tuple[HonourProposal, Stands], ...]

    @property
    def waiting(self) -> HonourProposal | None:
        """The proposal that a second operator can approve now."""
        return next((proposal for proposal, stands in self.proposals if stands is Stands.WAITS), None)


def prospect(entry: Elicitation, now: datetime) -> Prospect:
    rows = HonourProposal.objects.filter(elicitation=entry).order_by("pk")
    related = rows.select_related("evidence__provider", "proposed_by", "decided_by")
    proposals = tuple((row, where(row, entry, now)) for row in related)
    evidence = () if overdue(entry, now) else tuple(open_evidence(entry))
    taken = bool(evidence) and is_taken(entry, now)
    return Prospect(evidence, Obstacle.NEWER_ENTRY if taken else None, proposals)


def where(proposal: HonourProposal, entry: Elicitation, now: datetime) -> Stands:
    """Half open: at its end a proposal is over. Whatever is stored about the entry voids it."""
    match HonourProposal.Status(proposal.status):
        case HonourProposal.Status.APPROVED:
            return Stands.APPROVED
        case HonourProposal.Status.WITHDRAWN:
            return Stands.WITHDRAWN
        case HonourProposal.Status.VOID:
            return Stands.REPLACED
        case HonourProposal.Status.OPEN:
            if now >= proposal.expires_at:
                return Stands.LAPSED
            changed = proposal.version != entry.version or overdue(entry, now)
            return Stands.OVERTAKEN if changed else Stands.WAITS


def over(stands: Stands) -> Obstacle | None:
    """Why a proposal can no longer be approved or withdrawn."""
    match stands:
        case Stands.WAITS:
            return None
        case Stands.OVERTAKEN | Stands.APPROVED:
            return Obstacle.ENTRY_CHANGED
        case Stands.LAPSED | Stands.REPLACED | Stands.WITHDRAWN:
            return Obstacle.PROPOSAL_EXPIRED


def obstacle_to(entry: Elicitation, row: Evidence | None, now: datetime) -> Obstacle | None:
    """What is in the way of honouring ``row``, whoever wants it (operator policy)."""
    refused = isinstance(step(State(entry.state), Event.HONOUR_EVIDENCE, facts(entry)), Refused)
    if refused or row is None or not open_evidence(entry).filter(pk=row.pk).exists():
        return Obstacle.NOT_OPEN
    if is_taken(entry, now):
        return Obstacle.NEWER_ENTRY
    known = proof.known_as(entry, row)
    return Obstacle.RESULT_REUSED if proof.result_match(entry, known) is ResultMatch.REUSED else None


def open_evidence(entry: Elicitation) -> QuerySet[Evidence]:
    """What can be honoured: late evidence of an entry that ended, withdrawn evidence of one that waits for a retry."""
    state = State(entry.state)
    wanted = [EvidenceStatus.LATE] if state in UNRESOLVED else []
    if state is State.RETRY_REQUIRED:
        wanted = [EvidenceStatus.WITHDRAWN]
    rows = Evidence.objects.filter(elicitation=entry, status__in=wanted)
    return rows.select_related("provider").order_by("pk")


def others(entry: Elicitation) -> QuerySet[Elicitation]:
    """The operation's other entries. Those that name ``entry`` as their predecessor also say under which digest the
    operation goes since the keys were rotated."""
    known = [entry.operation_digest, *entry.successors.values_list("operation_digest", flat=True)]
    return Elicitation.objects.filter(service=entry.service_id, operation_digest__in=known).exclude(pk=entry.pk)


def is_taken(entry: Elicitation, now: datetime) -> bool:
    """Whether the operation has another entry that lives or waits to be consumed, or consumed one since it asked
    ``entry``."""
    lives = Q(Q(deadline__gt=now) | Q(state=State.ADMITTED, held_evidence=True), state__in=sorted(LIVE))
    to_take = Q(state=State.COMPLETE, applied_at=None) | Q(state=State.ACCEPTED, pk__gt=entry.pk)
    return others(entry).filter(lives | to_take | Q(applied_at__gt=entry.admitted_at)).exists()
