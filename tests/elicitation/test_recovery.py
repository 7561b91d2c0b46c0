"""Answers, loss, retry, cancel and the end of time: each row of the life cycle that a caller can reach."""

from __future__ import annotations

from datetime import timedelta

import pytest

from elicitation.models import Heartbeat
from elicitation.policy.lifecycle import State
from elicitation.services import actors, operators
from elicitation.services.move import TransitionRefused
from elicitation.services.operators import CancelReason
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.steps import act, apply, complete, consent

pytestmark = pytest.mark.django_db


def answer(desk: Desk, public_id: str, action: str, content: str = "absent", **more: object):
    body = {"subject": ALICE, "action": action, "content": content} | more
    return desk.call(f"elicitations/{public_id}/answer", body)


def test_consent_is_not_completion_and_does_not_restart_the_window(desk: Desk) -> None:
    admitted = desk.admit().json()
    answered = answer(desk, admitted["id"], "accept").json()
    assert (answered["state"], answered["completed_at"]) == ("CONSENT_PENDING", None)
    assert answered["expires_at"] == admitted["expires_at"]


def test_a_form_accepted_without_content_is_refused_and_unchanged(desk: Desk) -> None:
    public_id = desk.admit(form=True).json()["id"]
    before = builders.snapshot(public_id)
    for content in ("absent", "dropped"):
        refused = answer(desk, public_id, "accept", content)
        assert (refused.status_code, refused.json()["code"]) == (422, "answer.content_missing")
    assert builders.snapshot(public_id) == before
    assert answer(desk, public_id, "accept", "present").json()["state"] == "ACCEPTED"


@pytest.mark.parametrize(("action", "state"), [("decline", "DECLINED"), ("cancel", "CANCELLED")])
@pytest.mark.parametrize("form", [True, False])
def test_content_on_a_decline_or_cancel_is_stripped_and_flagged(
    desk: Desk, action: str, state: str, form: bool
) -> None:
    public_id = desk.admit(form=form).json()["id"]
    assert answer(desk, public_id, action, "present").json()["state"] == state
    assert builders.entry_of(public_id).content_stripped


def test_content_on_a_url_accept_is_dropped_and_flagged(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    assert answer(desk, public_id, "accept", "dropped").json()["state"] == "CONSENT_PENDING"
    assert builders.entry_of(public_id).content_stripped


@pytest.mark.parametrize("spelling", ["Accept", "ACCEPT", "accepted", "yes", "", "deny", None, True, 1])
def test_another_spelling_of_an_action_is_malformed_and_never_a_refusal(desk: Desk, spelling: object) -> None:
    public_id = desk.admit().json()["id"]
    before = builders.snapshot(public_id)
    body = {"subject": ALICE, "action": spelling, "content": "absent"}
    refused = desk.call(f"elicitations/{public_id}/answer", body)
    assert (refused.status_code, refused.json()["at"]) == (400, "/action")
    assert builders.snapshot(public_id) == before


@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_the_same_answer_again_is_a_repeat(desk: Desk, action: str) -> None:
    public_id = desk.admit().json()["id"]
    first = answer(desk, public_id, action).json()
    before = builders.snapshot(public_id)
    again = answer(desk, public_id, action)
    assert (first["outcome"], again.status_code, again.json()["outcome"]) == ("moved", 200, "repeated")
    assert builders.snapshot(public_id) == before


def test_another_answer_after_the_first_is_refused_with_the_real_state(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    answer(desk, public_id, "decline")
    refused = answer(desk, public_id, "accept")
    assert (refused.status_code, refused.json()["code"], refused.json()["state"]) == (
        409,
        "transition.refused",
        "DECLINED",
    )
    assert builders.ledger(public_id)[-1].outcome == "transition_refused"


def test_an_answer_faster_than_a_person_is_marked_on_the_ledger(desk: Desk) -> None:
    for latency, decided_by in ((40, "probably_not_shown"), (9000, "client_asserted"), (None, "client_asserted")):
        public_id = desk.admit(operation=builders.operation(question=str(latency))).json()["id"]
        answer(desk, public_id, "decline", latency_ms=latency)
        assert builders.ledger(public_id)[-1].decided_by == decided_by


def test_a_late_answer_is_refused_with_the_state_and_is_no_refusal_of_a_person(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    builders.age(public_id, 3600)
    refused = answer(desk, public_id, "accept")
    assert (refused.status_code, refused.json()["state"]) == (409, "EXPIRED")
    assert builders.passages(public_id)[1:] == [
        ("deadline", "ADMITTED", "EXPIRED"),
        ("refused", "EXPIRED", "EXPIRED"),
    ]


@pytest.mark.parametrize(
    ("event", "column"),
    [("delivered", "delivered_at"), ("shown", "shown_at"), ("call_ended", "origin_ended_at")],
)
def test_progress_is_recorded_the_first_time_and_moves_nothing(desk: Desk, event: str, column: str) -> None:
    public_id = desk.admit().json()["id"]
    body = {"subject": ALICE, "event": event}
    first = desk.call(f"elicitations/{public_id}/progress", body).json()
    assert (first["outcome"], first["state"]) == ("moved", "ADMITTED")
    assert first[column] is not None
    again = desk.call(f"elicitations/{public_id}/progress", body).json()
    assert (again["outcome"], again[column]) == ("repeated", first[column])
    assert [row[0] for row in builders.passages(public_id)] == ["admit", event]


def test_a_lost_confirmation_is_neither_success_nor_failure(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    assert act(desk, public_id, "lost")["outcome"] == "moved"
    assert act(desk, public_id, "lost")["outcome"] == "repeated"
    entry = builders.entry_of(public_id)
    assert entry.state == "RETRY_REQUIRED"
    assert entry.deadline is not None
    assert entry.lost_at is not None
    assert timedelta(seconds=86_399) < entry.deadline - entry.lost_at <= timedelta(seconds=86_401)
    retried = act(desk, public_id, "retry")
    assert (retried["outcome"], retried["state"], retried["retry_after_seconds"]) == ("no_lookup", "RETRY_REQUIRED", 15)
    assert builders.entry_of(public_id).attempts == 1
    desk.event(public_id)
    assert act(desk, public_id, "retry") | {"explanation": "", "next_step": ""} == {
        "outcome": "completed",
        "state": "COMPLETE",
        "explanation": "",
        "next_step": "",
        "evidence_waiting": False,
        "retry_after_seconds": None,
    }
    apply(desk, public_id)


@pytest.mark.parametrize("verb", ["lost", "retry"])
def test_a_pushed_question_without_an_answer_cannot_be_lost(desk: Desk, verb: str) -> None:
    public_id = desk.admit().json()["id"]
    before = builders.snapshot(public_id)
    refused = desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE})
    assert (refused.status_code, refused.json()["state"]) == (409, "ADMITTED")
    assert builders.snapshot(public_id) == before


def test_a_url_required_question_can_be_lost_before_any_answer(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    assert act(desk, public_id, "lost")["state"] == "RETRY_REQUIRED"


@pytest.mark.parametrize("verb", ["lost", "retry", "cancel"])
def test_a_form_knows_no_outside_work(desk: Desk, verb: str) -> None:
    public_id = desk.admit(form=True).json()["id"]
    response = desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE})
    assert response.status_code == (200 if verb == "cancel" else 409)


@pytest.mark.parametrize("verb", ["lost", "retry", "cancel", "answer", "progress"])
@pytest.mark.parametrize("who", ["bob", "sibling", "mallory", "absent"])
def test_nobody_elses_events_reach_an_entry_and_none_is_told_apart(desk: Desk, verb: str, who: str) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    before, entries = builders.snapshot(public_id), builders.passages(public_id)
    body: dict[str, object] = {"subject": BOB if who == "bob" else ALICE}
    body |= {"answer": {"action": "accept", "content": "absent"}, "progress": {"event": "shown"}}.get(verb, {})
    key = {"sibling": desk.sibling_key, "mallory": desk.mallory_key}.get(who, desk.key)
    target = "elc_" + "a" * 26 if who == "absent" else public_id
    refused = desk.call(f"elicitations/{target}/{verb}", body, key=key)
    assert refused.status_code == 404
    assert refused.json() == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "code": "unknown",
        "detail": "There is no such elicitation.",
    }
    assert builders.snapshot(public_id) == before
    assert builders.passages(public_id) == entries


def test_cancelling_ends_it_once_and_says_who(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    assert act(desk, public_id, "cancel")["outcome"] == "moved"
    assert act(desk, public_id, "cancel")["outcome"] == "repeated"
    assert builders.entry_of(public_id).cancelled_by == "service"


@pytest.mark.parametrize("verb", ["lost", "retry", "cancel"])
def test_a_finished_entry_cannot_be_undone(desk: Desk, verb: str) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    before = builders.snapshot(public_id)
    response = desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE})
    assert response.status_code == (200 if verb == "retry" else 409)
    assert builders.snapshot(public_id) == before


def test_an_operator_cancels_with_a_reason_and_is_told_the_real_state_when_too_late(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    uid, by = builders.entry_of(public_id).uid, actors.operator(7)
    operators.cancel(uid, by, CancelReason.PROVIDER_OUTAGE)
    last = builders.ledger(public_id)[-1]
    assert (last.event, last.reason_code, last.actor_kind, last.actor_id) == (
        "cancel",
        "provider_outage",
        "operator",
        "7",
    )
    with pytest.raises(TransitionRefused) as refused:
        operators.cancel(uid, by, CancelReason.SECURITY)
    assert refused.value.state == "CANCELLED"
    assert builders.entry_of(public_id).cancel_reason == "provider_outage"


def test_reads_say_expired_before_the_sweep_has_run_and_write_nothing(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    builders.age(public_id, 3600)
    before = builders.snapshot(public_id)
    read = desk.call(f"elicitations/{public_id}", method="GET").json()
    assert (read["state"], read["expires_at"]) == ("EXPIRED", None)
    assert builders.snapshot(public_id) == before


def test_the_sweep_expires_what_is_due_and_nothing_else(desk: Desk) -> None:
    ids = [desk.admit(operation=builders.operation(question=str(n))).json()["id"] for n in range(3)]
    builders.age(ids[0], 3600)
    builders.age(ids[1], 3600)
    assert sweeps.expire() == 2
    assert sweeps.expire() == 0
    assert [builders.entry_of(one).state for one in ids] == ["EXPIRED", "EXPIRED", "ADMITTED"]
    last = builders.ledger(ids[0])[-1]
    assert (last.event, last.actor_kind) == ("deadline", "scheduler")
    assert Heartbeat.objects.get(name="expire").count == 0


def test_held_evidence_never_ends_as_expired(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    builders.age(public_id, 3600)
    assert desk.call(f"elicitations/{public_id}", method="GET").json()["state"] == "RETRY_REQUIRED"
    sweeps.expire()
    assert builders.entry_of(public_id).state == "RETRY_REQUIRED"
    assert act(desk, public_id, "retry")["state"] == "COMPLETE"


def test_a_retry_window_that_ends_expires_and_keeps_withdrawn_evidence_as_late(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    builders.withdraw_destination()
    desk.event(public_id)
    builders.age(public_id, 86_401)
    sweeps.expire()
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.late_evidence) == ("EXPIRED", True)


def test_consume_hands_over_once_and_only_to_the_waiting_operation(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    before = builders.snapshot(public_id)
    path = f"elicitations/{public_id}/consume"
    right = {"subject": ALICE, "operation": builders.operation()}
    wrong = {
        "conflict": (right | {"operation": builders.operation(target="another_tool")}, desk.key),
        "unknown": (right | {"subject": BOB}, desk.key),
    }
    for outcome, (body, key) in wrong.items():
        assert desk.call(path, body, key=key).json() == {"outcome": outcome, "result_ref": None, "reversed": False}
    for key in (desk.sibling_key, desk.mallory_key):
        assert desk.call(path, right, key=key).json()["outcome"] == "unknown"
    assert desk.call(f"elicitations/elc_{'a' * 26}/consume", right).json()["outcome"] == "unknown"
    assert builders.snapshot(public_id) == before
    assert desk.call(path, right).json()["outcome"] == "applied"


def test_an_operator_closes_late_evidence_with_a_reason_and_asking_is_free_again(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "cancel")
    desk.event(public_id)
    uid, by = builders.entry_of(public_id).uid, actors.operator(7)
    assert desk.admit().json()["code"] == "evidence_waiting"
    closed = operators.close(uid, by, operators.CloseReason.REFUNDED)
    assert (closed.entry.state, closed.entry.late_evidence) == ("CANCELLED", False)
    last = builders.ledger(public_id)[-1]
    assert (last.event, last.reason_code, last.actor_id) == ("close", "refunded", "7")
    assert desk.admit().status_code == 201
    with pytest.raises(TransitionRefused):
        operators.close(uid, by, operators.CloseReason.OTHER)
    desk.event(public_id, "pi_2")
    assert builders.entry_of(public_id).late_evidence, "new evidence opens it again"


def test_an_operator_marks_a_confirmation_lost_and_retries(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    uid, by = builders.entry_of(public_id).uid, actors.operator(7)
    with pytest.raises(TransitionRefused):
        operators.retry(uid, by)
    with pytest.raises(TransitionRefused):
        operators.mark_lost(uid, by, State.ADMITTED)
    assert operators.mark_lost(uid, by, State.CONSENT_PENDING).entry.state == "RETRY_REQUIRED"
    assert operators.retry(uid, by).outcome == "no_lookup"
    desk.event(public_id)
    assert operators.retry(uid, by).outcome == "completed"
    assert [row.actor_id for row in builders.ledger(public_id) if row.event in ("lost", "retry")] == ["7", "7"]


def test_what_waits_is_said_in_every_reply_with_its_own_next_step(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    desk.event(public_id, subject=None)
    entry = desk.call(f"elicitations/{public_id}", method="GET").json()
    assert entry["evidence_waiting"] is True
    assert "whose it is" in entry["next_step"]
    act(desk, public_id, "cancel")
    entry = desk.call(f"elicitations/{public_id}", method="GET").json()
    assert entry["evidence_waiting"] is True
    assert "close it with a reason" in entry["next_step"]
