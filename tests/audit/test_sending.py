"""What a message about a signal says, with nothing secret in it; and what becomes of one that is not taken in."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook

from audit.models import Outgoing, Signal
from audit.outbox import BACKOFF
from elicitation.services import clock, sending
from elicitation.services.sweeps.delivering import deliver
from tests.audit.outgoing import make_due, opened, rows
from tests.audit.receivers import LOOPBACK, SECRET, Hook, Mailbox
from tests.builders import BOB, Desk
from tests.commands.running import free_port

pytestmark = pytest.mark.django_db

CANARY = "CANARY-7a"


def test_a_letter_says_in_words_what_happened_to_what_and_where_to_look(desk: Desk, mailbox: Mailbox) -> None:
    desk.acme.name = desk.booking.name = CANARY
    desk.acme.save()
    desk.booking.save()
    client = {"name": CANARY, "version": "1", "capabilities": {"elicitation": {"form": {}, "url": {}}}}
    entry = desk.admit(client=client, delivery="url_required").json()["id"]
    desk.event(entry, f"pi_{CANARY}")
    desk.event(entry, f"pi_{CANARY}_2")
    desk.event(entry, f"pi_{CANARY}_3", subject=BOB)
    assert deliver() == 1
    (letter,) = mailbox.letters
    signal = Signal.objects.get(rule="conflicting_result")
    assert letter["Subject"] == f"Elicitation Desk: Two results for one elicitation (elicitation {entry})"
    assert (letter["From"], letter["To"]) == ("desk@example.com", "ops@example.com, night@example.com")
    assert letter["Message-ID"] == f"<{Outgoing.objects.get().uid}@127.0.0.1>"
    text = letter.get_content()
    for part in (
        "contradicts what is recorded",
        f"About: elicitation {entry}",
        "Tenant: acme",
        "Count: 1 (contradicting confirmations)",
        "Ask the provider",
        f"http://127.0.0.1:8000/admin/audit/signal/{signal.pk}/change/",
    ):
        assert part in text
    for secret in (CANARY, "alice", "bob", "id.example", "consent.example.com", "x-client"):
        assert secret not in mailbox.raw[0].decode()


def test_a_webhook_is_signed_and_holds_codes_and_ids_alone(desk: Desk, hook: Hook) -> None:
    entry = desk.admit(delivery="url_required").json()["id"]
    desk.event(entry, f"pi_{CANARY}")
    desk.event(entry, f"pi_{CANARY}_2")
    assert deliver() == 1
    (request,) = hook.requests
    signal, row = Signal.objects.get(rule="conflicting_result"), Outgoing.objects.get()
    assert Webhook(SECRET).verify(request.body, request.headers) == {
        "type": "signal.opened",
        "timestamp": row.made_at.isoformat(),
        "data": {
            "rule": "conflicting_result",
            "tenant": "acme",
            "about": entry,
            "count": 1,
            "first_at": signal.first_at.isoformat(),
            "last_at": signal.last_at.isoformat(),
            "url": f"http://127.0.0.1:8000/admin/audit/signal/{signal.pk}/change/",
        },
    }
    assert request.path == "/desk?channel=1"
    assert request.headers["webhook-id"] == str(row.uid)
    assert request.headers["content-type"] == "application/json"
    assert CANARY not in request.body.decode() + str(request.headers)


@pytest.mark.parametrize(
    ("rule", "about", "said"),
    [
        ("wrong_user_person", "ab" * 16, "one person"),
        ("lost_rate", "example-pay", "provider example-pay"),
        ("credential_forms", "booking", "service acme/booking"),
        ("auto_answers", "client-7", "client number 7"),
        ("activation_alone", "revision-7", "revision number 7"),
        ("late_sweep", "expire", "sweep expire"),
        ("ledger_broken", "leaf-256", "log acme, from leaf 256 on"),
        ("ledger_broken", "log-1", "log acme"),
        ("wrong_tenant", "service-999", "service number 999"),
    ],
)
def test_a_letter_names_what_it_is_about_without_naming_anybody(
    mailbox: Mailbox, rule: str, about: str, said: str
) -> None:
    opened(rule, about)
    assert deliver() == 1
    assert f"About: {said}\n" in mailbox.letters[0].get_content().replace("\r\n", "\n")
    assert ("ab" * 16) not in mailbox.raw[0].decode()


def test_a_caller_of_another_tenant_is_named_by_its_slugs_to_those_who_run_the_desk(
    desk: Desk, mailbox: Mailbox
) -> None:
    opened("wrong_tenant", f"service-{desk.mallory.pk}", "desk")
    assert deliver() == 1
    assert "About: service globex/booking" in mailbox.letters[0].get_content()


def expect_another_try(problem: str, before: datetime) -> None:
    row = Outgoing.objects.get()
    assert (row.status, row.attempts, row.problem, row.sent_at) == ("waiting", 1, problem, None)
    assert BACKOFF[0] <= row.due_at - before < BACKOFF[0] + timedelta(seconds=10)
    assert deliver() == 0
    assert Outgoing.objects.get().attempts == 1, "it is not due yet"


@pytest.mark.parametrize(
    ("status", "raw", "problem"),
    [
        (500, b"", "failed"),
        (503, b"", "failed"),
        (400, b"", "refused"),
        (410, b"", "refused"),
        (302, b"", "redirect"),
        (307, b"", "redirect"),
        (200, b"CANARY\r\n\r\n", "malformed"),
    ],
)
def test_a_webhook_that_is_not_taken_in_is_tried_again_and_arrives(
    hook: Hook, status: int, raw: bytes, problem: str
) -> None:
    hook.status, hook.raw = status, raw
    opened()
    before = clock.now()
    assert deliver() == 0
    expect_another_try(problem, before)
    hook.status, hook.raw = 200, b""
    make_due()
    assert deliver() == 1
    assert rows() == [("webhook", "sent", 2, "")]
    assert [request.path for request in hook.requests] == ["/desk?channel=1"] * 2
    assert len({request.headers["webhook-id"] for request in hook.requests}) == 1
    assert deliver() == 0


def test_a_receiver_that_never_answers_is_left_after_its_time(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "TOTAL_SECONDS", 0.3)
    hook.hold = threading.Event()
    opened()
    before = clock.now()
    assert deliver() == 0
    expect_another_try("timeout", before)


def test_a_receiver_that_is_not_there_is_tried_again(hook: Hook, settings: Any) -> None:
    settings.DESK_SIGNAL_WEBHOOK_URL = f"http://{LOOPBACK}:{free_port()}/"
    opened()
    before = clock.now()
    assert deliver() == 0
    expect_another_try("unreachable", before)


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ({"AUTH": "535 CANARY"}, "authentication"),
        ({"RCPT": "550 CANARY"}, "refused"),
        ({"DATA": "554 CANARY"}, "refused"),
        ({"MAIL": "451 CANARY"}, "failed"),
    ],
    ids=["user", "recipients", "content", "for now"],
)
def test_a_letter_that_is_not_taken_in_is_tried_again_and_arrives(
    mailbox: Mailbox, settings: Any, answers: dict[str, str], problem: str
) -> None:
    settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD = "desk", "secret"
    mailbox.answers = answers
    opened()
    before = clock.now()
    assert deliver() == 0
    expect_another_try(problem, before)
    mailbox.answers = {}
    make_due()
    assert (deliver(), len(mailbox.letters)) == (1, 1)


def test_a_mail_server_that_is_not_there_is_tried_again(mailbox: Mailbox, settings: Any) -> None:
    settings.EMAIL_PORT = free_port()
    opened()
    before = clock.now()
    assert deliver() == 0
    expect_another_try("unreachable", before)


def test_a_channel_that_was_taken_out_of_the_settings_is_said_so(hook: Hook, settings: Any) -> None:
    opened()
    settings.DESK_SIGNAL_WEBHOOK_URL = ""
    assert (deliver(), rows()) == (0, [("webhook", "waiting", 1, "not_configured")])


def test_what_nobody_foresaw_is_logged_without_a_word_of_it(
    hook: Hook, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    settings.DESK_SIGNAL_WEBHOOK_URL = f"http://{CANARY}\u2603/"
    opened()
    assert (deliver(), rows()) == (0, [("webhook", "waiting", 1, "internal")])
    assert [record.getMessage() for record in caplog.records if record.name == "elicitation.services.sending"] == [
        "a signal could not be sent",
        "a signal was not delivered",
    ]


def test_one_receiver_that_is_down_stops_no_other(mailbox: Mailbox, hook: Hook) -> None:
    hook.status = 500
    for number in range(3):
        opened(about=f"{number:032x}")
    assert (deliver(), len(mailbox.letters), len(hook.requests)) == (3, 3, 3)
