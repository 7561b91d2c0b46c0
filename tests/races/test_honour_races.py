"""An approval against everything else that can happen at the same time: one winner, and honest words to the loser."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User

from elicitation.models import Elicitation, Evidence, HonourProposal
from elicitation.services import actors, honouring, operators
from elicitation.services.honouring import NotHonoured
from elicitation.services.move import Refusal, TransitionRefused
from elicitation.services.operators import CloseReason
from elicitation.services.proposals import Obstacle
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.admin_pages import signed_in
from tests.elicitation.honoured import evidence_of, late, withdrawn
from tests.racing import assert_the_ledger_explains, at_once
from tests.steps import act, say

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def people(db: None) -> list[int]:
    return [User.objects.create_superuser(f"operator{number}").pk for number in range(9)]


def propose(public_id: str, user_id: int) -> HonourProposal:
    return honouring.propose(builders.entry_of(public_id).uid, evidence_of(public_id).uid, user_id)


def tried(call: Callable[[], Any]) -> Any:
    """What came of it, or the refusal."""
    try:
        return call()
    except Refusal as refusal:
        return refusal


def honoured(public_id: str) -> int:
    return [row.event for row in builders.ledger(public_id)].count("honour_evidence")


def test_of_eight_proposals_at_once_one_is_open(desk: Desk, people: list[int]) -> None:
    public_id = late(desk)
    results = at_once([partial(tried, partial(propose, public_id, one)) for one in people[:8]], 8)
    refused = [result.obstacle for result in results if isinstance(result, NotHonoured)]
    assert refused == [Obstacle.ENTRY_CHANGED] * 7
    assert HonourProposal.objects.get().status == "open"
    assert [row.event for row in builders.ledger(public_id)].count("honour_proposed") == 1


def test_of_eight_approvers_at_once_one_honours(desk: Desk, people: list[int]) -> None:
    public_id = late(desk)
    proposal = propose(public_id, people[8])
    results = at_once([partial(tried, partial(honouring.approve, proposal.uid, one)) for one in people[:8]], 8)
    refused = [result.obstacle for result in results if isinstance(result, NotHonoured)]
    assert refused == [Obstacle.ENTRY_CHANGED] * 7
    assert honoured(public_id) == 1
    assert_the_ledger_explains(builders.entry_of(public_id))


def test_two_approvers_on_their_pages_are_both_told_the_truth(desk: Desk, people: list[int]) -> None:
    public_id = late(desk)
    proposal = propose(public_id, people[0])
    clients = [signed_in(User.objects.get(pk=one)) for one in people[1:3]]
    data = {"seen": "CANCELLED", "proposal": str(proposal.uid)}
    path = f"/admin/elicitation/elicitation/{public_id}/approve/"
    responses = at_once([partial(client.post, path, data) for client in clients], 2)
    assert sorted(response.status_code for response in responses) == [302, 409]
    loser = next(response for response in responses if response.status_code == 409).content.decode()
    assert "Nothing was changed by you. It is now: Complete." in loser
    assert honoured(public_id) == 1


@pytest.mark.parametrize("rival", ["close", "withdraw", "reversal", "call ended", "more evidence"])
@pytest.mark.parametrize("round_", range(3))
def test_an_approval_and_what_voids_it_have_one_winner(desk: Desk, people: list[int], rival: str, round_: int) -> None:
    public_id = late(desk)
    proposal, uid = propose(public_id, people[0]), builders.entry_of(public_id).uid
    rivals: dict[str, Callable[[], Any]] = {
        "close": lambda: operators.close(uid, actors.operator(people[2]), CloseReason.REFUNDED),
        "withdraw": lambda: honouring.withdraw(proposal.uid, people[0]),
        "reversal": lambda: say(desk, "reversed", public_id, "pi_late"),
        "call ended": lambda: act(desk, public_id, "progress", event="call_ended"),
        "more evidence": lambda: desk.event(public_id, "pi_more"),
    }
    approved, other = at_once(
        [partial(tried, partial(honouring.approve, proposal.uid, people[1])), partial(tried, rivals[rival])], 2
    )
    entry, row = builders.entry_of(public_id), Evidence.objects.filter(elicitation__uid=uid).earliest("pk")
    assert_the_ledger_explains(entry)
    if isinstance(approved, NotHonoured):
        assert approved.obstacle in (Obstacle.ENTRY_CHANGED, Obstacle.PROPOSAL_EXPIRED)
        assert (entry.state, honoured(public_id), row.status != "used") == ("CANCELLED", 0, True)
        assert not isinstance(other, Refusal)
    else:
        assert (entry.state, honoured(public_id), row.status) == ("COMPLETE", 1, "used")
        assert entry.late_evidence is False
        if rival in ("close", "withdraw"):
            assert isinstance(other, TransitionRefused | NotHonoured)
        assert (entry.reversed_at is not None) == (rival == "reversal")


@pytest.mark.parametrize("round_", range(3))
def test_an_approval_and_the_same_operation_asking_again_leave_one_open_entry(
    desk: Desk, people: list[int], round_: int
) -> None:
    public_id = late(desk)
    proposal = propose(public_id, people[0])
    calls: list[Callable[[], Any]] = [desk.admit for _ in range(3)]
    results = at_once([partial(tried, partial(honouring.approve, proposal.uid, people[1])), *calls], 4)
    assert builders.entry_of(public_id).state == "COMPLETE"
    assert Elicitation.objects.count() == 1
    assert {response.status_code for response in results[1:]} <= {200, 409}


@pytest.mark.parametrize("round_", range(3))
def test_a_closing_an_approval_and_the_operation_asking_again_never_give_two_open_entries(
    desk: Desk, people: list[int], round_: int
) -> None:
    public_id = late(desk)
    proposal, uid = propose(public_id, people[0]), builders.entry_of(public_id).uid
    closing = partial(operators.close, uid, actors.operator(people[2]), CloseReason.REFUNDED)
    at_once(
        [
            partial(tried, closing),
            partial(tried, partial(honouring.approve, proposal.uid, people[1])),
            desk.admit,
            desk.admit,
        ],
        4,
    )
    open_ = Elicitation.objects.filter(state__in=["ADMITTED", "COMPLETE"])
    assert open_.count() <= 1
    for entry in Elicitation.objects.all():
        assert_the_ledger_explains(entry)


@pytest.mark.parametrize("round_", range(3))
def test_one_result_is_used_once_also_when_two_approvals_and_a_completion_want_it(
    desk: Desk, people: list[int], round_: int
) -> None:
    ids = [late(desk, operation=builders.operation(question=str(number))) for number in range(2)]
    pending = desk.admit(operation=builders.operation(question="pending")).json()["id"]
    act(desk, pending, "answer", action="accept", content="absent")
    proposals = [propose(one, people[0]) for one in ids]
    approvals: list[Callable[[], Any]] = [
        partial(tried, partial(honouring.approve, proposal.uid, people[1])) for proposal in proposals
    ]
    at_once([*approvals, lambda: desk.event(pending, "pi_late")], 3)
    states = Counter(builders.entry_of(one).state for one in [*ids, pending])
    assert states["COMPLETE"] == 1
    assert Evidence.objects.filter(status="used").count() == 1


def test_an_approval_races_with_retries_and_the_sweep(desk: Desk, people: list[int]) -> None:
    public_id = withdrawn(desk)
    proposal = propose(public_id, people[0])
    builders.age(public_id, 86_400 - 3_600)
    retry = partial(desk.call, f"elicitations/{public_id}/retry", {"subject": ALICE})
    results = at_once(
        [partial(tried, partial(honouring.approve, proposal.uid, people[1])), retry, retry, expiring.expire], 4
    )
    assert {response.status_code for response in results[1:3]} <= {200, 409}
    entry = builders.entry_of(public_id)
    assert entry.state == ("COMPLETE" if honoured(public_id) else "RETRY_REQUIRED")
    assert_the_ledger_explains(entry)
