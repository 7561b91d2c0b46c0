"""One open signal for a rule and what it is about: it counts, it does not multiply, and people are told once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from audit.ledger import NotAdmissible
from audit.models import Outgoing, Signal
from audit.signals import About, Observed, observe, observe_again, raise_signal, told_until
from tests.races.test_races import at_once

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ABOUT = About("acme", "a" * 32)


@pytest.fixture(autouse=True)
def _both_channels(settings: Any) -> None:
    settings.DESK_SIGNAL_EMAILS = ["ops@example.com"]
    settings.DESK_SIGNAL_WEBHOOK_URL = "https://hooks.example.com/"


def rows() -> list[tuple[str, int, datetime, datetime]]:
    return [(row.status, row.count, row.first_at, row.last_at) for row in Signal.objects.order_by("pk")]


def raised(at: datetime) -> None:
    with transaction.atomic():
        raise_signal("reversal", *ABOUT, at)


def resolve() -> None:
    Signal.objects.update(status=Signal.Status.RESOLVED)


def test_the_second_event_counts_and_tells_nobody_again() -> None:
    raised(NOW)
    assert rows() == [("open", 1, NOW, NOW)]
    assert [(row.channel, row.status, row.due_at) for row in Outgoing.objects.order_by("pk")] == [
        ("email", "waiting", NOW),
        ("webhook", "waiting", NOW),
    ]
    raised(NOW + MINUTE)
    Signal.objects.update(status=Signal.Status.ACKNOWLEDGED)
    raised(NOW + 2 * MINUTE)
    assert rows() == [("acknowledged", 3, NOW, NOW + 2 * MINUTE)]
    assert Outgoing.objects.count() == 2


def test_after_a_resolved_signal_the_next_event_opens_and_tells_anew() -> None:
    raised(NOW)
    resolve()
    raised(NOW + MINUTE)
    assert rows() == [("resolved", 1, NOW, NOW), ("open", 1, NOW + MINUTE, NOW + MINUTE)]
    assert Outgoing.objects.count() == 4


def test_rules_tenants_and_subjects_have_signals_of_their_own() -> None:
    for rule, about in (
        ("reversal", ABOUT),
        ("reused_result", ABOUT),
        ("reversal", About("globex", ABOUT.about)),
        ("reversal", About("acme", "b" * 32)),
    ):
        raise_signal(rule, *about, NOW)
    assert [row[1] for row in rows()] == [1, 1, 1, 1]


def test_a_signal_and_its_messages_vanish_with_the_change_that_was_undone() -> None:
    with transaction.atomic():
        raise_signal("reversal", *ABOUT, NOW)
        assert Outgoing.objects.count() == 2
        transaction.set_rollback(True)
    assert not Signal.objects.exists()
    assert not Outgoing.objects.exists()


def test_only_the_channels_that_are_configured_are_told(settings: Any) -> None:
    settings.DESK_SIGNAL_WEBHOOK_URL = ""
    raise_signal("reversal", *ABOUT, NOW)
    assert list(Outgoing.objects.values_list("channel", flat=True)) == ["email"]
    settings.DESK_SIGNAL_EMAILS = []
    raise_signal("reused_result", *ABOUT, NOW)
    assert Outgoing.objects.count() == 1


@pytest.mark.parametrize("rule", ["", "Reversal", "someone@example.com"])
def test_a_rule_outside_the_vocabulary_is_refused(rule: str) -> None:
    for refused in (
        lambda: raise_signal(rule, *ABOUT, NOW),
        lambda: observe(rule, ABOUT, Observed(1, NOW, NOW), NOW),
        lambda: observe_again(rule, ABOUT, NOW, NOW),
    ):
        with pytest.raises(NotAdmissible):
            refused()
    assert not Signal.objects.exists()


def test_the_same_window_seen_twice_counts_once_and_the_highest_stands() -> None:
    found = Observed(5, NOW - MINUTE, NOW)
    assert observe("lost_rate", ABOUT, found, NOW) is True
    assert observe("lost_rate", ABOUT, found, NOW) is False
    assert rows() == [("open", 5, NOW - MINUTE, NOW)]
    observe("lost_rate", ABOUT, Observed(3, NOW, NOW + MINUTE), NOW)
    assert rows() == [("open", 5, NOW - MINUTE, NOW + MINUTE)]
    observe("lost_rate", ABOUT, Observed(7, NOW, NOW), NOW)
    assert rows() == [("open", 7, NOW - MINUTE, NOW + MINUTE)]
    assert Outgoing.objects.count() == 2


def test_an_event_that_lasts_counts_once_however_often_it_is_seen() -> None:
    assert [observe_again("late_sweep", ABOUT, at, NOW) for at in (NOW, NOW, NOW - MINUTE, NOW + MINUTE)] == [
        True,
        False,
        False,
        False,
    ]
    assert rows() == [("open", 2, NOW, NOW + MINUTE)]


def test_what_resolved_signals_told_of_is_known_as_far_back_as_asked() -> None:
    observe("lost_rate", ABOUT, Observed(5, NOW - MINUTE, NOW), NOW)
    assert told_until("lost_rate", NOW - MINUTE) == {}
    resolve()
    assert told_until("lost_rate", NOW) == {ABOUT: NOW}
    assert told_until("lost_rate", NOW + MINUTE) == {}
    assert told_until("auto_answers", NOW) == {}
    observe("lost_rate", ABOUT, Observed(5, NOW, NOW + 2 * MINUTE), NOW)
    resolve()
    assert told_until("lost_rate", NOW) == {ABOUT: NOW + 2 * MINUTE}


@pytest.mark.django_db(transaction=True)
def test_events_at_the_same_time_open_one_signal_and_are_all_counted() -> None:
    at_once([lambda: raised(NOW)] * 8, 8)
    assert rows() == [("open", 8, NOW, NOW)]
    assert Outgoing.objects.count() == 2
