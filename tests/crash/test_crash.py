"""The short form of a crash run, on each broker: everything is killed under load, and nothing is lost."""

from __future__ import annotations

import sys

import pytest

from tests.crash.flows import MIX
from tests.crash.report import complaints, table
from tests.crash.running import Plan, folder_of_a_run, run

pytestmark = pytest.mark.crash

#: More flows than there is time for: what ends the short form is its seconds.
FLOWS = 5000


@pytest.mark.parametrize(("broker", "seconds"), [("redis", 25), ("rabbitmq", 20)])
def test_nothing_is_lost_or_done_twice_while_everything_is_killed(
    broker: str, seconds: float, capsys: pytest.CaptureFixture[str]
) -> None:
    with folder_of_a_run() as folder:
        outcome = run(Plan(broker, FLOWS, seconds, seed=20251125), folder, lambda text: None)
        told = "\n".join(table(outcome))
        with capsys.disabled():
            sys.stdout.write(f"\n{told}\n")
        assert outcome.verdict.clean, "\n".join([told, *complaints(outcome, folder)])
        assert set(outcome.kills) == {"web 1", "web 2", "worker", "beat", "broker", "database"}
        assert {kind for kind, _ in outcome.states} == set(MIX)
