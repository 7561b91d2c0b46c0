"""Sealing beside everybody who appends: no entry is missed or sealed twice, and no checkpoint contradicts the last."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import pytest
from django.db import connection, connections, transaction

from audit import tree
from audit.models import Hourly, Leaf, LedgerEntry, Log
from audit.verify import verify_consistency
from config.environment import ROOT
from tests.audit.sealed import assert_sealed, say, seal_all
from tests.racing import at_once

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 8
TENANTS = ("acme", "umbrella", "initech")

_SETUP = """
import os, random, sys, time
os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
import django
from django.conf import settings
settings.DATABASES["default"]["NAME"] = sys.argv[1]
django.setup()
from datetime import UTC, datetime
from django.db import connection, transaction
from audit import seal
from audit.ledger import Entry, append
def say(count, tenant, event="cancel"):
    append(datetime.now(UTC), *[Entry(tenant=tenant, event=event, actor_kind="operator")] * count)
connection.ensure_connection()
print("ready", flush=True)
input()
"""
#: Appends for so many seconds: some entries at once, some rolled back, some in a transaction that stays open for a
#: while, and where the database can, one by a second connection inside of it.
_WRITER = f"""{_SETUP}
from django.db import connections
from audit.models import LedgerEntry
connections.databases["second"] = dict(connections.databases["default"])
wrote, until, chance = 0, time.monotonic() + float(sys.argv[2]), random.Random(int(sys.argv[3]))
second = connection.vendor == "postgresql"
while time.monotonic() < until:
    tenant, kept = chance.choice({TENANTS!r}), chance.random() < 0.8
    count, extra = chance.choice((1, 1, 2, 7)), 0
    with transaction.atomic():
        say(count, tenant)
        if second and chance.random() < 0.2:
            LedgerEntry(tenant=tenant, event="shown", actor_kind="operator", at=datetime.now(UTC)).save(using="second")
            extra = 1
            time.sleep(chance.random() / 5)
        transaction.set_rollback(not kept)
    wrote += extra + (count if kept else 0)
print(wrote)
"""
_SEALER = f"""{_SETUP}
until = time.monotonic() + float(sys.argv[2])
while time.monotonic() < until:
    seal.seal(datetime.now(UTC))
    time.sleep(0.02)
print("sealed")
"""
#: Seals one entry at a time, as slowly as it takes to be killed in the middle.
_SLOW = f"""{_SETUP}
seal.BATCH, seal.SECONDS = 10, 60.0
write = seal._write_leaves
def slowly(*args):
    write(*args)
    print("wrote", flush=True)
    time.sleep(0.2)
seal._write_leaves = slowly
seal.seal(datetime.now(UTC))
"""


def start(program: str, *arguments: object) -> subprocess.Popen[str]:
    name = str(connection.settings_dict["NAME"])
    environment = {key: value for key, value in os.environ.items() if not key.startswith("DESK_")}
    return subprocess.Popen(
        [sys.executable, "-c", program, name, *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def release(processes: Sequence[subprocess.Popen[str]]) -> None:
    """Let them begin together, when all are ready."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


@contextmanager
def held_uncommitted() -> Iterator[None]:
    """A foreign transaction that holds an entry for as long as this lasts."""
    begun, end = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                say(1, "acme", "lost")
                begun.set()
                end.wait(120)
        finally:
            connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert begun.wait(30)
        yield
    finally:
        end.set()
        thread.join()


def assert_everything_is_sealed_once() -> None:
    """Every entry is one leaf, in its tenant's log, counted once; each checkpoint goes on from the one before."""
    assert Leaf.objects.count() == LedgerEntry.objects.count()
    assert sum(Hourly.objects.values_list("count", flat=True)) == LedgerEntry.objects.count()
    for log in Log.objects.all():
        assert_sealed(log)
        for old, new in pairwise(log.checkpoints.order_by("size")):
            proof = tree.consistency(log, old.size, new.size)
            assert verify_consistency(old.size, bytes(old.root), new.size, bytes(new.root), proof)


def test_no_entry_of_many_writers_is_missed_or_sealed_twice(long_run: bool) -> None:
    seconds = 60 if long_run else 3
    seal_all()
    before = LedgerEntry.objects.count()
    writers = [start(_WRITER, seconds, number) for number in range(WRITERS)]
    sealers = [start(_SEALER, seconds) for _ in range(2)]
    release([*writers, *sealers])
    if connection.vendor == "postgresql":
        with held_uncommitted():
            wrote = sum(int(writer.communicate()[0]) for writer in writers) + 1
    else:
        wrote = sum(int(writer.communicate()[0]) for writer in writers)
    assert [sealer.communicate()[0] for sealer in sealers] == ["sealed\n"] * 2
    seal_all()
    assert LedgerEntry.objects.count() - before == wrote > WRITERS
    assert max(log.checkpoints.count() for log in Log.objects.all()) > 3, "they ran beside each other"
    assert_everything_is_sealed_once()


def test_many_first_entries_of_a_new_tenant_make_one_log() -> None:
    seal_all()

    def first() -> int:
        say(1)
        return seal_all()

    sealed = at_once([first] * 8, 8)
    assert sum(sealed) + seal_all() == 8
    assert Log.objects.get(tenant="acme").size == 8
    assert_everything_is_sealed_once()


def test_sealers_at_once_share_the_work() -> None:
    say(3000)
    seals: list[Callable[[], int]] = [seal_all] * 4
    assert sum(at_once(seals, 4)) + seal_all() == LedgerEntry.objects.count()
    assert_everything_is_sealed_once()


def test_a_sealer_that_is_killed_in_the_middle_leaves_all_to_the_next() -> None:
    seal_all()
    say(200)
    sealer = start(_SLOW)
    release([sealer])
    assert sealer.stdout is not None
    assert [sealer.stdout.readline() for _ in range(2)] == ["wrote\n"] * 2
    sealer.send_signal(signal.SIGKILL)
    sealer.wait()
    deadline = time.monotonic() + 30
    while seal_all() == 0:
        assert time.monotonic() < deadline, "what the dead one held is free again"
    assert_everything_is_sealed_once()
