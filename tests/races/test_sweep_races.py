"""Sweepers that run at once share the work, and whoever acts at the deadline wins or loses as a whole."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection, transaction

from audit.models import LedgerEntry
from elicitation.models import Elicitation
from elicitation.services import actors, clock
from elicitation.services.move import expire_if_due
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.overdue import overdue
from tests.racing import assert_the_ledger_explains, at_once

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that sweepers meet many times."""
    monkeypatch.setattr(expiring, "BATCH", 7)
    monkeypatch.setattr(expiring, "ORM_BATCH", 7)


def told() -> Counter[Any]:
    """How often each entry's deadline is on the ledger."""
    return Counter(LedgerEntry.objects.filter(event="deadline").values_list("elicitation_id", flat=True))


@pytest.mark.parametrize("sweepers", [2, 4])
def test_sweepers_at_once_share_the_work_and_move_no_entry_twice(desk: Desk, sweepers: int) -> None:
    made = overdue(desk, 150)
    moved = at_once([expiring.expire] * sweepers, sweepers)
    rest = expiring.expire()
    assert sum(moved) + rest == len(made), (moved, rest)
    assert told() == {entry.uid: 1 for entry in made}
    for entry in made:
        entry.refresh_from_db()
        assert (entry.state, entry.version) == ("EXPIRED", 1)


def test_an_entry_that_somebody_holds_is_left_to_them_and_delays_no_other(desk: Desk) -> None:
    """SQLite has one writer: there the sweeper waits for the holder instead."""
    made = overdue(desk, 20)
    held, swept = threading.Event(), threading.Event()

    def hold() -> int:
        with transaction.atomic():
            entry = Elicitation.objects.select_for_update(of=("self",)).get(pk=made[3].pk)
            held.set()
            if connection.vendor == "postgresql":
                assert swept.wait(30), "the sweep waits for the holder"
            return int(expire_if_due(entry, actors.SCHEDULER, clock.now()))

    def sweep() -> int:
        assert held.wait(30)
        try:
            return expiring.expire()
        finally:
            swept.set()

    by_holder, by_sweep = at_once([hold, sweep], 2)
    assert (by_holder, by_sweep, expiring.expire()) == (1, 19, 0)
    assert told() == {entry.uid: 1 for entry in made}


def test_whoever_acts_while_sweepers_run_finds_the_deadline_made_once(desk: Desk) -> None:
    ids = [desk.admit(operation=builders.operation(question=str(number))).json()["id"] for number in range(40)]
    due, alive = ids[:25], ids[25:]
    for one in due:
        builders.age(one, 3600)
    body = {"subject": ALICE}
    accept = body | {"action": "accept", "content": "absent"}
    calls: list[Callable[[], Any]] = []
    for one in ids:
        calls.append(partial(desk.call, f"elicitations/{one}/answer", accept))
        calls.append(partial(desk.event, one, f"pi_{one}"))
        calls.append(partial(desk.call, f"elicitations/{one}/cancel", body))
    for place in (0, 30, 60, 90):
        calls.insert(place, expiring.expire)
    results = at_once(calls, 8)
    statuses = Counter(result.status_code for result in results if not isinstance(result, int))
    assert set(statuses) <= {200, 204, 409}, statuses
    expiring.expire()
    for one in due:
        assert builders.entry_of(one).state == "EXPIRED"
        assert [row.event for row in builders.ledger(one)].count("deadline") == 1
    for one in alive:
        assert [row.event for row in builders.ledger(one)].count("deadline") == 0
    for entry in Elicitation.objects.all():
        assert_the_ledger_explains(entry)


def test_sweepers_beside_a_row_that_fails_move_all_others_once(desk: Desk) -> None:
    from tests.elicitation.overdue import refuse_ledger_of

    made = overdue(desk, 40)
    bad = made.pop(5)
    refuse_ledger_of(bad)
    try:
        moved = at_once([expiring.expire] * 2, 2)
        rest = expiring.expire()
    finally:
        with connection.cursor() as cursor:
            on = " ON audit_ledgerentry" if connection.vendor == "postgresql" else ""
            cursor.execute(f"DROP TRIGGER bad_row{on}")
            if on:
                cursor.execute("DROP FUNCTION bad_row()")
    assert sum(moved) + rest == len(made)
    assert told() == {entry.uid: 1 for entry in made}
    bad.refresh_from_db()
    assert bad.state == "ADMITTED"
