"""Transactions that commit in another order than they took their numbers: sealing waits for none and misses none."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection, connections, transaction

from audit import seal
from audit.models import Leaf, LedgerEntry, Log, Mark
from tests.audit.sealed import NOON, assert_sealed, say, seal_all

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _begun(transactional_db: None) -> None:
    """The first revision of the policy is on the ledger of every desk."""
    assert seal_all() == 1


def acme() -> Log:
    return Log.objects.get(tenant="acme")


@contextmanager
def elsewhere(work: Callable[[], object]) -> Iterator[threading.Event]:
    """Does ``work`` in an open transaction of another connection, which commits when the event is set."""
    done, end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                work()
                done.set()
                assert end.wait(30)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert done.wait(30)
        yield end
    finally:
        end.set()
        thread.join()


def test_an_entry_that_commits_late_is_sealed_late_and_not_missed() -> None:
    say(1)
    with elsewhere(lambda: say(1, event="lost")) as end:
        say(2)
        for _ in range(3):
            seal_all()
        say(2)
        seal_all()
        assert LedgerEntry.objects.count() == Leaf.objects.count() == 6
        late = Mark.objects.get()
        assert late.through < late.reached == LedgerEntry.objects.latest("pk").pk
        end.set()
    assert [seal_all(), seal_all()] == [1, 0]
    entry = LedgerEntry.objects.get(event="lost")
    assert late.through < entry.pk < late.reached
    assert Leaf.objects.get(entry_id=entry.pk).index == 5
    mark = Mark.objects.get()
    assert mark.through == mark.reached == LedgerEntry.objects.latest("pk").pk
    assert_sealed(acme())


def test_what_two_writers_hold_is_found_when_each_has_ended() -> None:
    """The second begins after the first, and ends before it."""
    say(1)
    seal_all()
    with elsewhere(lambda: say(3)) as first:
        seal_all()
        with elsewhere(lambda: say(2, event="lost")) as second:
            say(1)
            assert seal_all() == 1
            second.set()
        assert seal_all() == 2
        held = Mark.objects.get()
        assert seal_all() == 0
        first.set()
    assert seal_all() == 3
    assert held.through < Mark.objects.get().through
    assert_sealed(acme())


def test_a_rolled_back_entry_holds_up_nothing() -> None:
    def roll_back() -> None:
        with transaction.atomic():
            say(2)
            transaction.set_rollback(True)

    with elsewhere(roll_back):
        say(1)
        assert seal_all() == 1
    assert seal_all() == 0
    mark = Mark.objects.get()
    assert mark.through == mark.reached >= LedgerEntry.objects.latest("pk").pk


def test_a_transaction_that_only_reads_holds_up_nothing() -> None:
    with elsewhere(lambda: list(LedgerEntry.objects.all())):
        say(1)
        seal_all()
        seal_all()
        assert Mark.objects.get().through == LedgerEntry.objects.latest("pk").pk


def test_whoever_appends_does_not_wait_for_a_sealer_nor_a_sealer_for_another() -> None:
    say(3)
    with elsewhere(lambda: seal.seal(NOON)):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '1s'")
            say(1)
        assert seal.seal(NOON) == 0, "another one is at it"
    assert seal.seal(NOON) == 1
    assert_sealed(acme())


def test_nothing_is_sealed_where_a_statement_does_not_see_what_was_committed_before_it() -> None:
    say(1)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        with pytest.raises(ImproperlyConfigured, match="READ COMMITTED"):
            seal.seal(NOON)
