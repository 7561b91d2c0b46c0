"""One crash run from the first server to the verdict."""

from __future__ import annotations

import json
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any, Final

import psycopg

from config.environment import ROOT
from tests.crash.calling import Access, Caller, Tally
from tests.crash.clients import ASKED_ORIGIN, ORIGIN, Flow
from tests.crash.flows import make_flows, play, play_afterwards
from tests.crash.judging import Verdict, ends, events_written, gather, judge
from tests.crash.killing import Killer
from tests.crash.servers import (
    BROKERS,
    READY_SECONDS,
    CannotRun,
    Server,
    desk_processes,
    desk_settings,
    postgres,
    serves,
    start,
)
from tests.providers.server import ProviderServer

#: Threads that play flows, unless the plan says otherwise: a restart costs each of them its patience, so a long run is
#: sooner done with more.
CLIENTS: Final = 24
#: How often the schedule looks for what is overdue, in seconds.
SWEEP_SECONDS: Final = 5.0
#: How many sweeps must have run after everything is up again, and how long each may be away, in seconds.
SWEEPS: Final = 2
SWEEPING_SECONDS: Final = 60.0
#: How long what is left to do may take when nothing is killed any more, in seconds.
AFTERWARDS_SECONDS: Final = 600.0

TENANT, SERVICE, TELLING, ASKED = "acme", "booking", "example-pay", "example-status"


def _destination(origin: str, provider: str, usual_seconds: int) -> dict[str, Any]:
    return {
        "origin": origin,
        "provider": provider,
        "tenants": [TENANT],
        "services": [SERVICE],
        "purposes": ["payment"],
        "paths": ["/start"],
        "parameters": {"flow": "^[a-z]{1,16}$", "e": "elicitation_id"},
        "opaque": [],
        "binding": "subject",
        "sources": ["webhook", "reconcile"],
        "connect_page": False,
        "reuse_results": False,
        "usual_seconds": usual_seconds,
    }


#: The desk asks one provider soon, and suspects no loss at the other, which always tells in the end.
DESTINATIONS: Final = [_destination(ORIGIN, TELLING, 86_400), _destination(ASKED_ORIGIN, ASKED, 2)]
#: Every flow is a person of its own, and all are asked by one service.
LIMITS: Final = {"pending_per_subject": 1000, "asks_per_subject_hour": 100_000, "asks_per_service_hour": 1_000_000}


@dataclass(frozen=True, slots=True)
class Plan:
    """``seconds``: no flow is begun later. ``seed`` chooses the flows, their chances, and when what is killed."""

    broker: str
    flows: int
    seconds: float
    seed: int
    clients: int = CLIENTS


@dataclass
class Outcome:
    plan: Plan
    flows: Sequence[Flow]
    verdict: Verdict
    kills: Counter[str]
    ended: Counter[str]
    tally: Tally
    written: Counter[str]
    states: Counter[tuple[str, str]] = field(default_factory=Counter)
    seconds: float = 0.0


@contextmanager
def folder_of_a_run() -> Iterator[Path]:
    """A folder that PostgreSQL's own user may pass through; it stays when the run fails, for its logs."""
    folder = Path(tempfile.mkdtemp(prefix="desk-crash-"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run(plan: Plan, folder: Path, say: Callable[[str], None]) -> Outcome:
    """Play the plan in ``folder``, where every server leaves its log. Raises ``CannotRun``."""
    began = time.monotonic()
    chance, tally, servers = random.Random(plan.seed), Tally(), list[Server]()
    with ProviderServer(folder) as provider:
        try:
            database, url = postgres(folder)
            brokers, broker_url = BROKERS[plan.broker](folder)
            servers += [*brokers, database]
            for server in servers:
                start([server])
            settings = desk_settings(folder, url, broker_url) | provider.trusting
            desk, ports = desk_processes(folder, settings)
            access = _prepare(folder, settings, ports, provider)
            servers += desk
            start(desk)
            say(f"{plan.broker}: everything is up after {time.monotonic() - began:.0f} s")
            killer = Killer([database, brokers[-1], *desk], chance)
            flows = make_flows(plan.flows, f"{plan.seed}{plan.broker}", chance)
            callers = [Caller(access, tally, random.Random(chance.random())) for _ in range(plan.clients)]
            until = time.monotonic() + plan.seconds
            with _at_work(lambda flow, caller: play(flow, caller, provider), flows, callers, until) as clients:
                killer.run(lambda: _over(clients))
            say(f"{plan.broker}: {sum(killer.kills.values())} kills, everything is up again")
            begun = [flow for flow in flows if flow.id or flow.problems]
            with _at_work(lambda flow, caller: play_afterwards(flow, caller, provider), begun, callers, inf) as clients:
                killer.keep(lambda: _over(clients), AFTERWARDS_SECONDS)
            _settle(killer, url, ports)
            ended = sum(killer.ended[server.name] for server in desk)
            evidence = gather(url, begun, SWEEP_SECONDS, broken=tally.statuses[500], ended=ended)
        finally:
            for server in reversed(servers):
                if server.process is not None:
                    server.kill()
    outcome = Outcome(plan, begun, judge(evidence), killer.kills, killer.ended, tally, events_written(evidence))
    outcome.states = ends(evidence)
    outcome.seconds = time.monotonic() - began
    return outcome


def _prepare(folder: Path, settings: dict[str, str], ports: Sequence[int], provider: ProviderServer) -> Access:
    """Tables, a service with its key, two providers with their secrets, and their destinations in force."""

    def command(*arguments: str, given: str = "") -> str:
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=ROOT,
            env=settings,
            input=given,
            capture_output=True,
            text=True,
            timeout=READY_SECONDS,
            check=False,
        )
        if done.returncode:
            raise CannotRun(f"manage.py {arguments[0]}: {done.stderr.strip()}")
        return done.stdout.strip()

    command("migrate", "--verbosity", "0")
    scopes = "admit,answer,consume,read"
    key = command("service_key", "create", TENANT, SERVICE, "--scopes", scopes, "--open")
    secrets = [(slug, command("provider_key", "create", TENANT, slug, "--open")) for slug in (TELLING, ASKED)]
    command("provider_key", "set", TENANT, ASKED, "--lookup", "generic", "--status-url", provider.status_url)
    command("provider_key", "import", TENANT, ASKED, "--use", "lookup", given="a-key-for-asking-0123456789")
    document = json.loads(command("policy", "export"))
    document |= {"destinations": DESTINATIONS, "limits": LIMITS}
    (folder / "policy.json").write_text(json.dumps(document))
    draft = command("policy", "import", str(folder / "policy.json"))
    command("policy", "activate", draft, "--alone", "crash run")
    return Access(ports, key, *secrets)


@contextmanager
def _at_work(
    work: Callable[[Flow, Caller], None], flows: Sequence[Flow], callers: Sequence[Caller], until: float
) -> Iterator[list[threading.Thread]]:
    """A thread for each caller, which takes flow after flow until none is left or time is up; joined at the end."""
    waiting: queue.SimpleQueue[Flow] = queue.SimpleQueue()
    for flow in flows:
        waiting.put(flow)

    def take(caller: Caller) -> None:
        try:
            while time.monotonic() < until:
                work(waiting.get_nowait(), caller)
        except queue.Empty:
            pass
        finally:
            caller.close()

    clients = [threading.Thread(target=take, args=(caller,), daemon=True) for caller in callers]
    for client in clients:
        client.start()
    yield clients
    for client in clients:
        client.join()


def _over(clients: Sequence[threading.Thread]) -> bool:
    return not any(client.is_alive() for client in clients)


def _settle(killer: Killer, url: str, ports: Sequence[int]) -> None:
    """Wait until both web servers are ready and the schedule has swept again. Raises ``CannotRun``."""
    if not killer.keep(lambda: all(serves(port, "/readyz") for port in ports), READY_SECONDS):
        raise CannotRun("A web server does not become ready again.")
    for _ in range(SWEEPS):
        last = _beat(url)
        if not killer.keep(lambda last=last: _beat(url) != last, SWEEPING_SECONDS):  # type: ignore[misc]
            raise CannotRun("The sweep does not run any more.")


def _beat(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("SELECT at FROM elicitation_heartbeat WHERE name = 'expire'").fetchone()
