"""Signals about somebody else, about sweeps and about results; and what looking again, or resolving, changes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from audit import vocabulary
from audit.models import Signal
from elicitation.models import (
    Heartbeat,
    RefusedAttempt,
    WebhookDelivery,
)
from elicitation.policy.document import lay_over
from elicitation.policy.signal_rules import DEFAULT, CountSignal
from elicitation.services import clock, signalling, tallying
from elicitation.services.signal_words import WORDS
from elicitation.services.sweeps.signalling import signals
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.signalled import CREDENTIAL_FORM, HOUR, LINKS, MICROSECOND, judge, refuse, resolve, standing, uid
from tests.steps import ask

pytestmark = pytest.mark.django_db


# Somebody else


def test_completions_by_somebody_else_are_one_signal_from_the_threshold_on(desk: Desk) -> None:
    entry, other = ask(desk), ask(desk, 1)
    before = builders.snapshot(entry)
    for _ in range(2):
        desk.event(entry, subject=BOB)
    desk.event(other, subject=ALICE)
    assert judge() == []
    desk.event(entry, subject=BOB)
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 3)]
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 3)], "looking twice counts once"
    desk.event(entry, subject=BOB)
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 4)]
    assert builders.snapshot(entry) == before


def test_attempts_leave_the_window_one_by_one(desk: Desk) -> None:
    entry = ask(desk)
    for _ in range(3):
        desk.event(entry, subject=BOB)
    first = min(RefusedAttempt.objects.get().since, WebhookDelivery.objects.earliest("received_at").received_at)
    last = WebhookDelivery.objects.latest("received_at").received_at
    RefusedAttempt.objects.update(since=first)
    WebhookDelivery.objects.filter(received_at=WebhookDelivery.objects.earliest("received_at").received_at).update(
        received_at=first
    )
    window = timedelta(seconds=DEFAULT.wrong_user.seconds)
    assert judge(first + window) == [], "exactly as long ago as the window is outside"
    assert judge(first + window - MICROSECOND) == [("acme", "wrong_user_entry", uid(entry), 3)]
    resolve()
    assert judge(last + window) == [("acme", "wrong_user_entry", uid(entry), 3)]


def test_a_burst_late_in_the_hour_of_a_first_attempt_is_seen(desk: Desk) -> None:
    entry = ask(desk)
    desk.event(entry, subject=BOB)
    RefusedAttempt.objects.update(since=F("since") - HOUR / 2)
    WebhookDelivery.objects.update(received_at=F("received_at") - HOUR / 2)
    for _ in range(2):
        desk.event(entry, subject=BOB)
    assert judge() == []
    desk.event(entry, subject=BOB)
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 3)]


def test_a_services_own_word_about_somebody_else_counts_as_well(desk: Desk) -> None:
    builders.activate(builders.document(sources=["server"]))
    entry = ask(desk)
    for _ in range(3):
        said = desk.call(f"elicitations/{entry}/completion", {"subject": BOB, "result_ref": "pi_1"}).json()
        assert said["outcome"] == "wrong_user_denied"
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 3)]


def test_one_attempt_on_each_of_a_persons_entries_is_a_signal_about_the_person(desk: Desk) -> None:
    entries = [ask(desk, number) for number in range(3)]
    for entry in entries[:2]:
        desk.event(entry, subject=BOB)
    assert judge() == []
    desk.event(entries[2], subject=BOB)
    subject = builders.entry_of(entries[0]).subject
    assert subject is not None
    assert judge() == [("acme", "wrong_user_person", subject.handle.hex, 3)]


def test_people_are_not_added_up(desk: Desk) -> None:
    mine, theirs = ask(desk), ask(desk, 1, subject=BOB)
    for _ in range(2):
        desk.event(mine, subject=BOB)
        desk.event(theirs, subject=ALICE)
    assert judge() == []


def test_a_caller_of_another_tenant_is_told_to_the_owner_unnamed_and_to_the_desk_by_number(desk: Desk) -> None:
    entry = ask(desk)
    before = builders.snapshot(entry)
    for number in range(3):
        assert judge() == []
        body = {"subject": ALICE, "result_ref": f"pi_{number}"}
        said = desk.call(f"elicitations/{entry}/completion", body, key=desk.mallory_key)
        assert said.status_code in (200, 404)
    assert judge() == [
        ("acme", "wrong_tenant", uid(entry), 3),
        ("desk", "wrong_tenant", f"service-{desk.mallory.pk}", 3),
    ]
    assert builders.snapshot(entry) == before


def test_callers_of_the_same_slug_in_different_tenants_are_told_apart(desk: Desk) -> None:
    from elicitation.services import keys, parties

    umbrella = parties.open_tenant("umbrella", "Umbrella")
    twin = parties.open_service(umbrella, "booking", "Booking")
    key = keys.create_service_key(twin, keys.OF_SERVICES)
    entry = ask(desk)
    for caller in (key, desk.mallory_key, key, desk.mallory_key, key):
        desk.call(f"elicitations/{entry}/completion", {"subject": ALICE, "result_ref": "pi_1"}, key=caller)
    assert judge() == [("acme", "wrong_tenant", uid(entry), 5), ("desk", "wrong_tenant", f"service-{twin.pk}", 3)]


def test_a_provider_of_another_tenant_is_told_as_well(desk: Desk) -> None:
    entry = ask(desk)
    for _ in range(3):
        desk.event(entry, slug=desk.other_pay.slug, secret=desk.other_secret)
    assert ("desk", "wrong_tenant", f"provider-{desk.other_pay.pk}", 3) in judge()


def test_a_sibling_service_is_no_other_tenant(desk: Desk) -> None:
    entry = ask(desk)
    for _ in range(3):
        desk.call(f"elicitations/{entry}/completion", {"subject": ALICE, "result_ref": "pi_1"}, key=desk.sibling_key)
    assert judge() == []


# Sweeps


def test_a_sweep_that_is_silent_for_too_long_is_told_once_for_each_silence(desk: Desk) -> None:
    now = clock.now()
    allowed = timedelta(seconds=60)
    beat, _ = Heartbeat.objects.update_or_create(name="expire", defaults={"at": now - allowed})
    Heartbeat.objects.update_or_create(name="signals", defaults={"at": now})
    assert signalling.late_sweeps(allowed, now) == 0
    later = now + MICROSECOND
    assert signalling.late_sweeps(allowed, later) == 1
    assert signalling.late_sweeps(allowed, later + timedelta(seconds=5)) == 0
    assert standing() == [("desk", "late_sweep", "expire", 1)]
    Heartbeat.objects.filter(pk=beat.pk).update(at=now)
    Heartbeat.objects.filter(name="signals").update(at=now + HOUR)
    signalling.late_sweeps(allowed, now + HOUR)
    assert standing() == [("desk", "late_sweep", "expire", 2)]
    resolve()
    assert signalling.late_sweeps(allowed, now + HOUR) == 0, "the same silence is settled"
    assert len(standing()) == 1


def test_a_schedule_that_stood_still_is_one_signal(desk: Desk) -> None:
    now = clock.now()
    for name in ("expire", "deliver", "signals"):
        Heartbeat.objects.update_or_create(name=name, defaults={"at": now - HOUR})
    signals()
    assert standing() == [("desk", "late_sweep", "signals", 1)]


# The sweep


def test_the_sweep_takes_its_thresholds_from_the_policy_and_leaves_a_heartbeat(desk: Desk) -> None:
    entry = ask(desk)
    desk.event(entry, subject=BOB)
    assert (signals(), standing()) == (0, [])
    builders.activate(lay_over(builders.document(), {"signals": {"wrong_user": {"count": 1, "seconds": 60}}}))
    assert (signals(), standing()) == (1, [("acme", "wrong_user_entry", uid(entry), 1)])
    assert (signals(), len(standing())) == (0, 1)
    beat = Heartbeat.objects.get(name="signals")
    assert (beat.count, timedelta() <= clock.now() - beat.at < timedelta(seconds=10)) == (0, True)


def test_a_rule_that_fails_stops_no_other(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(since: object) -> Any:
        raise RuntimeError("broken")

    monkeypatch.setattr(tallying, "wrong_users_of_entries", broken)
    for _ in range(3):
        refuse(desk, request={"mode": "url", "message": "Pay", "url": LINKS["suffix"]})
    assert judge() == [("acme", "lookalike_origins", "booking", 3)]


def test_events_that_a_resolved_signal_told_of_open_no_other_until_as_many_are_new(desk: Desk) -> None:
    entry = ask(desk)
    for _ in range(4):
        desk.event(entry, subject=BOB)
    judge()
    resolve()
    assert len(judge()) == 1
    for _ in range(2):
        desk.event(entry, subject=BOB)
    assert len(judge()) == 1, "two new ones are below the threshold"
    desk.event(entry, subject=BOB)
    assert [row[3] for row in judge()] == [4, 3]
    mine = Signal.objects.filter(rule="wrong_user_entry").order_by("pk")
    assert list(mine.values_list("status", flat=True)) == ["resolved", "open"]


def test_a_signal_that_somebody_took_note_of_counts_on(desk: Desk) -> None:
    entry = ask(desk)
    for _ in range(3):
        desk.event(entry, subject=BOB)
    judge()
    Signal.objects.update(status=Signal.Status.ACKNOWLEDGED)
    desk.event(entry, subject=BOB)
    assert judge() == [("acme", "wrong_user_entry", uid(entry), 4)]


def test_a_look_takes_as_many_queries_however_much_there_is(desk: Desk) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            judge(wrong_user=CountSignal(10_000, 600), credential_forms=CountSignal(10_000, 3600))
        return len(captured)

    def some(first: int, last: int) -> None:
        for number in range(first, last):
            desk.event(ask(desk, number), subject=BOB)
            refuse(desk, purpose="choice", request=CREDENTIAL_FORM)

    some(0, 1)
    few = queries()
    some(1, 6)
    assert queries() == few


# At once


def test_a_contradicting_result_is_told_with_the_first(desk: Desk) -> None:
    entry = ask(desk, delivery="url_required")
    desk.event(entry, "pi_1")
    assert standing_of(entry) == []
    desk.event(entry, "pi_1")
    assert standing_of(entry) == [], "the same again contradicts nothing"
    for _ in range(2):
        desk.event(entry, "pi_2")
    assert standing_of(entry) == [("acme", "conflicting_result", uid(entry), 2)]


def test_a_result_that_was_used_before_is_told_with_the_first(desk: Desk) -> None:
    first, second = ask(desk, 1, delivery="url_required"), ask(desk, 2, delivery="url_required")
    desk.event(first, "pi_1")
    before = builders.snapshot(second)
    desk.event(second, "pi_1")
    assert standing_of(second) == [("acme", "reused_result", uid(second), 1)]
    assert builders.snapshot(second) == before


def standing_of(public_id: str) -> list[tuple[str, str, str, int]]:
    return [row for row in standing() if row[2] == uid(public_id)]


def test_there_are_words_for_every_signal_and_for_nothing_else() -> None:
    assert set(WORDS) == vocabulary.SIGNALS
    watched = {watch.rule for watch in signalling.watches(DEFAULT)} | {"late_sweep"}
    at_once = {"activation_alone", "reversal", "conflicting_result", "reused_result", "ledger_broken"}
    assert watched | at_once == vocabulary.SIGNALS
    assert not watched & at_once
