"""Signals in the admin: in words, with what to do and who was told; and sending again what was given up."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import LedgerEntry, Outgoing, Signal
from audit.outbox import Problem
from audit.signal_admin import PROBLEMS
from elicitation.models import RefusedAttempt
from elicitation.services.signal_words import WORDS
from tests import builders
from tests.builders import BOB, Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.signal_pages import ABOUT, SIGNALS, opened, page_of
from tests.elicitation.signalled import judge, uid
from tests.people import staff
from tests.steps import ask

pytestmark = pytest.mark.django_db

MESSAGES = "/admin/audit/outgoing/"


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


@pytest.fixture
def configured(settings: Any) -> None:
    settings.DESK_SIGNAL_EMAILS = ["ops@example.com"]


def dead() -> Outgoing:
    Outgoing.objects.update(status="dead", attempts=8, problem="timeout")
    return Outgoing.objects.get()


@pytest.mark.parametrize("rule", sorted(WORDS))
def test_every_signal_says_what_happened_and_what_to_do(operator: Client, rule: str) -> None:
    tenant, about = ABOUT.get(rule, ("acme", "0" * 32))
    signal = opened(rule, about, tenant)
    words = WORDS[rule]
    page = re.sub(r"&#x27;", "'", look(operator, page_of(signal)))
    for text in (words.title, words.happened, words.to_do, words.counted):
        assert text in page
    assert words.title in re.sub(r"&#x27;", "'", look(operator, SIGNALS))


def test_a_signal_leads_to_its_entry(desk: Desk, operator: Client) -> None:
    entry = ask(desk)
    link = f'<a href="/admin/elicitation/elicitation/{entry}/change/"><code>{entry}</code></a>'
    signal = opened("reversal", uid(entry), "acme")
    assert link in look(operator, SIGNALS)
    assert link in look(operator, page_of(signal))


def test_a_signal_about_a_person_lists_the_entries_and_not_the_person(desk: Desk, operator: Client) -> None:
    entries = [ask(desk, number) for number in range(3)]
    for entry in entries:
        desk.event(entry, subject=BOB)
    other = ask(desk, 3)
    judge()
    signal = Signal.objects.get(rule="wrong_user_person")
    page = look(operator, page_of(signal))
    assert [entry in page for entry in (*entries, other)] == [True, True, True, False]
    RefusedAttempt.objects.all().delete()
    assert all(entry in look(operator, page_of(signal)) for entry in entries), "the hour of the refusals is over"
    assert "one person" in page
    assert signal.about not in page
    assert signal.about not in look(operator, SIGNALS)


def test_a_clients_name_is_shown_as_a_strangers_word(desk: Desk, operator: Client) -> None:
    hostile = {"name": "<b>x</b>\u202e", "version": "1", "capabilities": {"elicitation": {"form": {}, "url": {}}}}
    client = builders.entry_of(ask(desk, client=hostile)).client
    assert client is not None
    page = look(operator, page_of(opened("auto_answers", f"client-{client.pk}", "acme")))
    assert "&lt;b&gt;x&lt;/b&gt;[U+202E]" in page


def test_the_list_is_narrowed_by_rule_and_status(operator: Client) -> None:
    opened()
    opened("lost_rate", "example-pay", "acme")
    Signal.objects.filter(rule="lost_rate").update(status="resolved")
    assert listed(look(operator, f"{SIGNALS}?rule=late_sweep")) == ["late_sweep"]
    assert listed(look(operator, f"{SIGNALS}?status=resolved")) == ["lost_rate"]
    assert "Nothing matches these filters" in look(operator, f"{SIGNALS}?status=resolved&rule=late_sweep")
    look(operator, f"{SIGNALS}?about=expire", 400)


def listed(page: str) -> list[str]:
    rows = page[page.index("<tbody>") : page.index("</tbody>")]
    return [rule for rule, words in WORDS.items() if words.title in re.sub(r"&#x27;", "'", rows)]


def test_without_a_channel_the_pages_say_so_and_name_the_settings(operator: Client) -> None:
    signal = opened()
    for page in (SIGNALS, page_of(signal), MESSAGES):
        text = look(operator, page)
        for name in ("DESK_SIGNAL_EMAILS", "DESK_EMAIL_URL", "DESK_EMAIL_FROM", "DESK_SIGNAL_WEBHOOK_URL"):
            assert name in text


def test_with_a_channel_the_page_shows_how_it_stands_with_each_message(operator: Client, configured: None) -> None:
    signal = opened()
    assert "Waiting</td>" in look(operator, page_of(signal))
    Outgoing.objects.update(problem="timeout", attempts=1)
    assert "Waiting for another try: the receiver took too long" in look(operator, page_of(signal))
    dead()
    page = look(operator, page_of(signal))
    assert "Given up: the receiver took too long" in page
    assert "DESK_SIGNAL_EMAILS" not in page
    assert "Given up: the receiver took too long" in look(operator, MESSAGES)


def test_the_words_cover_every_problem_of_a_message() -> None:
    assert set(PROBLEMS) == set(Problem)


def test_a_message_that_was_given_up_is_sent_again_by_an_operator(operator: Client, configured: None) -> None:
    opened()
    message = dead()
    again = f"{MESSAGES}{message.pk}/resend/"
    assert again in look(operator, f"{MESSAGES}{message.pk}/change/")
    before = list(Outgoing.objects.values())
    assert "given up: the receiver took too long" in look(operator, again).lower()
    assert list(Outgoing.objects.values()) == before, "looking changes nothing"
    response = operator.post(again)
    assert (response.status_code, response["Location"]) == (302, f"{MESSAGES}{message.pk}/change/")
    message.refresh_from_db()
    assert (message.status, message.attempts, message.problem) == ("waiting", 0, "")
    entry = LedgerEntry.objects.get(event="signal_resent")
    assert (entry.actor_kind, entry.actor_id, entry.related_id) == (
        "operator",
        str(User.objects.get(username="olga").pk),
        message.uid,
    )
    page = look(operator, response["Location"])
    assert again not in page
    assert "It is sent again with the next pass." in page


@pytest.mark.parametrize("status", ["waiting", "sent"])
def test_a_message_that_was_not_given_up_is_not_sent_again(operator: Client, configured: None, status: str) -> None:
    opened()
    message = Outgoing.objects.get()
    Outgoing.objects.update(status=status)
    before = list(Outgoing.objects.values())
    refused = operator.post(f"{MESSAGES}{message.pk}/resend/")
    assert refused.status_code == 409
    assert "Nothing was changed by you." in refused.content.decode()
    assert list(Outgoing.objects.values()) == before
    assert not LedgerEntry.objects.filter(event="signal_resent").exists()


@pytest.mark.parametrize("permissions", [[], ["view_outgoing"], ["resend_outgoing"], ["view_signal"]])
def test_who_may_not_resend_is_refused_and_nothing_changes(
    desk: Desk, configured: None, permissions: list[str]
) -> None:
    opened()
    message = dead()
    sam = staff("sam", *permissions)
    before = list(Outgoing.objects.values())
    for method in ("get", "post"):
        assert getattr(signed_in(sam), method)(f"{MESSAGES}{message.pk}/resend/").status_code == 403
    assert list(Outgoing.objects.values()) == before


def test_an_operator_without_the_messages_sees_the_signal_alone(desk: Desk, configured: None) -> None:
    signal = opened()
    client = signed_in(staff("sam", "view_signal"))
    assert WORDS["late_sweep"].happened in look(client, page_of(signal))
    assert "/admin/audit/outgoing/" not in look(client, page_of(signal))
    look(client, MESSAGES, 403)


def test_a_page_that_is_not_there_is_not_found(operator: Client) -> None:
    for path in (f"{SIGNALS}99/change/", f"{SIGNALS}x/change/", f"{MESSAGES}99/change/", f"{MESSAGES}99/resend/"):
        assert operator.get(path).status_code in (302, 404)


def test_the_list_reads_as_many_queries_for_many_as_for_one(desk: Desk, operator: Client, configured: None) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(connection) as captured:
            look(operator, path)
        return len(captured)

    entry = ask(desk)
    opened("reversal", uid(entry), "acme")
    few = queries(SIGNALS), queries(MESSAGES)
    for rule in ("reused_result", "conflicting_result", "wrong_user_entry"):
        opened(rule, uid(entry), "acme")
    assert (queries(SIGNALS), queries(MESSAGES)) == few
