"""Starts the desk's processes, waits until the first page is served, and keeps watch until told to stop."""

from __future__ import annotations

import fcntl
import http.client
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Final

from django.conf import settings
from django.core.management.base import CommandError

from config import processes
from config.environment import state_dir
from config.processes import Child

START_SECONDS: Final = 60.0
BROKER_SECONDS: Final = 3
TICK: Final = 0.05
STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def refuse_taken_port(host: str, port: int) -> None:
    """Raises ``CommandError`` with one sentence when nobody can listen there."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as problem:
        raise CommandError(
            f"{host} port {port} cannot be used ({problem.strerror}); choose another with --port or --host.",
            returncode=2,
        ) from None


def refuse_dead_broker() -> None:
    """Raises ``CommandError`` with one sentence when the broker that is configured does not answer."""
    if not settings.CELERY_BROKER_URL:
        return
    from kombu import Connection  # loaded only where there is a broker: it takes a while

    try:
        with Connection(settings.CELERY_BROKER_URL, connect_timeout=BROKER_SECONDS) as broker:
            broker.ensure_connection(max_retries=1, interval_start=0, timeout=BROKER_SECONDS)
    except Exception as problem:
        kind = type(problem).__name__
        raise CommandError(f"The broker of CELERY_BROKER_URL does not answer ({kind}).", returncode=2) from None


@contextmanager
def alone_in_folder() -> Iterator[None]:
    """Holds the state folder for this start. Raises ``CommandError`` when another one holds it."""
    with (state_dir() / "up.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise CommandError(f"The desk of {state_dir()} is already up.", returncode=2) from None
        yield


def environment_for(host: str, port: int) -> tuple[dict[str, str], str]:
    """The children's environment, and the desk's address: what is set wins, else host and port say it."""
    environment = dict(os.environ)
    named = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    environment.setdefault("DESK_BASE_URL", f"http://{named}:{port}")
    if named not in settings.ALLOWED_HOSTS:
        environment.setdefault("DESK_ALLOWED_HOSTS", ",".join([*settings.ALLOWED_HOSTS, named]))
    return environment, f"http://{named}:{port}/"


def start_children(host: str, port: int, environment: Mapping[str, str]) -> list[Child]:
    """The web server and the schedule; with a broker, a worker too."""
    beat = ["-m", "celery", "-A", "config", "--quiet"]
    children = [
        processes.start("web server", ["-m", "config.server", host, str(port)], environment),
        # The schedule is kept in memory: every sweep asks the database what is due, so there is nothing to remember.
        processes.start("schedule", [*beat, "beat", "--scheduler", "celery.beat:Scheduler"], environment),
    ]
    if settings.CELERY_BROKER_URL:
        worker = [*beat, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"]
        children.append(processes.start("worker", worker, environment))
    return children


class Watch:
    """Watches over children until a signal asks to stop or one of them ends."""

    def __init__(self) -> None:
        self.children: list[Child] = []
        self.stopping = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._stop)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self.stopping = True

    def until(self, condition: Callable[[], bool], seconds: float | None = None) -> bool:
        """Wait for the condition; False when told to stop or out of time.

        Raises ``CommandError``, which names the child, when one ends first.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        while not self.stopping:
            for child in self.children:
                if child.ended():
                    raise CommandError(f"The {child.name} ended{_how(child)}, so the desk is stopped.", returncode=1)
            if condition():
                return True
            if deadline is not None and time.monotonic() > deadline:
                return False
            time.sleep(TICK)
        return False


def _how(child: Child) -> str:
    code = child.process.returncode
    if code < 0:
        return f" by {signal.Signals(-code).name}"
    return f" with exit code {code}"


def serves(host: str, port: int) -> bool:
    """Whether the web server answers; which answer does not matter, because hosts may be restricted."""
    target = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    connection = http.client.HTTPConnection(target, port, timeout=5)
    try:
        connection.request("GET", "/healthz")
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
