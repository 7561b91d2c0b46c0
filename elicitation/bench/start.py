"""``start``: from a fresh clone to the first page, and the same again, as a stranger with an empty environment."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from elicitation.bench.frame import CannotMeasure, Comparison

ROOT: Final = Path(__file__).resolve().parents[2]
LOCK: Final = "config/requirements/runtime.lock"
#: Page served within this many seconds, or the desk does not start at all.
PATIENCE: Final = 300.0
AGAIN_LIMIT: Final = 2.0


@contextmanager
def start() -> Iterator[Sequence[Comparison]]:
    """The committed state is what is measured: a clone has nothing else."""
    for program in ("git", "python3"):
        if shutil.which(program) is None:
            raise CannotMeasure(f"`bench start` needs {program} on the PATH.")
    with tempfile.TemporaryDirectory(prefix="desk-bench-") as folder:
        stranger = _Stranger(Path(folder))
        yield [
            Comparison("fresh clone to first page", "pip install", stranger.first, stranger.pip_install, 1.5),
            Comparison("start again to first page", "limit", stranger.up, AGAIN_LIMIT, 1.0),
        ]


class _Stranger:
    """Somebody who has Python, git and a home folder, and no settings."""

    def __init__(self, folder: Path) -> None:
        self.clone = folder / "clone"
        self.venv = folder / "peer"
        self.environment = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", str(folder))}

    def pip_install(self) -> float:
        """pip alone, into a new environment: what making that environment takes is not counted for the peer."""
        shutil.rmtree(self.venv, ignore_errors=True)
        self._run("python3", "-m", "venv", str(self.venv))
        began = time.monotonic()
        pip = [str(self.venv / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        self._run(*pip, "--require-hashes", "-r", str(ROOT / LOCK))
        return time.monotonic() - began

    def first(self) -> float:
        """Everything: the environment, the packages, the keys, the database, the operator, the page."""
        shutil.rmtree(self.clone, ignore_errors=True)
        self._run("git", "clone", "--quiet", str(ROOT), str(self.clone))
        return self.up()

    def up(self) -> float:
        """Seconds until ``manage.py up`` serves the login page."""
        port = _free_port()
        log = self.clone.with_name("up.log")
        began = time.monotonic()
        with log.open("wb") as out:
            process = subprocess.Popen(  # noqa: S603 - the clone's own command
                ["python3", "manage.py", "up", "--port", str(port)],  # noqa: S607 - the stranger's Python
                cwd=self.clone,
                env=self.environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            while not _serves(port):
                if process.poll() is not None or time.monotonic() - began > PATIENCE:
                    last = log.read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]
                    raise CannotMeasure(f"`up` did not serve a page: {last}")
                time.sleep(0.01)
            return time.monotonic() - began
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()

    def _run(self, *command: str) -> None:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
            raise CannotMeasure(f"`{Path(command[0]).name}` failed: {last}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _serves(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/admin/login/")
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
