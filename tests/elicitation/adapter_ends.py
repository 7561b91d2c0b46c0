"""The two ends of an adapter, made by the test: a desk that it calls, and a client that it asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import httpx

from elicitation.adapter import (
    ClientFacts,
    Desk,
    Operation,
    Subject,
)
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
