"""The killer: ends servers with ``kill -9`` at random moments and starts them again a little later."""

from __future__ import annotations

import heapq
import random
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tests.crash.servers import READY_SECONDS, CannotRun, Server, wait_for


@dataclass(frozen=True, slots=True)
class Habit:
    """For how long a server that answers is left alone, and for how long it stays away, in seconds: from, to."""

    up: tuple[float, float]
    down: tuple[float, float]


#: By the first word of a server's name. Long enough that each has time to do its work in between.
HABITS: Final[dict[str, Habit]] = {
    "web": Habit((4, 12), (0.1, 2)),
    "worker": Habit((5, 15), (0.1, 3)),
    "beat": Habit((6, 18), (0.1, 3)),
    "broker": Habit((8, 20), (0.1, 3)),
    "database": Habit((6, 18), (0.1, 2)),
}
TICK: Final = 0.2
#: The share of starts in whose middle the next kill comes; all others may come to an end, however slow the machine.
HASTY: Final = 0.15
#: A server is left alone for at least so many times as long as its start took: it must get to do something.
REST: Final = 1.5


class Killer:
    """Kills and starts ``servers`` until told to stop. To be used by the thread that started them."""

    def __init__(self, servers: Sequence[Server], chance: random.Random) -> None:
        self.servers = list(servers)
        self.chance = chance
        self.kills: Counter[str] = Counter()
        #: Servers that ended although nobody had killed them.
        self.ended: Counter[str] = Counter()
        self._down: set[str] = set()
        self._starting: dict[str, float] = {}
        self._due: list[tuple[float, int]] = []

    def run(self, until: Callable[[], bool]) -> None:
        """Kill until the condition is true, which must come to be; then everything is started that is down."""
        now = time.monotonic()
        for index, server in enumerate(self.servers):
            heapq.heappush(self._due, (now + self.chance.uniform(1, habit(server).up[0] + 2), index))
        while not until():
            self._mourn()
            due, index = self._due[0]
            if due > time.monotonic():
                time.sleep(min(TICK, due - time.monotonic()))
                continue
            heapq.heapreplace(self._due, (time.monotonic() + self._turn(self.servers[index]), index))
        self._start_all()

    def keep(self, until: Callable[[], bool], seconds: float) -> bool:
        """Kill nothing, and start what ends, until the condition is true. Returns whether it came true in time."""

        def looked() -> bool:
            self._mourn()
            return until()

        return wait_for(looked, seconds, TICK)

    def _turn(self, server: Server) -> float:
        """Kill the server, or start the one that was killed. Returns the seconds until its next turn."""
        if server.name in self._down:
            self._down.discard(server.name)
            server.start()
            if self.chance.random() < HASTY:
                return self.chance.uniform(0, 1)
            self._starting[server.name] = time.monotonic()
            return TICK
        if server.name in self._starting:
            if not server.ready():
                return TICK
            took = time.monotonic() - self._starting.pop(server.name)
            return max(self.chance.uniform(*habit(server).up), REST * took)
        server.kill()
        self.kills[server.name] += 1
        self._down.add(server.name)
        return self.chance.uniform(*habit(server).down)

    def _mourn(self) -> None:
        """Start what ended by itself, as whoever supervises the desk would."""
        for server in self.servers:
            if server.name not in self._down and not server.up():
                self.ended[server.name] += 1
                server.kill()
                server.start()
                self._starting[server.name] = time.monotonic()

    def _start_all(self) -> None:
        """Raises ``CannotRun`` when a server does not come back."""
        for server in self.servers:
            if server.name in self._down or not server.up():
                server.start()
        self._down.clear()
        for server in self.servers:
            if not wait_for(lambda server=server: server.up() and server.ready(), READY_SECONDS):  # type: ignore[misc]
                raise CannotRun(f"{server.name} does not come back:\n{server.tail()}")


def habit(server: Server) -> Habit:
    return HABITS[server.name.split()[0]]
