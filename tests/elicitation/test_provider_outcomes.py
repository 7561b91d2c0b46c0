"""A provider's other words: the work failed, a completion was taken back; and the trace that a delivery leaves."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from audit.models import Signal
from elicitation.models import Evidence, WebhookDelivery
from elicitation.services import actors, honouring, operators
from elicitation.services.deliveries import KEPT
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.steps import act, apply, complete, consent, say

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("state", ["CONSENT_PENDING", "RETRY_REQUIRED", "url_required"])
def test_a_failure_ends_what_is_pending_and_it_may_be_asked_again(desk: Desk, state: str) -> None:
    public_id = desk.admit(delivery="url_required" if state == "url_required" else "create").json()["id"]
    if state != "url_required":
        consent(desk, public_id)
    if state == "RETRY_REQUIRED":
        act(desk, public_id, "lost")
    assert say(desk, "failed", public_id, None).status_code == 204
    entry = desk.call(f"elicitations/{public_id}", method="GET").json()
    assert (entry["state"], entry["cancelled_by"], entry["resumable"]) == ("CANCELLED", "provider", True)
    last = builders.ledger(public_id)[-1]
    assert (last.event, last.outcome, last.actor_id) == ("provider_failure", "failed", "example-pay")


@pytest.mark.parametrize("state", ["ADMITTED", "COMPLETE", "CANCELLED", "EXPIRED"])
def test_a_failure_of_what_is_not_pending_changes_nothing_and_is_noted(desk: Desk, state: str) -> None:
    public_id = desk.admit().json()["id"]
    match state:
        case "COMPLETE":
            complete(desk, public_id)
        case "CANCELLED":
            act(desk, public_id, "cancel")
        case "EXPIRED":
            builders.age(public_id, 3600)
            sweeps.expire()
    before = builders.snapshot(public_id)
    assert say(desk, "failed", public_id, None).status_code == 204
    assert builders.snapshot(public_id) == before
    assert builders.ledger(public_id)[-1].outcome == "not_pending_denied"


def test_a_reversal_is_shown_to_the_call_that_takes_the_result(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    assert say(desk, "reversed", public_id).status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.reversed_at is not None) == ("COMPLETE", True)
    body = {"subject": ALICE, "operation": builders.operation()}
    taken = desk.call(f"elicitations/{public_id}/consume", body).json()
    assert (taken["outcome"], taken["reversed"]) == ("applied", True)
    assert [(signal.rule, signal.count) for signal in Signal.objects.filter(rule="reversal")] == [("reversal", 1)]
    before = builders.snapshot(public_id)
    say(desk, "reversed", public_id)
    assert builders.snapshot(public_id) == before
    assert builders.ledger(public_id)[-1].outcome == "duplicate_ignored"


def test_a_reversal_of_another_result_is_a_conflict(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    before = builders.snapshot(public_id)
    say(desk, "reversed", public_id, "pi_other")
    assert builders.snapshot(public_id) == before
    assert builders.ledger(public_id)[-1].outcome == "conflict_denied"


def test_evidence_that_was_taken_back_before_its_use_is_used_no_more(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    say(desk, "reversed", public_id)
    consent(desk, public_id)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.held_evidence) == ("CONSENT_PENDING", False)
    desk.event(public_id)
    assert (builders.entry_of(public_id).state, Evidence.objects.get().status) == ("CONSENT_PENDING", "reversed")
    desk.event(public_id, "pi_2")
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_late_evidence_that_was_taken_back_blocks_nobody(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "cancel")
    desk.event(public_id)
    assert desk.admit().json()["code"] == "evidence_waiting"
    say(desk, "reversed", public_id)
    assert desk.admit().status_code == 201


@pytest.mark.parametrize("kind", ["failed", "reversed"])
def test_nobody_else_can_fail_or_reverse(desk: Desk, kind: str) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id) if kind == "reversed" else consent(desk, public_id)
    before = builders.snapshot(public_id)
    foreign = say(desk, kind, public_id, slug=desk.other_pay.slug, secret=desk.other_secret)
    absent = say(desk, kind, "elc_" + "a" * 26)
    wrong = say(desk, kind, public_id, subject=BOB)
    assert {reply.status_code for reply in (foreign, absent, wrong)} == {204}
    assert builders.snapshot(public_id) == before
    assert [row.outcome for row in builders.ledger(public_id)][-2:] == ["wrong_tenant_denied", "wrong_user_denied"]


@pytest.mark.parametrize("kind", ["completed", "reversed"])
def test_a_completion_or_reversal_names_its_result(desk: Desk, kind: str) -> None:
    public_id = desk.admit().json()["id"]
    refused = say(desk, kind, public_id, None)
    assert (refused.status_code, refused.json()["at"]) == (400, "/data/result_ref")


def test_a_delivery_leaves_a_trace_without_body_or_header(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    desk.event(public_id)
    desk.deliver(b'{"type": "invoice.paid"}')
    traces = list(WebhookDelivery.objects.order_by("pk"))
    assert [trace.outcome for trace in traces] == ["completed", "duplicate_ignored", "not_ours"]
    assert traces[0].elicitation_id == builders.entry_of(public_id).uid
    text = str([vars(trace) for trace in traces])
    for secret in ("pi_1", "alice", "msg_", "invoice"):
        assert secret not in text


def test_old_traces_are_forgotten_by_the_sweep(desk: Desk) -> None:
    desk.deliver(b'{"type": "invoice.paid"}')
    WebhookDelivery.objects.update(received_at=timezone.now() - KEPT)
    desk.deliver(b'{"type": "invoice.paid"}')
    sweeps.expire()
    assert WebhookDelivery.objects.count() == 1


def test_a_reversed_completion_can_still_be_taken_again_with_its_mark(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    apply(desk, public_id)
    say(desk, "reversed", public_id)
    body = {"subject": ALICE, "operation": builders.operation()}
    again = desk.call(f"elicitations/{public_id}/consume", body).json()
    assert (again["outcome"], again["result_ref"], again["reversed"]) == ("already_applied", "pi_1", True)


def test_a_reversal_that_comes_first_is_not_forgotten(desk: Desk) -> None:
    """Events may come out of order: money that went back completes nothing."""
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    assert say(desk, "reversed", public_id, "pi_1").status_code == 204
    assert desk.event(public_id, "pi_1").status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.completed_at, entry.held_evidence) == ("CONSENT_PENDING", None, False)
    assert desk.event(public_id, "pi_2").status_code == 204
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_the_second_of_two_results_is_taken_back_and_the_first_stands(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    for reference in ("pi_1", "pi_2"):
        desk.event(public_id, reference)
    assert say(desk, "reversed", public_id, "pi_2").status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.reversed_at) == ("COMPLETE", None)
    assert sorted(row.status for row in Evidence.objects.all()) == ["reversed", "used"]
    assert [signal.rule for signal in Signal.objects.exclude(rule="activation_alone")] == ["conflicting_result"]


def test_a_result_that_was_taken_back_beside_the_recorded_one_contradicts_nothing_when_it_is_said_again(
    desk: Desk,
) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    for reference in ("pi_1", "pi_2"):
        desk.event(public_id, reference)
    say(desk, "reversed", public_id, "pi_2")
    before, signals = builders.snapshot(public_id), list(Signal.objects.values())
    assert say(desk, "reversed", public_id, "pi_2").status_code == 204
    assert builders.ledger(public_id)[-1].outcome == "duplicate_ignored"
    assert (builders.snapshot(public_id), list(Signal.objects.values())) == (before, signals)


def test_a_refund_of_what_an_operator_closed_contradicts_no_other_result(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "cancel")
    desk.event(public_id, "pi_closed")
    uid = builders.entry_of(public_id).uid
    people = [User.objects.create_user(name).pk for name in ("olga", "oscar")]
    operators.close(uid, actors.operator(people[0]), operators.CloseReason.REFUNDED)
    desk.event(public_id, "pi_honoured")
    honouring.approve(honouring.propose(uid, Evidence.objects.get(status="late").uid, people[0]).uid, people[1])
    assert say(desk, "reversed", public_id, "pi_closed").status_code == 204
    assert sorted(row.status for row in Evidence.objects.all()) == ["reversed", "used"]
    assert builders.entry_of(public_id).reversed_at is None
    assert not Signal.objects.filter(rule="conflicting_result").exists()
