"""What the adapter makes of a client's answer, of silence, and of a question that ended meanwhile."""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
import pytest

from elicitation.adapter import (
    ClientFailed,
    DeskUnavailable,
    FormOutcome,
    MalformedAnswer,
    NoAnswer,
    UrlOutcome,
)
from elicitation.adapter import calls as adapter_calls
from elicitation.adapter import moves as adapter_moves
from tests.elicitation.adapter_ends import ELC, FakeClient, FakeDesk, Reply, form, link


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture(autouse=True)
def in_no_time(monkeypatch):
    monkeypatch.setattr(adapter_calls, "BACK_OFF", (0.0, 0.0))
    monkeypatch.setattr(adapter_moves, "HANDED_OVER", 0.0)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("ask", "raw", "told", "outcome"),
    [
        (form, {"action": "decline", "content": {"room": "CANARY"}}, ("decline", "dropped"), FormOutcome.DECLINED),
        (form, {"action": "cancel"}, ("cancel", "absent"), FormOutcome.CANCELLED),
        (link, {"action": "accept", "content": {"card": "CANARY"}}, ("accept", "dropped"), UrlOutcome.CONSENTED),
        (link, {"action": "decline"}, ("decline", "absent"), UrlOutcome.DECLINED),
        (link, {"action": "cancel", "content": {}}, ("cancel", "dropped"), UrlOutcome.CANCELLED),
    ],
)
async def test_content_where_none_belongs_is_dropped_here(ask, raw, told, outcome):
    desk = FakeDesk()
    answer = await ask(desk, FakeClient(raw))
    (body,) = desk.told("answer")
    assert (body["action"], body["content"]) == told
    assert answer.outcome is outcome
    assert "CANARY" not in json.dumps(desk.seen) + repr(answer)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "raw",
    [
        {"action": "Accept", "content": {"room": "street"}},
        {"action": ["accept"]},
        {},
        {"action": "accept", "content": ["CANARY"]},
        {"action": "accept", "content": {"room": "CANARY"}},
        {"action": "accept", "content": {"room": "street", "CANARY": 1}},
        {"action": "accept", "content": {}},
    ],
)
async def test_a_malformed_answer_is_no_answer_and_shows_no_value(raw):
    desk = FakeDesk()
    with pytest.raises(MalformedAnswer) as malformed:
        await form(desk, FakeClient(raw))
    assert desk.told("answer") == []
    assert desk.events() == ["delivered", "call_ended"]
    assert "CANARY" not in str(malformed.value) + json.dumps(desk.seen)


@pytest.mark.anyio
async def test_a_form_accepted_without_content_is_put_on_record_and_refused():
    desk = FakeDesk(answer=(422, {"code": "answer.content_missing", "detail": "No content."}))
    with pytest.raises(MalformedAnswer):
        await form(desk, FakeClient({"action": "accept"}))
    assert desk.told("answer")[0]["content"] == "absent"
    assert desk.events()[-1] == "call_ended"


@pytest.mark.anyio
async def test_silence_is_not_a_refusal(monkeypatch):
    monkeypatch.setattr(adapter_moves, "SHORTEST", 0.05)
    desk = FakeDesk()
    with pytest.raises(NoAnswer, match="not a refusal"):
        await link(desk, FakeClient(None), timeout=0.0)
    assert desk.told("answer") == []
    assert desk.events() == ["delivered", "call_ended"]


@pytest.mark.anyio
async def test_a_client_that_fails_is_not_a_refusal():
    desk = FakeDesk()
    with pytest.raises(ClientFailed) as failed:
        await link(desk, FakeClient(ClientFailed(-32602)))
    assert failed.value.code == -32602
    assert desk.told("answer") == []
    assert desk.events() == ["call_ended"], "what failed at once was never delivered"


@pytest.mark.anyio
async def test_a_cancelled_call_is_reported_as_ended():
    desk = FakeDesk()
    with anyio.move_on_after(0.05):
        await link(desk, FakeClient(None))
    assert desk.told("answer") == []
    assert desk.events() == ["delivered", "call_ended"]


@pytest.mark.anyio
async def test_an_answer_is_reported_although_its_call_is_cancelled_meanwhile(monkeypatch):
    desk, client = FakeDesk(), FakeClient({"action": "accept"})
    with anyio.CancelScope() as call:
        usual = desk.usual

        def cancelling(name: str, body: Any) -> Reply:
            if name == "answer" and not call.cancel_called:
                call.cancel()
                return 503, {}
            return usual(name, body)

        monkeypatch.setattr(desk, "usual", cancelling)
        await link(desk, client)
    assert [body["action"] for body in desk.told("answer")] == ["accept", "accept"]


@pytest.mark.anyio
async def test_an_answer_that_cannot_be_recorded_is_not_used():
    desk = FakeDesk(answer=httpx.ConnectError("gone"))
    with pytest.raises(DeskUnavailable, match="not recorded and is not used"):
        await form(desk, FakeClient({"action": "accept", "content": {"room": "street"}}))
    assert len(desk.told("answer")) == adapter_calls.ATTEMPTS


@pytest.mark.anyio
async def test_an_answer_that_came_too_late_is_not_taken():
    refused = (409, {"code": "transition.refused", "detail": "It has expired.", "state": "EXPIRED"})
    late = await form(FakeDesk(answer=refused), FakeClient({"action": "accept", "content": {"room": "street"}}))
    assert (late.outcome, late.state, late.content) == (FormOutcome.NOT_TAKEN, "EXPIRED", None)
    assert "not a refusal" in late.explanation


@pytest.mark.anyio
async def test_a_policy_that_no_longer_admits_the_question_withholds_the_answer():
    cancelled = (200, {"id": ELC, "state": "CANCELLED"})
    answer = await form(FakeDesk(answer=cancelled), FakeClient({"action": "accept", "content": {"room": "street"}}))
    assert (answer.outcome, answer.content) == (FormOutcome.NOT_TAKEN, None)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("state", "outcome"),
    [
        ("COMPLETE", UrlOutcome.RESULT_WAITING),
        ("RETRY_REQUIRED", UrlOutcome.RETRY_REQUIRED),
        ("CANCELLED", UrlOutcome.NOT_TAKEN),
    ],
)
async def test_without_a_request_in_the_reply_nobody_is_asked_again(state, outcome):
    desk, client = FakeDesk(elicitations=(200, {"id": ELC, "state": state})), FakeClient({"action": "accept"})
    answer = await link(desk, client)
    assert (answer.outcome, client.asked, len(desk.seen)) == (outcome, [], 1)


@pytest.mark.anyio
async def test_progress_that_cannot_be_told_does_not_lose_the_answer():
    desk = FakeDesk(progress=httpx.ConnectError("gone"))
    answer = await link(desk, FakeClient({"action": "accept"}))
    assert answer.outcome is UrlOutcome.CONSENTED
