"""Evidence that an entry could not use is honoured by two operators, once, or not at all."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from audit.models import Signal
from elicitation.models import Elicitation, Evidence, HonourProposal
from elicitation.policy.lifecycle import State
from elicitation.services import actors, honouring, operators
from elicitation.services.honouring import NotHonoured
from elicitation.services.move import TransitionRefused
from elicitation.services.operators import CloseReason
from elicitation.services.proposals import Obstacle, Stands, prospect, where
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.honoured import assert_refused, everything, evidence_of, late, propose, withdrawn
from tests.steps import act, ask, consent, say

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(db: None) -> int:
    return User.objects.create_superuser("olga").pk


@pytest.fixture
def oscar(db: None) -> int:
    return User.objects.create_superuser("oscar").pk


@pytest.mark.parametrize("state", [State.CANCELLED, State.EXPIRED, State.DECLINED])
def test_two_operators_honour_late_evidence_and_the_call_gets_its_result(
    desk: Desk, olga: int, oscar: int, state: State
) -> None:
    public_id = late(desk, state)
    proposal = propose(public_id, olga)
    assert builders.entry_of(public_id).state == state
    assert honouring.approve(proposal.uid, oscar).entry.state == "COMPLETE"
    entry, row = builders.entry_of(public_id), evidence_of(public_id)
    assert (entry.state, entry.completion_source, entry.result_digest) == ("COMPLETE", "operator", row.result_digest)
    assert (row.status, entry.late_evidence, entry.unresolved, entry.cancelled_by) == ("used", False, False, "")
    assert entry.consent_source == ("evidence_only" if state is State.DECLINED else "answer")
    asked = desk.admit()
    assert (asked.status_code, asked.json()["id"], asked.json()["request"]) == (200, public_id, None)
    handed = desk.call(f"elicitations/{public_id}/consume", {"subject": ALICE, "operation": builders.operation()})
    assert (handed.json()["outcome"], handed.json()["result_ref"]) == ("applied", "pi_late")


def test_the_ledger_names_both_operators_and_the_evidence(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    honouring.approve(propose(public_id, olga).uid, oscar)
    proposed, honoured = builders.ledger(public_id)[-2:]
    uid = evidence_of(public_id).uid
    assert (proposed.event, proposed.actor_id, proposed.related_id) == ("honour_proposed", str(olga), uid)
    assert (proposed.state_from, proposed.state_to) == ("CANCELLED", "CANCELLED")
    assert (honoured.event, honoured.actor_id, honoured.related_id) == ("honour_evidence", str(oscar), uid)
    assert (honoured.state_from, honoured.state_to, honoured.outcome) == ("CANCELLED", "COMPLETE", "completed")
    assert (honoured.completion_source, honoured.role) == ("operator", "operator")


def test_two_operators_honour_evidence_for_a_withdrawn_destination(desk: Desk, olga: int, oscar: int) -> None:
    public_id = withdrawn(desk)
    honouring.approve(propose(public_id, olga).uid, oscar)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.held_evidence, entry.deadline) == ("COMPLETE", False, None)
    assert evidence_of(public_id).status == "used"


def test_other_late_evidence_contradicts_from_then_on_and_is_a_signal(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    desk.event(public_id, "pi_other")
    entry = builders.entry_of(public_id)
    chosen = Evidence.objects.filter(elicitation=entry).order_by("-pk")[0]
    honouring.approve(honouring.propose(entry.uid, chosen.uid, olga).uid, oscar)
    rows = Evidence.objects.filter(elicitation=entry).order_by("pk")
    assert [row.status for row in rows] == ["conflict", "used"]
    assert builders.entry_of(public_id).late_evidence is False
    assert Signal.objects.get(rule="conflicting_result").about == entry.uid.hex


def test_whoever_proposed_it_cannot_approve_it(desk: Desk, olga: int) -> None:
    public_id = late(desk)
    proposal = propose(public_id, olga)
    assert_refused(public_id, Obstacle.SAME_PERSON, lambda: honouring.approve(proposal.uid, olga))


@pytest.mark.parametrize("what", ["call ended", "more evidence", "reversed", "closed", "deadline"])
def test_whatever_happens_to_the_entry_voids_the_proposal(desk: Desk, olga: int, oscar: int, what: str) -> None:
    public_id = withdrawn(desk) if what == "deadline" else late(desk)
    proposal = propose(public_id, olga)
    match what:
        case "call ended":
            act(desk, public_id, "progress", event="call_ended")
        case "more evidence":
            desk.event(public_id, "pi_more")
        case "reversed":
            say(desk, "reversed", public_id, "pi_late")
        case "closed":
            operators.close(builders.entry_of(public_id).uid, actors.operator(oscar), CloseReason.REFUNDED)
        case "deadline":
            builders.age(public_id, 100_000)
            expiring.expire()
    assert prospect(builders.entry_of(public_id), proposal.proposed_at).waiting is None
    assert_refused(public_id, Obstacle.ENTRY_CHANGED, lambda: honouring.approve(proposal.uid, oscar))


def test_the_same_confirmation_again_does_not_void_the_proposal(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    proposal = propose(public_id, olga)
    desk.event(public_id, "pi_late")
    honouring.approve(proposal.uid, oscar)
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_an_approval_at_the_deadline_finds_the_entry_expired(desk: Desk, olga: int, oscar: int) -> None:
    public_id = withdrawn(desk)
    proposal = propose(public_id, olga)
    builders.age(public_id, 100_000)
    with pytest.raises(NotHonoured) as refusal:
        honouring.approve(proposal.uid, oscar)
    assert (refusal.value.obstacle, refusal.value.state) == (Obstacle.ENTRY_CHANGED, State.EXPIRED)
    assert [row.event for row in builders.ledger(public_id)][-2:] == ["deadline", "refused"]
    assert evidence_of(public_id).status == "late"


def test_a_proposal_lapses_after_24_hours_and_another_takes_its_place(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    proposal = propose(public_id, olga)
    assert proposal.expires_at - proposal.proposed_at == timedelta(hours=24)
    entry = builders.entry_of(public_id)
    assert where(proposal, entry, proposal.expires_at - timedelta(microseconds=1)) is Stands.WAITS
    assert where(proposal, entry, proposal.expires_at) is Stands.LAPSED
    HonourProposal.objects.update(expires_at=F("expires_at") - timedelta(hours=24))
    for verb in (honouring.approve, honouring.withdraw):
        before = everything(public_id)
        with pytest.raises(NotHonoured) as refusal:
            verb(proposal.uid, oscar)
        assert (refusal.value.obstacle, everything(public_id)) == (Obstacle.PROPOSAL_EXPIRED, before)
    second = propose(public_id, oscar)
    assert list(HonourProposal.objects.order_by("pk").values_list("status", flat=True)) == ["void", "open"]
    honouring.approve(second.uid, olga)
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_second_proposal_does_not_push_the_first_aside(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    propose(public_id, olga)
    assert_refused(public_id, Obstacle.ENTRY_CHANGED, lambda: propose(public_id, oscar))


@pytest.mark.parametrize("who", ["proposer", "another"])
def test_a_withdrawn_proposal_cannot_be_approved(desk: Desk, olga: int, oscar: int, who: str) -> None:
    public_id = late(desk)
    proposal, before = propose(public_id, olga), builders.snapshot(public_id)
    honouring.withdraw(proposal.uid, olga if who == "proposer" else oscar)
    row = builders.ledger(public_id)[-1]
    assert (row.event, row.related_id) == ("honour_withdrawn", evidence_of(public_id).uid)
    after = builders.snapshot(public_id)
    assert after["evidence"] == before["evidence"]
    assert {name for name in after["entry"] if after["entry"][name] != before["entry"][name]} == {"version"}
    assert_refused(public_id, Obstacle.PROPOSAL_EXPIRED, lambda: honouring.approve(proposal.uid, oscar))
    assert propose(public_id, oscar).status == "open"


def test_an_approved_proposal_is_over(desk: Desk, olga: int, oscar: int) -> None:
    public_id = late(desk)
    proposal = propose(public_id, olga)
    honouring.approve(proposal.uid, oscar)
    before = everything(public_id)
    for verb in (honouring.approve, honouring.withdraw):
        with pytest.raises(NotHonoured) as refusal:
            verb(proposal.uid, oscar)
        assert (refusal.value.obstacle, everything(public_id)) == (Obstacle.ENTRY_CHANGED, before)


@pytest.mark.parametrize("what", ["complete", "unbound", "held", "closed", "another entry's"])
def test_only_open_evidence_is_proposed(desk: Desk, olga: int, what: str) -> None:
    public_id = ask(desk, 1)
    match what:
        case "complete":
            consent(desk, public_id)
            desk.event(public_id)
        case "unbound":
            consent(desk, public_id)
            desk.event(public_id, subject=None)
            act(desk, public_id, "lost")
        case "held":
            desk.event(public_id)
        case "closed":
            act(desk, public_id, "cancel")
            desk.event(public_id)
            operators.close(builders.entry_of(public_id).uid, actors.operator(olga), CloseReason.REFUNDED)
        case "another entry's":
            act(desk, public_id, "cancel")
            desk.event(public_id)
    row = evidence_of(late(desk, result="pi_9")) if what == "another entry's" else evidence_of(public_id)
    uid = builders.entry_of(public_id).uid
    assert_refused(public_id, Obstacle.NOT_OPEN, lambda: honouring.propose(uid, row.uid, olga))


def test_what_was_closed_is_not_honoured_when_more_evidence_comes(desk: Desk, olga: int) -> None:
    public_id = late(desk)
    closed, uid = evidence_of(public_id), builders.entry_of(public_id).uid
    operators.close(uid, actors.operator(olga), CloseReason.REFUNDED)
    desk.event(public_id, "pi_more")
    assert_refused(public_id, Obstacle.NOT_OPEN, lambda: honouring.propose(uid, closed.uid, olga))


def test_a_proposal_is_for_the_state_that_was_seen(desk: Desk, olga: int) -> None:
    public_id = late(desk)
    uid, row = builders.entry_of(public_id).uid, evidence_of(public_id)
    assert_refused(
        public_id, Obstacle.ENTRY_CHANGED, lambda: honouring.propose(uid, row.uid, olga, seen=State.RETRY_REQUIRED)
    )


def test_nobody_asks_the_provider_while_two_people_decide(desk: Desk, olga: int) -> None:
    public_id = late(desk)
    soon = builders.entry_of(public_id).admitted_at
    Elicitation.objects.update(next_lookup_at=soon)
    proposal = propose(public_id, olga)
    assert builders.entry_of(public_id).next_lookup_at == proposal.expires_at
    honouring.withdraw(proposal.uid, olga)
    asked = builders.entry_of(public_id).next_lookup_at
    assert asked is not None
    assert soon < asked < proposal.expires_at


def unresolved(desk: Desk) -> str:
    public_id: str = desk.admit().json()["id"]
    consent(desk, public_id)
    act(desk, public_id, "lost")
    builders.age(public_id, 100_000)
    expiring.expire()
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.unresolved) == ("EXPIRED", True)
    return public_id


def test_an_unresolved_outcome_is_closed_once_with_a_reason(desk: Desk, olga: int) -> None:
    public_id = unresolved(desk)
    uid, by = builders.entry_of(public_id).uid, actors.operator(olga)
    assert operators.close(uid, by, CloseReason.DUPLICATE).late is False
    entry, row = builders.entry_of(public_id), builders.ledger(public_id)[-1]
    assert (entry.state, entry.unresolved) == ("EXPIRED", False)
    assert (row.event, row.reason_code, row.outcome) == ("close", "duplicate", "unknown")
    before = builders.snapshot(public_id)
    with pytest.raises(TransitionRefused):
        operators.close(uid, by, CloseReason.OTHER)
    assert builders.snapshot(public_id) == before


def test_closing_late_evidence_settles_the_unresolved_outcome_too(desk: Desk, olga: int) -> None:
    public_id = unresolved(desk)
    desk.event(public_id, "pi_found")
    operators.close(builders.entry_of(public_id).uid, actors.operator(olga), CloseReason.REFUNDED)
    entry = builders.entry_of(public_id)
    assert (entry.late_evidence, entry.unresolved, evidence_of(public_id).status) == (False, False, "closed")


def test_honouring_settles_the_unresolved_outcome(desk: Desk, olga: int, oscar: int) -> None:
    public_id = unresolved(desk)
    desk.event(public_id, "pi_found")
    honouring.approve(propose(public_id, olga).uid, oscar)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.unresolved, entry.late_evidence) == ("COMPLETE", False, False)
