"""Verifying what is stored: whatever is changed past the guards is found, named by its place, and a signal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from audit import log_health, nightly, note
from audit.models import Checkpoint, Hourly, Leaf, LedgerEntry, Log, Mark, Signal
from audit.triggers import CHECKPOINTS, LEAVES, LEDGER, SUBTREES, Guard
from tests.audit.sealed import NOON, assert_sealed, say, seal_all, sealed

pytestmark = pytest.mark.django_db

DAY = timedelta(days=1)
SLICE = 512
#: More than two slices.
SIZE = 1212


@pytest.fixture(autouse=True)
def _begun(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first revision of the policy is on the ledger of every desk; that log has been verified."""
    monkeypatch.setattr(nightly, "SLICE", SLICE)
    seal_all()
    Log.objects.update(verified_at=NOON)
    Mark.objects.update(looked_at=NOON)


@pytest.fixture
def log() -> Log:
    for count in (300, 500, 392, 19, 1):
        found = sealed(count)
    assert found.size == SIZE
    return found


@contextmanager
def unguarded(guard: Guard) -> Iterator[Any]:
    """As a database's owner would: without the triggers, which are there again afterwards."""
    postgresql = connection.vendor == "postgresql"
    with connection.cursor() as cursor:
        if postgresql:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # a table with deferred checks cannot be altered
        for name in guard.postgresql_names() if postgresql else guard.sqlite_names():
            cursor.execute(f"DROP TRIGGER {name}" + (f" ON {guard.table}" if postgresql else ""))
        yield cursor
        for statement in guard.postgresql() if postgresql else guard.sqlite():
            cursor.execute(statement)


def verify(at: datetime = NOON) -> Log:
    """Every log that is due, to the end."""
    while nightly.verify(at, 30):
        pass
    return Log.objects.get(tenant="acme")


def entry_of(log: Log, leaf: int) -> int:
    return Leaf.objects.get(log=log, index=leaf).entry_id


def found(log: Log) -> tuple[str, int | None]:
    return log.verdict, log.verdict_leaf


def signals() -> list[tuple[str, str, str]]:
    return list(Signal.objects.values_list("rule", "tenant", "about"))


def test_a_log_that_is_as_it_was_sealed_is_verified(log: Log) -> None:
    log = verify()
    assert (found(log), log.verified_size, log.verified_at) == (("verified", None), SIZE, NOON)
    assert signals() == []


def test_a_log_is_verified_once_a_day_and_when_somebody_asks(log: Log) -> None:
    verify()
    assert nightly.verify(NOON + DAY - timedelta(seconds=1), 30) == 0
    assert verify(NOON + DAY).verified_at == NOON + DAY
    later = NOON + DAY + timedelta(hours=1)
    nightly.request(log, later)
    log.refresh_from_db()
    assert log_health.health(log).verify_due
    log = verify(later)
    assert (log.verified_at, log_health.health(log).verify_due) == (later, False)


def test_a_verification_goes_on_where_it_stopped(log: Log) -> None:
    seen = []
    while nightly.verify(NOON, 0.000001):
        log.refresh_from_db()
        seen.append(log_health.health(log).verifying)
        sealed(1)
    assert seen[:2] == [log_health.Progress(0, SIZE), log_health.Progress(SLICE, SIZE)]
    log.refresh_from_db()
    assert (found(log), log.verified_size, log_health.health(log).verifying) == (("verified", None), SIZE, None)


@pytest.mark.parametrize("leaf", [0, 255, 256, 299, 300, SLICE - 1, SLICE, SIZE - 20, SIZE - 1])
def test_an_entry_that_was_edited_is_found_and_narrowed_down(log: Log, leaf: int) -> None:
    with unguarded(LEDGER) as cursor:
        cursor.execute("UPDATE audit_ledgerentry SET outcome = 'refused' WHERE id = %s", [entry_of(log, leaf)])
    log = verify()
    assert log.verdict == "edited"
    assert log.verdict_leaf is not None
    assert log.verdict_leaf <= leaf < log.verdict_leaf + 256
    assert log.verified_size == log.verdict_leaf
    assert signals() == [("ledger_broken", "acme", f"leaf-{log.verdict_leaf}")]


@pytest.mark.parametrize("leaf", [0, 300, SIZE - 1])
def test_an_entry_that_was_removed_is_named(log: Log, leaf: int) -> None:
    with unguarded(LEDGER) as cursor:
        cursor.execute("DELETE FROM audit_ledgerentry WHERE id = %s", [entry_of(log, leaf)])
    assert found(verify()) == ("removed", leaf)
    assert signals() == [("ledger_broken", "acme", f"leaf-{leaf}")]


def test_a_leaf_that_was_removed_is_named(log: Log) -> None:
    with unguarded(LEAVES) as cursor:
        cursor.execute('DELETE FROM audit_leaf WHERE "index" = 400 AND log_id = %s', [log.pk])
    assert found(verify()) == ("removed", 400)


def test_entries_that_changed_places_are_found(log: Log) -> None:
    one, other = entry_of(log, 600), entry_of(log, 601)
    with unguarded(LEAVES) as cursor:
        cursor.execute("DELETE FROM audit_leaf WHERE entry_id IN (%s, %s)", [one, other])
        for index, entry in ((600, other), (601, one)):
            cursor.execute(
                'INSERT INTO audit_leaf (log_id, "index", entry_id) VALUES (%s, %s, %s)', [log.pk, index, entry]
            )
    assert found(verify()) == ("edited", 512)


def test_a_stored_hash_that_was_changed_is_told_from_an_edited_entry(log: Log) -> None:
    with unguarded(SUBTREES) as cursor:
        cursor.execute("UPDATE audit_subtree SET hash = %s WHERE number = 2", [bytes(32)])
    assert found(verify()) == ("subtree", 512)


def test_a_stored_hash_that_was_removed_is_found(log: Log) -> None:
    with unguarded(SUBTREES) as cursor:
        cursor.execute("DELETE FROM audit_subtree WHERE number = 2")
    assert found(verify()) == ("subtree", 512)


@pytest.mark.parametrize("size", [300, 800])
def test_a_checkpoint_that_was_changed_is_told_from_an_edited_entry(log: Log, size: int, settings: Any) -> None:
    """Signed by the key itself."""
    root = bytes(32)
    text = note.checkpoint_text(log.origin, size, root)
    forged = note.sign(text, log.origin, settings.DESK_LEDGER_KEYS)
    with unguarded(CHECKPOINTS):
        assert Checkpoint.objects.filter(log=log, size=size).update(root=root, note=forged)
    assert found(verify()) == ("checkpoint", size - 1)


def test_a_checkpoint_whose_note_says_something_else_is_found(log: Log) -> None:
    with unguarded(CHECKPOINTS):
        Checkpoint.objects.filter(log=log, size=300).update(note=Checkpoint.objects.get(log=log, size=800).note)
    assert found(verify()) == ("checkpoint", 299)


def test_a_log_that_stands_elsewhere_than_its_last_checkpoint_is_found(log: Log) -> None:
    Log.objects.filter(pk=log.pk).update(size=SIZE - 1)
    assert found(verify()) == ("checkpoint", None)
    assert signals() == [("ledger_broken", "acme", f"log-{log.pk}")]


@pytest.mark.parametrize("size", [300, SIZE])
def test_a_signature_that_does_not_hold_is_found(log: Log, size: int) -> None:
    signed = Checkpoint.objects.get(log=log, size=size).note
    line = signed.splitlines()[-1]
    broken = line[:-8] + ("A" if line[-8] != "A" else "B") + line[-7:]
    with unguarded(CHECKPOINTS):
        Checkpoint.objects.filter(log=log, size=size).update(note=signed.replace(line, broken))
    assert found(verify()) == ("signature", size - 1)


def test_a_key_that_left_the_ring_leaves_its_checkpoints_good(log: Log, settings: Any) -> None:
    settings.DESK_LEDGER_KEYS = {"new": b"n" * 32}
    assert found(verify()) == ("signature", SIZE - 1), "the last one is vouched for by no key"
    log = sealed(1)
    nightly.request(log, NOON)
    assert found(verify()) == ("verified", None)


@pytest.mark.parametrize("guard", [LEDGER, LEAVES, SUBTREES, CHECKPOINTS])
def test_a_guard_that_is_gone_is_found(log: Log, guard: Guard) -> None:
    names = guard.postgresql_names() if connection.vendor == "postgresql" else guard.sqlite_names()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {names[0]}" + (f" ON {guard.table}" if connection.vendor == "postgresql" else ""))
    assert found(verify()) == ("unguarded", None)


def test_what_was_found_is_told_every_night_and_counted_once_a_night(log: Log) -> None:
    with unguarded(LEDGER) as cursor:
        cursor.execute("DELETE FROM audit_ledgerentry WHERE id = %s", [entry_of(log, 5)])
    for day in range(3):
        verify(NOON + day * DAY)
        verify(NOON + day * DAY)
    assert Signal.objects.get().count == 3


def write_past_the_sealing() -> int:
    """An entry under a number that sealing is past."""
    number = LedgerEntry.objects.earliest("pk").pk - 5
    LedgerEntry.objects.create(pk=number, tenant="acme", event="cancel", actor_kind="operator", at=NOON)
    return number


def test_an_entry_that_was_written_past_the_sealing_is_sealed_late_and_told(log: Log) -> None:
    number = write_past_the_sealing()
    assert seal_all() == 0
    later = NOON + 101 * DAY
    log = verify(later)
    assert found(log) == ("unsealed", SIZE)
    assert Leaf.objects.get(entry_id=number).index == SIZE
    assert signals() == [("ledger_broken", "acme", f"leaf-{SIZE}")]
    assert_sealed(log)
    assert Hourly.objects.filter(tenant="acme").aggregate(all=Sum("count")) == {"all": SIZE + 1}
    assert found(verify(later + DAY)) == ("verified", None)
    assert Signal.objects.count() == 1


def test_the_search_goes_on_where_it_stopped(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nightly, "SEARCHED", 500)
    verify(NOON + 50 * DAY)
    write_past_the_sealing()
    later = NOON + 100 * DAY + DAY
    Log.objects.update(verified_at=later)
    passes = 0
    while nightly.verify(later, 0.000001):
        passes += 1
    assert passes == SIZE // 500 + 1
    assert found(Log.objects.get(tenant="acme")) == ("unsealed", SIZE)
    assert Mark.objects.get().looked_at == later


def test_the_unsealed_tail_is_counted_for_its_tenant(log: Log) -> None:
    say(7)
    say(2, "umbrella")
    health = log_health.health(log)
    assert (health.unsealed, health.unsealed_more, health.sealed_size) == (7, False, SIZE)
    seal_all()
    assert log_health.health(log).unsealed == 0
    assert log_health.newest_seal_age(NOON + DAY) == DAY
