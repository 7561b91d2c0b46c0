"""The completion relay: the client that was asked is told, once, of what completed; nothing else is told or broken."""

from __future__ import annotations

import anyio
import pytest

from elicitation.adapter import ClientFailed, UrlOutcome
from elicitation.adapter import relay as adapter_relay
from elicitation.policy.decision import Wire
from tests.elicitation.relay_ends import (
    Ear,
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


@pytest.mark.anyio
async def test_the_client_that_was_asked_is_told_once_by_the_id_it_was_given(desk, adapter):
    ear = Ear()
    answer = await ask(adapter, "pay", Listening(ear))
    assert answer.outcome is UrlOutcome.CONSENTED
    assert ear.told == [], "consent is not completion"
    desk.complete("pay")
    desk.complete("pay")  # the feed lists at least once
    await everything_read(desk, adapter)
    assert ear.told == ["wire-pay"]


@pytest.mark.anyio
async def test_each_client_of_a_server_hears_of_its_own_question_alone(desk, adapter):
    alices, bobs = Ear(), Ear()
    await ask(adapter, "hers", Listening(alices))
    await ask(adapter, "his", Listening(bobs))
    desk.complete("another process asked this")
    desk.complete("hers")
    await everything_read(desk, adapter)
    assert (alices.told, bobs.told) == (["wire-hers"], [])
    desk.complete("his")
    await until(lambda: bobs.told)
    assert (alices.told, bobs.told) == (["wire-hers"], ["wire-his"])


@pytest.mark.anyio
async def test_asked_again_in_another_session_the_one_asked_last_is_told(desk, adapter):
    first, second = Ear(), Ear()
    await ask(adapter, "pay", Listening(first))
    await ask(adapter, "pay", Listening(second))
    desk.complete("pay")
    await everything_read(desk, adapter)
    assert (first.told, second.told) == ([], ["wire-pay"])


@pytest.mark.anyio
async def test_the_feed_is_read_from_its_end_and_only_while_a_link_is_open(desk, adapter):
    desk.feed = ["long ago"] * 500
    assert desk.reads == []
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: "completions?after=500" in desk.reads)
    assert desk.reads[:2] == ["completions?after=latest", "elicitations/pay"]
    assert desk.reads.count("elicitations/pay") == 1, "looked at once, because it was asked before the end was known"
    desk.complete("pay")
    await until(lambda: ear.told and not following())
    assert desk.reads[-1] == "completions?after=500"


@pytest.mark.anyio
async def test_what_completes_before_the_end_of_the_feed_is_known_is_told_too(desk, adapter):
    desk.at_latest = lambda: desk.complete("pay")
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: ear.told and not following())
    assert ear.told == ["wire-pay"]


@pytest.mark.anyio
async def test_a_new_question_is_a_reason_to_read_at_once(desk, adapter, monkeypatch):
    monkeypatch.setattr(adapter_relay, "FIRST_PAUSE", 3600.0)
    ear = Ear()
    await ask(adapter, "pay", Listening(ear))
    await until(lambda: desk.reads[-1] == "elicitations/pay")
    desk.complete("pay")
    await ask(adapter, "other", Listening(Ear()))
    await until(lambda: ear.told)


@pytest.mark.anyio
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_question_that_ended_without_consent_is_not_followed(desk, adapter, action):
    ear = Ear()
    await ask(adapter, "pay", Listening(ear, action))
    await until(lambda: not following())
    desk.complete("pay")
    await everything_read(desk, adapter)
    assert ear.told == []


@pytest.mark.anyio
async def test_a_client_that_failed_does_not_know_the_question_and_is_told_nothing(desk, adapter):
    ear = Ear()
    client = Listening(ear)
    client.answer = ClientFailed(-32602)
    with pytest.raises(ClientFailed):
        await ask(adapter, "pay", client)
    desk.complete("pay")
    await everything_read(desk, adapter)
    assert ear.told == []


@pytest.mark.anyio
async def test_a_call_that_is_given_up_leaves_its_client_to_be_told(desk, adapter):
    ear = Ear()
    client = Listening(ear)
    client.answer = None
    with anyio.move_on_after(0.05):
        await ask(adapter, "pay", client)
    desk.complete("pay")
    await until(lambda: ear.told)
    assert ear.told == ["wire-pay"]


@pytest.mark.anyio
async def test_the_later_revision_knows_no_such_notification(desk, adapter):
    await ask(adapter, "pay", Listening(Ear(), wire=Wire.V2026_07_28))
    assert (following(), desk.reads) == ([], [])


@pytest.mark.anyio
async def test_a_server_that_wants_no_relay_gets_none(desk):
    async with an_adapter(desk, relay=False) as adapter:
        await ask(adapter, "pay", Listening(Ear()))
        assert (following(), desk.reads) == ([], [])
