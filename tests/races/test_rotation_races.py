"""While digest keys are rotated, processes put different keys first; what is one thing stays one thing.

SQLite has one writer, so that nothing can happen in between there.
"""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from tests import builders
from tests.builders import Desk
from tests.steps import consent

pytestmark = pytest.mark.django_db(transaction=True)

PAIRS = 15
NEW = bytes(range(32))


class Rings(threading.local):
    """The key ring as each thread sees it."""

    reverse = False


@pytest.fixture
def rings(monkeypatch: pytest.MonkeyPatch) -> Rings:
    mine, old = Rings(), dict(settings.DESK_DIGEST_KEYS)

    class Seen(dict[str, bytes]):
        def items(self) -> Any:
            both = [*old.items(), ("new1", NEW)]
            return both[::-1] if mine.reverse else both

    monkeypatch.setattr(settings, "DESK_DIGEST_KEYS", Seen(old | {"new1": NEW}))
    return mine


def at_once(rings: Rings, *calls: Any) -> list[Any]:
    """What each call gives, made together, every other one by a process that puts the new key first."""
    gate, found = threading.Barrier(len(calls)), [None] * len(calls)

    def run(number: int) -> None:
        rings.reverse = bool(number % 2)
        gate.wait()
        try:
            found[number] = calls[number]()
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_one_operation_has_one_entry(rings: Rings) -> None:
    desk = builders.open_desk()
    for number in range(PAIRS):
        operation = builders.operation(question=f"q{number}")
        replies = at_once(rings, *[lambda operation=operation: desk.admit(operation=operation)] * 2)
        assert sorted(reply.status_code for reply in replies) == [200, 201]
        assert len({reply.json()["id"] for reply in replies}) == 1


def test_one_result_completes_one_entry(rings: Rings) -> None:
    desk = builders.open_desk()
    for number in range(PAIRS):
        ids = [_pending(desk, f"q{number}-{which}") for which in "ab"]
        at_once(rings, *[lambda each=each, number=number: desk.event(each, f"pi_{number}") for each in ids])
        assert sorted(builders.entry_of(each).state for each in ids) == ["COMPLETE", "CONSENT_PENDING"]


def _pending(desk: Desk, question: str) -> str:
    public_id: str = desk.admit(operation=builders.operation(question=question)).json()["id"]
    consent(desk, public_id)
    return public_id
