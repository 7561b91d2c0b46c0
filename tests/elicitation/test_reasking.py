"""Before a question is asked again whose link may have been visited, the provider is asked what became of it."""

from __future__ import annotations

from typing import Any

import pytest

from elicitation.models import Elicitation, Evidence
from elicitation.services import actors, operators, status
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.asked import asked, done, provider
from tests.providers.server import ProviderServer, reply, says
from tests.steps import consented

__all__ = ["provider"]

pytestmark = pytest.mark.django_db

HOUR = 3600


def expired(desk: Desk) -> str:
    """An entry whose link was visited, and whose time is up; no sweep has run."""
    public_id = consented(desk)
    builders.age(public_id, HOUR)
    return public_id


def cancelled(desk: Desk) -> str:
    public_id = consented(desk)
    assert desk.call(f"elicitations/{public_id}/cancel", {"subject": ALICE}).json()["state"] == "CANCELLED"
    return public_id


ENDED = pytest.mark.parametrize("ended", [expired, cancelled])


@ENDED
def test_work_that_was_done_is_kept_and_nobody_is_sent_again(desk: Desk, provider: ProviderServer, ended: Any) -> None:
    public_id = ended(desk)
    provider.script(says(done()))
    refused = desk.admit()
    assert (refused.status_code, refused.json()["code"]) == (409, "evidence_waiting")
    assert "url" not in refused.content.decode()
    entry = builders.entry_of(public_id)
    assert (entry.late_evidence, entry.completed_at, Elicitation.objects.count()) == (True, None, 1)
    kept = Evidence.objects.get()
    assert (kept.status, kept.source) == ("late", "reconcile")
    assert desk.admit().status_code == 409
    assert asked(provider) == 1  # what is kept needs no second look


@ENDED
def test_work_that_is_under_way_is_waited_for(desk: Desk, provider: ProviderServer, ended: Any) -> None:
    ended(desk)
    provider.script(says({"status": "pending"}))
    refused = desk.admit()
    assert (refused.status_code, refused.json()["code"]) == (409, "evidence_waiting")
    assert "under way" in refused.json()["detail"]
    assert Elicitation.objects.count() == 1


@ENDED
@pytest.mark.parametrize(
    ("speech", "outcome"),
    [
        (says({"status": "unknown"}), "provider_unknown"),
        (says({"status": "failed"}), "failed"),
        (reply(b"", 500), "unreachable"),
    ],
)
def test_where_nothing_is_known_the_new_entry_names_the_one_before(
    desk: Desk, provider: ProviderServer, ended: Any, speech: Any, outcome: str
) -> None:
    public_id = ended(desk)
    provider.script(speech)
    fresh = desk.admit()
    assert fresh.status_code == 201
    entry = builders.entry_of(fresh.json()["id"])
    assert entry.predecessor == builders.entry_of(public_id)
    assert entry.after_visit
    looked = [row for row in builders.ledger(public_id) if row.event == "lookup"]
    assert [row.outcome for row in looked] == [outcome]
    assert builders.entry_of(public_id).lookup_outcome == outcome


def test_a_link_that_nobody_visited_is_asked_again_at_once(desk: Desk, provider: ProviderServer) -> None:
    public_id = desk.admit().json()["id"]
    builders.age(public_id, HOUR)
    assert desk.admit().status_code == 201
    assert asked(provider) == 0


def test_a_persons_no_needs_no_look_up(desk: Desk, provider: ProviderServer) -> None:
    public_id = desk.admit().json()["id"]
    answer = {"subject": ALICE, "action": "decline", "content": "absent"}
    assert desk.call(f"elicitations/{public_id}/answer", answer).json()["state"] == "DECLINED"
    assert desk.admit().status_code == 201
    assert asked(provider) == 0


def test_a_question_that_the_policy_denies_asks_nobody(desk: Desk, provider: ProviderServer) -> None:
    expired(desk)
    request = {"mode": "url", "message": "Pay", "url": "https://elsewhere.example.com/start"}
    assert desk.admit(request=request).status_code == 422
    assert asked(provider) == 0


def test_a_named_predecessor_of_another_operation_is_asked_about_too(desk: Desk, provider: ProviderServer) -> None:
    public_id = cancelled(desk)
    provider.script(says(done()))
    refused = desk.admit(operation=builders.operation(question="again"), predecessor=public_id)
    assert (refused.status_code, refused.json()["code"]) == (409, "evidence_waiting")
    assert Elicitation.objects.count() == 1


def test_another_persons_work_is_not_the_askers(desk: Desk, provider: ProviderServer) -> None:
    public_id = expired(desk)
    provider.script(says(done(subject=BOB)))
    assert desk.admit().status_code == 201
    assert not Evidence.objects.exists()
    assert "wrong_user_denied" in [row.outcome for row in builders.ledger(public_id)]


@ENDED
def test_what_an_operator_has_closed_stays_closed(desk: Desk, provider: ProviderServer, ended: Any) -> None:
    """The provider goes on saying the same, by look-up and by webhook; the operation may be asked again."""
    public_id = ended(desk)
    provider.script(says(done()))
    assert desk.admit().status_code == 409
    operators.close(builders.entry_of(public_id).uid, actors.operator(1), operators.CloseReason.REFUNDED)
    assert desk.event(public_id).status_code == 204
    assert not builders.entry_of(public_id).late_evidence
    assert desk.admit().status_code == 201
    assert [row.status for row in Evidence.objects.all()] == ["closed"]


def test_the_entry_that_was_visited_is_asked_about_however_far_back(desk: Desk, provider: ProviderServer) -> None:
    visited = expired(desk)
    provider.script(reply(b"", 500))
    second = desk.admit().json()["id"]  # nothing was known
    builders.age(second, HOUR)
    builders.age(visited, 6)
    provider.script(says(done()))
    refused = desk.admit()
    assert (refused.status_code, refused.json()["code"]) == (409, "evidence_waiting")
    assert builders.entry_of(visited).late_evidence
    assert Elicitation.objects.count() == 2


def test_a_look_up_for_a_question_is_the_services_own(desk: Desk, provider: ProviderServer) -> None:
    public_id = expired(desk)
    desk.admit()
    (looked,) = [row for row in builders.ledger(public_id) if row.event == "lookup"]
    assert (looked.actor_kind, looked.actor_id) == ("service", "booking")


def test_while_too_many_ask_nobody_is_sent(
    desk: Desk, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    expired(desk)
    monkeypatch.setattr(status, "PATIENCE", 0.01)
    with status._places, status._places:
        assert desk.admit().status_code == 503
    assert Elicitation.objects.count() == 1
