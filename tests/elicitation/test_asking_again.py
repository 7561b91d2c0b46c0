"""The table of asking again, row by row: the same question never becomes two, and nobody is sent to pay twice."""

from __future__ import annotations

from typing import Any

import pytest

from elicitation.models import Decision, Elicitation
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.steps import act, apply, complete, consent

pytestmark = pytest.mark.django_db


def test_a_live_entry_is_found_again_and_the_request_is_built_anew(desk: Desk) -> None:
    first = desk.admit().json()
    fresh = {"mode": "url", "message": "Pay, please", "url": f"{builders.PAY_URL}"}
    again = desk.admit(request=fresh)
    assert again.status_code == 200
    assert again.json()["id"] == first["id"]
    assert again.json()["request"]["message"] == "Pay, please"
    assert again.json()["request"]["elicitationId"] == first["wire_id"]
    assert again.json()["expires_at"] == first["expires_at"]
    assert Elicitation.objects.count() == 1


def test_a_live_entry_found_by_another_request_id_is_the_same(desk: Desk) -> None:
    first = desk.admit(operation=builders.operation(request_id="7")).json()
    assert desk.admit(operation=builders.operation(request_id="8")).json()["id"] == first["id"]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"purpose": "third_party_authorization"}, "/purpose"),
        ({"delivery": "url_required"}, "/delivery"),
        ({"form": True, "purpose": "choice"}, "/purpose"),
    ],
)
def test_another_body_for_a_live_operation_conflicts(desk: Desk, changes: dict[str, Any], place: str) -> None:
    public_id = desk.admit().json()["id"]
    before = builders.snapshot(public_id)
    refused = desk.admit(**changes)
    assert (refused.status_code, refused.json()["code"]) == (409, "operation.conflict")
    assert refused.json()["at"] == place
    assert builders.snapshot(public_id) == before


@pytest.mark.parametrize(
    "different",
    [
        {"subject": BOB},
        {"operation": builders.operation(question="second")},
        {"operation": builders.operation(key="again-1")},
        {"operation": builders.operation(target="another_tool")},
        {"operation": builders.operation(arguments_digest="sha256:" + "2" * 64)},
    ],
)
def test_another_operation_is_another_question(desk: Desk, different: dict[str, Any]) -> None:
    first = desk.admit().json()
    second = desk.admit(**different)
    assert second.status_code == 201
    assert second.json()["id"] != first["id"]


def test_a_sibling_services_operation_is_its_own(desk: Desk) -> None:
    first = desk.admit().json()
    assert desk.admit(key=desk.sibling_key).json()["id"] != first["id"]


def test_a_lost_entry_is_found_without_a_request(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    act(desk, public_id, "lost")
    again = desk.admit()
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["state"], again.json()["request"]) == (public_id, "RETRY_REQUIRED", None)


def test_held_evidence_makes_asking_again_a_retry(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    assert builders.entry_of(public_id).state == "ADMITTED"
    again = desk.admit().json()
    assert (again["id"], again["state"], again["request"]) == (public_id, "RETRY_REQUIRED", None)
    assert act(desk, public_id, "retry")["outcome"] == "completed"
    assert builders.passages(public_id)[-2:] == [
        ("retry", "RETRY_REQUIRED", "RETRY_REQUIRED"),
        ("evidence", "RETRY_REQUIRED", "COMPLETE"),
    ]
    assert builders.entry_of(public_id).consent_source == "evidence_only"


def test_a_complete_entry_that_was_not_applied_is_returned_without_a_link(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    again = desk.admit()
    assert again.status_code == 200
    assert (again.json()["id"], again.json()["state"], again.json()["request"]) == (public_id, "COMPLETE", None)


def test_a_paid_result_stays_within_reach_although_the_destination_is_gone(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    builders.withdraw_destination()
    again = desk.admit()
    assert (again.status_code, again.json()["id"]) == (200, public_id)
    assert again.json()["decision"]["outcome"] == "admit"
    apply(desk, public_id)


def test_an_applied_entry_is_replayed_for_a_while_then_asked_anew(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    apply(desk, public_id)
    builders.age(public_id, 899)
    assert desk.admit().json()["id"] == public_id
    builders.age(public_id, 1)
    anew = desk.admit()
    assert anew.status_code == 201
    assert anew.json()["id"] != public_id
    assert anew.json()["predecessor"] is None


def test_a_key_marks_a_deliberate_repeat_at_once(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    apply(desk, public_id)
    assert desk.admit(operation=builders.operation(key="second-booking")).status_code == 201


def test_an_overdue_entry_is_expired_first_and_then_asked_anew(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    builders.age(public_id, 3600)
    anew = desk.admit()
    assert anew.status_code == 201
    assert (anew.json()["predecessor"], anew.json()["after_visit"]) == (public_id, False)
    assert builders.passages(public_id)[-1] == ("deadline", "ADMITTED", "EXPIRED")


def test_an_expired_entry_whose_link_may_have_been_visited_is_named_and_flagged(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    builders.age(public_id, 3600)
    anew = desk.admit()
    assert anew.status_code == 201
    assert (anew.json()["predecessor"], anew.json()["after_visit"]) == (public_id, True)


@pytest.mark.parametrize("ended", ["service", "client"])
def test_a_cancelled_entry_is_asked_anew_and_named(desk: Desk, ended: str) -> None:
    public_id = desk.admit().json()["id"]
    if ended == "service":
        act(desk, public_id, "cancel")
    else:
        body = {"subject": ALICE, "action": "cancel", "content": "absent"}
        assert desk.call(f"elicitations/{public_id}/answer", body).json()["resumable"] is True
    assert desk.admit().json()["predecessor"] == public_id


@pytest.mark.parametrize("action", ["accept", "decline"])
def test_an_answered_form_is_asked_anew(desk: Desk, action: str) -> None:
    public_id = desk.admit(form=True).json()["id"]
    body = {"subject": ALICE, "action": action, "content": "present" if action == "accept" else "absent"}
    assert desk.call(f"elicitations/{public_id}/answer", body).status_code == 200
    anew = desk.admit(form=True)
    assert (anew.status_code, anew.json()["predecessor"]) == (201, None)


def test_open_late_evidence_blocks_a_new_admission_and_shows_no_link(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    builders.age(public_id, 3600)
    sweeps.expire()
    assert desk.event(public_id).status_code == 204
    rows = Elicitation.objects.count()
    refused = desk.admit()
    assert (refused.status_code, refused.json()["code"]) == (409, "evidence_waiting")
    assert "example" not in refused.content.decode()
    assert Elicitation.objects.count() == rows


def test_evidence_held_at_the_end_blocks_too(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    act(desk, public_id, "cancel")
    assert desk.admit().json()["code"] == "evidence_waiting"


def test_the_overdue_entrys_expiry_is_kept_although_the_new_question_is_refused(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    builders.age(public_id, 3600)
    desk.admit()
    assert builders.passages(public_id)[-1] == ("deadline", "ADMITTED", "RETRY_REQUIRED")


def test_a_refused_question_leaves_the_live_entry_alone(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    before = builders.snapshot(public_id)
    client = builders.admission()["client"] | {"capabilities": {"elicitation": {"form": {}}}}
    refused = desk.admit(client=client)
    assert (refused.status_code, refused.json()["code"]) == (422, "capability.mode_undeclared")
    assert builders.snapshot(public_id) == before
    denial = builders.ledger()[-1]
    assert (denial.event, denial.outcome, denial.rule) == ("admit", "deny", "capability.mode_undeclared")
    assert str(denial.decision_id) == refused.json()["decision_id"]


def test_each_admission_leaves_one_decision_whatever_it_says(desk: Desk) -> None:
    before = Decision.objects.count()
    desk.admit()
    desk.admit()
    desk.admit(purpose="choice")
    outcomes = list(Decision.objects.order_by("pk").values_list("outcome", flat=True))[before:]
    assert outcomes == ["admit", "admit", "deny"]


def test_a_services_own_wire_id_is_kept_and_cannot_name_a_second_question(desk: Desk) -> None:
    own = "3f0c9a52-6d0e-4c55-9a51-0f4d0a3a7c11"
    request = builders.admission()["request"] | {"elicitationId": own}
    first = desk.admit(request=request).json()
    assert first["wire_id"] == own
    assert first["request"]["elicitationId"] == own
    second = desk.admit(request=request, operation=builders.operation(question="second"))
    assert (second.status_code, second.json()["at"]) == (409, "/request/elicitationId")
    assert own not in second.content.decode()
    assert desk.admit(request=request, subject=BOB).status_code == 409


def test_a_named_predecessor_must_be_the_services_own_and_the_same_persons(desk: Desk) -> None:
    mine = desk.admit().json()["id"]
    act(desk, mine, "cancel")
    bobs = desk.admit(subject=BOB).json()["id"]
    desk.call(f"elicitations/{bobs}/cancel", {"subject": BOB})
    other = builders.operation(target="another")
    assert desk.admit(operation=other, predecessor=mine).json()["predecessor"] == mine
    for foreign in (bobs, "elc_" + "a" * 26, "nonsense"):
        refused = desk.admit(operation=builders.operation(target="third"), predecessor=foreign)
        assert (refused.status_code, refused.json()["code"]) == (400, "predecessor.unknown")
        assert foreign not in refused.content.decode()


def test_a_destination_whose_provider_is_not_the_tenants_is_denied(desk: Desk) -> None:
    builders.activate(builders.document(provider="globex-pay"))
    refused = desk.admit()
    assert (refused.status_code, refused.json()["code"]) == (422, "destination.provider")


def test_late_evidence_on_any_earlier_entry_of_the_operation_blocks(desk: Desk) -> None:
    first = desk.admit().json()["id"]
    desk.call(f"elicitations/{first}/progress", {"subject": ALICE, "event": "shown"})
    act(desk, first, "cancel")
    second = desk.admit().json()["id"]
    desk.event(first)
    assert desk.admit().json()["code"] == "evidence_waiting"
    act(desk, second, "cancel")
    assert desk.admit().json()["code"] == "evidence_waiting"
    assert Elicitation.objects.count() == 2


def test_a_lost_entry_conflicts_with_another_body(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    act(desk, public_id, "lost")
    assert desk.admit(purpose="third_party_authorization").json()["code"] == "operation.conflict"


def test_cancelling_says_that_held_evidence_became_late(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    assert act(desk, public_id, "cancel")["evidence_waiting"] is True


def test_an_operations_own_predecessor_cannot_be_replaced_by_another(desk: Desk) -> None:
    other = builders.operation(target="another")
    foreign = desk.admit(operation=other).json()["id"]
    live = desk.admit(operation=other, predecessor=foreign)
    assert live.json()["id"] == foreign
    act(desk, foreign, "cancel")
    mine = desk.admit().json()["id"]
    act(desk, mine, "cancel")
    before = Decision.objects.count()
    assert desk.admit(predecessor=foreign).json()["code"] == "predecessor.unknown"
    assert Decision.objects.count() == before
    assert desk.admit(predecessor=mine).json()["predecessor"] == mine
