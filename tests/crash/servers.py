"""The servers of a crash run: PostgreSQL, a broker and the desk's processes, each in a process group of its own."""

from __future__ import annotations

import base64
import os
import pwd
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.request import ProxyHandler, build_opener

import psycopg

from config.environment import ROOT
from tests.commands.running import environment

HOST: Final = "127.0.0.1"
READY_SECONDS: Final = 120.0
STOP_SECONDS: Final = 10.0
PORTS: Final = (20_000, 32_000)
_given: set[int] = set()
_NEAR: Final = build_opener(ProxyHandler({}))


class CannotRun(Exception):
    """A program that the run needs is missing or does not start; says which."""


@dataclass
class Server:
    """A program that can be killed and started again. ``ready`` tells whether it answers.

    It is started by the run's first thread alone: the kernel ends it with the thread that started it.
    """

    name: str
    command: Sequence[str]
    settings: dict[str, str]
    log: Path
    ready: Callable[[], bool]
    user: str | None = None
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*_dying_with_the_run(), *self.command],
                cwd=ROOT if self.user is None else "/",
                env=self.settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                process_group=0,
                user=self.user,
            )

    def up(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """``kill -9``: the leader first, then what is left of its group. Nothing is told to finish."""
        assert self.process is not None
        self.process.kill()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def tail(self, lines: int = 15) -> str:
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


@dataclass
class Postgres(Server):
    """A database server, whose children are killed with it: none of them may write what it still holds."""

    def kill(self) -> None:
        assert self.process is not None
        children = children_of(self.process.pid)
        self.process.kill()
        for child in children:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        self.process.wait()
        wait_for(lambda: not any(Path(f"/proc/{child}/exe").exists() for child in children), STOP_SECONDS)


def _dying_with_the_run() -> list[str]:
    """What has the kernel end a program with the thread that started it, where there is such a thing: Linux."""
    setpriv = shutil.which("setpriv")
    return [] if setpriv is None else [setpriv, "--pdeathsig", "KILL", "--"]


def children_of(parent: int) -> list[int]:
    try:
        text = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    except OSError:
        return []
    return [int(child) for child in text.split()]


def wait_for(condition: Callable[[], bool], seconds: float, tick: float = 0.05) -> bool:
    """Whether the condition came true in time; it is looked at every ``tick`` seconds."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(tick)
    return True


def start(servers: Sequence[Server]) -> None:
    """Start all, then wait for all. Raises ``CannotRun`` with the end of the log of one that does not answer."""
    for server in servers:
        server.start()
    for server in servers:
        if not wait_for(lambda server=server: server.up() and server.ready(), READY_SECONDS):  # type: ignore[misc]
            raise CannotRun(f"{server.name} does not answer:\n{server.tail()}")


def postgres(folder: Path) -> tuple[Postgres, str]:
    """A fresh database cluster, which writes through at each commit, and the address of its database."""
    data, port = folder / "postgres", own_port()
    user = _postgres_user()
    data.mkdir()
    if user is not None:
        shutil.chown(data, user)
    made = subprocess.run(
        [program("initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C"],
        cwd="/",
        capture_output=True,
        text=True,
        user=user,
        check=False,
        timeout=READY_SECONDS,
    )
    if made.returncode:
        raise CannotRun(f"initdb: {made.stderr.strip()}")
    settings = ("listen_addresses=" + HOST, "unix_socket_directories=", "fsync=on", "synchronous_commit=on")
    command = [program("postgres"), "-D", str(data), "-p", str(port)]
    command += [part for setting in settings for part in ("-c", setting)]
    url = f"postgres://postgres@{HOST}:{port}/postgres"
    server = Postgres("database", command, dict(os.environ), folder / "postgres.log", lambda: answers(url), user)
    return server, url


def _postgres_user() -> str | None:
    """PostgreSQL's programs refuse to run as root."""
    if os.geteuid() != 0:
        return None
    with suppress(KeyError):
        return pwd.getpwnam("postgres").pw_name
    raise CannotRun("There is no user postgres to run PostgreSQL as.")


def answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def own_port() -> int:
    """A port that nobody else listens at, below those that the kernel gives to clients: one of them would otherwise
    take it, or connect to itself, while its server is away."""
    for port in random.sample(range(*PORTS), 100):
        if port not in _given and not listens(port):
            _given.add(port)
            return port
    raise CannotRun("No port is free.")


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((HOST, port)) == 0


def redis_broker(folder: Path) -> tuple[list[Server], str]:
    """A Redis that keeps nothing: what was queued is lost with it."""
    port = own_port()
    command = [program("redis-server"), "--port", str(port), "--bind", HOST, "--save", "", "--dir", str(folder)]
    server = Server("broker", command, dict(os.environ), folder / "redis.log", lambda: listens(port))
    return [server], f"redis://{HOST}:{port}/0"


def rabbitmq_broker(folder: Path) -> tuple[list[Server], str]:
    """A RabbitMQ node of its own, and the name server that it needs, which is not killed."""
    home, port, names = folder / "rabbitmq", own_port(), own_port()
    home.mkdir()
    (home / "plugins").write_text("[].\n")
    (home / "rabbitmq.conf").write_text(f"listeners.tcp.1 = {HOST}:{port}\nlog.console.level = warning\n")
    settings = {
        **{name: value for name, value in os.environ.items() if not name.startswith("RABBITMQ_")},
        "HOME": str(home),
        "ERL_EPMD_PORT": str(names),
        "ERL_EPMD_ADDRESS": HOST,
        "RABBITMQ_NODENAME": "crash@localhost",
        "RABBITMQ_DIST_PORT": str(own_port()),
        "RABBITMQ_MNESIA_BASE": str(home / "data"),
        "RABBITMQ_LOG_BASE": str(home / "log"),
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_CONFIG_FILE": str(home / "rabbitmq.conf"),
        "RABBITMQ_CONF_ENV_FILE": str(home / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(home / "plugins"),
        "RABBITMQ_PID_FILE": str(home / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }
    finder = [program("epmd"), "-port", str(names), "-address", HOST]
    epmd = Server("epmd", finder, settings, folder / "epmd.log", lambda: listens(names))
    # Debian's own start script changes the user; this is the one that it calls.
    node = Server("broker", [program("rabbitmq-server")], settings, folder / "rabbitmq.log", lambda: listens(port))
    return [epmd, node], f"amqp://guest:guest@{HOST}:{port}//"


BROKERS: Final[dict[str, Callable[[Path], tuple[list[Server], str]]]] = {
    "redis": redis_broker,
    "rabbitmq": rabbitmq_broker,
}
_PLACES: Final = ("/usr/lib/rabbitmq/bin", "/usr/lib/postgresql/*/bin")


def program(name: str) -> str:
    """Where the program is; the distribution's own folders come first. Raises ``CannotRun``."""
    for pattern in _PLACES:
        found = sorted(Path("/").glob(f"{pattern[1:]}/{name}"))
        if found:
            return str(found[-1])
    path = shutil.which(name)
    if path is None:
        raise CannotRun(f"There is no program {name}.")
    return path


def desk_settings(folder: Path, database: str, broker: str) -> dict[str, str]:
    """What every process of the desk is given, with keys of the run's own."""
    own = {f"DESK_{name}_KEYS": f"crash:{base64.b64encode(secrets.token_bytes(32)).decode()}" for name in _RINGS}
    state = folder / "state"
    state.mkdir(mode=0o700)
    more = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, "DESK_SECRET_KEY": secrets.token_urlsafe(50)}
    return environment(state, **own, **more)


_RINGS: Final = ("DIGEST", "SEAL", "LEDGER")


def desk_processes(folder: Path, settings: dict[str, str]) -> tuple[list[Server], list[int]]:
    """What `up` starts, with a second web server: the processes, and the ports of the web servers."""
    ports = [own_port(), own_port()]
    celery = [sys.executable, "-m", "celery", "-A", "config", "--quiet"]
    webs = [
        Server(
            f"web {number}",
            [sys.executable, "-m", "config.server", HOST, str(port)],
            settings,
            folder / f"web-{number}.log",
            lambda port=port: serves(port, "/healthz"),  # type: ignore[misc]
        )
        for number, port in enumerate(ports, start=1)
    ]
    beat = [*celery, "beat", "--scheduler", "celery.beat:Scheduler"]
    worker = [*celery, "worker", "--concurrency", "2", "--without-gossip", "--without-mingle"]
    return [
        *webs,
        Server("beat", beat, settings, folder / "beat.log", lambda: True),
        Server("worker", worker, settings, folder / "worker.log", lambda: True),
    ], ports


def serves(port: int, path: str) -> bool:
    try:
        with _NEAR.open(f"http://{HOST}:{port}{path}", timeout=2) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def logs(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("*.log"))
