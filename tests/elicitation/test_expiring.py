"""The expire sweep moves many at once exactly as ``move()`` moves one, and no bad row stops it."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime, timedelta
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db import connection, transaction

from audit import vocabulary
from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence, EvidenceStatus, Heartbeat, Provider
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.lifecycle import LIVE, Allowed, Event, Facts, State, step
from elicitation.services import actors, clock, move_many
from elicitation.services.lookup import RELATED
from elicitation.services.move import expire_if_due
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import Desk
from tests.elicitation.overdue import like, overdue, refuse_ledger_of

pytestmark = pytest.mark.django_db

HELD = (EvidenceStatus.HELD, EvidenceStatus.UNBOUND, EvidenceStatus.WITHDRAWN)


def population(desk: Desk) -> list[Elicitation]:
    """Overdue entries of every live state, mode and delivery, with and without whom they name, visited or not, some
    with evidence that waits; beside them entries that are not due or have ended."""
    url = builders.entry_of(desk.admit().json()["id"])
    form = builders.entry_of(desk.admit(form=True, operation=builders.operation(question="form")).json()["id"])
    Provider.objects.filter(pk=desk.pay.pk).update(lookup="generic", status_url="https://pay.example.com/status")
    other = Provider.objects.create(tenant=desk.acme, slug="silent-pay", name="Silent", opened_at=clock.now())
    now = clock.now()
    past = {"admitted_at": now - timedelta(hours=2), "window_ends_at": now - timedelta(hours=1)}
    whom: list[dict[str, Any]] = [{}, {"client_id": None, "subject_id": None}]
    made: list[Elicitation] = []

    def due(pattern: Elicitation, **changes: Any) -> None:
        deadline = now - timedelta(minutes=60 - len(made) % 7)
        made.append(like(pattern, **(past | {"deadline": deadline, "version": len(made) % 3} | changes)))

    visits: list[dict[str, Any]] = [{}, *({name: now} for name in ("shown_at", "consented_at", "lost_at"))]
    for state, delivery, who, visit, provider in product(sorted(LIVE), Delivery, whom, visits, (desk.pay, other)):
        consented = {"consented_at": now, "consent_source": "answer"} if state is State.CONSENT_PENDING else {}
        due(url, state=state, delivery=delivery, provider_id=provider.pk, **(who | visit | consented))
    for delivery, who, visit in product(Delivery, whom, visits):
        due(form, delivery=delivery, **(who | visit))
    due(url, state=State.ADMITTED, wire="2026-07-28", wire_id=None, service_id=desk.hotels.pk)
    for state, status in product(sorted(LIVE), HELD):
        due(url, state=state, held_evidence=True, consented_at=now)
        evidence(made[-1], desk, status)
    like(url)
    like(form)
    like(url, **past, deadline=None, state=State.CANCELLED, cancelled_by="client")
    evidence(like(url, held_evidence=True), desk, EvidenceStatus.HELD)
    return made


def evidence(entry: Elicitation, desk: Desk, status: EvidenceStatus) -> None:
    Evidence.objects.create(
        elicitation=entry,
        provider=desk.pay,
        source="webhook",
        status=status,
        result_ref="sealed",
        result_digest=f"t1:{entry.uid.hex * 2}",
        subject_given=True,
        received_at=clock.now(),
    )


def one_by_one() -> None:
    """Every overdue entry by ``move()``."""
    for entry in Elicitation.objects.select_related(*RELATED).filter(state__in=sorted(LIVE)):
        expire_if_due(entry, actors.SCHEDULER, clock.now())


def stored() -> dict[str, Any]:
    """All that is kept, with the times of the writing itself told relative to one another."""
    written = {row.elicitation_id: row.at for row in LedgerEntry.objects.filter(event=Event.DEADLINE)}
    entries: dict[UUID, dict[str, Any]] = {row["uid"]: {**row} for row in Elicitation.objects.values()}
    for uid, row in entries.items():
        if uid in written:
            for name in ("next_lookup_at", "deadline"):
                row[name] = row[name] and row[name] - written[uid]
    ledger: list[dict[str, Any]] = [{**row} for row in LedgerEntry.objects.order_by("elicitation_id", "pk").values()]
    for told in ledger:
        told["deadline"] = told["deadline"] and told["deadline"] - told["at"]
        del told["at"], told["id"]
    return {"entries": entries, "evidence": list(Evidence.objects.order_by("pk").values()), "ledger": ledger}


def test_the_sweep_leaves_exactly_what_the_moves_one_by_one_leave(desk: Desk) -> None:
    made = population(desk)
    before = stored()
    with transaction.atomic():
        one_by_one()
        by_moves = stored()
        transaction.set_rollback(True)
    assert stored() == before
    assert expiring.expire() == len(made)
    by_sweep = stored()
    for uid, row in by_moves["entries"].items():
        assert by_sweep["entries"][uid] == row
    assert by_sweep == by_moves
    after = [by_sweep["entries"][entry.uid] for entry in made]
    assert Counter(row["state"] for row in after) == {"EXPIRED": len(made) - 3, "RETRY_REQUIRED": 3}
    assert {row["next_lookup_at"] for row in after} == {None, timedelta(seconds=15), timedelta(seconds=60)}
    assert {row["unresolved"] for row in after} == {row["late_evidence"] for row in after} == {True, False}
    untouched = before["entries"].keys() - {entry.uid for entry in made}
    assert len(untouched) == 6
    assert all(by_sweep["entries"][uid] == before["entries"][uid] for uid in untouched)


def test_what_the_sweep_writes_is_in_the_ledgers_closed_lists(desk: Desk) -> None:
    population(desk)
    expiring.expire()
    for row in LedgerEntry.objects.filter(event=Event.DEADLINE).values():
        for column, value in row.items():
            assert not isinstance(value, str) or vocabulary.admissible(column, value), column


def test_every_live_entry_without_held_evidence_ends_as_expired() -> None:
    """The table itself says so; the one statement has no other target."""
    for state, mode, delivery, late in product(sorted(LIVE), Mode, Delivery, (False, True)):
        if mode is Mode.FORM and state is not State.ADMITTED:
            continue  # the database refuses such a row
        facts = Facts(mode, delivery, held=False, late=late)
        assert step(state, Event.DEADLINE, facts) == Allowed(State.EXPIRED)


def test_the_statement_fills_every_column_of_the_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    (inserted,) = [line for line in move_many.statement().splitlines() if "INSERT INTO" in line]
    for field in LedgerEntry._meta.concrete_fields:
        assert (f'"{field.column}"' in inserted) is (not field.primary_key), field.column
    monkeypatch.setitem(move_many._OWN, "renamed", "moved.uid")
    with pytest.raises(FieldDoesNotExist):
        move_many._ledger_columns()


def test_what_is_due_is_found_by_its_index(desk: Desk) -> None:
    overdue(desk, 3)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"EXPLAIN {move_many.statement()}", {"limit": 2, "since": clock.now(), "without": [1]})
            plan = "\n".join(line for (line,) in cursor.fetchall())
        else:
            plan = expiring.overdue().order_by("deadline").explain()
    assert "elicitation_due" in plan, plan


def test_the_oldest_come_first_and_a_pass_is_bounded(desk: Desk) -> None:
    made = overdue(desk, 5)
    assert expiring.expire(most=3) == 3
    assert [Elicitation.objects.get(pk=entry.pk).state for entry in made] == ["EXPIRED"] * 3 + ["ADMITTED"] * 2
    told = LedgerEntry.objects.filter(event=Event.DEADLINE).order_by("pk")
    assert [row.elicitation_id for row in told] == [entry.uid for entry in made[:3]]
    assert expiring.expire() == 2
    assert Heartbeat.objects.get(name="expire").count == 2


def test_a_pass_ends_when_its_time_is_over_and_the_next_goes_on(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    overdue(desk, 3)
    with monkeypatch.context() as patch:
        patch.setattr(expiring, "SECONDS", 0.0)
        assert expiring.expire() == 0
    assert expiring.expire() == 3


@pytest.mark.parametrize("size", [1, 2, 7])
def test_batches_lose_none_and_move_none_twice_also_among_equal_deadlines(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(expiring, "BATCH", size)
    monkeypatch.setattr(expiring, "ORM_BATCH", size)
    made = overdue(desk, 7)
    Elicitation.objects.filter(pk__in=[entry.pk for entry in made[1:6]]).update(deadline=made[0].deadline)
    assert expiring.expire() == 7
    assert expiring.expire() == 0
    told = Counter(row.elicitation_id for row in LedgerEntry.objects.filter(event=Event.DEADLINE))
    assert told == {entry.uid: 1 for entry in made}


def bad_rows(caplog: pytest.LogCaptureFixture) -> list[int]:
    """The numbers in the log, and that nothing but numbers is in it."""
    records = [record for record in caplog.records if record.name == expiring.logger.name]
    assert {record.getMessage() for record in records} <= {"an entry could not be expired"}
    return [record.__dict__["elicitation"] for record in records]


@pytest.mark.parametrize("size", [2, 100])
def test_one_bad_row_is_logged_by_its_number_once_a_pass_and_stops_no_other(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, size: int
) -> None:
    monkeypatch.setattr(expiring, "BATCH", size)
    monkeypatch.setattr(expiring, "ORM_BATCH", size)
    made = overdue(desk, 7)
    bad = made[2]
    refuse_ledger_of(bad)
    before = Elicitation.objects.filter(pk=bad.pk).values().get()
    with caplog.at_level(logging.ERROR):
        assert expiring.expire() == 6
        assert bad_rows(caplog) == [bad.pk]
        assert expiring.expire() == 0
        assert bad_rows(caplog) == [bad.pk, bad.pk]
    assert Elicitation.objects.filter(pk=bad.pk).values().get() == before
    assert not LedgerEntry.objects.filter(elicitation_id=bad.uid).exists()
    assert LedgerEntry.objects.filter(event=Event.DEADLINE).count() == 6


def test_held_evidence_that_cannot_be_moved_stops_no_other(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    made = overdue(desk, 4)
    for entry in made[:2]:
        Elicitation.objects.filter(pk=entry.pk).update(held_evidence=True)
        evidence(entry, desk, EvidenceStatus.HELD)
    refuse_ledger_of(made[0])
    with caplog.at_level(logging.ERROR):
        assert expiring.expire() == 3
    assert bad_rows(caplog) == [made[0].pk]
    states = [Elicitation.objects.get(pk=entry.pk).state for entry in made]
    assert states == ["ADMITTED", "RETRY_REQUIRED", "EXPIRED", "EXPIRED"]


def test_the_clock_of_one_statement_is_one_time(desk: Desk) -> None:
    overdue(desk, 20)
    before = clock.now()
    expiring.expire()
    moments: set[datetime] = set(LedgerEntry.objects.filter(event=Event.DEADLINE).values_list("at", flat=True))
    assert all(before <= moment <= clock.now() for moment in moments)
    assert len(moments) == (1 if connection.vendor == "postgresql" else 20)
