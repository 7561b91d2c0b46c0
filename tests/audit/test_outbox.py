"""When a message about a signal is sent: once, again with growing pauses, and no more; by one sender at a time."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F

from audit import outbox
from audit.models import LedgerEntry, Outgoing
from audit.outbox import LEASE, TRIES, Channel
from elicitation.models import Heartbeat
from elicitation.services import actors, clock, sending
from elicitation.services.sweeps import delivering
from elicitation.services.sweeps.delivering import deliver
from tests.audit.outgoing import make_due, opened, rows
from tests.audit.receivers import Hook
from tests.racing import at_once

pytestmark = pytest.mark.django_db


def test_the_times_between_tries_grow_and_then_it_is_given_up(hook: Hook) -> None:
    hook.status = 500
    opened()
    waits = [10, 60, 300, 1800, 7200, 21600, 43200]
    for number in range(1, TRIES + 1):
        before = clock.now()
        assert deliver() == 0
        row, after = Outgoing.objects.get(), clock.now()
        assert row.attempts == number
        if number < TRIES:
            assert row.due_at - after <= timedelta(seconds=waits[number - 1]) <= row.due_at - before
        make_due()
    assert rows() == [("webhook", "dead", 8, "failed")]
    hook.status = 200
    assert (deliver(), len(hook.requests)) == (0, 8)


def test_a_message_whose_sender_died_is_sent_again_under_the_same_id_once_the_lease_is_over(hook: Hook) -> None:
    opened()
    now = clock.now()
    taken = outbox.claim(Channel.WEBHOOK, now)
    assert taken is not None
    assert outbox.claim(Channel.WEBHOOK, now + LEASE - timedelta(microseconds=1)) is None
    assert deliver() == 0
    Outgoing.objects.update(due_at=F("due_at") - LEASE)
    assert deliver() == 1
    assert hook.requests[0].headers["webhook-id"] == str(taken.uid)
    assert rows() == [("webhook", "sent", 2, "")]
    outbox.failed(taken, outbox.Problem.TIMEOUT, now)
    assert rows() == [("webhook", "sent", 2, "")], "what the first sender says late changes nothing"


def test_a_message_that_kills_its_senders_is_given_up(hook: Hook) -> None:
    opened()
    for _ in range(TRIES):
        assert outbox.claim(Channel.WEBHOOK, clock.now()) is not None
        make_due()
    assert (deliver(), rows()) == (0, [("webhook", "dead", 8, "interrupted")])


def test_a_pass_ends_after_so_many_and_after_so_long(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        opened(about=f"{number:032x}")
    monkeypatch.setattr(delivering, "MOST", 2)
    assert deliver() == 2
    monkeypatch.setattr(delivering, "SECONDS", 0.0)
    assert deliver() == 0
    assert Outgoing.objects.filter(status="waiting", attempts=0).count() == 1, "nothing is claimed and then left"


def test_the_pass_leaves_a_heartbeat(hook: Hook) -> None:
    opened()
    deliver()
    assert Heartbeat.objects.get(name="deliver").count == 1


@pytest.mark.django_db(transaction=True)
def test_two_senders_at_once_send_each_message_once(hook: Hook) -> None:
    for number in range(12):
        opened(about=f"{number:032x}")
    results: list[Any] = at_once([deliver] * 4, 4)
    assert sum(results) == 12
    assert len({request.headers["webhook-id"] for request in hook.requests}) == len(hook.requests) == 12
    assert {row[1:] for row in rows()} == {("sent", 1, "")}


def test_a_message_that_was_given_up_is_sent_again_on_the_record(hook: Hook) -> None:
    opened()
    Outgoing.objects.update(status="dead", attempts=TRIES, problem="timeout")
    message = Outgoing.objects.get()
    assert sending.resend(message, actors.operator(7)) is True
    assert rows() == [("webhook", "waiting", 0, "")]
    entry = LedgerEntry.objects.get(event="signal_resent")
    assert (entry.tenant, entry.actor_kind, entry.actor_id, entry.role, entry.related_id) == (
        "acme",
        "operator",
        "7",
        "operator",
        message.uid,
    )
    assert (deliver(), hook.requests[0].headers["webhook-id"]) == (1, str(message.uid))


@pytest.mark.parametrize("status", ["waiting", "sent"])
def test_nothing_else_is_sent_again(hook: Hook, status: str) -> None:
    opened()
    Outgoing.objects.update(status=status, attempts=3)
    before = list(Outgoing.objects.values())
    assert sending.resend(Outgoing.objects.get(), actors.operator(7)) is False
    assert list(Outgoing.objects.values()) == before
    assert not LedgerEntry.objects.filter(event="signal_resent").exists()
