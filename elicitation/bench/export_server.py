"""The desk's own web server for ``bench export``, and somebody outside who orders an export there and fetches it."""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from elicitation.bench.frame import CannotMeasure
from elicitation.bench.scratch import ROOT, Scratch, run

HOST: Final = "127.0.0.1"
#: It listens within so many seconds, or not at all.
PATIENCE: Final = 60.0
#: Bytes that are read at a time.
CHUNK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Server:
    """Where the desk listens, and a key that opens a tenant's exports."""

    port: int
    key: str

    def order(self, format_: str) -> str:
        """Ask for an export; returns its id."""
        reply = self._call("POST", "/api/v1/exports", json.dumps({"format": format_}))
        return str(json.loads(reply.read())["id"])

    def fetch(self, uid: str, file: Path) -> None:
        """Read the file of an export that is ready into one of our own."""
        reply = self._call("GET", f"/api/v1/exports/{uid}/file")
        with file.open("wb") as to:
            while data := reply.read(CHUNK):
                to.write(data)

    def _call(self, method: str, path: str, body: str | None = None) -> http.client.HTTPResponse:
        """The reply to a request on a connection of its own. Raises ``CannotMeasure`` for any but a good one."""
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        if reply.status >= HTTPStatus.BAD_REQUEST:
            raise CannotMeasure(f"`bench export` asked the desk for an export and was answered {reply.status}.")
        return reply


@contextmanager
def server(desk: Scratch, tenant: str) -> Iterator[Server]:
    """The desk, listening, with a ``tenant`` of which an auditor has a key. Raises ``CannotMeasure``."""
    key = run(desk, "manage.py", "service_key", "create", tenant, "auditor", "--scopes", "export", "--open").strip()
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port = int(probe.getsockname()[1])
    process = subprocess.Popen(  # noqa: S603 - our own interpreter
        [sys.executable, "-m", "config.server", HOST, str(port)], cwd=ROOT, env=desk.environment
    )
    try:
        until = time.monotonic() + PATIENCE
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > until:
                raise CannotMeasure("`bench export` could not start the desk's web server.")
            time.sleep(0.05)
        yield Server(port, key)
    finally:
        process.terminate()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
