"""What the API and the page of an entry tell about it: its one next step follows what has happened since."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import LedgerEntry, Signal
from elicitation.models import RefusedAttempt
from elicitation.services import actors, clock, explaining, operators, parties, refusals
from elicitation.services.operators import CloseReason
from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import BOB, Desk
from tests.elicitation.admin_pages import consented, look, page_of, signed_in
from tests.steps import act, ask, lose

pytestmark = pytest.mark.django_db

AGAIN = "Nothing to do. The service may ask again under a new id."
WHO = "Find out who did the work before the question is asked again."


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


def told(desk: Desk, public_id: str) -> dict[str, Any]:
    entry: dict[str, Any] = desk.call(f"elicitations/{public_id}", method="GET").json()
    return entry


def expire(public_id: str) -> None:
    builders.age(public_id, 7200)
    expiring.expire()


def reverse(desk: Desk, public_id: str) -> None:
    data = {"elicitation_id": public_id, "result_ref": "pi_1"}
    body = json.dumps({"type": "elicitation.reversed", "data": data}).encode()
    assert desk.deliver(body).status_code == 204


def test_a_confirmation_held_until_the_answer_must_not_be_cancelled(desk: Desk) -> None:
    public_id = ask(desk, 1)
    assert "cancel it" in told(desk, public_id)["next_step"]
    desk.event(public_id)
    assert told(desk, public_id)["next_step"] == (
        "A confirmation is held until the person's answer is reported. Report the answer; do not cancel."
    )
    act(desk, public_id, "answer", action="accept", content="absent")
    assert told(desk, public_id)["state"] == "COMPLETE"


def test_a_result_that_was_taken_back_is_told_until_the_signal_is_resolved(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    desk.event(public_id)
    act(desk, public_id, "consume", operation=builders.operation(target="tool_1"))
    assert told(desk, public_id)["next_step"] == "Nothing to do: the waiting call has taken the result."
    reverse(desk, public_id)
    entry, page = told(desk, public_id), look(operator, page_of(public_id))
    assert entry["explanation"] == "The outside service took its confirmation back."
    assert entry["next_step"] == "Undo what the call did with the result, or settle it with the provider."
    for words in (entry["explanation"], entry["next_step"], "A completion was taken back"):
        assert words in page
    Signal.objects.update(status=Signal.Status.RESOLVED)
    entry = told(desk, public_id)
    assert entry["explanation"] == "The outside service took its confirmation back."
    assert entry["next_step"].startswith("Nothing to do")
    assert "A completion was taken back" not in look(operator, page_of(public_id))


def test_two_results_are_told_with_the_signal_until_it_is_resolved(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    desk.event(public_id)
    fine = told(desk, public_id)["next_step"]
    desk.event(public_id, "pi_2")
    said = "Compare with the provider's own record: the work may have been done twice. Then resolve the signal."
    assert told(desk, public_id)["next_step"] == said
    signal = Signal.objects.get(rule="conflicting_result")
    page = look(operator, page_of(public_id))
    assert f'<a href="/admin/audit/signal/{signal.pk}/change/">Two results for one elicitation</a> (open)' in page
    Signal.objects.update(status=Signal.Status.ACKNOWLEDGED)
    assert told(desk, public_id)["next_step"] == said
    assert "(acknowledged)" in look(operator, page_of(public_id))
    Signal.objects.update(status=Signal.Status.RESOLVED)
    assert told(desk, public_id)["next_step"] == fine
    assert "Two results for one elicitation</a>" not in look(operator, page_of(public_id))


def test_a_signal_about_another_entry_changes_nothing(desk: Desk) -> None:
    public_id, other = consented(desk, 1), consented(desk, 2)
    desk.event(public_id, "pi_1")
    before = told(desk, public_id)["next_step"]
    desk.event(other, "pi_2")
    desk.event(other, "pi_3")
    assert told(desk, public_id)["next_step"] == before


def test_words_that_named_somebody_else_are_counted_and_have_a_next_step(desk: Desk, operator: Client) -> None:
    public_id, quiet = consented(desk, 1), consented(desk, 2)
    for number in range(3):
        desk.event(public_id, f"pi_{number}", subject=BOB)
    expire(public_id)
    page = look(operator, page_of(public_id))
    assert "Word about the outside work was refused 3 times, because it named another person" in page
    assert "No evidence of outside work has arrived." not in page
    assert WHO in page
    assert told(desk, public_id)["next_step"] == WHO
    assert "No evidence of outside work has arrived." in look(operator, page_of(quiet))
    expire(quiet)
    assert told(desk, quiet)["next_step"] == AGAIN


def test_an_hour_of_repeats_that_was_closed_is_counted_once(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    for number in range(3):
        desk.event(public_id, f"pi_{number}", subject=BOB)
    RefusedAttempt.objects.update(since=clock.now() - timedelta(hours=2))
    refusals.close_quiet(clock.now(), 10)
    assert RefusedAttempt.objects.count() == 0
    assert "refused 3 times" in look(operator, page_of(public_id))


def test_a_refused_stranger_is_counted_so_far_and_no_further(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(explaining, "MOST_REFUSALS", 1)
    public_id = consented(desk)
    desk.event(public_id, subject=BOB)
    desk.event(public_id, subject=BOB)
    assert "refused at least 2 times" in look(operator, page_of(public_id))


def test_a_stranger_settled_by_closing_leaves_nothing_to_do(desk: Desk) -> None:
    public_id = consented(desk)
    desk.event(public_id, subject=BOB)
    act(desk, public_id, "lost")
    builders.age(public_id, 100_000)
    expiring.expire()
    assert "Look in the provider's own record" in told(desk, public_id)["next_step"]
    operators.close(builders.entry_of(public_id).uid, actors.operator(7), CloseReason.OTHER)
    assert told(desk, public_id)["next_step"] == AGAIN
    RefusedAttempt.objects.all().delete()
    desk.event(public_id, "pi_2", subject=BOB)
    assert told(desk, public_id)["next_step"] == WHO


def test_after_closing_nothing_is_left_to_do(desk: Desk) -> None:
    public_id = consented(desk)
    act(desk, public_id, "cancel")
    assert told(desk, public_id)["next_step"] == AGAIN
    desk.event(public_id)
    assert "money may have moved" in told(desk, public_id)["next_step"]
    operators.close(builders.entry_of(public_id).uid, actors.operator(7), CloseReason.REFUNDED)
    assert told(desk, public_id)["next_step"] == AGAIN


def test_a_suspected_loss_is_nowhere_told_as_reported(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    builders.age(public_id, 301)
    reconciling.reconcile()
    assert LedgerEntry.objects.filter(event="lost", actor_kind="scheduler").exists()
    page = look(operator, page_of(public_id))
    assert "Suspected lost: nothing usable came in the usual time." in page
    assert "Counted as lost" in page
    for each in (page, look(operator, "/admin/?queue=lost")):
        assert "reported as lost" not in each.lower()
        assert "reported lost" not in each.lower()


def test_the_next_look_up_is_called_so(desk: Desk, operator: Client) -> None:
    parties.change_provider(desk.pay, lookup="generic", status_url="https://pay.example.com/status")
    page = look(operator, page_of(consented(desk)))
    assert "Next look-up" in page
    assert "Asked again" not in page


def test_a_retry_where_nobody_may_be_asked_does_not_blame_the_provider(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    lose(desk, public_id)
    act(desk, public_id, "retry")
    page = look(operator, page_of(public_id))
    assert "the provider has no look-up, or its destination does not list the source reconcile" in page
    assert "the provider cannot be asked" not in page


def test_operators_go_by_name_on_the_page_and_in_the_ledgers_list(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    number = User.objects.get(username="olga").pk
    operators.mark_lost(builders.entry_of(public_id).uid, actors.operator(number))
    for path in (page_of(public_id), f"/admin/audit/ledgerentry/?q={public_id}"):
        page = look(operator, path)
        assert "operator olga" in page
        assert f"operator {number}" not in page
    assert "the machine&#x27;s shell" in look(operator, "/admin/audit/ledgerentry/?event=policy_activated")
