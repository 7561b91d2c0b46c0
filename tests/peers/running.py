"""A desk for the peers' tests: real processes, a database and a broker of its own, and a way to search all of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import redis
from psycopg import sql

from config.environment import ROOT
from tests.commands.running import all_gone, environment, free_port

START_SECONDS = 60
DEMO_SECONDS = 300
BROKER_DB = "/14"


@dataclass
class RunningDesk:
    """A running desk; ``settings`` is what it was given beside its state folder."""

    state: Path
    logs: Path
    settings: dict[str, str]
    address: str
    outputs: list[str] = field(default_factory=list)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=environment(self.state, **self.settings),
            capture_output=True,
            text=True,
            timeout=DEMO_SECONDS,
            check=False,
        )
        self.outputs += [done.stdout, done.stderr]
        return done

    def demo(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.manage("demo", "--base-url", self.address, *arguments)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the database holds, read without the desk's code."""
        if "DATABASE_URL" in self.settings:
            with psycopg.connect(self.settings["DATABASE_URL"]) as connection:
                return connection.execute(query.encode()).fetchall()
        with closing(sqlite3.connect(f"file:{self.state / 'desk.sqlite3'}?mode=ro", uri=True)) as embedded:
            return embedded.execute(query).fetchall()

    def everything(self) -> dict[str, bytes]:
        """All that the desk has kept or said, by where it is."""
        folders = (self.state, self.logs)
        found = {str(path): path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}
        found["output of commands"] = "".join(self.outputs).encode()
        if "DATABASE_URL" in self.settings:
            found |= _tables(self.settings["DATABASE_URL"])
        if "CELERY_BROKER_URL" in self.settings:
            found["broker"] = _broker(self.settings["CELERY_BROKER_URL"])
        return found


@contextmanager
def running_desk(folder: Path) -> Iterator[RunningDesk]:
    """``manage.py up``; where the environment names PostgreSQL and Redis, on databases of its own there."""
    state, logs = folder / "state", folder / "logs"
    state.mkdir()
    logs.mkdir()
    with _services() as settings:
        port = free_port()
        desk = RunningDesk(state, logs, settings, f"http://127.0.0.1:{port}")
        with (logs / "stdout").open("wb") as out, (logs / "stderr").open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "manage.py", "up", "--port", str(port)],
                cwd=ROOT,
                env=environment(state, **settings),
                stdout=out,
                stderr=errors,
            )
        try:
            _until_ready(desk, process)
            yield desk
        finally:
            process.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(20)
            process.kill()
            process.wait()
            assert all_gone(state)


def _until_ready(desk: RunningDesk, process: subprocess.Popen[bytes]) -> None:
    near = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS:
        assert process.poll() is None, (desk.logs / "stderr").read_text()[-2000:]
        try:
            with near.open(f"{desk.address}/healthz", timeout=5) as reply:
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("the desk did not become ready")


@contextmanager
def _services() -> Iterator[dict[str, str]]:
    settings: dict[str, str] = {}
    broker = os.environ.get("CELERY_BROKER_URL", "")
    if broker.startswith(("redis://", "rediss://")):
        settings["CELERY_BROKER_URL"] = urlunsplit(urlsplit(broker)._replace(path=BROKER_DB))
        redis.Redis.from_url(settings["CELERY_BROKER_URL"]).flushdb()
    admin = os.environ.get("DATABASE_URL", "")
    if not admin:
        yield settings
        return
    name = sql.Identifier(f"peers_{os.getpid()}")
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
    try:
        own = urlunsplit(urlsplit(admin)._replace(path=f"/peers_{os.getpid()}"))
        yield settings | {"DATABASE_URL": own}
    finally:
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def _tables(url: str) -> dict[str, bytes]:
    found = {}
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            with connection.cursor().copy(sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(name))) as copy:
                found[f"table {name}"] = b"".join(bytes(block) for block in copy)
    return found


def _broker(url: str) -> bytes:
    """Every key and value of the broker's database, read by type: a raw dump may be compressed."""
    client = redis.Redis.from_url(url)
    found = []
    for key in client.scan_iter():
        match client.type(key):
            case b"string":
                value: Any = client.get(key)
            case b"list":
                value = client.lrange(key, 0, -1)
            case b"hash":
                value = client.hgetall(key)
            case b"set":
                value = client.smembers(key)
            case b"zset":
                value = client.zrange(key, 0, -1)
            case b"stream":
                value = client.xrange(key)
            case other:
                raise AssertionError(f"a broker's key of type {other!r} cannot be read")
        found.append(repr((key, value)).encode())
    return b"\n".join(found)
