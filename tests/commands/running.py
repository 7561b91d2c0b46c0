"""A desk started by ``manage.py up``, as a person would, in a state folder and a database of its own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from config.environment import ROOT

START_SECONDS = 30
STOP_SECONDS = 15


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(state: Path, **more: str) -> dict[str, str]:
    """What this process has, less the tests' own settings of the desk."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DESK_", "DJANGO_"))}
    return {**kept, "DESK_STATE_DIR": str(state), **more}


def pids(state: Path, word: str = "") -> list[int]:
    """The processes, of any generation, that run with this state folder and have ``word`` in their command line."""
    mark = f"DESK_STATE_DIR={state}".encode()
    found = []
    for folder in Path("/proc").iterdir():
        try:
            ours = folder.name.isdigit() and mark in (folder / "environ").read_bytes().split(b"\0")
            if ours and word.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return sorted(found)


def all_gone(state: Path) -> bool:
    deadline = time.monotonic() + STOP_SECONDS
    while pids(state):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


class Up:
    """A running ``manage.py up``."""

    def __init__(self, state: Path, *arguments: str, **settings: str) -> None:
        self.state = state
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.said = ""
        self.began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "up", "--port", str(self.port), *arguments],
            cwd=ROOT,
            env=environment(state, **settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.address + path, timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.read().decode()

    def first_page(self) -> float:
        """Seconds from the start until the login page was there."""
        while time.monotonic() - self.began < START_SECONDS:
            try:
                status, _ = self.get("/admin/login/")
            except OSError:
                assert self.process.poll() is None, self.process.communicate()
                time.sleep(0.02)
                continue
            assert status == 200
            return time.monotonic() - self.began
        raise AssertionError("no first page")

    def announced(self) -> str:
        """What was said up to the line that tells the address."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said += line
            if " serves " in line:
                return self.said
        raise AssertionError("no address was told")

    def end(self, number: signal.Signals | None = signal.SIGTERM) -> tuple[int, str, str]:
        """Exit code, output and error output, after a signal unless it ends by itself."""
        if number is not None:
            self.process.send_signal(number)
        out, errors = self.process.communicate(timeout=STOP_SECONDS)
        return self.process.returncode, self.said + out, errors


@contextmanager
def up(state: Path, *arguments: str, **settings: str) -> Iterator[Up]:
    desk = Up(state, *arguments, **settings)
    try:
        yield desk
    finally:
        if desk.process.poll() is None:
            desk.end(signal.SIGKILL)
        assert all_gone(state)


def manage(state: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(state, **settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
