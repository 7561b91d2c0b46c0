"""Child processes in groups of their own, which never outlive the one that watches over them."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from config.environment import ROOT

#: How long a child may take to finish what it has begun before it is killed, in seconds.
GRACE: Final = 10.0
_PR_SET_PDEATHSIG: Final = 1


def die_with(parent: int) -> Callable[[], None]:
    """A function for the child: be killed when ``parent`` ends, even by ``kill -9``. Linux only; elsewhere nothing."""
    if not sys.platform.startswith("linux"):
        return lambda: None
    prctl = ctypes.CDLL(None, use_errno=True).prctl

    def ask() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before the kernel was asked
            os._exit(1)

    return ask


@dataclass(frozen=True, slots=True)
class Child:
    """A running child and the name that people know it by."""

    name: str
    process: subprocess.Popen[bytes]

    def ended(self) -> bool:
        return self.process.poll() is not None


def start(name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Child:
    """Run Python with ``arguments`` in the desk's folder."""
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        process_group=0,
        preexec_fn=die_with(os.getpid()),  # safe: this process has one thread
    )
    return Child(name, process)


def stop(children: Sequence[Child]) -> None:
    """Ask every child to finish, wait for ``GRACE`` at most, and leave nothing of their groups."""
    for child in children:
        if not child.ended():
            child.process.terminate()
    deadline = time.monotonic() + GRACE
    for child in children:
        with suppress(subprocess.TimeoutExpired):
            child.process.wait(max(0.0, deadline - time.monotonic()))
        with suppress(ProcessLookupError):
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
