"""A retry asks the provider: each answer has its outcome, and none is believed without the checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elicitation.admin.parties import UNANSWERED
from elicitation.models import Evidence, Provider
from elicitation.providers import Problem
from elicitation.services import actors, operators, status
from elicitation.services.status import FAILURES
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.asked import asked, can_be_asked, done, provider
from tests.providers.server import ProviderServer, reply, says
from tests.steps import consented, lost, retry

__all__ = ["provider"]

pytestmark = pytest.mark.django_db


def test_a_retry_finds_at_the_provider_what_no_webhook_brought(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(says(done()))
    found = retry(desk, public_id).json()
    assert (found["outcome"], found["state"], found["retry_after_seconds"]) == ("completed", "COMPLETE", None)
    entry = builders.entry_of(public_id)
    assert (entry.completion_source, entry.attempts, entry.lookup_outcome) == ("reconcile", 1, "completed")
    assert builders.passages(public_id)[-2:] == [
        ("retry", "RETRY_REQUIRED", "RETRY_REQUIRED"),
        ("evidence", "RETRY_REQUIRED", "COMPLETE"),
    ]
    assert [row.actor_kind for row in builders.ledger(public_id)[-2:]] == ["service", "provider"]
    assert provider.seen[0].query == {"elicitation_id": [public_id]}


@pytest.mark.parametrize(
    ("speech", "outcome"),
    [
        (says({"status": "pending"}), "still_pending"),
        (says({"status": "unknown"}), "provider_unknown"),
        (reply(b"", 500), "unreachable"),
        (reply(b"", 302, {"Location": "https://elsewhere.example/"}), "unreachable"),
        (reply(b"no json"), "unreachable"),
    ],
)
def test_an_answer_that_is_no_result_leaves_the_entry_waiting(
    desk: Desk, provider: ProviderServer, speech: Any, outcome: str
) -> None:
    public_id = lost(desk)
    provider.script(speech)
    found = retry(desk, public_id).json()
    assert (found["outcome"], found["state"]) == (outcome, "RETRY_REQUIRED")
    assert found["retry_after_seconds"] > 0
    assert builders.ledger(public_id)[-1].outcome == outcome
    assert not Evidence.objects.exists()


def test_a_failure_at_the_provider_ends_the_entry_and_it_may_be_asked_again(
    desk: Desk, provider: ProviderServer
) -> None:
    public_id = lost(desk)
    provider.script(says({"status": "failed"}))
    found = retry(desk, public_id).json()
    assert (found["outcome"], found["state"], found["retry_after_seconds"]) == ("failed", "CANCELLED", None)
    entry = builders.entry_of(public_id)
    assert (entry.cancelled_by, entry.next_lookup_at) == ("provider", None)
    assert builders.passages(public_id)[-1] == ("provider_failure", "RETRY_REQUIRED", "CANCELLED")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (done(subject=BOB), "wrong_user_denied"),
        (done(subject=None), "unbound_held"),
        ({"status": "failed", "subject": BOB}, "wrong_user_denied"),
        (done(occurred_at=(datetime.now(UTC) + timedelta(days=2)).isoformat()), "expired_denied"),
    ],
)
def test_what_the_provider_says_passes_the_same_checks_as_what_it_sends(
    desk: Desk, provider: ProviderServer, answer: dict[str, Any], outcome: str
) -> None:
    public_id = lost(desk)
    provider.script(says({name: value for name, value in answer.items() if value is not None}))
    assert retry(desk, public_id).json()["outcome"] == outcome
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.completed_at, entry.result_digest) == ("RETRY_REQUIRED", None, None)
    assert Evidence.objects.count() == (0 if outcome == "wrong_user_denied" else 1)


def test_a_result_that_completed_another_entry_is_denied(desk: Desk, provider: ProviderServer) -> None:
    first, second = lost(desk), lost(desk, operation=builders.operation(question="second"))
    provider.script(says(done("pi_same")))
    assert retry(desk, first).json()["outcome"] == "completed"
    assert retry(desk, second).json()["outcome"] == "result_reused_denied"
    assert builders.entry_of(second).state == "RETRY_REQUIRED"


def test_nobody_is_asked_where_the_confirmation_is_held_already(desk: Desk, provider: ProviderServer) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)  # before the answer: held
    assert desk.call(f"elicitations/{public_id}/lost", {"subject": ALICE}).json()["state"] == "RETRY_REQUIRED"
    assert retry(desk, public_id).json()["outcome"] == "completed"
    assert builders.entry_of(public_id).completion_source == "webhook"
    assert asked(provider) == 0


def test_nobody_is_asked_where_the_destination_does_not_trust_it(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    builders.activate(builders.document(sources=["webhook"]))
    assert retry(desk, public_id).json()["outcome"] == "no_lookup"
    assert asked(provider) == 0


def test_a_provider_without_a_look_up_is_not_asked(desk: Desk) -> None:
    assert retry(desk, lost(desk)).json()["outcome"] == "no_lookup"


def test_nobody_else_can_make_the_desk_ask(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    before = builders.snapshot(public_id)
    for key in (desk.sibling_key, desk.mallory_key):
        assert retry(desk, public_id, key=key).status_code == 404
    assert desk.call(f"elicitations/{public_id}/retry", {"subject": BOB}).status_code == 404
    assert asked(provider) == 0
    assert builders.snapshot(public_id) == before


def test_nobody_is_asked_about_an_entry_that_waits_for_no_retry(desk: Desk, provider: ProviderServer) -> None:
    public_id = consented(desk)
    assert retry(desk, public_id).status_code == 409
    assert asked(provider) == 0


def test_who_asks_again_at_once_is_told_the_same_without_asking(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(says({"status": "pending"}), says(done()))
    outcomes = [retry(desk, public_id).json()["outcome"] for _ in range(3)]
    assert (outcomes, asked(provider)) == (["still_pending"] * 3, 1)
    builders.age(public_id, 6)
    assert retry(desk, public_id).json()["outcome"] == "completed"


def test_after_failures_in_a_row_the_provider_is_left_alone_for_a_while(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(reply(b"", 503))
    for _ in range(FAILURES):
        assert retry(desk, public_id).json()["outcome"] == "unreachable"
        builders.age(public_id, 6)
    assert asked(provider) == FAILURES
    assert retry(desk, public_id).json()["outcome"] == "unreachable"
    assert asked(provider) == FAILURES
    provider.script(says(done()))
    Provider.objects.update(lookup_paused_until=datetime.now(UTC) - timedelta(seconds=1))
    builders.age(public_id, 6)
    assert retry(desk, public_id).json()["outcome"] == "completed"
    present = Provider.objects.get(pk=desk.pay.pk)
    assert (present.lookup_failures, present.lookup_paused_until) == (0, None)


def test_after_the_pause_one_asks_and_the_others_wait_for_what_it_learns(desk: Desk, provider: ProviderServer) -> None:
    first, second = lost(desk), lost(desk, operation=builders.operation(question="second"))
    past = datetime.now(UTC) - timedelta(seconds=1)
    Provider.objects.update(lookup_failures=FAILURES, lookup_paused_until=past)
    provider.script(reply(b"", 503))
    assert retry(desk, first).json()["outcome"] == "unreachable"
    assert retry(desk, second).json()["outcome"] == "unreachable"
    assert asked(provider) == 1


def test_one_providers_silence_is_not_anothers(desk: Desk, provider: ProviderServer) -> None:
    can_be_asked(desk.other_pay, provider)
    Provider.objects.filter(pk=desk.other_pay.pk).update(
        lookup_failures=FAILURES, lookup_paused_until=datetime.now(UTC) + timedelta(hours=1)
    )
    public_id = lost(desk)
    provider.script(says(done()))
    assert retry(desk, public_id).json()["outcome"] == "completed"


def test_an_operators_retry_asks_too(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(says(done()))
    found = operators.retry(builders.entry_of(public_id).uid, actors.operator(1))
    assert found.outcome == "completed"
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_webhook_that_comes_after_the_look_up_is_a_duplicate(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(says(done()))
    retry(desk, public_id)
    before = builders.snapshot(public_id)
    assert desk.event(public_id).status_code == 204
    assert builders.snapshot(public_id) == before
    assert builders.ledger(public_id)[-1].outcome == "duplicate_ignored"


def test_who_finds_no_place_to_ask_is_told_to_come_again(
    desk: Desk, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That others are asking says nothing about the work, and costs the breaker nothing."""
    public_id = lost(desk)
    past = datetime.now(UTC) - timedelta(seconds=1)
    Provider.objects.update(lookup_failures=FAILURES, lookup_paused_until=past)
    before = builders.snapshot(public_id)
    monkeypatch.setattr(status, "PATIENCE", 0.01)
    with status._places, status._places:
        refused = retry(desk, public_id)
    assert (refused.status_code, refused["Retry-After"] != "") == (503, True)
    assert builders.snapshot(public_id) == before
    assert asked(provider) == 0
    assert Provider.objects.get(pk=desk.pay.pk).lookup_paused_until == past


def test_what_is_wrong_with_the_look_up_is_shown_to_operators(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(reply(b"", 403), says({"status": "unknown"}))
    retry(desk, public_id)
    assert Provider.objects.get(pk=desk.pay.pk).lookup_problem == "status_4xx"
    builders.age(public_id, 6)
    retry(desk, public_id)
    assert Provider.objects.get(pk=desk.pay.pk).lookup_problem == ""


def test_the_words_for_what_is_wrong_cover_every_problem() -> None:
    assert set(UNANSWERED) == set(Problem)
