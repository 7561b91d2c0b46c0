"""Calls as a careful client makes them: the same body again until the desk has answered, at whichever web server."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from elicitation.policy.webhooks import secret_bytes, sign
from tests.crash.servers import HOST

#: No outage of a run lasts this long, in seconds: whoever still has no answer then never gets one.
PATIENCE: Final = 120.0
ONE_TRY: Final = 20.0
#: The longest pause before the next try, in seconds.
PAUSE: Final = 0.6


class GaveUp(Exception):
    """The desk never answered."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: Any


@dataclass
class Tally:
    """What all clients of a run were answered."""

    statuses: Counter[int] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    calls: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answered(self, status: int) -> None:
        with self._lock:
            self.statuses[status] += 1

    def broke(self, error: Exception) -> None:
        with self._lock:
            self.broken[type(error).__name__] += 1

    def called(self) -> None:
        with self._lock:
            self.calls += 1


@dataclass(frozen=True, slots=True)
class Access:
    """Where the desk is and what opens it: a service's key, and slug and secret of a provider that sends events, and of
    one that is asked."""

    ports: Sequence[int]
    key: str
    telling: tuple[str, str]
    asked: tuple[str, str]


class Caller:
    """One thread's connections. Not to be shared between threads."""

    def __init__(self, access: Access, tally: Tally, chance: random.Random) -> None:
        self.access = access
        self.tally = tally
        self.chance = chance
        self._connections: dict[int, http.client.HTTPConnection] = {}

    def sibling(self) -> Caller:
        """A caller for another thread, with chances of its own."""
        return Caller(self.access, self.tally, random.Random(self.chance.random()))

    def post(self, path: str, body: object) -> Reply:
        """The desk's answer to a service's call: anything but a 5xx. Raises ``GaveUp``."""
        headers = {"authorization": f"Bearer {self.access.key}"}
        return self._call("POST", path, json.dumps(body).encode(), lambda raw: headers)

    def get(self, path: str) -> Reply:
        """As :meth:`post`."""
        headers = {"authorization": f"Bearer {self.access.key}"}
        return self._call("GET", path, b"", lambda raw: headers)

    def deliver(self, event: Mapping[str, object], message: str, *, asked: bool) -> Reply:
        """Send a provider's event until it is answered, under one id; signed anew for each try. Raises ``GaveUp``."""
        slug, secret = self.access.asked if asked else self.access.telling
        key = secret_bytes(secret)
        assert key is not None

        def headers(raw: bytes) -> dict[str, str]:
            moment = int(time.time())
            return {
                "webhook-id": message,
                "webhook-timestamp": str(moment),
                "webhook-signature": sign(message, moment, raw, key),
            }

        return self._call("POST", f"providers/{slug}/events", json.dumps(event).encode(), headers)

    def _call(self, method: str, path: str, raw: bytes, headers: Any) -> Reply:
        self.tally.called()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            port = self.chance.choice(self.access.ports)
            try:
                reply = self._once(port, method, path, raw, headers(raw))
            except (OSError, http.client.HTTPException) as error:
                self.tally.broke(error)
                self._forget(port)
            else:
                self.tally.answered(reply.status)
                if reply.status < 500:
                    return reply
            time.sleep(self.chance.uniform(0.05, PAUSE))
        raise GaveUp

    def _once(self, port: int, method: str, path: str, raw: bytes, headers: Mapping[str, str]) -> Reply:
        connection = self._connections.get(port)
        if connection is None:
            connection = self._connections[port] = http.client.HTTPConnection(HOST, port, timeout=ONE_TRY)
        connection.request(method, f"/api/v1/{path}", raw, {"content-type": "application/json", **headers})
        response = connection.getresponse()
        content = response.read()
        return Reply(response.status, json.loads(content) if content and response.status < 500 else None)

    def _forget(self, port: int) -> None:
        connection = self._connections.pop(port, None)
        if connection is not None:
            connection.close()

    def close(self) -> None:
        for port in list(self._connections):
            self._forget(port)
