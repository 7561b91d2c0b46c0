"""Waiting for an entry to move, and the feed of completions: bounded, at least once, none skipped."""

from __future__ import annotations

import threading
import time
from functools import partial
from typing import Any

import pytest
from django.db import connection, connections, transaction

from elicitation.api import following
from elicitation.models import Elicitation
from elicitation.services import feed
from tests import builders
from tests.builders import ALICE, Desk
from tests.racing import at_once

pytestmark = pytest.mark.django_db


def get(desk: Desk, path: str, **options: Any) -> Any:
    return desk.call(path, method="GET", **options)


def completed(desk: Desk, number: int) -> str:
    question = builders.operation(question=f"q{number}")
    public_id: str = desk.admit(delivery="url_required", operation=question).json()["id"]
    desk.event(public_id, f"pi_{number}")
    return public_id


def test_the_feed_lists_completions_once_in_order_a_page_at_a_time(desk: Desk) -> None:
    ids = [completed(desk, number) for number in range(5)]
    desk.admit(operation=builders.operation(question="open"))
    first = get(desk, "completions?limit=3").json()
    rest = get(desk, f"completions?after={first['next']}").json()
    assert [item["id"] for item in first["items"] + rest["items"]] == ids
    assert get(desk, f"completions?after={rest['next']}").json() == {"items": [], "next": rest["next"]}
    assert get(desk, "completions", key=desk.sibling_key).json()["items"] == []


def test_a_feed_item_names_the_wire_id_and_never_the_result(desk: Desk) -> None:
    public_id = completed(desk, 1)
    reply = get(desk, "completions")
    assert reply.json()["items"][0] | {"completed_at": "", "cursor": 0} == {
        "cursor": 0,
        "id": public_id,
        "wire_id": public_id,
        "completed_at": "",
    }
    assert "pi_1" not in reply.content.decode()


def test_a_reader_may_begin_at_the_end_and_sees_whatever_completes_from_then_on(desk: Desk) -> None:
    assert get(desk, "completions?after=latest").json() == {"items": [], "next": 0}
    before = [completed(desk, number) for number in range(3)]
    reply = get(desk, "completions?after=latest").json()
    assert reply == {"items": [], "next": 3}
    after = [completed(desk, number) for number in range(3, 5)]
    assert [item["id"] for item in get(desk, f"completions?after={reply['next']}").json()["items"]] == after
    assert [item["id"] for item in get(desk, "completions").json()["items"]] == before + after
    assert get(desk, "completions?after=latest", key=desk.sibling_key).json() == {"items": [], "next": 0}


def test_the_end_is_told_after_bounded_steps_and_then_comes_before_what_is_left(desk: Desk, monkeypatch) -> None:
    monkeypatch.setattr(feed, "BATCH", 2)
    monkeypatch.setattr(feed, "BATCHES_TO_THE_END", 2)
    ids = [completed(desk, number) for number in range(7)]
    reply = get(desk, "completions?after=latest").json()
    assert reply == {"items": [], "next": 4}, "two steps of two"
    seen, cursor = [], reply["next"]
    while items := get(desk, f"completions?after={cursor}").json()["items"]:
        seen += [item["id"] for item in items]
        cursor = items[-1]["cursor"]
    assert seen == ids[4:]


def test_the_places_of_a_batch_cost_a_few_statements(desk: Desk, django_assert_max_num_queries) -> None:
    for number in range(12):
        completed(desk, number)
    with django_assert_max_num_queries(10):
        assert feed.end(desk.booking) == 12


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("begin", ["completions", "completions?after=latest"])
def test_one_that_commits_late_comes_later_and_is_not_skipped(desk: Desk, begin: str) -> None:
    if connection.vendor == "sqlite":
        return self_evident_on_sqlite(desk, begin)
    late = desk.admit(delivery="url_required", operation=builders.operation(question="late")).json()["id"]
    written, go_on = threading.Event(), threading.Event()

    def complete_slowly() -> None:
        with transaction.atomic():
            desk.event(late, "pi_late")
            written.set()
            go_on.wait(10)
        connections.close_all()

    slow = threading.Thread(target=complete_slowly)
    slow.start()
    written.wait(10)
    quick = completed(desk, 1)
    seen = get(desk, begin).json()
    assert seen["next"] == 1
    assert [item["id"] for item in get(desk, "completions").json()["items"]] == [quick]
    go_on.set()
    slow.join()
    assert [item["id"] for item in get(desk, f"completions?after={seen['next']}").json()["items"]] == [late]
    return None


def self_evident_on_sqlite(desk: Desk, begin: str) -> None:
    """One writer at a time: nothing can commit out of order."""
    completed(desk, 1)
    seen = get(desk, begin).json()
    second = completed(desk, 2)
    assert seen["next"] == 1
    assert [item["id"] for item in get(desk, f"completions?after={seen['next']}").json()["items"]] == [second]


@pytest.mark.django_db(transaction=True)
def test_readers_and_completions_at_once_lose_nothing_and_repeat_no_place(desk: Desk) -> None:
    work: list[Any] = [partial(completed, desk, number) for number in range(24)]
    for place in range(2, 40, 5):
        work.insert(place, partial(get, desk, "completions"))
    results = at_once(work, 8)
    assert all(isinstance(result, str) or result.status_code == 200 for result in results)
    ids = {result for result in results if isinstance(result, str)}
    items = get(desk, "completions?limit=200").json()["items"]
    assert [item["cursor"] for item in items] == list(range(1, 25))
    assert {item["id"] for item in items} == ids


def test_waiting_ends_at_once_for_what_has_ended_and_in_time_for_what_has_not(desk: Desk) -> None:
    ended, live = completed(desk, 1), desk.admit().json()["id"]
    began = time.monotonic()
    assert get(desk, f"elicitations/{ended}/wait").json()["state"] == "COMPLETE"
    assert time.monotonic() - began < following.MAX_WAIT / 2
    assert get(desk, f"elicitations/{live}/wait?seconds=1").json()["state"] == "ADMITTED"


@pytest.mark.django_db(transaction=True)
def test_waiting_sees_the_change_that_another_makes(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]

    def complete() -> None:
        time.sleep(0.6)
        desk.event(public_id)
        connections.close_all()

    other = threading.Thread(target=complete)
    other.start()
    assert get(desk, f"elicitations/{public_id}/wait?seconds=15").json()["state"] == "COMPLETE"
    other.join()


def test_waiting_sees_the_deadline_pass(desk: Desk) -> None:
    public_id = desk.admit(window_seconds=1).json()["id"]
    assert get(desk, f"elicitations/{public_id}/wait?seconds=5").json()["state"] == "EXPIRED"
    assert Elicitation.objects.get().state == "ADMITTED"


def test_a_third_who_waits_is_answered_at_once_and_told_when_to_come_back(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    for _ in range(following.WAITING_AT_ONCE):
        assert following._places.acquire(blocking=False)
    try:
        response = get(desk, f"elicitations/{public_id}/wait")
    finally:
        for _ in range(following.WAITING_AT_ONCE):
            following._places.release()
    assert (response.status_code, response.json()["state"], response["Retry-After"]) == (200, "ADMITTED", "2")


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("completions?after=-1", "after"),
        ("completions?after=x", "after"),
        ("completions?after=LATEST", "after"),
        ("completions?after=latest&limit=0", "limit"),
        ("completions?after=" + "9" * 30, "after"),
        ("completions?limit=0", "limit"),
        ("elicitations/{id}/wait?seconds=21", "seconds"),
        ("elicitations/{id}/wait?seconds=-1", "seconds"),
        ("elicitations/{id}/wait?seconds=1.5", "seconds"),
    ],
)
def test_a_malformed_query_is_named(desk: Desk, path: str, place: str) -> None:
    public_id = desk.admit().json()["id"]
    refused = get(desk, path.format(id=public_id))
    assert (refused.status_code, refused.json()["at"]) == (400, place)


@pytest.mark.parametrize("who", ["sibling_key", "mallory_key"])
def test_nobody_elses_entry_can_be_waited_for(desk: Desk, who: str) -> None:
    public_id = desk.admit(subject=ALICE).json()["id"]
    assert get(desk, f"elicitations/{public_id}/wait", key=getattr(desk, who)).status_code == 404
