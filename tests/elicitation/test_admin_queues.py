"""The queues of what waits: each entry under its name, oldest first, with why, on whom, and the next step."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from audit.models import Outgoing, Signal
from elicitation.admin import waiting
from elicitation.admin.waiting import NAMES, Queue
from elicitation.models import Elicitation, HonourProposal
from elicitation.services import clock
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import LIST, listed, look, page_of, signed_in
from tests.elicitation.queued import one_in
from tests.people import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


@pytest.mark.parametrize("queue", list(Queue))
def test_each_queue_lists_what_waits_in_it_and_nothing_else(desk: Desk, operator: Client, queue: Queue) -> None:
    number = list(Queue).index(queue)
    mine = [one_in(desk, queue, 100 * number + copy) for copy in range(2)]
    for other in (each for each in (Queue.LATE, Queue.LOST, Queue.EARLY) if each is not queue):
        one_in(desk, other, 1000 + list(Queue).index(other))
    assert listed(look(operator, f"/admin/?queue={queue}")) == mine
    page = look(operator, f"{LIST}?queue={queue}")
    assert listed(page) == mine[::-1]
    assert NAMES[queue] in page
    proposed = {Queue.LATE} if queue is Queue.PROPOSAL else set()  # what is proposed about is late all the same
    for other in set(Queue) - {queue} - proposed:
        assert not set(mine) & set(listed(look(operator, f"/admin/?queue={other}")))


@pytest.mark.parametrize(
    ("queue", "words"),
    [
        (Queue.PROPOSAL, ("olga proposes to honour its confirmation. It lapses in 23 h", "a second operator")),
        (Queue.LATE, ("could not use", "an operator", "two operators honour it")),
        (Queue.MISSED, ("the sweep has not ended it", "the schedule", "/readyz")),
        (Queue.WITHDRAWN, ("the policy has withdrawn its destination", "the policy&#x27;s editors", "honour it")),
        (Queue.UNBOUND, ("nobody says whose it is", "provider example-pay", "send it again with the person")),
        (Queue.EARLY, ("before the person had agreed", "the person", "Report the answer; do not cancel.")),
        (
            Queue.LOST,
            ("has counted as lost for", "provider example-pay", "The provider cannot be asked.", "Retry, or have"),
        ),
        (Queue.UNRESOLVED, ("was not found in time", "an operator", "settle it, and close it")),
        (Queue.CONFLICT, ("contradicts the recorded result", "an operator", "resolve the signal")),
    ],
)
def test_a_row_says_why_on_whom_and_what_next(
    desk: Desk, operator: Client, queue: Queue, words: tuple[str, ...]
) -> None:
    one_in(desk, queue, 1)
    page = look(operator, f"/admin/?queue={queue}")
    for said in words:
        assert said in page, said


def test_a_lost_confirmation_says_what_the_provider_said_last(desk: Desk, operator: Client) -> None:
    one_in(desk, Queue.LOST, 1)
    now = clock.now()
    Elicitation.objects.update(
        looked_up_at=now - timedelta(minutes=5),
        lookup_outcome="still_pending",
        next_lookup_at=now + timedelta(minutes=9, seconds=30),
        lost_at=now - timedelta(hours=3, minutes=2),
    )
    page = look(operator, "/admin/?queue=lost")
    for said in (
        "has counted as lost for 3 h 2 min.",
        "The provider was asked 5 min ago: the provider says that the work is still pending.",
        "It is asked next in 9 min.",
    ):
        assert said in page


def test_everything_that_needs_somebody_is_shown_once_oldest_first(desk: Desk, operator: Client) -> None:
    made: dict[Queue, str] = {
        queue: one_in(desk, queue, number) for number, queue in enumerate(Queue) if queue is not Queue.MISSED
    }
    made[Queue.MISSED] = one_in(desk, Queue.MISSED, 99)  # the sweep runs for another one
    early = made.pop(Queue.EARLY)
    for number, public_id in enumerate(made.values()):
        Elicitation.objects.filter(pk=builders.entry_of(public_id).pk).update(
            admitted_at=clock.now() - timedelta(days=3, minutes=7 * number % 5, seconds=number)
        )
    order = sorted(made.values(), key=lambda one: builders.entry_of(one).admitted_at)
    page = look(operator, "/admin/")
    assert listed(page) == order
    assert early not in page
    assert f"{NAMES[Queue.EARLY]} <span" in page


def test_a_queue_that_is_empty_says_so(desk: Desk, operator: Client) -> None:
    assert "Nothing is in this queue." in look(operator, "/admin/?queue=late")
    assert "No entry waits for an operator" in look(operator, "/admin/?queue=nonsense")
    assert "Nothing matches these filters" in look(operator, f"{LIST}?queue=late")


@pytest.mark.parametrize("queue", list(Queue))
def test_the_page_of_an_entry_says_the_same_next_step_as_its_queue(desk: Desk, operator: Client, queue: Queue) -> None:
    public_id = one_in(desk, queue, 1)
    row = re.search(r'data-name="Next step">([^<]+)<', look(operator, f"/admin/?queue={queue}"))
    lead = re.search(r"<strong>Next step</strong>([^<]+)<", look(operator, page_of(public_id)))
    assert row
    assert lead
    assert row[1] in lead[1]


def test_signals_and_messages_that_wait_are_counted_and_linked(desk: Desk, operator: Client) -> None:
    Signal.objects.all().delete()
    page = look(operator, "/admin/")
    for said in ("Nothing waits for an operator", "Open signals: 0", "Messages not delivered: 0"):
        assert said in page
    assert "Acknowledged signals" not in page
    now = clock.now()
    signals = [
        Signal.objects.create(tenant="acme", rule="late_sweep", about=name, status=status, first_at=now, last_at=now)
        for name, status in (("a", "open"), ("b", "open"), ("c", "acknowledged"), ("d", "resolved"))
    ]
    for status in ("dead", "waiting", "sent"):
        Outgoing.objects.create(signal=signals[0], channel="email", status=status, made_at=now, due_at=now)
    page = look(operator, "/admin/")
    assert "Nothing waits for an operator" not in page
    assert "No entry waits for an operator" in page
    for link, said in (
        ("/admin/audit/signal/?status=open", "Open signals: 2"),
        ("/admin/audit/signal/?status=acknowledged", "Acknowledged signals: 1"),
        ("/admin/audit/outgoing/?status=dead", "Messages not delivered: 1"),
    ):
        assert f'<a href="{link}">{said}</a>' in page
        look(operator, link)


@pytest.mark.parametrize("kind", ["open", "acknowledged", "dead"])
def test_each_of_them_alone_keeps_the_page_from_saying_that_nothing_waits(
    desk: Desk, operator: Client, kind: str
) -> None:
    Signal.objects.all().delete()
    now, status = clock.now(), "resolved" if kind == "dead" else kind
    signal = Signal.objects.create(
        tenant="acme", rule="late_sweep", about="a", status=status, first_at=now, last_at=now
    )
    if kind == "dead":
        Outgoing.objects.create(signal=signal, channel="email", status=kind, made_at=now, due_at=now)
    assert "Nothing waits for an operator" not in look(operator, "/admin/")


def test_signals_are_counted_up_to_a_hundred(desk: Desk, operator: Client) -> None:
    now = clock.now()
    Signal.objects.all().delete()
    Signal.objects.bulk_create(
        Signal(tenant="acme", rule="late_sweep", about=str(number), first_at=now, last_at=now) for number in range(101)
    )
    assert "Open signals: 100 or more" in look(operator, "/admin/")


def test_who_may_not_see_signals_is_told_of_none(desk: Desk) -> None:
    page = look(signed_in(staff("sam", "view_elicitation")), "/admin/")
    assert "No entry waits" not in page
    assert "Open signals" not in page


def test_what_is_settled_leaves_its_queue(desk: Desk, operator: Client) -> None:
    one_in(desk, Queue.CONFLICT, 1)
    one_in(desk, Queue.PROPOSAL, 2)
    Signal.objects.update(status=Signal.Status.RESOLVED)
    HonourProposal.objects.update(expires_at=clock.now())
    for queue in (Queue.CONFLICT, Queue.PROPOSAL):
        assert listed(look(operator, f"/admin/?queue={queue}")) == []


def test_more_rows_need_no_more_queries_and_nothing_is_counted(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SHOWN", 12)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page = look(operator, "/admin/")
        assert not [each["sql"] for each in captured if "COUNT(" in each["sql"] or "OFFSET" in each["sql"]]
        assert ("there are more than these" in page) == (Elicitation.objects.count() > 13)
        return len(captured)

    for number, queue in enumerate(Queue):
        one_in(desk, queue, number)
    few = queries()
    for number, queue in enumerate(Queue):
        one_in(desk, queue, 100 + number)
    assert queries() == few
