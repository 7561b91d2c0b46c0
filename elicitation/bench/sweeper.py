"""A process that sweeps on demand, as a worker does: it is told how many on a line, and answers with a line of JSON."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path


def peak_mib() -> float:
    """The most memory that this process has held at any time since it started, libraries and all (Linux)."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def main() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.db import connection

    from elicitation.services.sweeps.expiring import expire

    connection.ensure_connection()
    idle = peak_mib()
    for line in sys.stdin:
        most, moved, began = int(line), 0, time.perf_counter()
        while moved < most and (done := expire(most - moved)):
            moved += done
        seconds = time.perf_counter() - began
        said = {"moved": moved, "seconds": seconds, "idle_mib": idle, "peak_mib": peak_mib()}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
