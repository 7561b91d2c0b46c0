"""An operator's cancel: asked for with a reason, done once through the registry, and honest when somebody was first."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import LIST, look, page_of, signed_in
from tests.people import staff
from tests.steps import lose

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(desk: Desk) -> User:
    return User.objects.create_superuser("olga")


@pytest.fixture
def operator(olga: User) -> Client:
    return signed_in(olga)


@pytest.fixture
def stuck(desk: Desk) -> str:
    public_id: str = desk.admit().json()["id"]
    lose(desk, public_id)
    return public_id


def cancel(client: Client, public_id: str, seen: str = "RETRY_REQUIRED", **data: str) -> Any:
    return client.post(f"{LIST}{public_id}/cancel/", {"seen": seen, "reason": "provider_outage"} | data)


def test_the_page_shows_the_present_state_and_changes_nothing(operator: Client, stuck: str) -> None:
    before, entries = builders.snapshot(stuck), len(builders.ledger())
    page = look(operator, f"{LIST}{stuck}/cancel/")
    assert "Retry required</span>" in page
    assert "This cannot be undone" in page
    assert (builders.snapshot(stuck), len(builders.ledger())) == (before, entries)


def test_a_cancel_ends_the_entry_with_its_reason_on_the_ledger(operator: Client, olga: User, stuck: str) -> None:
    response = cancel(operator, stuck, note="Provider ticket 42")
    assert (response.status_code, response.url) == (302, page_of(stuck))
    entry = builders.entry_of(stuck)
    assert (entry.state, entry.cancelled_by, entry.cancel_reason) == ("CANCELLED", "operator", "provider_outage")
    row = builders.ledger(stuck)[-1]
    assert (row.event, row.reason_code) == ("cancel", "provider_outage")
    assert (row.actor_kind, row.actor_id, row.role) == ("operator", str(olga.pk), "operator")
    page = look(operator, page_of(stuck))
    for words in (
        "; the ledger has the reason.",
        "An operator cancelled it: the provider is out of order.",
        "An operator ended it: the provider is out of order.",
        "Note: Provider ticket 42",
        "olga",
    ):
        assert words in page
    assert "Cancel it, with a reason" not in page


def test_the_note_stays_off_the_ledger(operator: Client, stuck: str) -> None:
    cancel(operator, stuck, note="Provider ticket 42")
    assert "ticket" not in str([vars(row) for row in builders.ledger()])
    assert LogEntry.objects.get().change_message == "Cancelled: the provider is out of order. Note: Provider ticket 42"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"reason": ""}, "Choose a reason."),
        ({"reason": "because"}, "Select a valid choice"),
        ({"reason": "other"}, "Say what the other reason is."),
        ({"reason": "other", "note": "  "}, "Say what the other reason is."),
        ({"note": "x" * 201}, "at most 200 characters"),
        ({"note": "nul\x00"}, "Null characters are not allowed"),
        ({"note": "the card is 4111 1111 1111 1111"}, "looks like a secret or an address (card)"),
        ({"note": "ask alice@id.example.com"}, "looks like a secret or an address (email)"),
        ({"note": "key sk_live_4eC39HqLyjWDarjtT1zdp7dc"}, "looks like a secret or an address (key)"),
        ({"seen": ""}, "Open this page anew"),
        ({"seen": "NONE"}, "Open this page anew"),
    ],
)
def test_a_cancel_without_a_proper_reason_changes_nothing(
    operator: Client, stuck: str, data: dict[str, str], said: str
) -> None:
    before, entries = builders.snapshot(stuck), len(builders.ledger())
    response = cancel(operator, stuck, **data)
    assert response.status_code == 200
    assert said in response.content.decode()
    assert (builders.snapshot(stuck), len(builders.ledger()), LogEntry.objects.count()) == (before, entries, 0)


def test_a_note_like_a_secret_does_not_even_come_back_to_the_page(operator: Client, stuck: str) -> None:
    page = cancel(operator, stuck, reason="security", note="sk_live_4eC39HqLyjWDarjtT1zdp7dc").content.decode()
    assert "sk_live" not in page
    assert re.search(r'value="security"\s+selected', page)


def test_another_reason_needs_a_note_and_gets_it(operator: Client, stuck: str) -> None:
    assert cancel(operator, stuck, reason="other", note="Asked by the owner").status_code == 302
    assert builders.entry_of(stuck).cancel_reason == "other"


def test_who_comes_second_is_told_the_real_state(operator: Client, stuck: str) -> None:
    assert cancel(operator, stuck).status_code == 302
    before, entries = builders.snapshot(stuck), len(builders.ledger())
    late = cancel(operator, stuck, reason="security")
    page = late.content.decode()
    assert late.status_code == 409
    assert "Somebody was first" in page
    assert "It is now: Cancelled." in page
    assert (builders.snapshot(stuck), LogEntry.objects.count()) == (before, 1)
    assert [row.outcome for row in builders.ledger()[entries:]] == ["transition_refused"]


def test_who_decided_on_an_older_state_is_asked_again(desk: Desk, operator: Client, stuck: str) -> None:
    before = builders.snapshot(stuck)
    refused = cancel(operator, stuck, seen="ADMITTED")
    assert refused.status_code == 409
    assert "It is now: Retry required." in refused.content.decode()
    assert builders.snapshot(stuck) == before
    assert cancel(operator, stuck).status_code == 302


def test_an_entry_whose_time_is_up_is_not_cancelled_any_more(operator: Client, stuck: str) -> None:
    builders.age(stuck, 48 * 3600)
    page = cancel(operator, stuck)
    assert page.status_code == 409
    assert "It is now: Expired." in page.content.decode()


def test_what_has_ended_is_refused_on_the_record(desk: Desk, operator: Client, stuck: str) -> None:
    cancel(operator, stuck)
    refused = cancel(operator, stuck, seen="CANCELLED")
    assert refused.status_code == 409
    assert "It has ended, so there is nothing to cancel." in refused.content.decode()
    row = builders.ledger(stuck)[-1]
    assert (row.event, row.outcome, row.actor_kind) == ("refused", "transition_refused", "operator")


def test_held_evidence_is_named_before_it_becomes_late(desk: Desk, operator: Client) -> None:
    public_id = desk.admit().json()["id"]
    desk.event(public_id)
    assert "becomes late evidence" in look(operator, f"{LIST}{public_id}/cancel/")
    assert cancel(operator, public_id, seen="ADMITTED").status_code == 302
    page = look(operator, page_of(public_id))
    assert "money may have moved" in page
    assert builders.entry_of(public_id).late_evidence


def test_a_reader_may_look_and_not_cancel(desk: Desk, stuck: str) -> None:
    sam = staff("sam", "view_elicitation")
    client = signed_in(sam)
    before = builders.snapshot(stuck)
    assert "Cancel it, with a reason" not in look(client, page_of(stuck))
    assert client.get(f"{LIST}{stuck}/cancel/").status_code == 403
    assert cancel(client, stuck).status_code == 403
    assert builders.snapshot(stuck) == before


def test_a_forged_post_from_another_page_is_refused(olga: User, stuck: str) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(olga)
    before = builders.snapshot(stuck)
    assert cancel(client, stuck).status_code == 403
    assert builders.snapshot(stuck) == before
