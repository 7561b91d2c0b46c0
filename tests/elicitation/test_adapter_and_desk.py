"""The adapter against the desk itself, over the real API: asked, confirmed by webhook, told, and taken once."""

from __future__ import annotations

import threading
from typing import Any

import anyio
import httpx
import pytest
from django.db import connections
from django.test import Client

from elicitation.adapter import ConsumeOutcome, Operation, Subject, UrlOutcome
from elicitation.adapter import Desk as Adapter
from elicitation.adapter import moves as adapter_moves
from elicitation.adapter import relay as adapter_relay
from tests import builders
from tests.builders import ALICE, PAY_URL, Desk
from tests.elicitation.relay_ends import Ear, Listening, following, until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(adapter_moves, "HANDED_OVER", 0.0)
    monkeypatch.setattr(adapter_relay, "FIRST_PAUSE", 0.01)


class Api(httpx.AsyncBaseTransport):
    """The desk's own API, in threads of a pool as its web server has them, each call with a connection of its own."""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return await anyio.to_thread.run_sync(self.answer, request)

    def answer(self, request: httpx.Request) -> httpx.Response:
        try:
            reply = Client(raise_request_exception=False).generic(
                request.method,
                request.url.raw_path.decode(),
                request.content,
                content_type="application/json",
                headers={"authorization": request.headers["authorization"]},
            )
            return httpx.Response(reply.status_code, headers=dict(reply.headers), content=reply.content)
        finally:
            connections.close_all()


@pytest.fixture
def adapter(desk: Desk) -> Adapter:
    return an_adapter(desk)


def an_adapter(desk: Desk) -> Adapter:
    return Adapter(
        "https://desk.example.com",
        desk.key,
        client=httpx.AsyncClient(transport=Api()),
        subject=lambda ctx: Subject(**ALICE),
        connect=lambda ctx: ctx,
    )


async def ask(adapter: Adapter, booking: str, client: Listening) -> Any:
    operation = Operation("pay", {"booking": booking})
    return await adapter.ask_url(client, operation=operation, purpose="payment", message="Pay.", url=PAY_URL)


async def in_thread(work: Any, *arguments: Any) -> Any:
    def run() -> Any:
        try:
            return work(*arguments)
        finally:
            connections.close_all()

    return await anyio.to_thread.run_sync(run)


@pytest.mark.anyio
async def test_what_the_provider_confirms_is_told_to_the_asker_and_applied_once(desk, adapter):
    for number in range(3):
        await in_thread(completed_elsewhere, desk, number)
    alices, bystander = Ear(), Ear()
    asked = await ask(adapter, "one", Listening(alices))
    await ask(adapter, "two", Listening(bystander))
    assert asked.outcome is UrlOutcome.CONSENTED
    assert (await in_thread(desk.event, asked.ticket.id)).status_code == 204
    await until(lambda: alices.told)
    first, again = await adapter.result(asked.ticket), await adapter.result(asked.ticket)
    await adapter.aclose()
    assert (alices.told, bystander.told) == ([asked.ticket.wire_id], [])
    assert (first.outcome, first.result_ref) == (ConsumeOutcome.APPLIED, "pi_1")
    assert (again.outcome, again.result_ref) == (ConsumeOutcome.ALREADY_APPLIED, "pi_1")
    assert following() == []


@pytest.mark.anyio
async def test_evidence_for_somebody_else_completes_nothing_and_tells_nobody(desk, adapter):
    ear, later = Ear(), Ear()
    asked = await ask(adapter, "one", Listening(ear))
    before = await in_thread(builders.snapshot, asked.ticket.id)
    assert (await in_thread(lambda: desk.event(asked.ticket.id, subject=builders.BOB))).status_code == 204
    other = await ask(adapter, "two", Listening(later))
    await in_thread(desk.event, other.ticket.id, "pi_2")
    await until(lambda: later.told)
    await adapter.aclose()
    assert ear.told == []
    assert await in_thread(builders.snapshot, asked.ticket.id) == before


@pytest.mark.anyio
async def test_a_process_that_did_not_ask_finishes_the_flow_and_tells_nobody(desk, adapter):
    asked = await ask(adapter, "one", Listening(Ear()))
    await adapter.aclose()
    await in_thread(desk.event, asked.ticket.id)
    ear = Ear()
    restarted = an_adapter(desk)
    answer = await ask(restarted, "one", Listening(ear))
    assert (answer.outcome, following()) == (UrlOutcome.RESULT_WAITING, [])
    assert (await restarted.result(answer.ticket)).outcome is ConsumeOutcome.APPLIED
    assert ear.told == []


@pytest.mark.anyio
async def test_the_desk_holds_the_call_until_the_confirmation_comes(desk, adapter, monkeypatch):
    asked = await ask(adapter, "one", Listening(Ear()))
    await adapter.aclose()
    held = threading.Event()

    def looked(seconds: float) -> None:
        """The desk's pause between two looks: by now the call waits there."""
        held.set()

    monkeypatch.setattr("elicitation.api.following.time.sleep", looked)
    async with anyio.create_task_group() as group:
        taken: list[Any] = []

        async def take() -> None:
            taken.append(await adapter.result(asked.ticket))

        group.start_soon(take)
        await until(held.is_set)
        await in_thread(desk.event, asked.ticket.id)
    assert (taken[0].outcome, taken[0].result_ref) == (ConsumeOutcome.APPLIED, "pi_1")


def completed_elsewhere(desk: Desk, number: int) -> None:
    """Another process of the same service asked, and was paid."""
    question = builders.operation(question=f"elsewhere {number}")
    desk.event(desk.admit(delivery="url_required", operation=question).json()["id"], f"pi_elsewhere_{number}")
