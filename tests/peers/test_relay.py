"""Completions on the published SDK: the client that asked hears of its own, once, over pipes and streamable HTTP."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from typing import Any

import pytest

from config.environment import ROOT
from tests.builders import ALICE, DESTINATION
from tests.peers.running import RunningDesk, running_desk

pytestmark = pytest.mark.peers

TENANT, SERVICE, PROVIDER = "acme", "booking", "example-pay"


@pytest.fixture(scope="module")
def said(tmp_path_factory) -> dict[str, Any]:
    entry = importlib.import_module("manage")
    folder = ROOT / ".venv-demo"
    entry.install(folder, "demo")
    with running_desk(tmp_path_factory.mktemp("relay")) as desk:
        done = subprocess.run(
            [entry.venv_python(folder), "-m", "tests.peers.relay_peer"],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            input=json.dumps(prepared(desk)) + "\n",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    assert done.returncode == 0, done.stderr[-4000:]
    scenes: dict[str, Any] = json.loads(done.stdout)
    return scenes


def prepared(desk: RunningDesk) -> dict[str, Any]:
    """A service, a provider and a destination; what the peers must know of them."""

    def command(*arguments: str) -> str:
        done = desk.manage(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    key = command("service_key", "create", TENANT, SERVICE, "--scopes", "admit,answer,consume,read", "--open")
    secret = command("provider_key", "create", TENANT, PROVIDER, "--open")
    document = json.loads(command("policy", "export"))
    document["destinations"] = [DESTINATION | {"services": [SERVICE], "purposes": ["payment"]}]
    written = desk.state / "policy.json"
    written.write_text(json.dumps(document))
    command("policy", "activate", command("policy", "import", str(written)), "--alone", "test")
    events = f"{desk.address}/api/v1/providers/{PROVIDER}/events"
    return {"desk_url": desk.address, "key": key, "events_url": events, "secret": secret, "subject": ALICE}


def test_a_client_over_pipes_hears_of_each_completion_once_by_its_id(said):
    scene = said["pipes"]
    assert scene["heard"] == scene["ids"] == scene["asked"]
    assert scene["taken"]["outcome"] == "applied", "what was heard changes nothing: the result is there to be taken"
    assert scene["asked_in_all"] == 2, "a finished question is not put again"


def test_of_two_clients_on_one_server_only_the_asker_hears(said):
    scene = said["two_clients"]
    assert (scene["one"], scene["other"]) == (scene["hers"], scene["his"])


def test_a_client_hears_while_its_call_still_waits_and_the_call_gets_the_result(said):
    scene = said["within_the_call"]
    assert scene["heard"] == scene["asked"] == [scene["taken"]["id"]]
    assert scene["taken"]["outcome"] == "applied"


def test_a_restarted_server_tells_nobody_of_what_it_did_not_ask_and_the_flow_still_finishes(said):
    scene = said["restart"]
    assert scene["before"] == []
    assert scene["after"] == [scene["own"]]
    assert (scene["taken"]["id"], scene["taken"]["outcome"]) == (scene["asked"], "applied")


def test_a_server_stops_following_when_the_client_that_it_asked_has_left(said):
    assert said["left"] == {"during": 1, "after": 0}


def test_a_desk_that_is_away_for_a_while_costs_time_and_no_completion(said):
    scene = said["outage"]
    assert scene["during"] == []
    assert scene["heard"] == [scene["asked"], scene["last"]]
