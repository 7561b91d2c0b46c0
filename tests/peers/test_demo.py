"""The demo against a real desk: every flow, twice, explained by the ledger, with no marked secret left anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from uuid import UUID

import pytest

from config.environment import ROOT
from elicitation.demo.expected import FLOWS
from elicitation.demo.marks import MARK, marked
from tests.commands.running import environment
from tests.peers.running import RunningDesk, running_desk

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    with running_desk(tmp_path_factory.mktemp("peers")) as running:
        yield running


@pytest.fixture(scope="module")
def first(desk: RunningDesk):
    return desk.demo("--format", "json")


@pytest.fixture(scope="module")
def second(desk: RunningDesk, first):
    return desk.demo()


def test_every_flow_ends_as_expected(first):
    assert first.returncode == 0, first.stdout + first.stderr
    report = json.loads(first.stdout)
    assert [flow["flow"] for flow in report["flows"]] == [flow.name for flow in FLOWS]
    assert all(flow["ok"] for flow in report["flows"])
    assert all(flow["timeline"] for flow in report["flows"])


def test_it_runs_again_on_the_same_desk_and_tells_the_story_in_words(second):
    assert second.returncode == 0, second.stdout + second.stderr
    assert f"{len(FLOWS)} of {len(FLOWS)} flows ended as expected." in second.stdout
    assert "Policy revision" not in second.stderr, "the destination is allowed already"


def test_the_ledger_explains_every_transition(desk: RunningDesk, second):
    states = {UUID(str(uid)): state for uid, state in desk.rows("SELECT uid, state FROM elicitation_elicitation")}
    assert len(states) == 2 * len(FLOWS)
    moves: dict[UUID, list[tuple[str, str]]] = {uid: [] for uid in states}
    query = (
        "SELECT elicitation_id, state_from, state_to FROM audit_ledgerentry WHERE elicitation_id IS NOT NULL"
        " AND state_to <> '' AND state_from <> state_to ORDER BY id"
    )
    for uid, source, target in desk.rows(query):
        moves[UUID(str(uid))].append((source, target))
    for uid, state in states.items():
        path = moves[uid]
        assert path[0] == ("", "ADMITTED")
        assert path[-1][1] == state
        assert all(before[1] == after[0] for before, after in pairwise(path))


def test_a_refused_completion_is_on_the_ledger_and_moved_nothing(desk: RunningDesk, second):
    query = "SELECT state_from, state_to FROM audit_ledgerentry WHERE outcome = 'wrong_user_denied'"
    refused = desk.rows(query)
    assert len(refused) == 2, "once in each run"
    assert all(source == target for source, target in refused if target)


def test_no_marked_secret_is_left_in_database_logs_broker_or_output(desk: RunningDesk, second):
    found = desk.everything()
    assert any(b"demo-pay" in content for content in found.values()), "the search reads the database"
    assert b"POST" in found[str(desk.logs / "stderr")] or b"POST" in found[str(desk.logs / "stdout")]
    assert [place for place, content in found.items() if MARK.encode() in content] == []


def test_the_search_finds_what_leaks(desk: RunningDesk):
    leak = desk.logs / "planted"
    leak.write_text(f"card={marked('card')}")
    try:
        assert [place for place, content in desk.everything().items() if MARK.encode() in content] == [str(leak)]
    finally:
        leak.unlink()


def test_nothing_outlives_a_demo_that_is_killed(desk: RunningDesk):
    process = subprocess.Popen(
        [sys.executable, "manage.py", "demo", "--base-url", desk.address],
        cwd=ROOT,
        env=environment(desk.state, **desk.settings),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    children: list[str] = []
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    ends = time.monotonic() + 60
    while len(children) < 2 and time.monotonic() < ends and process.poll() is None:
        children = listed.read_text().split()
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert len(children) >= 2
    ends = time.monotonic() + 15
    while any(_runs(child) for child in children) and time.monotonic() < ends:
        time.sleep(0.05)
    assert not any(_runs(child) for child in children)


def _runs(pid: str) -> bool:
    try:
        return b"elicitation.demo" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
