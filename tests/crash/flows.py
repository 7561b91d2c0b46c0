"""The flows of a crash run: whole lives of elicitations, each from the question to its end."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from tests.crash.calling import Caller, GaveUp
from tests.crash.clients import Client, Flow, Kind
from tests.providers.server import ProviderServer

#: A window that ends during the run, in seconds; the sweep has to find it.
SHORT: Final = (2, 6)
#: For how long a consumer asks for a result that the desk must find by asking the provider, in seconds: a worker that
#: was killed holds for a minute what it had taken up.
FAR: Final = 180.0


def form(client: Client) -> None:
    client.admit()
    client.answer("accept")
    client.consume()


def paid(client: Client) -> None:
    client.admit()
    client.answer("accept")
    client.pause()
    _told(client)
    client.consume()


def _told(client: Client) -> None:
    times, at_once = client.chance.choice([(1, 1), (1, 1), (2, 1), (1, 3)])
    client.tell(times=times, at_once=at_once)
    client.flow.seen["evidence"] += 1


def early(client: Client) -> None:
    client.admit()
    _told(client)
    client.answer("accept")
    client.flow.seen["evidence"] += 1  # held, then used
    client.consume()


def lost(client: Client) -> None:
    client.admit()
    client.answer("accept")
    client.event("lost", "lost")
    client.event("retry", "retry")
    _told(client)
    client.event("retry")  # finds what is there already, which is nothing new
    client.consume()


def failed(client: Client) -> None:
    client.admit()
    client.answer("accept")
    client.tell("failed", at_once=client.chance.choice([1, 2]))
    client.flow.seen["provider_failure"] += 1


def reversed_(client: Client) -> None:
    paid(client)
    client.tell("reversed", times=client.chance.choice([1, 2]))
    client.flow.seen["reversal"] += 1
    client.consume()
    if client.flow.handed and not client.flow.handed[-1][2]:
        client.flow.problems.append("the consumer was not told of the reversal")


def declined(client: Client) -> None:
    client.admit()
    client.answer("decline")


def cancelled(client: Client) -> None:
    client.admit()
    if client.chance.random() < 0.5:
        client.answer("cancel")
        return
    if client.chance.random() < 0.5:
        client.answer("accept")
    client.event("cancel", "cancel")


def abandoned(client: Client) -> None:
    client.admit(window=client.chance.randint(*SHORT))
    if client.chance.random() < 0.5:
        client.answer("accept", unless="EXPIRED")


def late(client: Client) -> None:
    window = client.chance.randint(*SHORT)
    client.admit(window)
    client.answer("accept", unless="EXPIRED")
    time.sleep(client.chance.uniform(0, window + 0.5))
    client.tell()
    if client.state() == "COMPLETE":
        client.flow.seen["evidence"] += 1
        client.consume()


def asked(client: Client) -> None:
    """The provider knows of the work; its event is never sent, or comes about when the desk asks."""
    client.admit()
    client.done_outside()
    client.answer("accept")
    match client.chance.choice(["silent", "silent", "told", "lost"]):
        case "told":
            time.sleep(client.chance.uniform(1, 6))
            client.tell()
        case "lost":
            client.event("lost", "lost", unless="COMPLETE")
            client.event("retry")


def find(client: Client) -> None:
    client.consume(FAR)
    client.flow.seen["evidence"] += 1


@dataclass(frozen=True, slots=True)
class Play:
    """How a kind is played, how often, in which states it may end, and what its client does when all is over."""

    play: Callable[[Client], None]
    weight: int
    ends: frozenset[str]
    afterwards: Callable[[Client], None] | None = None


def _play(
    play: Callable[[Client], None], weight: int, *ends: str, afterwards: Callable[[Client], None] | None = None
) -> Play:
    return Play(play, weight, frozenset(ends), afterwards)


#: Every kind of flow of a run.
MIX: Final[dict[Kind, Play]] = {
    Kind.FORM: _play(form, 10, "ACCEPTED"),
    Kind.PAID: _play(paid, 30, "COMPLETE"),
    Kind.EARLY: _play(early, 10, "COMPLETE"),
    Kind.LOST: _play(lost, 10, "COMPLETE"),
    Kind.FAILED: _play(failed, 6, "CANCELLED"),
    Kind.REVERSED: _play(reversed_, 6, "COMPLETE"),
    Kind.DECLINED: _play(declined, 6, "DECLINED"),
    Kind.CANCELLED: _play(cancelled, 6, "CANCELLED"),
    Kind.ABANDONED: _play(abandoned, 8, "EXPIRED"),
    Kind.LATE: _play(late, 8, "COMPLETE", "EXPIRED"),
    Kind.ASKED: _play(asked, 8, "COMPLETE", afterwards=find),
}


def make_flows(count: int, run: str, chance: random.Random) -> list[Flow]:
    """So many flows: one of each kind, then in the proportions of :data:`MIX`."""
    kinds = list(MIX)
    chosen = chance.sample(kinds, min(count, len(kinds)))
    chosen += chance.choices(kinds, [MIX[kind].weight for kind in kinds], k=count - len(chosen))
    return [Flow(number, kind, run) for number, kind in enumerate(chosen)]


def play(flow: Flow, caller: Caller, provider: ProviderServer) -> None:
    """Play the flow to its end, or to the point where the desk never answered."""
    _played(flow, MIX[flow.kind].play, Client(flow, caller, provider))


def play_afterwards(flow: Flow, caller: Caller, provider: ProviderServer) -> None:
    """What is left to do when nothing is killed any more."""
    last = MIX[flow.kind].afterwards
    if last is not None and flow.finished:
        _played(flow, last, Client(flow, caller, provider))


def _played(flow: Flow, part: Callable[[Client], None], client: Client) -> None:
    try:
        part(client)
    except GaveUp:
        flow.problems.append("no answer")
    flow.finished = not flow.problems
