"""One clock, the database's: a deadline is half open, in real minutes, and stays as it was fixed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest.mock import patch

import pytest

from elicitation.models import Elicitation
from elicitation.policy.document import Document, lay_over
from elicitation.services import clock
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.clocks import DatabaseClock, skew

pytestmark = pytest.mark.django_db

MICROSECOND = timedelta(microseconds=1)
#: Nights in Germany on which the hands are moved, at 01:00 UTC.
CLOCK_CHANGES = {
    "spring": datetime(2026, 3, 29, 0, 50, tzinfo=UTC),
    "autumn": datetime(2026, 10, 25, 0, 50, tzinfo=UTC),
}


@pytest.fixture
def database_clock(monkeypatch: pytest.MonkeyPatch) -> DatabaseClock:
    return DatabaseClock(monkeypatch)


@pytest.fixture
def in_germany() -> Iterator[None]:
    """A process whose zone has a daylight saving time."""
    with patch.dict(os.environ, TZ="Europe/Berlin"):
        time.tzset()
        yield
    time.tzset()


def pending(desk: Desk, **changes: Any) -> str:
    public_id: str = desk.admit(**changes).json()["id"]
    assert answer(desk, public_id).status_code == 200
    return public_id


def answer(desk: Desk, public_id: str, action: str = "accept") -> Any:
    body = {"subject": ALICE, "action": action, "content": "absent"}
    return desk.call(f"elicitations/{public_id}/answer", body)


def read(desk: Desk, public_id: str) -> Any:
    return desk.call(f"elicitations/{public_id}", method="GET").json()


def due_in(public_id: str, after: timedelta) -> datetime:
    """Put the entry's end to so much from now by the database; returns it."""
    end = clock.now() + after
    entry = builders.entry_of(public_id)
    Elicitation.objects.filter(pk=entry.pk).update(deadline=end, window_ends_at=end)
    return end


BEFORE_AT_AFTER = pytest.mark.parametrize(
    ("offset", "in_time"), [(-MICROSECOND, True), (timedelta(0), False), (MICROSECOND, False)]
)


@BEFORE_AT_AFTER
def test_a_completion_at_the_deadline_is_late_and_a_microsecond_before_it_is_not(
    desk: Desk, database_clock: DatabaseClock, offset: timedelta, in_time: bool
) -> None:
    public_id = pending(desk)
    database_clock.stand_at(due_in(public_id, timedelta(minutes=1)) + offset)
    assert read(desk, public_id)["state"] == ("CONSENT_PENDING" if in_time else "EXPIRED")
    desk.event(public_id)
    entry = builders.entry_of(public_id)
    if in_time:
        assert (entry.state, entry.late_evidence) == ("COMPLETE", False)
    else:
        assert (entry.state, entry.late_evidence) == ("EXPIRED", True)
        assert [row.outcome for row in builders.ledger(public_id)][-1] == "expired_denied"


@BEFORE_AT_AFTER
def test_work_done_at_the_end_of_the_window_is_late_whenever_it_arrives(
    desk: Desk, offset: timedelta, in_time: bool
) -> None:
    public_id = pending(desk)
    end = due_in(public_id, timedelta(minutes=1))
    desk.event(public_id, occurred_at=(end + offset).isoformat())
    entry = builders.entry_of(public_id)
    assert entry.state == ("COMPLETE" if in_time else "CONSENT_PENDING")
    assert entry.late_evidence is not in_time


@BEFORE_AT_AFTER
@pytest.mark.parametrize("action", ["accept", "decline", "cancel"])
def test_an_answer_at_the_deadline_changes_nothing_more(
    desk: Desk, database_clock: DatabaseClock, offset: timedelta, in_time: bool, action: str
) -> None:
    public_id = desk.admit().json()["id"]
    database_clock.stand_at(due_in(public_id, timedelta(minutes=1)) + offset)
    reply = answer(desk, public_id, action)
    if in_time:
        assert reply.status_code == 200
    else:
        assert (reply.status_code, reply.json()["state"]) == (409, "EXPIRED")
        assert builders.entry_of(public_id).answered_at is None


@BEFORE_AT_AFTER
def test_the_sweep_judges_the_same_microsecond(
    desk: Desk, database_clock: DatabaseClock, offset: timedelta, in_time: bool
) -> None:
    public_id = pending(desk)
    before = builders.snapshot(public_id)
    end = due_in(public_id, timedelta(minutes=1))
    database_clock.stand_at(end + offset)
    assert expiring.expire() == int(not in_time)
    if in_time:
        before["entry"] |= {"deadline": end, "window_ends_at": end}
        assert builders.snapshot(public_id) == before
    else:
        assert builders.ledger(public_id)[-1].at == end + offset


@BEFORE_AT_AFTER
def test_asking_again_at_the_deadline_gives_a_new_entry(
    desk: Desk, database_clock: DatabaseClock, offset: timedelta, in_time: bool
) -> None:
    public_id = desk.admit().json()["id"]
    database_clock.stand_at(due_in(public_id, timedelta(minutes=1)) + offset)
    again = desk.admit()
    assert again.status_code == (200 if in_time else 201)
    assert (again.json()["id"] == public_id) is in_time


#: The application is wrong by so much, and the database stands so far from the deadline.
SKEWS = pytest.mark.parametrize(
    ("wrong", "offset", "in_time"),
    [
        (timedelta(seconds=3), -timedelta(seconds=1), True),
        (timedelta(seconds=3), timedelta(seconds=1), False),
        (-timedelta(hours=1), timedelta(seconds=1), False),
        (-timedelta(hours=1), -timedelta(seconds=1), True),
    ],
)


@SKEWS
def test_however_wrong_the_applications_clock_is_the_databases_decides(
    desk: Desk,
    database_clock: DatabaseClock,
    monkeypatch: pytest.MonkeyPatch,
    wrong: timedelta,
    offset: timedelta,
    in_time: bool,
) -> None:
    ids = [pending(desk, operation=builders.operation(question=str(number))) for number in range(3)]
    end = due_in(ids[0], timedelta(0))
    Elicitation.objects.update(deadline=end, window_ends_at=end)
    database_clock.stand_at(end + offset)
    skew(monkeypatch, wrong)
    completed, lost, swept = ids
    desk.event(completed)
    loss = desk.call(f"elicitations/{lost}/lost", {"subject": ALICE})
    assert read(desk, swept)["state"] == ("CONSENT_PENDING" if in_time else "EXPIRED")
    assert expiring.expire() == int(not in_time)
    after = {name: builders.entry_of(one) for name, one in zip(("completed", "lost", "swept"), ids, strict=True)}
    if in_time:
        assert [entry.state for entry in after.values()] == ["COMPLETE", "RETRY_REQUIRED", "CONSENT_PENDING"]
        assert after["lost"].deadline == end + offset + timedelta(days=1)
    else:
        assert loss.status_code == 409
        assert {entry.state for entry in after.values()} == {"EXPIRED"}
        assert after["completed"].late_evidence
    told = {row.at for one in ids for row in builders.ledger(one) if row.event in ("evidence", "lost", "deadline")}
    assert told == {end + offset}


def test_a_wrong_clock_of_the_application_fixes_no_deadline(
    desk: Desk, database_clock: DatabaseClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    database_clock.stand_at(now)
    for number, wrong in enumerate((timedelta(seconds=3), -timedelta(hours=1))):
        skew(monkeypatch, wrong)
        entry = builders.entry_of(desk.admit(operation=builders.operation(question=str(number))).json()["id"])
        assert (entry.admitted_at, entry.deadline) == (now, now + timedelta(hours=1))


@pytest.mark.parametrize("night", CLOCK_CHANGES)
@pytest.mark.usefixtures("in_germany")
def test_a_window_over_a_clock_change_is_fifteen_real_minutes(
    desk: Desk, database_clock: DatabaseClock, night: str
) -> None:
    asked = CLOCK_CHANGES[night]
    assert time.localtime(asked.timestamp()).tm_isdst != time.localtime(asked.timestamp() + 900).tm_isdst
    database_clock.stand_at(asked)
    reply = desk.admit(form=True).json()
    assert reply["expires_at"] == (asked + timedelta(minutes=15)).isoformat().replace("+00:00", "Z")
    database_clock.stand_at(asked + timedelta(minutes=15) - MICROSECOND)
    assert read(desk, reply["id"])["state"] == "ADMITTED"
    assert expiring.expire() == 0
    database_clock.stand_at(asked + timedelta(minutes=15))
    assert read(desk, reply["id"])["state"] == "EXPIRED"
    assert expiring.expire() == 1
    assert builders.ledger(reply["id"])[-1].at == asked + timedelta(minutes=15)


@pytest.mark.parametrize("night", CLOCK_CHANGES)
@pytest.mark.usefixtures("in_germany")
def test_a_retry_window_over_a_clock_change_is_a_day_of_24_hours(
    desk: Desk, database_clock: DatabaseClock, night: str
) -> None:
    database_clock.stand_at(CLOCK_CHANGES[night])
    public_id = pending(desk)
    desk.call(f"elicitations/{public_id}/lost", {"subject": ALICE})
    entry = builders.entry_of(public_id)
    assert entry.deadline == CLOCK_CHANGES[night] + timedelta(hours=24)


@pytest.mark.parametrize("naive", ["2026-10-25T02:30:00", "2026-10-25 02:30:00", "2026-10-25T02:30:00.000001"])
def test_a_time_without_a_zone_is_refused_and_changes_nothing(desk: Desk, naive: str) -> None:
    builders.activate(builders.document(sources=["server", "webhook"]))
    public_id = pending(desk)
    before = builders.snapshot(public_id)
    assert desk.event(public_id, occurred_at=naive).status_code == 400
    body = {"subject": ALICE, "result_ref": "pi_1", "occurred_at": naive}
    refused = desk.call(f"elicitations/{public_id}/completion", body)
    assert (refused.status_code, refused.json()["at"]) == (400, "/occurred_at")
    assert naive not in refused.content.decode()
    assert builders.snapshot(public_id) == before
    zoned = (clock.now() - timedelta(seconds=1)).astimezone().isoformat()
    assert desk.event(public_id, occurred_at=zoned).status_code == 204
    assert builders.entry_of(public_id).state == "COMPLETE"


def with_windows(**seconds: int) -> Document:
    document = builders.document()
    windows = document.as_json()["windows"]
    assert isinstance(windows, dict)
    return lay_over(document, {"windows": windows | seconds})


def with_payment_window(seconds: int) -> Document:
    document = builders.document()
    purposes = document.as_json()["purposes"]
    assert isinstance(purposes, dict)
    return lay_over(document, {"purposes": purposes | {"payment": {"mode": "url", "window_seconds": seconds}}})


@pytest.mark.parametrize("seconds", [1, 3600])
def test_a_changed_window_leaves_a_pending_entrys_deadline(desk: Desk, seconds: int) -> None:
    reply = desk.admit(form=True).json()
    before = builders.snapshot(reply["id"])
    builders.activate(with_windows(default_seconds=seconds))
    assert builders.snapshot(reply["id"]) == before
    again = desk.admit(form=True)
    assert (again.status_code, again.json()["expires_at"]) == (200, reply["expires_at"])
    fresh = builders.entry_of(desk.admit(form=True, operation=builders.operation(question="new")).json()["id"])
    assert fresh.deadline == fresh.admitted_at + timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [1, 1800])
def test_a_purposes_changed_window_leaves_a_pending_entrys_deadline(desk: Desk, seconds: int) -> None:
    public_id = desk.admit().json()["id"]
    entry = builders.entry_of(public_id)
    assert entry.deadline == entry.admitted_at + timedelta(hours=1)
    builders.activate(with_payment_window(seconds))
    answer(desk, public_id)
    assert builders.entry_of(public_id).deadline == entry.deadline
    fresh = builders.entry_of(desk.admit(operation=builders.operation(question="new")).json()["id"])
    assert fresh.deadline == fresh.admitted_at + timedelta(seconds=seconds)


@pytest.mark.parametrize("seconds", [1, 2 * 86_400])
def test_a_changed_retry_window_leaves_the_deadline_of_what_is_lost_already(desk: Desk, seconds: int) -> None:
    public_id = pending(desk)
    desk.call(f"elicitations/{public_id}/lost", {"subject": ALICE})
    before = builders.snapshot(public_id)
    builders.activate(with_windows(retry_seconds=seconds))
    assert expiring.expire() == 0
    assert builders.snapshot(public_id) == before
    later = pending(desk, operation=builders.operation(question="new"))
    desk.call(f"elicitations/{later}/lost", {"subject": ALICE})
    lost = builders.entry_of(later)
    assert lost.deadline == builders.ledger(later)[-1].at + timedelta(seconds=seconds)
