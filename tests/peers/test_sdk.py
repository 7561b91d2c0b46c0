"""The adapter on the published SDK: exactly the admitted question on the wire, and the client's raw answer read."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
from typing import Any

import pytest

from config.environment import ROOT

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    entry = importlib.import_module("manage")
    folder = ROOT / ".venv-demo"
    entry.install(folder, "demo")
    done = subprocess.run(
        [entry.venv_python(folder), "-m", "tests.peers.sdk_peer"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    return answers


def test_the_client_sees_the_admitted_question_and_nothing_else(said):
    sent = said["url"]["shown"][0]
    assert sent == {
        "mode": "url",
        "message": "Pay.",
        "url": "https://consent.example.com/start?flow=pay",
        "elicitationId": "elc_" + "a" * 26,
    }
    assert said["form"]["shown"][0] == said["form"]["desk"][0][1]["request"]


def test_capabilities_reach_the_desk_as_they_were_declared(said):
    assert said["form"]["desk"][0][1]["client"]["capabilities"] == {"elicitation": {"form": {}, "url": {}}}
    assert said["undeclared"]["desk"][0][1]["client"]["capabilities"] == {}


def test_answers_come_back_as_what_they_are(said):
    assert said["form"]["reply"] == {"outcome": "accepted", "content": {"room": "street"}}
    assert said["url"]["reply"] == {"outcome": "consented"}
    assert said["decline"]["reply"] == {"outcome": "declined"}


def test_a_malformed_answer_or_an_error_is_no_decision_and_its_words_go_nowhere(said):
    assert said["malformed"]["reply"]["error"] == "MalformedAnswer"
    assert said["error"]["reply"]["error"] == "ClientFailed"
    for name in ("malformed", "error"):
        assert "answer" not in [call for call, _ in said[name]["desk"]]
        assert "CANARY" not in json.dumps([said[name]["reply"], said[name]["desk"]])


def test_an_older_revision_is_refused_before_anybody_is_asked(said):
    assert said["older"]["reply"]["error"] == "CannotAsk"
    assert said["older"]["desk"] == []
