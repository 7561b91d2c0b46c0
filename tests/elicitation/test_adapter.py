"""The adapter's moves against a desk and a client of the test's own: what is asked, of whom, and what is told."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import anyio
import httpx
import pytest

from config.environment import ROOT
from elicitation.adapter import (
    CannotAsk,
    ClientFacts,
    Denied,
    Desk,
    DeskUnavailable,
    EvidenceWaiting,
    FormOutcome,
    Operation,
    Refused,
    Subject,
    UrlOutcome,
)
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import moves as adapter_moves
from elicitation.adapter.conversation import Listener
from elicitation.policy.decision import Delivery, Wire

ALICE = Subject("https://id.example.com", "alice")
ELC = "elc_" + "a" * 26
ROOMS = {
    "type": "object",
    "properties": {"room": {"type": "string", "enum": ["garden", "street"]}},
    "required": ["room"],
}
URL = "https://consent.example.com/start?flow=pay"
OPERATION = Operation("pay", {"booking": "CANARY-argument"})

Reply = tuple[int, Mapping[str, object]]


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    """Back-off and hand-over without waiting; what they do is asserted, not how long they take."""
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(adapter_moves, "HANDED_OVER", 0.0)


class FakeDesk:
    """Answers as page 30 says, and keeps every call. ``replies`` overrides an endpoint: a reply, or an exception."""

    def __init__(self, **replies: Reply | Exception) -> None:
        self.replies = replies
        self.seen: list[tuple[str, Any]] = []
        self.state = "ADMITTED"
        self.headers = httpx.Headers()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        name = request.url.path.rpartition("/")[2]
        body = json.loads(request.content) if request.content else None
        self.seen.append((name, body))
        self.headers = request.headers
        known = self.replies.get(name)
        if isinstance(known, Exception):
            raise known
        status, reply = known or self.usual(name, body)
        return httpx.Response(status, json=reply)

    def usual(self, name: str, body: Any) -> Reply:
        if name == "elicitations":
            sent = dict(body["request"])
            if sent["mode"] == "url":
                sent |= {"url": sent["url"] + f"&e={ELC}", "elicitationId": ELC}
            return 201, {"id": ELC, "wire_id": ELC, "state": "ADMITTED", "request": sent, "mode": sent["mode"]}
        if name == "answer":
            form = any(each == "elicitations" and seen["request"]["mode"] == "form" for each, seen in self.seen)
            accepted = "ACCEPTED" if form else "CONSENT_PENDING"
            self.state = {"accept": accepted, "decline": "DECLINED", "cancel": "CANCELLED"}[body["action"]]
        return 200, {"id": ELC, "state": self.state, "explanation": "…", "next_step": "…"}

    def told(self, name: str) -> list[Any]:
        return [body for each, body in self.seen if each == name]

    def events(self) -> list[str]:
        return [body["event"] for body in self.told("progress")]


class FakeClient:
    """A client that answers ``answer``, raises it, or never answers (``None``); nobody listens for completions."""

    wire: Wire = Wire.V2025_11_25
    delivery = Delivery.CREATE
    client = ClientFacts("test-client", "1", {"elicitation": {"form": {}, "url": {}}})
    request_id = "7"
    listener: Listener | None = None

    def __init__(self, answer: Mapping[str, object] | Exception | None) -> None:
        self.answer = answer
        self.asked: list[Mapping[str, object]] = []

    async def send(self, params: Mapping[str, object]) -> Mapping[str, object]:
        self.asked.append(params)
        if self.answer is None:
            await anyio.sleep_forever()
        if isinstance(self.answer, Exception):
            raise self.answer
        assert self.answer is not None
        await anyio.sleep(0.01)
        return self.answer


def a_desk(desk: FakeDesk, client: FakeClient, *, subject: Subject | None = ALICE, timeout: float = 55.0) -> Desk:
    return Desk(
        "https://desk.example.com/",
        "desk_key",
        client=httpx.AsyncClient(transport=httpx.MockTransport(desk)),
        timeout=timeout,
        subject=lambda ctx: subject,
        connect=lambda ctx: client,
    )


async def form(desk: FakeDesk, client: FakeClient, **options: Any):
    adapter = a_desk(desk, client, **options)
    return await adapter.ask_form(None, operation=OPERATION, purpose="choice", message="Which room?", schema=ROOMS)


async def link(desk: FakeDesk, client: FakeClient, **options: Any):
    adapter = a_desk(desk, client, **options)
    return await adapter.ask_url(None, operation=OPERATION, purpose="payment", message="Pay.", url=URL)


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
