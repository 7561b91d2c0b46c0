"""Reconcilers that run at once share the work: each entry is asked about once a round, and moved once."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest

from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import Desk
from tests.elicitation.asked import done, provider
from tests.providers.server import ProviderServer, Speech, says
from tests.racing import assert_the_ledger_explains, at_once
from tests.steps import consented

__all__ = ["provider"]

pytestmark = pytest.mark.django_db(transaction=True)

USUAL, HOUR = 300, 3600
#: By what the provider says of an entry whose usual time, or whose whole window is over: what the ledger gets of it.
TOLD = {
    ("completed", USUAL): ["lookup", "evidence"],
    ("failed", USUAL): ["lookup", "provider_failure"],
    ("pending", USUAL): ["lookup"],
    ("completed", HOUR): ["deadline", "lookup", "refused"],
    ("failed", HOUR): ["deadline", "lookup"],
    ("pending", HOUR): ["deadline", "lookup"],
}
STATES = {"completed": "COMPLETE", "failed": "CANCELLED", "pending": "CONSENT_PENDING"}


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is, a pass ends because nothing is due."""
    monkeypatch.setattr(reconciling, "PASS_SECONDS", 60.0)


def slowly(speech: Speech) -> Speech:
    """So that others run while the provider is waited for."""

    def speak(connection: Any) -> None:
        time.sleep(0.05)
        speech(connection)

    return speak


def due(desk: Desk, provider: ProviderServer, copies: int) -> dict[str, tuple[str, int]]:
    """Entries to which Alice agreed and that the reconciler is to ask about, of every kind of ``TOLD``."""
    made: dict[str, tuple[str, int]] = {}
    for said, age in [*TOLD] * copies:
        public_id = consented(desk, operation=builders.operation(question=str(len(made))))
        answer = done(f"pi_{len(made)}") if said == "completed" else {"status": said}
        provider.about(public_id, slowly(says(answer)))
        builders.age(public_id, age)
        made[public_id] = said, age
    return made


def asked_about(provider: ProviderServer) -> Counter[str]:
    return Counter(request.query["elicitation_id"][0] for request in provider.seen)


def test_two_reconcilers_at_once_ask_about_each_entry_once_a_round_and_move_it_once(
    desk: Desk, provider: ProviderServer
) -> None:
    made = due(desk, provider, 3)
    looked_at = at_once([reconciling.reconcile] * 2, 2)
    assert asked_about(provider) == dict.fromkeys(made, 1)
    assert sum(looked_at) == len(made)
    for public_id, (said, age) in made.items():
        entry = builders.entry_of(public_id)
        assert entry.state == (STATES[said] if age == USUAL else "EXPIRED")
        assert [row.event for row in builders.ledger(public_id)][2:] == TOLD[said, age]
        assert entry.evidence.count() == int(said == "completed")
        assert_the_ledger_explains(entry)
    for public_id in made:
        builders.age(public_id, HOUR)  # the next round: whatever may still be done is asked about once more
    before = asked_about(provider)
    at_once([reconciling.reconcile] * 2, 2)
    waiting = [public_id for public_id, (said, _) in made.items() if said == "pending"]
    assert asked_about(provider) - before == dict.fromkeys(waiting, 1)


def test_reconcilers_and_a_sweep_at_once_end_each_entry_once_and_still_ask_about_it(
    desk: Desk, provider: ProviderServer
) -> None:
    made = due(desk, provider, 3)
    at_once([reconciling.reconcile, expiring.expire, reconciling.reconcile], 3)
    for public_id in made:
        builders.age(public_id, 60)  # what the sweep ended first is asked about after a while
    at_once([reconciling.reconcile] * 2, 2)
    for public_id, (said, age) in made.items():
        events = [row.event for row in builders.ledger(public_id)][2:]
        assert sorted(events) == sorted(TOLD[said, age])
        assert builders.entry_of(public_id).late_evidence == ((said, age) == ("completed", HOUR))
        assert said == "pending" or asked_about(provider)[public_id] == 1
