"""The two ends of the completion relay, made by the test: a desk with a feed, and clients that are told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import httpx
import pytest

from elicitation.adapter import Desk, Operation
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import moves as adapter_moves
from elicitation.adapter import relay as adapter_relay
from elicitation.policy.decision import Wire
from tests.elicitation.adapter_ends import ALICE, URL, FakeClient

#: Longer than any test takes; a test that reaches it has failed.
SOON = 10.0


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(adapter_moves, "HANDED_OVER", 0.0)
    monkeypatch.setattr(adapter_relay, "FIRST_PAUSE", 0.001)
    monkeypatch.setattr(adapter_relay, "LONGEST_PAUSE", 0.002)
    monkeypatch.setattr(adapter_relay, "LONGEST_BACK_OFF", 0.002)


class Ear:
    """A client that keeps what it is told; ``deaf`` is raised instead, and a ``stuck`` one never takes it."""

    def __init__(self, *, deaf: Exception | None = None, stuck: bool = False) -> None:
        self.deaf = deaf
        self.stuck = stuck
        self.gone = False
        self.told: list[str] = []

    async def completed(self, wire_id: str) -> None:
        if self.stuck:
            await anyio.sleep_forever()
        if self.deaf is not None:
            raise self.deaf
        self.told.append(wire_id)


class Listening(FakeClient):
    """A client that answers the question and can be told of its end."""

    def __init__(self, ear: Ear, action: str = "accept", wire: Wire = Wire.V2025_11_25) -> None:
        super().__init__({"action": action})
        self.listener = ear
        self.wire = wire


class FeedingDesk:
    """A desk with any number of entries, named by their operation's target, and a feed of those that completed.

    ``fails`` is used up one reply (or exception) at a time, by reads alone: asking and answering always works.
    """

    def __init__(self) -> None:
        self.states: dict[str, str] = {}
        self.feed: list[str] = []
        self.reads: list[str] = []
        self.fails: list[tuple[int, dict[str, object]] | Exception] = []
        self.expires_at = datetime.now(UTC) + timedelta(hours=1)
        self.oldest = 0
        self.at_latest: Callable[[], object] = lambda: None
        self.at_look: Callable[[], object] = lambda: None

    def complete(self, name: str) -> None:
        self.states[name] = "COMPLETE"
        self.feed.append(name)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        call = request.url.path.removeprefix("/api/v1/")
        if request.method == "POST":
            return httpx.Response(200, json=self.write(call, json.loads(request.content)))
        self.reads.append(f"{call}?after={request.url.params['after']}" if call == "completions" else call)
        if self.fails:
            failure = self.fails.pop(0)
            if isinstance(failure, Exception):
                raise failure
            return httpx.Response(failure[0], json=failure[1])
        return self.read(call, request.url.params.get("after", ""), int(request.url.params.get("limit", "0")))

    def write(self, call: str, body: Any) -> dict[str, object]:
        if call == "elicitations":
            name = body["operation"]["target"]
            self.states.setdefault(name, "ADMITTED")
            sent = body["request"] | {"elicitationId": f"wire-{name}"}
            return self.entry(name) | {"wire_id": f"wire-{name}", "request": sent}
        _, name, event = call.split("/")
        if event == "answer":
            accepted = "COMPLETE" if self.states[name] == "COMPLETE" else "CONSENT_PENDING"
            self.states[name] = {"accept": accepted, "decline": "DECLINED", "cancel": "CANCELLED"}[body["action"]]
        return self.entry(name)

    def read(self, call: str, after: str, limit: int) -> httpx.Response:
        if call != "completions":
            name = call.partition("/")[2]
            self.at_look()
            if name not in self.states:
                return httpx.Response(404, json={"code": "unknown", "detail": "No such entry."})
            return httpx.Response(200, json=self.entry(name))
        if after == "latest":
            self.at_latest()
            return httpx.Response(200, json={"items": [], "next": len(self.feed)})
        if int(after) < self.oldest:
            return httpx.Response(400, json={"code": "query.invalid", "detail": "after"})
        page = self.feed[int(after) :][:limit]
        items = [{"id": name, "wire_id": f"wire-{name}"} for name in page]
        return httpx.Response(200, json={"items": items, "next": int(after) + len(page)})

    def entry(self, name: str) -> dict[str, object]:
        words: dict[str, object] = {"explanation": "…", "next_step": "…", "expires_at": self.expires_at.isoformat()}
        return {"id": name, "state": self.states[name]} | words


@pytest.fixture
def desk() -> FeedingDesk:
    return FeedingDesk()


@pytest.fixture
async def adapter(desk: FeedingDesk) -> AsyncIterator[Desk]:
    async with an_adapter(desk) as opened:
        yield opened
    assert following() == []


def an_adapter(desk: FeedingDesk, **options: Any) -> Desk:
    """The client is handed over in place of the SDK's context."""
    client = httpx.AsyncClient(transport=httpx.MockTransport(desk))
    options = {"subject": lambda ctx: ALICE, "connect": lambda ctx: ctx} | options
    return Desk("https://desk.example.com", "desk_key", client=client, **options)


async def ask(adapter: Desk, name: str, client: FakeClient) -> Any:
    return await adapter.ask_url(client, operation=Operation(name), purpose="payment", message="Pay.", url=URL)


async def until(met: Callable[[], object]) -> None:
    with anyio.fail_after(SOON):
        while not met():
            await anyio.sleep(0.001)


def following() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task.get_name() == "elicitation-relay"]


async def everything_read(desk: FeedingDesk, adapter: Desk) -> None:
    """Until a later completion has been told: what would be told of earlier ones has been told by then."""
    ear = Ear()
    await ask(adapter, "sentinel", Listening(ear))
    desk.complete("sentinel")
    await until(lambda: ear.told)
