"""The adapter after the question: waiting, taking the result once, and recovering a lost confirmation."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from elicitation.adapter import ConsumeOutcome, Desk, DeskUnavailable, MoveOutcome, Refused, RetryOutcome, Ticket
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import desk as adapter_desk
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import State
from tests.elicitation.adapter_ends import ALICE, ELC, OPERATION, FakeClient, FakeDesk, a_desk

TICKET = Ticket(ELC, ELC, ALICE, OPERATION, "7")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))


def answering(**replies: Any) -> tuple[FakeDesk, Desk]:
    desk = FakeDesk(**replies)
    return desk, a_desk(desk, FakeClient({"action": "accept"}))


def an_entry(state: str) -> dict[str, object]:
    return {"id": ELC, "state": state, "explanation": "e", "next_step": "n", "resumable": False, "cancelled_by": None}


class Clock:
    """Time that passes only where somebody waits: the desk over a call, or the adapter between two."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.slept: list[float] = []
        monkeypatch.setattr(adapter_desk, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(adapter_desk, "anyio", SimpleNamespace(sleep=self.sleep))

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


class Holding:
    """A desk whose ``wait`` replies with one state after another: after so many seconds, or after the whole time.

    ``"busy"`` instead of seconds: at once, with Retry-After. An exception instead of a reply is raised.
    """

    def __init__(self, clock: Clock, *replies: tuple[str, float | str | None] | Exception) -> None:
        self.clock = clock
        self.replies = list(replies)
        self.asked: list[int] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == f"/api/v1/elicitations/{ELC}/wait"
        seconds = int(request.url.params["seconds"])
        assert 0 <= seconds <= 20, "page 30"
        assert request.extensions["timeout"]["read"] > seconds
        self.asked.append(seconds)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, Exception):
            raise reply
        state, after = reply
        if after == "busy":
            return httpx.Response(200, json=an_entry(state), headers={"retry-after": "2"})
        self.clock.now += seconds if after is None else float(after)
        return httpx.Response(200, json=an_entry(state))

    def desk(self) -> Desk:
        return Desk("https://desk.example.com", "k", client=httpx.AsyncClient(transport=httpx.MockTransport(self)))


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.mark.anyio
@pytest.mark.parametrize("state", ["RETRY_REQUIRED", "COMPLETE", "EXPIRED"])
async def test_one_call_waits_until_the_state_changes(clock, state):
    holding = Holding(clock, (state, 3.0))
    assert (await holding.desk().wait(TICKET)).state is State(state)
    assert (holding.asked, clock.slept) == ([20], [])


@pytest.mark.anyio
async def test_waiting_is_bounded_whatever_the_caller_asks_for(clock):
    assert adapter_desk.LONGEST_WAIT < 25
    holding = Holding(clock, ("CONSENT_PENDING", None))
    assert (await holding.desk().wait(TICKET, seconds=3600)).state is State.CONSENT_PENDING
    assert (holding.asked, clock.now) == ([20, 4], adapter_desk.LONGEST_WAIT)


@pytest.mark.anyio
async def test_a_look_without_waiting_is_one_call(clock):
    holding = Holding(clock, ("CONSENT_PENDING", None))
    assert (await holding.desk().wait(TICKET, seconds=0)).state is State.CONSENT_PENDING
    assert (holding.asked, clock.now) == ([0], 0.0)


@pytest.mark.anyio
async def test_less_than_a_second_is_waited_for_here(clock):
    holding = Holding(clock, ("CONSENT_PENDING", None), ("COMPLETE", None))
    assert (await holding.desk().wait(TICKET, seconds=0.5)).state is State.COMPLETE
    assert (holding.asked, clock.slept) == ([0, 0], [0.5])


@pytest.mark.anyio
async def test_a_busy_desk_is_left_alone_for_as_long_as_it_asks(clock):
    holding = Holding(clock, ("CONSENT_PENDING", "busy"), ("CONSENT_PENDING", "busy"), ("COMPLETE", "busy"))
    assert (await holding.desk().wait(TICKET)).state is State.COMPLETE
    assert len(clock.slept) == 2
    assert all(2.0 <= pause <= 3.0 for pause in clock.slept)


@pytest.mark.anyio
async def test_a_change_between_two_calls_to_a_busy_desk_ends_the_waiting(clock):
    holding = Holding(clock, ("CONSENT_PENDING", "busy"), ("RETRY_REQUIRED", "busy"))
    assert (await holding.desk().wait(TICKET)).state is State.RETRY_REQUIRED


@pytest.mark.anyio
async def test_a_desk_that_is_always_busy_is_waited_for_no_longer_than_the_caller_said(clock):
    holding = Holding(clock, ("CONSENT_PENDING", "busy"))
    assert (await holding.desk().wait(TICKET, seconds=5)).state is State.CONSENT_PENDING
    assert clock.now == 5.0
    assert len(holding.asked) <= 4


@pytest.mark.anyio
async def test_a_desk_that_restarts_during_the_waiting_is_asked_again(clock):
    holding = Holding(clock, httpx.ReadError("reset"), httpx.ConnectError("refused"), ("COMPLETE", 1.0))
    assert (await holding.desk().wait(TICKET)).state is State.COMPLETE
    assert len(holding.asked) == 3


@pytest.mark.anyio
async def test_a_desk_that_stays_away_is_named_when_the_time_is_up(clock):
    holding = Holding(clock, httpx.ConnectError("refused"))
    with pytest.raises(DeskUnavailable, match="state of this question is not known"):
        await holding.desk().result(TICKET)
    assert clock.now == 20.0
    assert len(holding.asked) < 30


@pytest.mark.anyio
async def test_a_result_is_taken_for_its_own_operation_and_stays_out_of_text():
    desk, adapter = answering(consume=(200, {"outcome": "applied", "result_ref": "pi_1", "reversed": False}))
    taken = await adapter.consume(TICKET)
    assert (taken.outcome, taken.result_ref, taken.reversed) == (ConsumeOutcome.APPLIED, "pi_1", False)
    (body,) = desk.told("consume")
    assert body["subject"] == ALICE.as_json()
    assert body["operation"] == OPERATION.as_json("7")
    assert "pi_1" not in repr(taken)


@pytest.mark.anyio
async def test_a_crashed_desk_is_asked_again_for_the_same_result():
    desk, adapter = answering(consume=(503, {}))
    with pytest.raises(DeskUnavailable):
        await adapter.consume(TICKET)
    assert desk.told("consume") == [desk.told("consume")[0]] * adapter_calls.ATTEMPTS


@pytest.mark.anyio
async def test_a_lost_confirmation_is_reported_and_looked_for():
    words = {"state": "RETRY_REQUIRED", "explanation": "e", "next_step": "n"}
    _, adapter = answering(
        lost=(200, {"outcome": "moved"} | words),
        retry=(200, {"outcome": "no_lookup", "retry_after_seconds": 60} | words),
    )
    lost = await adapter.lost(TICKET)
    assert (lost.outcome, lost.state) == (MoveOutcome.MOVED, State.RETRY_REQUIRED)
    retried = await adapter.retry(TICKET)
    assert (retried.outcome, retried.retry_after_seconds) == (RetryOutcome.NO_LOOKUP, 60)


@pytest.mark.anyio
async def test_held_evidence_that_fails_a_check_says_which():
    words = {"state": "RETRY_REQUIRED", "explanation": "e", "next_step": "n"}
    _, adapter = answering(retry=(200, {"outcome": "wrong_user_denied"} | words))
    assert (await adapter.retry(TICKET)).outcome is EvidenceOutcome.WRONG_USER_DENIED


@pytest.mark.anyio
async def test_a_cancel_that_comes_too_late_names_the_present_state():
    _, adapter = answering(cancel=(409, {"code": "transition.refused", "detail": "It is over.", "state": "COMPLETE"}))
    with pytest.raises(Refused) as refused:
        await adapter.cancel(TICKET)
    assert (refused.value.code, refused.value.state) == ("transition.refused", "COMPLETE")


@pytest.mark.anyio
async def test_a_word_of_a_newer_desk_is_not_guessed():
    _, adapter = answering(consume=(200, {"outcome": "half_applied", "result_ref": "pi_1", "reversed": False}))
    with pytest.raises(DeskUnavailable, match="cannot be read"):
        await adapter.consume(TICKET)


@pytest.mark.anyio
async def test_the_key_is_sent_to_the_desk_alone():
    def elsewhere(request: httpx.Request) -> httpx.Response:
        assert request.url.host == "desk.example.com"
        return httpx.Response(307, headers={"location": "https://other.example.com/"})

    client = httpx.AsyncClient(transport=httpx.MockTransport(elsewhere), follow_redirects=True)
    with pytest.raises(DeskUnavailable):
        await Desk("https://desk.example.com", "k", client=client).consume(TICKET)
