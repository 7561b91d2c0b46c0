"""Many at once: one winner each, one ledger entry for each transition, and nobody gets a 5xx. On every database."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from elicitation.models import Elicitation
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, Desk
from tests.racing import assert_the_ledger_explains, at_once, transitions

pytestmark = pytest.mark.django_db(transaction=True)


def test_twenty_completions_of_one_entry_have_one_winner(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.call(f"elicitations/{public_id}/answer", {"subject": ALICE, "action": "accept", "content": "absent"})
    responses = at_once([lambda: desk.event(public_id) for _ in range(20)], 20)
    assert {response.status_code for response in responses} == {204}
    entry = builders.entry_of(public_id)
    assert entry.state == "COMPLETE"
    completions = [row for row in builders.ledger(public_id) if row.event == "evidence"]
    assert [(row.state_from, row.state_to) for row in completions] == [("CONSENT_PENDING", "COMPLETE")]
    assert_the_ledger_explains(entry)


def test_twenty_different_results_for_one_entry_have_one_winner(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    responses = at_once([partial(desk.event, public_id, f"pi_{n}") for n in range(20)], 20)
    assert {response.status_code for response in responses} == {204}
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.evidence.filter(status="used").count()) == ("COMPLETE", 1)
    assert entry.evidence.filter(status="conflict").count() == 19
    assert_the_ledger_explains(entry)


def test_one_result_for_twenty_entries_completes_one_of_them(desk: Desk) -> None:
    ids = [
        desk.admit(delivery="url_required", operation=builders.operation(question=str(n))).json()["id"]
        for n in range(20)
    ]
    responses = at_once([partial(desk.event, one) for one in ids], 20)
    assert {response.status_code for response in responses} == {204}
    assert Counter(builders.entry_of(one).state for one in ids) == {"COMPLETE": 1, "ADMITTED": 19}


def test_twenty_consumers_get_the_same_result_and_one_applies_it(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    desk.event(public_id)
    body = {"subject": ALICE, "operation": builders.operation()}
    responses = at_once([lambda: desk.call(f"elicitations/{public_id}/consume", body).json() for _ in range(20)], 20)
    assert Counter(reply["outcome"] for reply in responses) == {"applied": 1, "already_applied": 19}
    assert {reply["result_ref"] for reply in responses} == {"pi_1"}
    assert [row.event for row in builders.ledger(public_id)].count("consume") == 1


@pytest.mark.parametrize("before", ["nothing", "live", "overdue", "held", "cancelled", "lost"])
def test_eight_who_ask_the_same_at_once_get_one_entry(desk: Desk, before: str) -> None:
    if before != "nothing":
        first = desk.admit().json()["id"]
        match before:
            case "overdue":
                builders.age(first, 3600)
            case "held":
                desk.event(first)
            case "cancelled":
                desk.call(f"elicitations/{first}/cancel", {"subject": ALICE})
            case "lost":
                body = {"subject": ALICE, "action": "accept", "content": "absent"}
                desk.call(f"elicitations/{first}/answer", body)
                desk.call(f"elicitations/{first}/lost", {"subject": ALICE})
    responses = at_once([desk.admit for _ in range(8)], 8)
    assert len({response.json()["id"] for response in responses}) == 1, [r.json() for r in responses]
    made = Counter(response.status_code for response in responses)
    assert made == ({201: 1, 200: 7} if before in ("nothing", "overdue", "cancelled") else {200: 8})
    for entry in Elicitation.objects.all():
        assert_the_ledger_explains(entry)


def test_racing_events_leave_each_entry_explained(desk: Desk) -> None:
    """1,600 events on 200 entries; on SQLite, where one writes at a time, a quarter of them."""
    count = 200 if connection.vendor == "postgresql" else 50
    chance = random.Random(20251125)
    ids = [
        desk.admit(
            delivery=chance.choice(["create", "url_required"]), operation=builders.operation(question=str(number))
        ).json()["id"]
        for number in range(count)
    ]
    overdue = chance.sample(ids, count // 10)
    for one in overdue:
        builders.age(one, 3600)
    path = "elicitations/{}/{}".format
    events: list[Callable[[str], Any]] = [
        lambda one: desk.event(one, f"pi_{one}"),
        lambda one: desk.call(path(one, "answer"), {"subject": ALICE, "action": "accept", "content": "absent"}),
        lambda one: desk.call(path(one, "answer"), {"subject": ALICE, "action": "cancel", "content": "absent"}),
        lambda one: desk.call(path(one, "answer"), {"subject": ALICE, "action": "decline", "content": "absent"}),
        lambda one: desk.call(path(one, "lost"), {"subject": ALICE}),
        lambda one: desk.call(path(one, "retry"), {"subject": ALICE}),
        lambda one: desk.call(path(one, "cancel"), {"subject": ALICE}),
        lambda one: desk.call(path(one, "progress"), {"subject": ALICE, "event": "shown"}),
    ]
    calls: list[Callable[[], Any]] = [partial(event, one) for one in ids for event in events]
    chance.shuffle(calls)
    calls.insert(count * 2, sweeps.expire)
    calls.insert(count * 6, sweeps.expire)
    results = at_once(calls, 16)
    statuses = Counter(result.status_code for result in results if not isinstance(result, int))
    assert sum(statuses.values()) == count * len(events)
    assert set(statuses) <= {200, 204, 409}, statuses
    for entry in Elicitation.objects.all():
        assert_the_ledger_explains(entry)
        completed = [after for _, after in transitions(entry.uid)].count("COMPLETE")
        assert completed == int(entry.state == "COMPLETE")
        assert (entry.result_digest is not None) == (entry.state == "COMPLETE")
