"""The completion relay in trouble: an absent desk, a lost place, clients that are gone or stuck; and what it leaves."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import weakref
from datetime import UTC, datetime, timedelta

import anyio
import httpx
import pytest

from elicitation.adapter import ClientFailed
from elicitation.adapter import relay as adapter_relay
from elicitation.adapter.calls import Calls
from elicitation.adapter.relay import Relay
from tests.elicitation.relay_ends import (
    Ear,
    FeedingDesk,
    Listening,
    adapter,
    an_adapter,
    anyio_backend,
    ask,
    desk,
    everything_read,
    following,
    in_no_time,
    until,
)

__all__ = ["adapter", "anyio_backend", "desk", "in_no_time"]  # fixtures


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("elicitation")]


def a_relay(desk: FeedingDesk) -> Relay:
    client = httpx.AsyncClient(transport=httpx.MockTransport(desk))
    return Relay(Calls("https://desk.example.com", "desk_key", client))


@pytest.mark.anyio
@pytest.mark.parametrize(
    "failure",
    [
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
        RuntimeError("CANARY"),
        (500, {}),
        (503, {"code": "ledger"}),
        (302, {}),
        (200, {}),
        (200, {"items": [{}], "next": 1}),
        (429, {"code": "limits"}),
    ],
)
async def test_a_desk_in_trouble_is_survived_and_what_completed_meanwhile_is_told_once(desk, adapter, failure, caplog):
    ear = Ear()
    desk.fails = [failure] * 10
    await ask(adapter, "pay", Listening(ear))
    desk.complete("pay")
    await until(lambda: ear.told)
    await everything_read(desk, adapter)
    assert (desk.fails, ear.told) == ([], ["wire-pay"])
    assert not any(word in "".join(said(caplog)) for word in ("pay", "CANARY", "desk_key"))


@pytest.mark.anyio
async def test_trouble_in_the_midst_is_said_once_and_names_nobody(desk, adapter, caplog):
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: "completions?after=0" in desk.reads)
    desk.fails = [httpx.ConnectError("refused")] * 12
    desk.complete("pay")
    await until(lambda: ear.told)
    assert said(caplog) == ["completions cannot be followed for now: DeskUnavailable"]


@pytest.mark.anyio
async def test_a_place_that_the_desk_no_longer_knows_means_to_begin_anew_at_the_end(desk, adapter):
    ear, other = Ear(), Ear()
    await ask(adapter, "pay", Listening(ear))
    await ask(adapter, "later", Listening(other))
    await until(lambda: "completions?after=0" in desk.reads)
    desk.oldest = 1
    desk.complete("pay")
    await until(lambda: ear.told)
    assert desk.reads.count("completions?after=latest") == 2
    desk.complete("later")
    await everything_read(desk, adapter)
    assert (ear.told, other.told) == (["wire-pay"], ["wire-later"])


@pytest.mark.anyio
@pytest.mark.parametrize(("status", "code"), [(401, "key.unknown"), (403, "key.scope"), (404, "unknown")])
async def test_a_refusal_ends_the_following_until_the_next_question(desk, adapter, caplog, status, code):
    desk.fails = [(status, {"code": code, "detail": "No."})]
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: not following())
    assert len(desk.reads) == 1
    assert said(caplog) == [f"completions cannot be followed: the desk refuses it ({code})"]
    await everything_read(desk, adapter)
    assert ear.told == []


@pytest.mark.anyio
async def test_a_client_that_is_gone_is_forgotten_and_nobody_polls_for_it(desk, adapter):
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    ear.gone = True
    await until(lambda: not following())
    desk.complete("pay")
    await everything_read(desk, adapter)
    assert ear.told == []


@pytest.mark.anyio
@pytest.mark.parametrize("broken", [ClientFailed(), anyio.ClosedResourceError(), RuntimeError("CANARY")])
async def test_a_client_that_cannot_be_told_disturbs_no_other_and_is_not_tried_again(desk, adapter, caplog, broken):
    caplog.set_level(logging.INFO, "elicitation.adapter.relay")
    deaf, ear = Ear(deaf=broken), Ear()
    await ask(adapter, "deaf", Listening(deaf))
    await ask(adapter, "pay", Listening(ear))
    for name in ("deaf", "pay"):
        desk.complete(name)
    await until(lambda: ear.told)
    deaf.deaf = None
    desk.complete("deaf")
    await everything_read(desk, adapter)
    assert (deaf.told, ear.told) == ([], ["wire-pay"])
    assert said(caplog) == [f"a client could not be told of its completion: {type(broken).__name__}"]


@pytest.mark.anyio
async def test_a_client_that_takes_nothing_keeps_nobody_waiting(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "TELLING_SECONDS", 0.05)
    ear = Ear()
    await ask(adapter, "stuck", Listening(Ear(stuck=True)))
    await ask(adapter, "pay", Listening(ear))
    for name in ("stuck", "pay"):
        desk.complete(name)
    await until(lambda: ear.told)
    await everything_read(desk, adapter)


@pytest.mark.anyio
async def test_full_pages_are_read_on_without_a_pause(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "FIRST_PAUSE", 3600.0)
    monkeypatch.setattr(adapter_relay, "PAGE", 2)
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: desk.reads[-1] == "elicitations/pay")
    desk.feed = ["another process asked this"] * 5
    desk.complete("pay")
    await ask(adapter, "other", Listening(Ear()))
    await until(lambda: ear.told)
    pages = [read for read in desk.reads if read.startswith("completions")]
    assert pages[:4] == [f"completions?after={place}" for place in ("latest", 0, 2, 4)]


@pytest.mark.anyio
async def test_an_entry_that_the_desk_does_not_know_is_forgotten(desk, caplog):
    relay = a_relay(desk)
    relay.watch("pay", "wire-pay", Ear(), desk.expires_at)
    await until(lambda: not following())
    assert (desk.reads, said(caplog)) == (["completions?after=latest", "elicitations/pay"], [])


@pytest.mark.anyio
async def test_an_entry_past_its_deadline_is_looked_at_once_and_forgotten(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "GRACE_SECONDS", 0.0)
    desk.expires_at = datetime.now(UTC) - timedelta(seconds=1)
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    desk.states["pay"] = "EXPIRED"
    await until(lambda: not following())
    assert ear.told == []


@pytest.mark.anyio
async def test_a_lost_confirmation_is_followed_beyond_the_deadline(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "GRACE_SECONDS", 0.0)
    desk.expires_at = datetime.now(UTC)
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    desk.states["pay"], desk.expires_at = "RETRY_REQUIRED", datetime.now(UTC) + timedelta(days=1)
    looked = desk.reads.count("elicitations/pay")
    await until(lambda: desk.reads.count("elicitations/pay") > looked)
    desk.complete("pay")
    await until(lambda: ear.told)


@pytest.mark.anyio
async def test_a_question_put_anew_while_its_entry_is_looked_at_is_told_where_it_was_put_last(desk):
    relay, first, second = a_relay(desk), Ear(), Ear()
    desk.states["pay"] = "CONSENT_PENDING"

    def put_anew() -> None:
        if desk.states["pay"] != "COMPLETE":
            relay.watch("pay", "wire-pay", second, desk.expires_at)
            desk.complete("pay")

    desk.at_look = put_anew
    relay.watch("pay", "wire-pay", first, desk.expires_at)
    await until(lambda: not following())
    assert (first.told, second.told) == ([], ["wire-pay"])


@pytest.mark.anyio
async def test_what_is_remembered_is_bounded_in_time_and_number(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "MOST_WATCHED", 2)
    ears = [Ear(), Ear(), Ear()]
    for number, ear in enumerate(ears):
        await ask(adapter, f"pay {number}", Listening(ear))
    for number in range(3):
        desk.complete(f"pay {number}")
    await until(lambda: not following())
    assert [len(ear.told) for ear in ears] == [0, 1, 1]
    monkeypatch.setattr(adapter_relay, "AFTER_DEADLINE", -7200.0)
    await ask(adapter, "never ends", Listening(Ear()))
    await until(lambda: not following())


@pytest.mark.anyio
async def test_closing_ends_the_following_and_leaves_no_task(desk):
    opened = an_adapter(desk)
    await ask(opened, "pay", Listening(Ear(stuck=True)))
    assert len(following()) == 1
    await opened.aclose()
    assert following() == []


@pytest.mark.anyio
async def test_nothing_of_the_call_is_kept_alive(desk):
    class Session:
        pass

    current: contextvars.ContextVar[Session] = contextvars.ContextVar("current")
    relay, desk.states["pay"] = a_relay(desk), "ADMITTED"

    async def call() -> weakref.ref[Session]:
        session = Session()
        current.set(session)
        relay.watch("pay", "wire-pay", Ear(), desk.expires_at)
        return weakref.ref(session)

    session = await asyncio.create_task(call(), context=contextvars.copy_context())
    await until(lambda: "completions?after=0" in desk.reads)
    gc.collect()
    assert session() is None
    await relay.aclose()


def test_it_ends_with_its_loop_and_begins_again_in_another():
    desk = FeedingDesk()
    opened = an_adapter(desk)
    left, ear = Ear(), Ear()

    async def leave_open() -> None:
        await ask(opened, "left", Listening(left))

    async def ask_and_hear() -> None:
        await ask(opened, "pay", Listening(ear))
        desk.complete("left")
        desk.complete("pay")
        await until(lambda: ear.told and not following())

    asyncio.run(leave_open())
    asyncio.run(ask_and_hear())
    assert (left.told, ear.told) == ([], ["wire-pay"])
