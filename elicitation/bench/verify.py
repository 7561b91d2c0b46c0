"""``verify``: the offline verification of a whole export beside ``sha256sum`` of the same file."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from audit.verify import Format
from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.bench.ledger_desk import TENANT, fill
from elicitation.bench.on_demand import must_tell_memory, peak_mib, process
from elicitation.bench.scratch import ROOT, scratch

#: The long form, and the one of which the limits speak, is 1,000,000.
VERIFY_ROWS: Final = 400_000
LIMIT_MIB: Final = 32.0
#: Seconds between two looks at the memory of the verifier.
LOOK: Final = 0.02


@contextmanager
def verify(rows: int = VERIFY_ROWS, note: Callable[[str], None] | None = None) -> Iterator[Sequence[Comparison]]:
    """An export of ``rows`` entries in each format, made by the desk, and the verifier run as an auditor runs it.

    ``note`` is told how far the filling has come. Raises ``CannotMeasure``.
    """
    must_tell_memory("verify")
    if shutil.which("sha256sum") is None:
        raise CannotMeasure("`bench verify` needs sha256sum on the PATH.")
    with scratch("verify") as desk, process(desk, "elicitation.bench.ledger_worker") as worker:
        for progress in fill(desk, worker, rows):
            if note is not None:
                note(f"verify: {progress}")
        auditor = _Auditor(desk.folder / "auditor.vkey")
        auditor.keys.write_text("\n".join(worker.does(f"keys {TENANT}")["keys"]))
        made = worker.does("export " + worker.does(f"order {TENANT} {Format.JSONL}")["uid"])
        file = Path(made["file"])
        yield [
            Comparison("JSONL", "sha256sum", lambda: auditor.verifies(file), lambda: _digests(file), 1.5),
            Comparison("memory of the verifier", "limit", lambda: auditor.peak, LIMIT_MIB, 1.0, "MiB"),
        ]


class _Auditor:
    """Somebody with a file of keys and the verifier. ``peak`` is the most memory, in MiB, that it has held."""

    def __init__(self, keys: Path) -> None:
        self.keys = keys
        self.peak = 0.0

    def verifies(self, file: Path) -> float:
        """Seconds until the verifier says that the file is verified."""
        command = [sys.executable, "-m", "audit.verify", str(file), "--key", str(self.keys)]
        began = time.perf_counter()
        verifier = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)  # noqa: S603 - our own interpreter
        while True:
            try:
                code = verifier.wait(LOOK)
                break
            except subprocess.TimeoutExpired:
                self.peak = max(self.peak, peak_mib(verifier.pid))
        seconds = time.perf_counter() - began
        if code != 0:
            raise CannotMeasure("`bench verify` made an export that does not verify.")
        return seconds


def _digests(file: Path) -> float:
    began = time.perf_counter()
    subprocess.run(["sha256sum", str(file)], stdout=subprocess.DEVNULL, check=True)  # noqa: S603, S607 - of the PATH
    return time.perf_counter() - began
