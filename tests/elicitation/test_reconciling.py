"""The reconciler: what never arrived is looked for, what nobody can say is suspected, and nothing else is touched."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from elicitation.models import Elicitation, Evidence, Heartbeat
from elicitation.services import parties, status
from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.asked import asked, done, provider
from tests.providers.server import ProviderServer, reply, says
from tests.steps import consented, lost

__all__ = ["provider"]

pytestmark = pytest.mark.django_db

USUAL = 300
HOUR = 3600
DAY = 86_400


def question(name: str) -> dict[str, Any]:
    return {"operation": builders.operation(question=name)}


def late(desk: Desk, **changes: Any) -> str:
    """An entry whose usual time is over."""
    public_id = consented(desk, **changes)
    builders.age(public_id, USUAL)
    return public_id


def test_a_completion_that_never_arrived_is_found(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(says(done()))
    assert reconciling.reconcile() == 1
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.completion_source, entry.next_lookup_at) == ("COMPLETE", "reconcile", None)
    assert Heartbeat.objects.get(name="reconcile").count == 1
    assert reconciling.reconcile() == 0


def test_before_its_usual_time_is_over_nobody_asks(desk: Desk, provider: ProviderServer) -> None:
    public_id = consented(desk)
    builders.age(public_id, USUAL - 5)
    assert reconciling.reconcile() == 0
    assert asked(provider) == 0


def test_a_failure_ends_the_entry(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(says({"status": "failed"}))
    reconciling.reconcile()
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.cancelled_by) == ("CANCELLED", "provider")
    assert builders.ledger(public_id)[-1].actor_kind == "provider"


@pytest.mark.parametrize("status", ["pending", "unknown"])
def test_a_provider_that_answers_knows_better_than_the_clock(desk: Desk, provider: ProviderServer, status: str) -> None:
    public_id = late(desk)
    provider.script(says({"status": status}))
    for _ in range(3):
        reconciling.reconcile()
        builders.age(public_id, 60)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.lost_at) == ("CONSENT_PENDING", None)
    noted = [row for row in builders.ledger(public_id) if row.event == "lookup"]
    assert len(noted) == 1  # the same answer again is no news
    assert entry.next_lookup_at is not None


def test_where_nobody_can_be_asked_the_loss_is_suspected(desk: Desk) -> None:
    public_id = late(desk)
    reconciling.reconcile()
    entry = builders.entry_of(public_id)
    assert entry.state == "RETRY_REQUIRED"
    assert entry.lost_at is not None
    last = builders.ledger(public_id)[-1]
    assert (last.event, last.actor_kind) == ("lost", "scheduler")
    desk.event(public_id)  # it was only slow
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_silence_is_suspicious_the_second_time(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(reply(b"", 500))
    reconciling.reconcile()
    assert builders.entry_of(public_id).state == "CONSENT_PENDING"
    builders.age(public_id, 120)
    reconciling.reconcile()
    assert builders.entry_of(public_id).state == "RETRY_REQUIRED"
    provider.script(says(done()))
    builders.age(public_id, 120)
    reconciling.reconcile()
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_lost_confirmation_is_asked_for_soon(desk: Desk, provider: ProviderServer) -> None:
    public_id = lost(desk)
    provider.script(says(done()))
    assert reconciling.reconcile() == 0
    builders.age(public_id, 15)
    reconciling.reconcile()
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_link_in_an_error_is_suspected_only_when_it_was_shown(desk: Desk) -> None:
    unseen = desk.admit(delivery="url_required", **question("unseen")).json()["id"]
    shown = desk.admit(delivery="url_required", **question("shown")).json()["id"]
    desk.call(f"elicitations/{shown}/progress", {"subject": ALICE, "event": "shown"})
    for each in (unseen, shown):
        builders.age(each, USUAL)
    reconciling.reconcile()
    assert builders.entry_of(unseen).state == "ADMITTED"
    assert builders.entry_of(shown).state == "RETRY_REQUIRED"
    assert reconciling.reconcile() == 0


def test_a_link_in_an_error_is_asked_about_without_any_report(desk: Desk, provider: ProviderServer) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    builders.age(public_id, USUAL)
    provider.script(says(done()))
    reconciling.reconcile()
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.consent_source) == ("COMPLETE", "evidence_only")


def test_what_was_done_just_before_the_end_is_found_after_it(desk: Desk, provider: ProviderServer) -> None:
    public_id = consented(desk)
    provider.script(says(done()))
    builders.age(public_id, HOUR)
    Elicitation.objects.update(next_lookup_at=None)  # as if the sweep of deadlines came first
    expiring.expire()
    assert builders.entry_of(public_id).state == "EXPIRED"
    assert reconciling.reconcile() == 0
    builders.age(public_id, 60)
    reconciling.reconcile()
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.late_evidence, entry.next_lookup_at) == ("EXPIRED", True, None)
    assert Evidence.objects.get().status == "late"


def test_an_entry_that_ended_unvisited_is_not_asked_about(desk: Desk, provider: ProviderServer) -> None:
    public_id = desk.admit().json()["id"]
    builders.age(public_id, HOUR)
    expiring.expire()
    assert builders.entry_of(public_id).next_lookup_at is None


def test_a_lost_confirmation_that_nobody_found_stays_in_the_queue(desk: Desk) -> None:
    found, abandoned = lost(desk, **question("lost")), consented(desk, **question("abandoned"))
    for each in (found, abandoned):
        builders.age(each, 2 * DAY)
    expiring.expire()
    assert [builders.entry_of(each).state for each in (found, abandoned)] == ["EXPIRED", "EXPIRED"]
    assert [builders.entry_of(each).unresolved for each in (found, abandoned)] == [True, False]


def test_one_bad_row_does_not_stop_the_others(
    desk: Desk, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [late(desk, **question(str(number))) for number in range(10)]
    for number, each in enumerate(ids):
        provider.about(each, says(done(f"pi_{number}")))
    bad = builders.entry_of(ids[3]).pk
    original = reconciling._apply_once

    def failing(entry: Elicitation, *rest: Any) -> None:
        if entry.pk == bad:
            raise ValueError("a row that cannot be handled")
        original(entry, *rest)

    monkeypatch.setattr(reconciling, "_apply_once", failing)
    reconciling.reconcile()
    states = {each: builders.entry_of(each).state for each in ids}
    assert states.pop(ids[3]) == "CONSENT_PENDING"
    assert set(states.values()) == {"COMPLETE"}
    again = builders.entry_of(ids[3]).next_lookup_at
    assert again is not None
    assert again > datetime.now(UTC) + timedelta(seconds=30)  # later, not at once and not never


def test_what_a_dead_worker_had_taken_up_comes_up_again(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(says(done()))
    reconciling._claim()  # and then the worker dies
    assert reconciling.reconcile() == 0
    builders.age(public_id, 61)
    assert reconciling.reconcile() == 1
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_webhook_that_wins_the_race_is_left_alone(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(says({"status": "failed"}))
    (entry,) = reconciling._claim()
    desk.event(public_id)
    said = status.ask(entry)
    before = builders.snapshot(public_id)
    reconciling._apply(entry.pk, said)
    assert builders.snapshot(public_id) == before
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_a_row_that_cannot_even_be_asked_about_does_not_stop_the_others(desk: Desk, provider: ProviderServer) -> None:
    bad, good = late(desk, **question("bad")), late(desk, **question("good"))
    Elicitation.objects.filter(pk=builders.entry_of(bad).pk).update(purpose="no such purpose")
    provider.script(says(done()))
    reconciling.reconcile()
    assert builders.entry_of(good).state == "COMPLETE"
    assert Heartbeat.objects.filter(name="reconcile").exists()


def test_somebody_elses_work_does_not_end_the_search_for_the_askers(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    provider.script(says(done("pi_bob", subject=BOB)), says({"status": "failed", "subject": BOB}), says(done()))
    for _ in range(3):
        assert builders.entry_of(public_id).state == "CONSENT_PENDING"
        reconciling.reconcile()
        builders.age(public_id, 600)
    assert builders.entry_of(public_id).state == "COMPLETE"
    outcomes = [row.outcome for row in builders.ledger(public_id)]
    assert outcomes.count("wrong_user_denied") == 1  # the second is counted


def test_one_slow_provider_does_not_hold_up_another(desk: Desk) -> None:
    """A batch holds a few of each provider, however long the queue of one is."""
    for number in range(20):
        late(desk, **question(str(number)))
    other = parties.open_provider(desk.acme, "other-pay", "Other")
    Elicitation.objects.filter(pk=Elicitation.objects.latest("pk").pk).update(provider=other)
    batch = reconciling._claim()
    assert [entry.provider for entry in batch].count(desk.pay) == reconciling.OF_ONE_PROVIDER
    assert other in [entry.provider for entry in batch]


def test_an_entry_that_is_complete_is_not_asked_about_again(desk: Desk, provider: ProviderServer) -> None:
    public_id = late(desk)
    desk.event(public_id)
    Elicitation.objects.update(next_lookup_at=datetime.now(UTC) - timedelta(seconds=1))  # a look-up was on its way
    reconciling.reconcile()
    assert builders.entry_of(public_id).next_lookup_at is None


@pytest.mark.parametrize("closed", ["provider", "tenant"])
def test_who_is_closed_is_not_asked(desk: Desk, provider: ProviderServer, closed: str) -> None:
    late(desk)
    (desk.pay if closed == "provider" else desk.acme).__class__.objects.update(closed_at=datetime.now(UTC))
    reconciling.reconcile()
    assert asked(provider) == 0
