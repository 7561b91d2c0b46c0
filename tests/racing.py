"""Many calls at once, and what must hold of the ledger afterwards."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

from django.db import connections

from audit.models import LedgerEntry
from elicitation.models import Elicitation


def at_once(calls: list[Callable[[], Any]], threads: int) -> list[Any]:
    """Run ``calls`` from that many threads, all starting together; each thread closes its own connection."""
    start = threading.Barrier(threads)
    shares = [calls[number::threads] for number in range(threads)]

    def run(share: list[Callable[[], Any]]) -> list[Any]:
        start.wait()
        try:
            return [call() for call in share]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(threads) as pool:
        return [result for results in pool.map(run, shares) for result in results]


def transitions(uid: UUID) -> list[tuple[str, str]]:
    """The passages from state to state, in the ledger's order, without what moved nothing."""
    rows = LedgerEntry.objects.filter(elicitation_id=uid).order_by("pk")
    return [(row.state_from, row.state_to) for row in rows if row.state_from != row.state_to]


def assert_the_ledger_explains(entry: Elicitation) -> None:
    """The passages form one unbroken chain from nothing to the present state."""
    state = ""
    for before, after in transitions(entry.uid):
        assert before == state, transitions(entry.uid)
        state = after
    assert state == entry.state
