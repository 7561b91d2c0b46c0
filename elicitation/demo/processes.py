"""The demo's processes, seen from the desk's side: started from ``.venv-demo``, told what to do, always stopped."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Final, Self

ROOT: Final = Path(__file__).resolve().parent.parent.parent
#: What a child inherits. Keys of the desk, and proxies that would catch loopback, are not among it.
INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
GRACE: Final = 3.0


class ProcessFailed(Exception):
    """A process of the demo ended or fell silent; one sentence, with the last thing it said."""


class Child:
    """One process of the demo. A context manager: leaving it stops the process."""

    def __init__(self, python: Path, module: str, config: Mapping[str, object]) -> None:
        self._name = module.rpartition(".")[2]
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by stop()
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        environment = {name: os.environ[name] for name in INHERITED if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in our own environment
            [str(python), "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment | {"PYTHONPATH": str(ROOT)},
            cwd=ROOT,
            text=True,
            start_new_session=True,  # a Ctrl-C is the parent's to handle
        )
        threading.Thread(target=self._read, daemon=True).start()
        with suppress(BrokenPipeError):  # where it has ended already, the first hear() says so
            self._stdin.write(json.dumps(config) + "\n")
            self._stdin.flush()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def _stdin(self) -> IO[str]:
        assert self._process.stdin is not None
        return self._process.stdin

    def hear(self, seconds: float) -> dict[str, object]:
        """The next line of JSON. Raises :class:`ProcessFailed` when none comes within ``seconds``."""
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise ProcessFailed(f"The demo's {self._name} said nothing for {seconds:.0f} seconds.") from None
        if line is None:
            self._process.wait(GRACE)
            raise ProcessFailed(f"The demo's {self._name} stopped: {self._last_words()}")
        message: dict[str, object] = json.loads(line)
        return message

    def stop(self) -> None:
        """End the process: by closing its input, then by signals."""
        with suppress(BrokenPipeError):
            self._stdin.close()
        for insist in (self._process.terminate, self._process.kill):
            try:
                self._process.wait(GRACE)
                break
            except subprocess.TimeoutExpired:
                insist()
        self._process.wait()
        self._errors.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _last_words(self) -> str:
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {self._process.returncode}"
