"""Signals by shares and counts: just below, at and above each threshold, and outside the window."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from django.db.models import F

from elicitation.models import (
    BadSignature,
    Client,
    Decision,
    Elicitation,
    Provider,
)
from elicitation.policy.codes import Rule
from elicitation.policy.signal_rules import RateSignal
from elicitation.services import clock, tallying
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.signalled import CREDENTIAL_FORM, HOUR, LINKS, MICROSECOND, judge, refuse, resolve
from tests.steps import ask

pytestmark = pytest.mark.django_db


# Shares


def ended(desk: Desk, lost: int, completed: int) -> None:
    """So many entries with a lost confirmation, and so many completed ones."""
    for number in range(lost + completed):
        entry = ask(desk, number, delivery="url_required")
        if number < lost:
            assert desk.call(f"elicitations/{entry}/lost", {"subject": ALICE}).status_code == 200
        else:
            desk.event(entry, f"pi_{number}")


@pytest.mark.parametrize(
    ("lost", "completed", "told"),
    [(1, 3, False), (2, 2, True), (3, 1, True), (2, 1, False), (0, 4, False)],
    ids=["below the share", "at it", "above it", "too few", "none lost"],
)
def test_a_share_of_lost_confirmations_is_told_by_provider(desk: Desk, lost: int, completed: int, told: bool) -> None:
    ended(desk, lost, completed)
    rate = RateSignal(ratio=0.5, minimum=4, seconds=3600)
    assert judge(lost_rate=rate) == ([("acme", "lost_rate", "example-pay", lost)] if told else [])
    assert judge(lost_rate=rate) == ([("acme", "lost_rate", "example-pay", lost)] if told else [])


def test_what_was_lost_or_came_before_the_window_is_in_no_share(desk: Desk) -> None:
    ended(desk, 2, 2)
    rate, moments = RateSignal(0.5, 4, 3600), Elicitation.objects.all()
    moments.filter(lost_at__isnull=False).update(lost_at=F("lost_at") - HOUR)
    assert judge(lost_rate=rate) == []
    moments.filter(lost_at__isnull=False).update(lost_at=F("lost_at") + HOUR)
    moments.filter(completed_at__isnull=False).update(completed_at=F("completed_at") - HOUR)
    assert judge(lost_rate=rate) == []
    assert judge(lost_rate=replace(rate, minimum=2)) == [("acme", "lost_rate", "example-pay", 2)]


def test_a_provider_that_loses_nothing_is_not_told_of_for_anothers_losses(desk: Desk) -> None:
    ended(desk, 4, 0)
    other = Elicitation.objects.earliest("pk")
    Elicitation.objects.filter(pk=other.pk).update(provider=desk.other_pay)
    assert judge(lost_rate=RateSignal(0.5, 2, 3600)) == [("acme", "lost_rate", "example-pay", 3)]


def answered(desk: Desk, *latencies: int | None) -> None:
    for number, latency in enumerate(latencies):
        body = {"subject": ALICE, "action": "decline", "content": "absent", "latency_ms": latency}
        assert desk.call(f"elicitations/{ask(desk, number)}/answer", body).status_code == 200


@pytest.mark.parametrize(
    ("latencies", "told"),
    [
        ((40, 9000, 9000, 9000), 0),
        ((40, 999, 9000, 9000), 2),
        ((40, 40, 40, 9000), 3),
        ((40, 1000, 9000, 9000), 0),
        ((40, 40, 40), 0),
        ((40, 40, None, None), 2),
    ],
    ids=["below the share", "at it", "above it", "a second is not under one", "too few", "unknown ones are answers"],
)
def test_a_share_of_answers_too_fast_for_a_person_is_told_by_client(
    desk: Desk, latencies: tuple[int | None, ...], told: int
) -> None:
    answered(desk, *latencies)
    client = Client.objects.get()
    rate = RateSignal(ratio=0.5, minimum=4, seconds=3600)
    assert judge(auto_answers=rate) == ([("acme", "auto_answers", f"client-{client.pk}", told)] if told else [])


def test_thirty_answers_in_forty_milliseconds_are_told_under_the_default_policy(desk: Desk) -> None:
    answered(desk, *[40] * 30)
    assert judge() == [("acme", "auto_answers", f"client-{Client.objects.get().pk}", 30)]


def test_answers_outside_the_window_and_of_other_clients_are_not_counted(desk: Desk) -> None:
    answered(desk, 40, 40, 40, 40)
    rate = RateSignal(0.5, 4, 3600)
    last = Elicitation.objects.latest("answered_at").answered_at
    assert last is not None
    assert judge(last + HOUR, auto_answers=rate) == []
    mine = Elicitation.objects.earliest("pk")
    other = Client.objects.create(tenant=desk.acme, name="y-client", version="1")
    Elicitation.objects.filter(pk=mine.pk).update(client=other)
    assert judge(auto_answers=rate) == []


# What the policy refused


def test_refused_credential_forms_are_told_by_service(desk: Desk) -> None:
    for _ in range(4):
        refuse(desk, purpose="choice", request=CREDENTIAL_FORM)
    refuse(desk, key=desk.mallory_key, purpose="choice", request=CREDENTIAL_FORM)
    refuse(desk, path="decisions", purpose="choice", request=CREDENTIAL_FORM)
    assert judge() == []
    refuse(desk, purpose="payment", request=CREDENTIAL_FORM | {"requestedSchema": builders.SCHEMA})
    assert judge() == [("acme", "credential_forms", "booking", 5)]
    assert judge() == [("acme", "credential_forms", "booking", 5)]
    refuse(desk, purpose="choice", request=CREDENTIAL_FORM)
    assert judge() == [("acme", "credential_forms", "booking", 6)]


@pytest.mark.parametrize("url", LINKS.values(), ids=LINKS)
def test_refused_links_to_a_host_that_is_not_listed_are_told_by_service(desk: Desk, url: str) -> None:
    request = {"mode": "url", "message": "Pay", "url": url}
    for _ in range(2):
        refuse(desk, request=request)
    refuse(desk, path="decisions", request=request)
    assert judge() == []
    refuse(desk, request=request)
    assert judge() == [("acme", "lookalike_origins", "booking", 3)]


def test_links_that_are_refused_for_something_else_are_not_counted(desk: Desk) -> None:
    for url in ("https://consent.example.com/other?flow=pay", "https://consent.example.com/start?flow=pay#x"):
        for _ in range(3):
            refuse(desk, request={"mode": "url", "message": "Pay", "url": url})
    assert judge() == []


def test_refusals_outside_the_window_are_not_counted(desk: Desk) -> None:
    for _ in range(3):
        refuse(desk, request={"mode": "url", "message": "Pay", "url": LINKS["suffix"]})
    first, last = Decision.objects.earliest("at").at, Decision.objects.latest("at").at
    assert judge(last + HOUR) == []
    assert judge(first + HOUR) == []
    assert judge(first + HOUR - MICROSECOND) == [("acme", "lookalike_origins", "booking", 3)]


def test_every_rule_that_is_counted_denies() -> None:
    from elicitation.policy.rules import entry

    assert all(entry(rule).denies for rule in (*tallying.CREDENTIAL_RULES, *tallying.ORIGIN_RULES))
    credential = {rule for rule in Rule if rule.startswith("form.credential_")}
    assert credential < set(tallying.CREDENTIAL_RULES)


# Signatures


def bad(provider: Provider, count: int, hour: datetime, last: datetime) -> None:
    BadSignature.objects.create(provider=provider, hour=hour, last_at=last, count=count)


def test_badly_signed_messages_are_told_by_provider_and_hours_that_the_window_touches(desk: Desk) -> None:
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    bad(desk.pay, 10, hour - HOUR, now - timedelta(minutes=30))
    bad(desk.pay, 9, hour, now)
    bad(desk.other_pay, 19, hour, now)
    assert judge(now) == []
    BadSignature.objects.filter(provider=desk.pay, hour=hour).update(count=10)
    assert judge(now) == [("acme", "bad_signatures", "example-pay", 20)]
    BadSignature.objects.filter(provider=desk.pay, hour=hour).update(count=11)
    assert judge(now) == [("acme", "bad_signatures", "example-pay", 21)]


def test_an_hour_of_bad_signatures_that_ended_before_the_window_is_not_counted(desk: Desk) -> None:
    now = clock.now()
    bad(desk.pay, 50, (now - HOUR).replace(minute=0, second=0, microsecond=0), now - HOUR)
    assert judge(now) == []
    assert judge(now - MICROSECOND) == [("acme", "bad_signatures", "example-pay", 50)]


def test_an_hour_that_a_resolved_signal_told_of_is_not_told_again(desk: Desk) -> None:
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    bad(desk.pay, 30, hour, now)
    judge(now)
    resolve()
    BadSignature.objects.update(count=31, last_at=now + MICROSECOND)
    assert len(judge(now + MICROSECOND)) == 1
    bad(desk.pay, 20, hour + HOUR, hour + HOUR)
    assert [row[3] for row in judge(hour + HOUR)] == [30, 20]
