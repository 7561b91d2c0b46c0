"""Evidence that waits: for consent, for the person it is about, or for its destination to stand again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from elicitation.models import Evidence
from tests import builders
from tests.builders import ALICE, Desk
from tests.steps import act, consent, consented, outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture
def pending(desk: Desk) -> str:
    return consented(desk)


def test_evidence_without_a_person_is_held_until_somebody_says_whose_it_is(desk: Desk, pending: str) -> None:
    desk.event(pending, subject=None)
    assert builders.entry_of(pending).state == "CONSENT_PENDING"
    assert Evidence.objects.get().status == "unbound"
    assert outcomes(pending) == ["unbound_held"]


def test_evidence_before_consent_is_held_and_used_by_the_answer(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    assert builders.entry_of(public_id).state == "ADMITTED"
    desk.event(public_id)
    assert Evidence.objects.count() == 1
    consent(desk, public_id)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.consent_source, entry.held_evidence) == ("COMPLETE", "answer", False)
    assert builders.passages(public_id)[-2:] == [
        ("answer_accept", "ADMITTED", "CONSENT_PENDING"),
        ("evidence", "CONSENT_PENDING", "COMPLETE"),
    ]


def test_a_withdrawn_destination_holds_the_evidence_until_it_stands_again(desk: Desk, pending: str) -> None:
    builders.withdraw_destination()
    desk.event(pending)
    assert builders.entry_of(pending).state == "RETRY_REQUIRED"
    assert act(desk, pending, "retry")["outcome"] == "policy_withdrawn_held"
    assert builders.entry_of(pending).state == "RETRY_REQUIRED"
    builders.activate()
    assert act(desk, pending, "retry")["outcome"] == "completed"
    assert builders.entry_of(pending).state == "COMPLETE"


def test_a_tightened_policy_cancels_at_the_answer_and_keeps_what_was_held(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    builders.withdraw_destination()
    body = {"subject": ALICE, "action": "accept", "content": "absent"}
    answered = desk.call(f"elicitations/{public_id}/answer", body).json()
    assert (answered["state"], answered["cancelled_by"], answered["evidence_waiting"]) == ("CANCELLED", "policy", True)
    last = builders.ledger(public_id)[-1]
    assert last.rule == "url.origin_not_listed"
    assert (last.policy_revision, last.admission_revision) == (3, 2)


def test_evidence_sent_again_with_its_person_is_bound_and_used(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id, subject=None)
    desk.event(public_id)
    assert Evidence.objects.get().status == "held"
    consent(desk, public_id)
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_unbound_evidence_for_a_pending_entry_is_used_once_its_person_is_named(desk: Desk, pending: str) -> None:
    desk.event(pending, subject=None)
    assert act(desk, pending, "lost")["state"] == "RETRY_REQUIRED"
    assert act(desk, pending, "retry")["outcome"] == "unbound_held"
    desk.event(pending)
    assert builders.entry_of(pending).state == "COMPLETE"


@pytest.mark.parametrize("state", ["ADMITTED", "CONSENT_PENDING"])
def test_nobody_is_sent_to_pay_while_unbound_evidence_waits(desk: Desk, state: str) -> None:
    public_id = desk.admit().json()["id"]
    if state == "CONSENT_PENDING":
        consent(desk, public_id)
    desk.event(public_id, subject=None)
    again = desk.admit().json()
    assert (again["id"], again["request"]) == (public_id, None)


@pytest.mark.parametrize("end", ["cancel", "expire"])
def test_evidence_without_a_person_after_the_end_is_late(desk: Desk, end: str) -> None:
    public_id = desk.admit().json()["id"]
    if end == "cancel":
        act(desk, public_id, "cancel")
    else:
        builders.age(public_id, 3600)
    desk.event(public_id, subject=None)
    assert builders.entry_of(public_id).late_evidence
    assert Evidence.objects.get().status == "late"


def test_a_destination_that_requires_the_page_holds_evidence_until_then(desk: Desk) -> None:
    from elicitation.policy.destinations import Destination

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Destination, "connect_page", property(lambda self: True), raising=False)
        public_id = desk.admit(delivery="url_required").json()["id"]
        desk.event(public_id)
        assert builders.entry_of(public_id).state == "ADMITTED"
        assert Evidence.objects.get().status == "held"


def test_proof_that_came_without_a_time_under_a_withdrawn_destination_is_used_later(desk: Desk, pending: str) -> None:
    act(desk, pending, "lost")
    builders.withdraw_destination()
    builders.age(pending, 3700)
    desk.event(pending)
    builders.activate()
    assert act(desk, pending, "retry")["outcome"] == "completed"


def test_an_answer_again_completes_when_what_waited_passes_now(desk: Desk, pending: str) -> None:
    builders.withdraw_destination()
    desk.event(pending)
    builders.activate()
    consent(desk, pending)
    assert builders.entry_of(pending).state == "COMPLETE"


def test_a_reused_result_that_was_held_is_refused_at_the_answer_on_the_record(desk: Desk) -> None:
    ids = [desk.admit(operation=builders.operation(question=str(n))).json()["id"] for n in range(2)]
    for public_id in ids:
        desk.event(public_id)
    for public_id in ids:
        consent(desk, public_id)
    assert [builders.entry_of(public_id).state for public_id in ids] == ["COMPLETE", "CONSENT_PENDING"]
    assert outcomes(ids[1])[-1] == "result_reused_denied"


def test_a_provider_that_says_more_leaves_no_flag_behind(desk: Desk) -> None:
    """The same reference again, now done after the window, and once more without saying when."""
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    after = (timezone.now() + timedelta(days=30)).isoformat()
    for more, flags in (({"occurred_at": after}, (False, True)), ({}, (True, False))):
        assert desk.event(public_id, **more).status_code == 204
        entry = builders.entry_of(public_id)
        assert (entry.held_evidence, entry.late_evidence) == flags
    assert Evidence.objects.count() == 1


def test_a_repeat_that_says_less_takes_nothing_away(desk: Desk) -> None:
    """Withdrawn evidence that names the person can be honoured; the same without the name adds no doubt."""
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    builders.withdraw_destination()
    desk.event(public_id)
    before = builders.snapshot(public_id)
    assert before["evidence"][0]["status"] == "withdrawn"
    assert desk.event(public_id, subject=None).status_code == 204
    assert builders.snapshot(public_id) == before
