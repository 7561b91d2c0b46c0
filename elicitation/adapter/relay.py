"""Tells a client that the outside work of its question is confirmed (R35 to R37). A convenience, never the truth.

It follows the service's feed, as a task of the running event loop, only while a link of this process is open.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from contextvars import Context
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import anyio

from elicitation.adapter import replies
from elicitation.adapter.calls import NOT_KNOWN, Calls, entry_path
from elicitation.adapter.conversation import Listener
from elicitation.adapter.errors import Denied, Refused
from elicitation.policy.lifecycle import State

log = logging.getLogger(__name__)

#: Between two readings of the feed, in seconds: at first, and after a while without news.
FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 5.0
#: The longest pause, in seconds, where the desk cannot be reached.
LONGEST_BACK_OFF: Final = 60.0
#: A client that does not take its notification in this time does without.
TELLING_SECONDS: Final = 5.0
#: After a deadline: the clocks of two machines differ, and a confirmation in time may be listed a little later.
GRACE_SECONDS: Final = 60.0
#: A lost confirmation may still come for a day after the deadline (page 10, retry window).
AFTER_DEADLINE: Final = 24 * 3600.0
#: What this process remembers at most; beyond it the oldest question is forgotten.
MOST_WATCHED: Final = 10_000
PAGE: Final = 200


@dataclass(slots=True, eq=False)
class Watched:
    """A link that was put to one client. Times are of the monotonic clock: when to look at the entry itself (before
    the feed's place was known, and after the deadline), and when to forget it whatever became of it."""

    entry_id: str
    wire_id: str
    listener: Listener
    look_at: float
    forget_at: float


class Relay:
    """Follows the feed and tells each client of its own completions, each at most once. Raises nothing.

    The first link starts it within the running event loop, the last one to end stops it. Where the loop is not
    asyncio's it does not start: nobody is told, and every result is still there for whoever takes it.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._watched: dict[str, Watched] = {}
        self._cursor: int | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = anyio.Event()

    def watch(self, entry_id: str, wire_id: str, listener: Listener, expires_at: datetime | None) -> Watched | None:
        """From now on ``listener`` is told of this entry. Asked again elsewhere, the client asked last is told."""
        loop = _running_loop()
        if loop is None:
            return None
        if not self._runs_in(loop):
            self._start(loop)
        now, due = time.monotonic(), _due(expires_at)
        # Until a place in the feed is known, the entry may complete before it: then only a look can tell.
        look_at = now if self._cursor is None else due
        watched = Watched(entry_id, wire_id, listener, look_at, due + AFTER_DEADLINE)
        self._watched.pop(entry_id, None)
        self._watched[entry_id] = watched
        if len(self._watched) > MOST_WATCHED:
            del self._watched[next(iter(self._watched))]
        self._news.set()
        return watched

    def forget(self, watched: Watched | None) -> None:
        """Nothing more is told of this question; a later one about the same entry stays."""
        if watched is not None and self._watched.get(watched.entry_id) is watched:
            del self._watched[watched.entry_id]
            if not self._watched:
                self._news.set()

    async def aclose(self) -> None:
        """Stop following, and return when it has stopped."""
        self._watched.clear()
        task, self._task = self._task, None
        if task is not None and not task.done() and task.get_loop() is _running_loop():
            task.cancel()
            await asyncio.wait([task])

    def _runs_in(self, loop: asyncio.AbstractEventLoop) -> bool:
        return self._task is not None and not self._task.done() and self._task.get_loop() is loop

    def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self._watched.clear()  # what an ended loop left behind: its sessions ended with it
        self._cursor = None
        self._news = anyio.Event()
        # The context of the tool's call holds its session: a task that inherited it would keep the session alive.
        self._task = loop.create_task(self._follow(), name="elicitation-relay", context=Context())

    async def _follow(self) -> None:
        pause, failures = FIRST_PAUSE, 0
        while self._watched:
            self._news = anyio.Event()
            try:
                await self._read_on()
                failures, rest = 0, pause
            except Refused as refusal:
                if not self._goes_on_after(refusal):
                    self._watched.clear()
                    return
                failures, rest = failures + 1, _back_off(failures)
            except Exception as error:  # whatever it was, the server's own work goes on, and so does this
                if not failures:
                    log.warning("completions cannot be followed for now: %s", type(error).__name__)
                failures, rest = failures + 1, _back_off(failures)
            pause = min(pause * 1.5, LONGEST_PAUSE)
            if not self._watched:
                return
            with anyio.move_on_after(rest * random.uniform(0.75, 1.25)):  # noqa: S311 - not a secret
                await self._news.wait()
                pause = FIRST_PAUSE

    def _goes_on_after(self, refusal: Refused) -> bool:
        """Whether to go on: not where the desk will refuse the next reading too."""
        if isinstance(refusal, Denied):
            return True
        if refusal.status == 400 and self._cursor is not None:
            self._cursor = None  # not a place of this feed (any more): begin anew at its end
            for watched in self._watched.values():
                watched.look_at = 0.0
            return True
        log.warning("completions cannot be followed: the desk refuses it (%s)", refusal.code)
        return False

    async def _read_on(self) -> None:
        """One reading: what is new in the feed, and each entry whose time to be looked at has come."""
        self._forget_ended()
        if not self._watched:
            return
        if self._cursor is None:
            _, self._cursor = await self._page("latest")
        else:
            while True:
                ids, self._cursor = await self._page(str(self._cursor))
                await self._tell([watched for each in ids if (watched := self._watched.pop(each, None))])
                if len(ids) < PAGE:
                    break
        now = time.monotonic()
        for watched in [watched for watched in self._watched.values() if watched.look_at <= now]:
            await self._look(watched)

    async def _page(self, after: str) -> tuple[list[str], int]:
        reply = await self._calls.get(f"completions?after={after}&limit={PAGE}", failing=NOT_KNOWN)
        return replies.completions(reply.body)

    async def _look(self, watched: Watched) -> None:
        try:
            body = (await self._calls.get(entry_path(watched.entry_id), failing=NOT_KNOWN)).body
        except Refused as refusal:
            if refusal.status != 404:
                raise
            self.forget(watched)
            return
        state = replies.word(body, "state", State)
        if self._watched.get(watched.entry_id) is not watched:
            return
        if state.terminal:
            self.forget(watched)
            if state is State.COMPLETE:
                await self._tell([watched])
        else:
            watched.look_at = _due(replies.moment(body, "expires_at"))

    def _forget_ended(self) -> None:
        now = time.monotonic()
        for watched in list(self._watched.values()):
            if watched.listener.gone or watched.forget_at <= now:
                self.forget(watched)

    async def _tell(self, completed: list[Watched]) -> None:
        """All at once: a client that takes nothing keeps nobody else waiting."""
        async with anyio.create_task_group() as group:
            for watched in completed:
                group.start_soon(_tell, watched)


async def _tell(watched: Watched) -> None:
    try:
        with anyio.fail_after(TELLING_SECONDS):
            await watched.listener.completed(watched.wire_id)
    except Exception as error:  # the session may end at any moment, in any way that its transport knows
        log.info("a client could not be told of its completion: %s", type(error).__name__)


def _due(expires_at: datetime | None) -> float:
    """When an entry's deadline and the grace have passed, on the monotonic clock."""
    left = (expires_at - datetime.now(UTC)).total_seconds() if expires_at is not None else 0.0
    return time.monotonic() + max(left, 0.0) + GRACE_SECONDS


def _back_off(failures: int) -> float:
    return float(min(FIRST_PAUSE * 2 ** min(failures, 10), LONGEST_BACK_OFF))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
