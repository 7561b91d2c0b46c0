"""One event, delivered twenty times at once to two web servers: one completes the entry, each of the others counts."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from config.environment import ROOT
from config.supervisor import serves
from elicitation.policy import identifiers
from elicitation.policy.webhooks import secret_bytes, sign
from tests.builders import ALICE, DESTINATION, admission
from tests.commands.running import environment, free_port
from tests.peers.running import START_SECONDS, RunningDesk, running_desk

DELIVERIES = 20
HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    with running_desk(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture(scope="module")
def ports(desk: RunningDesk) -> Iterator[tuple[int, int]]:
    """The desk's own web server, and one more process tree on the same database."""
    port = free_port()
    with (desk.logs / "second").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "config.server", HOST, str(port)],
            cwd=ROOT,
            env=environment(desk.state, **desk.settings),
            stdout=log,
            stderr=log,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not serves(HOST, port):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield int(desk.address.rsplit(":", 1)[1]), port
    finally:
        process.terminate()
        process.wait(20)


def prepared(desk: RunningDesk, folder: Path) -> tuple[str, str]:
    """A service's key and a provider's secret, with the tests' destination in force."""

    def told(*arguments: str) -> str:
        done = desk.manage(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    scopes = "admit,answer,consume,read"
    key = told("service_key", "create", "acme", "booking", "--scopes", scopes, "--open")
    secret = told("provider_key", "create", "acme", "example-pay", "--open")
    document = json.loads(told("policy", "export")) | {"destinations": [DESTINATION]}
    (folder / "policy.json").write_text(json.dumps(document))
    told("policy", "activate", told("policy", "import", str(folder / "policy.json")), "--alone", "test")
    return key, secret


def sent(port: int, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
    connection = HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request("POST", f"/api/v1/{path}", body, {"content-type": "application/json", **headers})
        reply = connection.getresponse()
        content = reply.read()
        return reply.status, json.loads(content) if content else None
    finally:
        connection.close()


def test_twenty_deliveries_to_two_web_servers_complete_once_and_all_are_counted(
    desk: RunningDesk, ports: tuple[int, int], tmp_path: Path
) -> None:
    key, secret = prepared(desk, tmp_path)
    bearer = {"authorization": f"Bearer {key}"}
    status, admitted = sent(ports[0], "elicitations", json.dumps(admission()).encode(), bearer)
    assert status == 201
    public_id = admitted["id"]
    answer = {"subject": ALICE, "action": "accept", "content": "absent"}
    status, entry = sent(ports[1], f"elicitations/{public_id}/answer", json.dumps(answer).encode(), bearer)
    assert (status, entry["state"]) == (200, "CONSENT_PENDING")

    data = {"elicitation_id": public_id, "result_ref": "pi_1", "subject": ALICE}
    body = json.dumps({"type": "elicitation.completed", "data": data}).encode()
    signing, moment = secret_bytes(secret), int(time.time())
    assert signing is not None
    signed = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(moment),
        "webhook-signature": sign("msg_1", moment, body, signing),
    }
    together = threading.Barrier(DELIVERIES)

    def deliver(number: int) -> int:
        together.wait()
        return sent(ports[number % 2], "providers/example-pay/events", body, signed)[0]

    with ThreadPoolExecutor(DELIVERIES) as pool:
        assert list(pool.map(deliver, range(DELIVERIES))) == [204] * DELIVERIES

    raw = identifiers.parse(public_id)
    assert raw is not None
    uid = UUID(bytes=raw)
    told = [
        (event, source, target, outcome)
        for about, event, source, target, outcome in desk.rows(
            "SELECT elicitation_id, event, state_from, state_to, outcome FROM audit_ledgerentry"
            " WHERE elicitation_id IS NOT NULL ORDER BY id"
        )
        if UUID(str(about)) == uid
    ]
    assert told == [
        ("admit", "", "ADMITTED", "admit"),
        ("answer_accept", "ADMITTED", "CONSENT_PENDING", "moved"),
        ("evidence", "CONSENT_PENDING", "COMPLETE", "completed"),
        ("refused", "COMPLETE", "COMPLETE", "duplicate_ignored"),
    ]
    counted = desk.rows("SELECT outcome, count FROM elicitation_refusedattempt")
    assert counted == [("duplicate_ignored", DELIVERIES - 1)], "the first is on the ledger, and in the count too"
    traced = desk.rows("SELECT outcome, count(*) FROM elicitation_webhookdelivery GROUP BY outcome ORDER BY outcome")
    assert traced == [("completed", 1), ("duplicate_ignored", DELIVERIES - 1)]
    assert desk.rows("SELECT status, count(*) FROM elicitation_evidence GROUP BY status") == [("used", 1)]
