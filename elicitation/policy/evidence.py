"""Evidence of outside work: the checks in their order, one outcome each. Nothing is told apart that must not be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.lifecycle import State


class EvidenceOutcome(StrEnum):
    """What became of a piece of evidence. The caller sees this word; the first two exist in the log alone."""

    WRONG_TENANT_DENIED = "wrong_tenant_denied"
    WRONG_SERVICE_DENIED = "wrong_service_denied"
    UNKNOWN_IGNORED = "unknown_ignored"
    WRONG_PROVIDER_DENIED = "wrong_provider_denied"
    WRONG_USER_DENIED = "wrong_user_denied"
    UNBOUND_HELD = "unbound_held"
    DUPLICATE_IGNORED = "duplicate_ignored"
    CONFLICT_DENIED = "conflict_denied"
    RESULT_REUSED_DENIED = "result_reused_denied"
    EXPIRED_DENIED = "expired_denied"
    NOT_PENDING_DENIED = "not_pending_denied"
    POLICY_WITHDRAWN_HELD = "policy_withdrawn_held"
    HELD = "held"
    COMPLETED = "completed"


class Reach(StrEnum):
    """Whether the caller may know the entry at all."""

    OWN = "own"
    SIBLING_SERVICE = "sibling_service"
    WRONG_TENANT = "wrong_tenant"
    ABSENT = "absent"


class SubjectMatch(StrEnum):
    """How the evidence names the person: issuer and subject, compared exactly; never a session or a display name."""

    SAME = "same"
    DIFFERENT = "different"
    ABSENT_BOUND = "absent_bound"
    ABSENT = "absent"


class ResultMatch(StrEnum):
    """How the reference compares with what is already recorded, on this entry and on the provider's others."""

    NEW = "new"
    SAME = "same"
    OTHER = "other"
    REUSED = "reused"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The facts that decide about one piece of evidence.

    ``result`` is relative to a completed entry (``SAME``, ``OTHER``) or to the provider's other entries
    (``REUSED``). ``window_ends_at`` is the end of the time in which the person could act, which the retry window
    does not extend. ``now`` is the database's clock.
    """

    state: State
    mode: Mode
    delivery: Delivery
    from_destination: bool
    subject: SubjectMatch
    result: ResultMatch
    occurred_at: datetime | None
    window_ends_at: datetime
    now: datetime
    withdrawn: bool = False
    page_missing: bool = False


def out_of_reach(reach: Reach) -> EvidenceOutcome | None:
    """Check 1, for the owner's log; every such caller is told ``unknown_ignored``. ``None``: go on to :func:`check`."""
    match reach:
        case Reach.OWN:
            return None
        case Reach.SIBLING_SERVICE:
            return EvidenceOutcome.WRONG_SERVICE_DENIED
        case Reach.WRONG_TENANT:
            return EvidenceOutcome.WRONG_TENANT_DENIED
        case Reach.ABSENT:
            return EvidenceOutcome.UNKNOWN_IGNORED


def check(evidence: Evidence) -> EvidenceOutcome:
    """Checks 2 to 10 in their order (operator policy; the user check is 2025-11-25, Security, R47 to R53)."""
    if not evidence.from_destination:
        return EvidenceOutcome.WRONG_PROVIDER_DENIED
    if evidence.subject is SubjectMatch.DIFFERENT:
        return EvidenceOutcome.WRONG_USER_DENIED
    if evidence.subject is SubjectMatch.ABSENT:
        return EvidenceOutcome.UNBOUND_HELD
    if evidence.state is State.COMPLETE:
        same = evidence.result is ResultMatch.SAME
        return EvidenceOutcome.DUPLICATE_IGNORED if same else EvidenceOutcome.CONFLICT_DENIED
    if evidence.result is ResultMatch.REUSED:
        return EvidenceOutcome.RESULT_REUSED_DENIED
    if _too_late(evidence):
        return EvidenceOutcome.EXPIRED_DENIED
    if evidence.state.terminal or evidence.mode is Mode.FORM:
        return EvidenceOutcome.NOT_PENDING_DENIED
    if evidence.withdrawn:
        return EvidenceOutcome.POLICY_WITHDRAWN_HELD
    if evidence.page_missing or (evidence.state is State.ADMITTED and evidence.delivery is not Delivery.URL_REQUIRED):
        return EvidenceOutcome.HELD
    return EvidenceOutcome.COMPLETED


def _too_late(evidence: Evidence) -> bool:
    """Half open: at the end of the window it is over. Arrival counts without ``occurred_at``, save in a retry."""
    if evidence.state is State.EXPIRED:
        return True
    if evidence.occurred_at is not None:
        return evidence.occurred_at >= evidence.window_ends_at
    return evidence.state is not State.RETRY_REQUIRED and evidence.now >= evidence.window_ends_at
