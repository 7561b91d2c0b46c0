"""The adapter's moves against a desk and a client of the test's own: what is asked, of whom, and what is told."""

from __future__ import annotations

import json
import subprocess
import sys

import httpx
import pytest

from config.environment import ROOT
from elicitation.adapter import (
    CannotAsk,
    Denied,
    DeskUnavailable,
    EvidenceWaiting,
    FormOutcome,
    Refused,
    UrlOutcome,
)
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import moves as adapter_moves
from tests.elicitation.adapter_ends import ELC, OPERATION, URL, FakeClient, FakeDesk, form, link


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    """Back-off and hand-over without waiting; what they do is asserted, not how long they take."""
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(adapter_moves, "HANDED_OVER", 0.0)


@pytest.mark.anyio
async def test_a_form_is_admitted_put_and_reported_and_its_content_goes_to_the_tool_alone():
    desk, client = FakeDesk(), FakeClient({"action": "accept", "content": {"room": "street"}})
    answer = await form(desk, client)
    assert (answer.outcome, answer.content) == (FormOutcome.ACCEPTED, {"room": "street"})
    assert [name for name, _ in desk.seen] == ["elicitations", "progress", "answer"]
    assert desk.told("answer")[0] | {"latency_ms": 0} == {
        "subject": {"iss": "https://id.example.com", "sub": "alice"},
        "action": "accept",
        "content": "present",
        "latency_ms": 0,
    }
    assert "street" not in json.dumps([desk.told("answer"), desk.told("progress")])
    assert "street" not in repr(answer)


@pytest.mark.anyio
async def test_the_desk_hears_who_asks_for_which_operation_and_never_its_arguments():
    desk = FakeDesk()
    await link(desk, FakeClient({"action": "accept"}))
    (body,) = desk.told("elicitations")
    assert body["wire"] == "2025-11-25"
    assert body["delivery"] == "create"
    assert body["client"] == {
        "name": "test-client",
        "version": "1",
        "capabilities": {"elicitation": {"form": {}, "url": {}}},
    }
    assert body["subject"] == {"iss": "https://id.example.com", "sub": "alice"}
    assert body["operation"]["arguments_digest"].startswith("sha256:")
    assert body["operation"]["request_id"] == "7"
    assert "CANARY" not in json.dumps(desk.seen)
    assert "CANARY" not in repr(OPERATION)
    assert desk.headers["authorization"] == "Bearer desk_key"


@pytest.mark.anyio
async def test_only_what_was_admitted_goes_on_the_wire():
    client = FakeClient({"action": "accept"})
    answer = await link(FakeDesk(), client)
    assert client.asked == [{"mode": "url", "message": "Pay.", "url": f"{URL}&e={ELC}", "elicitationId": ELC}]
    assert answer.outcome is UrlOutcome.CONSENTED
    assert answer.ticket.id == ELC


@pytest.mark.anyio
@pytest.mark.parametrize(
    "failure", [httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), (503, {"code": "ledger"}), (500, {})]
)
async def test_an_unreachable_desk_means_that_nobody_is_asked(failure):
    desk, client = FakeDesk(elicitations=failure), FakeClient({"action": "accept"})
    with pytest.raises(DeskUnavailable, match="nobody was asked"):
        await link(desk, client)
    assert client.asked == []
    bodies = desk.told("elicitations")
    assert len(bodies) == adapter_calls.ATTEMPTS
    assert all(body == bodies[0] for body in bodies), "a retry is the same operation"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "reply",
    [
        (200, []),
        (201, {"id": ELC, "state": "NEW_STATE", "request": None}),
        (201, {"id": ELC, "state": "ADMITTED", "request": {"mode": "form"}}),
        (302, {}),
        (404, "not a desk"),
    ],
)
async def test_a_reply_that_cannot_be_read_means_that_nobody_is_asked(reply):
    client = FakeClient({"action": "accept"})
    with pytest.raises(DeskUnavailable):
        await link(FakeDesk(elicitations=reply), client)
    assert client.asked == []


@pytest.mark.anyio
async def test_a_denial_names_rule_place_and_advice_and_nobody_is_asked():
    decision = {"rule": "url.scheme", "source": "operator", "advice": "Use https.", "at": "/request/url"}
    problem = {"code": "url.scheme", "detail": "Denied.", "decision": decision, "decision_id": "d1"}
    client = FakeClient({"action": "accept"})
    with pytest.raises(Denied, match=r"Use https\. \(rule url\.scheme at /request/url\)") as denied:
        await link(FakeDesk(elicitations=(422, problem)), client)
    assert (denied.value.rule, denied.value.source, denied.value.decision_id) == ("url.scheme", "operator", "d1")
    assert client.asked == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (429, "limits.asks", Denied),
        (409, "evidence_waiting", EvidenceWaiting),
        (409, "operation.conflict", Refused),
        (401, "key.unknown", Refused),
        (400, "body.unknown_key", Refused),
    ],
)
async def test_every_refusal_is_told_apart_and_never_retried(status, code, error):
    desk, client = FakeDesk(elicitations=(status, {"code": code, "detail": "No."})), FakeClient({"action": "accept"})
    with pytest.raises(error) as refused:
        await link(desk, client)
    assert (refused.value.code, client.asked, len(desk.seen)) == (code, [], 1)


@pytest.mark.anyio
async def test_without_an_identity_the_desk_is_not_even_asked():
    desk, client = FakeDesk(), FakeClient({"action": "accept"})
    with pytest.raises(CannotAsk):
        await link(desk, client, subject=None)
    assert (desk.seen, client.asked) == ([], [])


def test_the_adapter_needs_neither_django_nor_before_its_first_question_an_sdk():
    code = "import sys, elicitation.adapter; sys.exit(bool({'django', 'mcp', 'msgspec'} & set(sys.modules)))"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
