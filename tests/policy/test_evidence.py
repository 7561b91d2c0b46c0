"""Evidence: each check comes before the next, and each has one outcome."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.evidence import (
    Evidence,
    EvidenceOutcome,
    Reach,
    ResultMatch,
    SubjectMatch,
    check,
    out_of_reach,
)
from elicitation.policy.lifecycle import State

ENDS = datetime(2026, 1, 1, 12, tzinfo=UTC)
GOOD = Evidence(
    state=State.CONSENT_PENDING,
    mode=Mode.URL,
    delivery=Delivery.CREATE,
    from_destination=True,
    subject=SubjectMatch.SAME,
    result=ResultMatch.NEW,
    occurred_at=None,
    window_ends_at=ENDS,
    now=ENDS - timedelta(minutes=5),
)

#: What breaks each check, in the order of the checks, and the outcome that follows.
BREAKS: list[tuple[dict[str, Any], EvidenceOutcome]] = [
    ({"from_destination": False}, EvidenceOutcome.WRONG_PROVIDER_DENIED),
    ({"subject": SubjectMatch.DIFFERENT}, EvidenceOutcome.WRONG_USER_DENIED),
    ({"result": ResultMatch.REUSED}, EvidenceOutcome.RESULT_REUSED_DENIED),
    ({"occurred_at": ENDS}, EvidenceOutcome.EXPIRED_DENIED),
    ({"mode": Mode.FORM}, EvidenceOutcome.NOT_PENDING_DENIED),
    ({"withdrawn": True}, EvidenceOutcome.POLICY_WITHDRAWN_HELD),
    ({"page_missing": True}, EvidenceOutcome.HELD),
]


def test_evidence_that_passes_every_check_completes() -> None:
    assert check(GOOD) is EvidenceOutcome.COMPLETED


@pytest.mark.parametrize("index", range(len(BREAKS)), ids=[outcome for _, outcome in BREAKS])
def test_each_check_comes_before_all_that_follow(index: int) -> None:
    broken = GOOD
    for changes, _ in BREAKS[index:]:
        broken = replace(broken, **changes)
    assert check(broken) is BREAKS[index][1]
    assert check(replace(GOOD, **BREAKS[index][0])) is BREAKS[index][1]


def test_evidence_without_a_bound_subject_is_held() -> None:
    assert check(replace(GOOD, subject=SubjectMatch.ABSENT)) is EvidenceOutcome.UNBOUND_HELD
    assert check(replace(GOOD, subject=SubjectMatch.ABSENT_BOUND)) is EvidenceOutcome.COMPLETED


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        (ResultMatch.SAME, EvidenceOutcome.DUPLICATE_IGNORED),
        (ResultMatch.OTHER, EvidenceOutcome.CONFLICT_DENIED),
        (ResultMatch.NEW, EvidenceOutcome.CONFLICT_DENIED),
        (ResultMatch.REUSED, EvidenceOutcome.CONFLICT_DENIED),
    ],
)
def test_a_completed_entry_is_never_completed_again(result: ResultMatch, outcome: EvidenceOutcome) -> None:
    assert check(replace(GOOD, state=State.COMPLETE, result=result)) is outcome


@pytest.mark.parametrize("subject", [SubjectMatch.DIFFERENT])
def test_another_user_is_not_told_that_the_entry_is_complete(subject: SubjectMatch) -> None:
    late = replace(GOOD, state=State.COMPLETE, subject=subject, result=ResultMatch.SAME)
    assert check(late) is EvidenceOutcome.WRONG_USER_DENIED


@pytest.mark.parametrize(
    ("state", "occurred", "arrived", "outcome"),
    [
        (State.CONSENT_PENDING, None, -1, EvidenceOutcome.COMPLETED),
        (State.CONSENT_PENDING, None, 0, EvidenceOutcome.EXPIRED_DENIED),
        (State.CONSENT_PENDING, -1, 60, EvidenceOutcome.COMPLETED),
        (State.CONSENT_PENDING, 0, 60, EvidenceOutcome.EXPIRED_DENIED),
        (State.RETRY_REQUIRED, None, 3600, EvidenceOutcome.COMPLETED),
        (State.RETRY_REQUIRED, 0, 3600, EvidenceOutcome.EXPIRED_DENIED),
        (State.EXPIRED, -1, -1, EvidenceOutcome.EXPIRED_DENIED),
        (State.CANCELLED, -1, -1, EvidenceOutcome.NOT_PENDING_DENIED),
        (State.DECLINED, -1, -1, EvidenceOutcome.NOT_PENDING_DENIED),
        (State.CANCELLED, 0, 1, EvidenceOutcome.EXPIRED_DENIED),
    ],
)
def test_the_window_is_half_open(state: State, occurred: int | None, arrived: int, outcome: EvidenceOutcome) -> None:
    late = replace(
        GOOD,
        state=state,
        occurred_at=None if occurred is None else ENDS + timedelta(seconds=occurred),
        now=ENDS + timedelta(seconds=arrived),
    )
    assert check(late) is outcome


@pytest.mark.parametrize("delivery", list(Delivery))
def test_evidence_before_an_answer_waits_unless_no_answer_can_come(delivery: Delivery) -> None:
    outcome = check(replace(GOOD, state=State.ADMITTED, delivery=delivery))
    expected = EvidenceOutcome.COMPLETED if delivery is Delivery.URL_REQUIRED else EvidenceOutcome.HELD
    assert outcome is expected


def test_who_may_not_know_the_entry_is_told_apart_in_the_log_alone() -> None:
    assert {reach: out_of_reach(reach) for reach in Reach} == {
        Reach.OWN: None,
        Reach.SIBLING_SERVICE: EvidenceOutcome.WRONG_SERVICE_DENIED,
        Reach.WRONG_TENANT: EvidenceOutcome.WRONG_TENANT_DENIED,
        Reach.ABSENT: EvidenceOutcome.UNKNOWN_IGNORED,
    }
