"""The adapter after the question: waiting, taking the result once, and recovering a lost confirmation."""

from __future__ import annotations

import time
from typing import Any

import httpx
import pytest

from elicitation.adapter import ConsumeOutcome, Desk, DeskUnavailable, MoveOutcome, Refused, RetryOutcome, Ticket
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import desk as adapter_desk
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import State
from tests.elicitation.test_adapter import ALICE, ELC, OPERATION, FakeClient, FakeDesk, a_desk

TICKET = Ticket(ELC, ELC, ALICE, OPERATION, "7")


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(adapter_desk, "FIRST_PAUSE", 0.01)


def answering(**replies: Any) -> tuple[FakeDesk, Desk]:
    desk = FakeDesk(**replies)
    return desk, a_desk(desk, FakeClient({"action": "accept"}))


def an_entry(state: str) -> dict[str, object]:
    return {"id": ELC, "state": state, "explanation": "e", "next_step": "n", "resumable": False, "cancelled_by": None}


class Polled:
    """A desk on which the entry has one state after another."""

    def __init__(self, *states: str, headers: dict[str, str] | None = None) -> None:
        self.states = list(states)
        self.headers = headers or {}
        self.calls = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == f"/api/v1/elicitations/{ELC}"
        self.calls += 1
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        return httpx.Response(200, json=an_entry(state), headers=self.headers)

    def desk(self) -> Desk:
        return Desk("https://desk.example.com", "k", client=httpx.AsyncClient(transport=httpx.MockTransport(self)))


@pytest.mark.anyio
async def test_waiting_ends_with_the_change_of_state():
    polled = Polled("CONSENT_PENDING", "CONSENT_PENDING", "RETRY_REQUIRED", "COMPLETE")
    assert (await polled.desk().wait(TICKET)).state is State.RETRY_REQUIRED
    assert (await polled.desk().wait(TICKET)).state is State.COMPLETE
    assert polled.calls == 4


@pytest.mark.anyio
async def test_waiting_is_bounded_whatever_the_caller_asks_for(monkeypatch):
    assert adapter_desk.LONGEST_WAIT < 25
    monkeypatch.setattr(adapter_desk, "LONGEST_WAIT", 0.2)
    started = time.monotonic()
    entry = await Polled("CONSENT_PENDING").desk().wait(TICKET, seconds=3600)
    assert entry.state is State.CONSENT_PENDING
    assert 0.2 <= time.monotonic() - started < 2


@pytest.mark.anyio
async def test_a_busy_desk_is_left_alone_for_as_long_as_it_asks(monkeypatch):
    monkeypatch.setattr(adapter_desk, "LONGEST_WAIT", 0.2)
    polled = Polled("CONSENT_PENDING", headers={"retry-after": "30"})
    assert (await polled.desk().wait(TICKET)).state is State.CONSENT_PENDING
    assert polled.calls == 2, "once at the beginning and once at the end"


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
