"""The judge of the crash runs finds each fault: a run that cannot fail would say nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from elicitation.policy import identifiers
from tests.crash.clients import Flow, Kind
from tests.crash.judging import Evidence, Fault, Line, Row, judge

UID = UUID(int=4711)
BEGAN = datetime(2026, 1, 31, 12, tzinfo=UTC)
Story = list[tuple[str, str, str]]
PASSAGES: Story = [
    ("admit", "", "ADMITTED"),
    ("answer_accept", "ADMITTED", "CONSENT_PENDING"),
    ("evidence", "CONSENT_PENDING", "COMPLETE"),
    ("refused", "COMPLETE", "COMPLETE"),
    ("consume", "COMPLETE", "COMPLETE"),
]


def paid() -> Flow:
    """Alice paid, the provider told it twice, and the call took the result."""
    flow = Flow(1, Kind.PAID, "run", id=identifiers.mint_text(UID.bytes), told=True, finished=True)
    flow.seen.update(["admit", "answer_accept", "evidence", "consume"])
    flow.handed.append(("applied", flow.reference, False))
    return flow


def lines(passages: Story) -> list[Line]:
    return [
        Line(*passage, "duplicate_ignored" if passage[0] == "refused" else "", BEGAN + timedelta(seconds=second))
        for second, passage in enumerate(passages)
    ]


ROW = Row(
    id=UID,
    state="COMPLETE",
    version=3,
    late=False,
    used_rows=1,
    late_rows=0,
    held_rows=0,
    overdue=False,
    looked_up=False,
    before=None,
)


def found(flow: Flow, row: Row | None, passages: Story, **more: int) -> set[Fault]:
    rows = {} if row is None else {row.id: row}
    verdict = judge(Evidence([flow], rows, {UID: lines(passages)}, **more))
    assert verdict.clean is not any(verdict.faults.values())
    return {fault for fault, places in verdict.faults.items() if places}


def test_a_life_that_all_agree_about_is_clean() -> None:
    assert found(paid(), ROW, PASSAGES) == set()


def test_an_entry_that_is_gone_is_a_lost_completion() -> None:
    assert Fault.LOST in found(paid(), None, PASSAGES)


@pytest.mark.parametrize(
    "row",
    [
        replace(ROW, state="CONSENT_PENDING", used_rows=0),
        replace(ROW, state="EXPIRED", used_rows=0),
        replace(ROW, state="EXPIRED", used_rows=0, late_rows=1),
        replace(ROW, used_rows=0),
    ],
)
def test_a_completion_that_was_acknowledged_and_is_nowhere_is_lost(row: Row) -> None:
    assert Fault.LOST in found(paid(), row, PASSAGES)


def test_another_reference_than_the_providers_is_a_lost_completion_and_a_wrong_result() -> None:
    flow = paid()
    flow.handed = [("applied", "pi_other", False)]
    assert found(flow, ROW, PASSAGES) == {Fault.LOST, Fault.TWICE}


def test_a_completion_after_the_end_is_not_lost_while_it_is_kept_as_late() -> None:
    flow = replace(paid(), kind=Kind.LATE, handed=[])
    flow.seen.subtract(["answer_accept", "evidence", "consume"])
    row = replace(ROW, state="EXPIRED", version=2, late=True, used_rows=0, late_rows=1)
    passages = [PASSAGES[0], ("deadline", "ADMITTED", "EXPIRED"), ("refused", "EXPIRED", "EXPIRED")]
    assert found(flow, row, passages) == set()


def test_a_result_that_was_applied_twice_is_found_by_what_was_told_and_on_the_ledger() -> None:
    flow = paid()
    flow.handed *= 2
    assert found(flow, ROW, PASSAGES) == {Fault.TWICE}
    assert Fault.TWICE in found(paid(), replace(ROW, version=4), [*PASSAGES, PASSAGES[-1]])


@pytest.mark.parametrize(
    "spoil",
    [
        lambda story: story[1:],
        lambda story: story[:1] + story[2:],
        lambda story: [*story[:3], ("refused", "DECLINED", "DECLINED"), *story[4:]],
        lambda story: story[:2],
        lambda story: [],
    ],
)
def test_a_ledger_with_a_gap_explains_nothing(spoil: Callable[[Story], Story]) -> None:
    assert Fault.UNEXPLAINED in found(paid(), ROW, spoil(PASSAGES))


@pytest.mark.parametrize("version", [2, 5])
def test_a_version_that_the_ledger_does_not_account_for_is_found(version: int) -> None:
    assert found(paid(), replace(ROW, version=version), PASSAGES) == {Fault.UNEXPLAINED}


def test_a_refusal_that_accuses_somebody_is_found() -> None:
    story = lines(PASSAGES)
    story[3] = replace(story[3], outcome="result_reused_denied")
    verdict = judge(Evidence([paid()], {UID: ROW}, {UID: story}))
    assert [fault for fault, places in verdict.faults.items() if places] == [Fault.ACCUSED]


def test_an_entry_that_outlives_its_deadline_is_found() -> None:
    assert Fault.OVERDUE in found(paid(), replace(ROW, state="CONSENT_PENDING", overdue=True), PASSAGES[:2])


def test_an_event_that_was_acknowledged_and_is_not_on_the_ledger_is_found() -> None:
    flow = paid()
    flow.seen["lost"] += 1
    assert found(flow, ROW, PASSAGES) == {Fault.MISCOUNTED}


def test_an_end_that_the_flow_cannot_have_is_found() -> None:
    assert found(replace(paid(), kind=Kind.DECLINED), ROW, PASSAGES) == {Fault.WRONG_END}


def test_an_entry_that_nobody_was_told_of_must_have_expired_before_the_one_that_follows_it() -> None:
    other = replace(ROW, id=UUID(int=1), state="EXPIRED", version=1, used_rows=0)
    story = {UID: lines(PASSAGES), other.id: lines([PASSAGES[0], ("deadline", "ADMITTED", "EXPIRED")])}
    followed = judge(Evidence([paid()], {UID: replace(ROW, before=other.id), other.id: other}, story))
    assert (followed.clean, followed.untold) == (True, 1)
    alone = judge(Evidence([paid()], {UID: ROW, other.id: other}, story))
    assert alone.faults[Fault.WRONG_END]


def test_a_broken_reply_a_client_without_an_answer_and_a_process_that_ended_are_found() -> None:
    flow = paid()
    flow.problems.append("no answer")
    assert found(flow, ROW, PASSAGES, broken=1, ended=1) == {Fault.UNANSWERED, Fault.BROKEN, Fault.ENDED}
