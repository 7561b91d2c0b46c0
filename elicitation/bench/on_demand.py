"""Processes that work when they are asked to: a line asks, a line of JSON answers with what came of it, in how many
seconds, and the memory that the process has held by then."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from elicitation.bench.frame import CannotMeasure
from elicitation.bench.scratch import ROOT, Scratch

STATUS: Final = "/proc/{}/status"


def peak_mib(process: int | str = "self") -> float:
    """The most memory that a process has held at any time since it started, libraries and all (Linux); 0 when it has
    ended."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path(STATUS.format(process)).read_text())
    return int(found[1]) / 1024 if found else 0.0


def must_tell_memory(bench: str) -> None:
    """Raises ``CannotMeasure`` where the system does not tell how much memory a process holds."""
    if not Path(STATUS.format("self")).exists():
        raise CannotMeasure(f"`bench {bench}` reads the memory of a process from /proc, which this system lacks.")


def serve(work: Callable[[str], Mapping[str, object]]) -> None:
    """The process's side: does what each line of standard input asks for, until there are no more."""
    idle = peak_mib()
    for line in sys.stdin:
        began = time.perf_counter()
        found = work(line.rstrip("\n"))
        said = {**found, "seconds": time.perf_counter() - began, "idle_mib": idle, "peak_mib": peak_mib()}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


def set_up() -> None:
    """Django with the environment's settings, and its connection."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    connection.ensure_connection()


class Process:
    """The asker's side. Memory is in MiB, libraries and all: ``idle`` before the first work, ``peak`` ever since."""

    def __init__(self, desk: Scratch, module: str, *arguments: str) -> None:
        self.module = module
        self.process = subprocess.Popen(  # noqa: S603 - our own interpreter
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env=desk.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.idle, self.peak = 0.0, 0.0

    def ask(self, for_what: str) -> None:
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has ended, which ``told`` says
            self.process.stdin.write(f"{for_what}\n")
            self.process.stdin.flush()

    def told(self) -> dict[str, Any]:
        """What it answers. Raises ``CannotMeasure`` when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise CannotMeasure(f"`{self.module}` ended; its reason is above.")
        said: dict[str, Any] = json.loads(line)
        self.idle, self.peak = said["idle_mib"], said["peak_mib"]
        return said

    def does(self, what: str) -> dict[str, Any]:
        """Ask, and wait for the answer."""
        self.ask(what)
        return self.told()


@contextmanager
def process(desk: Scratch, module: str, *arguments: str) -> Iterator[Process]:
    """A process of ``module``, on the scratch desk, for as long as it is needed."""
    made = Process(desk, module, *arguments)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()
