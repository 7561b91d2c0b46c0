"""One open signal for a rule and what it is about: it counts, it does not multiply, and people are told once."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from audit.ledger import NotAdmissible
from audit.models import LedgerEntry, Outgoing, Signal
from audit.signals import (
    About,
    Observed,
    Reviewed,
    Seen,
    acknowledge,
    observe,
    observe_again,
    raise_signal,
    resolve,
    told_until,
)
from elicitation.services import actors, reviewing
from elicitation.services.reviewing import ResolveReason
from tests.racing import at_once

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


def resolve_all() -> None:
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
    resolve_all()
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
    resolve_all()
    assert told_until("lost_rate", NOW) == {ABOUT: NOW}
    assert told_until("lost_rate", NOW + MINUTE) == {}
    assert told_until("auto_answers", NOW) == {}
    observe("lost_rate", ABOUT, Observed(5, NOW, NOW + 2 * MINUTE), NOW)
    resolve_all()
    assert told_until("lost_rate", NOW) == {ABOUT: NOW + 2 * MINUTE}


@pytest.mark.django_db(transaction=True)
def test_events_at_the_same_time_open_one_signal_and_are_all_counted() -> None:
    at_once([lambda: raised(NOW)] * 8, 8)
    assert rows() == [("open", 8, NOW, NOW)]
    assert Outgoing.objects.count() == 2


OPEN, ACKNOWLEDGED, RESOLVED = Signal.Status.OPEN, Signal.Status.ACKNOWLEDGED, Signal.Status.RESOLVED


def test_an_open_signal_is_acknowledged_once_and_counts_on() -> None:
    raised(NOW)
    signal = Signal.objects.get()
    assert acknowledge(signal.pk) is Reviewed.DONE
    assert rows() == [("acknowledged", 1, NOW, NOW)]
    assert acknowledge(signal.pk) is Reviewed.OVERTAKEN
    assert rows() == [("acknowledged", 1, NOW, NOW)]
    raised(NOW + MINUTE)
    assert rows() == [("acknowledged", 2, NOW, NOW + MINUTE)]


@pytest.mark.parametrize("status", [OPEN, ACKNOWLEDGED])
def test_a_signal_is_resolved_as_it_was_seen(status: Signal.Status) -> None:
    raised(NOW)
    Signal.objects.update(status=status)
    assert resolve(Signal.objects.get().pk, Seen(status, 1)) is Reviewed.DONE
    assert rows() == [("resolved", 1, NOW, NOW)]


@pytest.mark.parametrize(
    ("status", "seen", "outcome"),
    [
        (OPEN, Seen(OPEN, 1), Reviewed.COUNTED),
        (OPEN, Seen(OPEN, 3), Reviewed.COUNTED),
        (ACKNOWLEDGED, Seen(ACKNOWLEDGED, 1), Reviewed.COUNTED),
        (ACKNOWLEDGED, Seen(OPEN, 2), Reviewed.OVERTAKEN),
        (OPEN, Seen(ACKNOWLEDGED, 2), Reviewed.OVERTAKEN),
        (RESOLVED, Seen(OPEN, 2), Reviewed.OVERTAKEN),
        (RESOLVED, Seen(RESOLVED, 2), Reviewed.OVERTAKEN),
    ],
)
def test_a_signal_that_is_not_as_it_was_seen_stays(status: Signal.Status, seen: Seen, outcome: Reviewed) -> None:
    observe("lost_rate", ABOUT, Observed(2, NOW, NOW), NOW)
    Signal.objects.update(status=status)
    before = rows()
    assert resolve(Signal.objects.get().pk, seen) is outcome
    assert rows() == before


def test_a_resolved_signal_is_not_acknowledged() -> None:
    raised(NOW)
    resolve_all()
    assert acknowledge(Signal.objects.get().pk) is Reviewed.OVERTAKEN
    assert rows() == [("resolved", 1, NOW, NOW)]


@pytest.mark.parametrize(
    ("tenant", "rule", "about", "columns"),
    [
        ("acme", "reversal", "0" * 32, {"elicitation_id": UUID(int=0)}),
        ("acme", "wrong_user_person", "0" * 32, {"subject": UUID(int=0)}),
        ("acme", "auto_answers", "client-7", {"client_id": 7}),
        ("desk", "activation_alone", "revision-2", {"policy_revision": 2}),
        ("acme", "credential_forms", "booking", {"service": "booking"}),
        ("acme", "lost_rate", "example-pay", {"provider": "example-pay"}),
        ("desk", "wrong_tenant", "service-1", {}),
        ("desk", "wrong_tenant", "provider-1", {}),
        ("desk", "late_sweep", "expire", {}),
        ("acme", "ledger_broken", "leaf-256", {}),
    ],
)
def test_the_ledger_says_what_the_signal_was_about(
    tenant: str, rule: str, about: str, columns: dict[str, object]
) -> None:
    raise_signal(rule, tenant, about, NOW)
    reviewing.acknowledge(Signal.objects.get(), actors.operator(7))
    row = LedgerEntry.objects.get(event="signal_acknowledged")
    names = ("elicitation_id", "subject", "client_id", "policy_revision", "service", "provider")
    assert {name: value for name in names if (value := getattr(row, name))} == columns
    assert (row.tenant, row.rule) == (tenant, f"signal.{rule}")


@pytest.mark.django_db(transaction=True)
def test_no_event_is_counted_on_a_signal_that_was_resolved_at_the_same_time() -> None:
    def review() -> None:
        outcome = Reviewed.COUNTED
        while outcome is Reviewed.COUNTED and (signal := Signal.objects.filter(status=OPEN).first()):
            outcome = reviewing.resolve(signal, actors.operator(7), ResolveReason.HANDLED, Seen(OPEN, signal.count))

    at_once([lambda: raised(NOW), review] * 40, 7)
    resolved = Signal.objects.filter(status=RESOLVED).order_by("pk").values_list("count", flat=True)
    told = LedgerEntry.objects.filter(event="signal_resolved").order_by("pk").values_list("repeat_count", flat=True)
    assert list(resolved) == list(told), "what a person resolved is what they had seen"
    assert sum(row[1] for row in rows()) == 40
    assert resolved


@pytest.mark.django_db(transaction=True)
def test_of_many_reviews_at_once_one_counts() -> None:
    raised(NOW)
    signal = Signal.objects.get()
    by, seen = actors.operator(7), Seen(OPEN, 1)
    outcomes = at_once(
        [lambda: reviewing.resolve(signal, by, ResolveReason.HANDLED, seen), lambda: reviewing.acknowledge(signal, by)]
        * 4,
        8,
    )
    assert sorted(outcomes) == ["done"] + ["overtaken"] * 7
    assert LedgerEntry.objects.filter(event__startswith="signal_").count() == 1
