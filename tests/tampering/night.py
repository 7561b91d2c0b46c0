"""What the night brings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final, TypeAlias

from audit import nightly
from audit.models import Log, Signal

N: TypeAlias = Log.Verdict
NIGHT: Final = datetime(2026, 12, 1, 3, tzinfo=UTC)


def look(log: Log) -> None:
    """What the night brings."""
    nightly.request(log, NIGHT)
    for _ in range(50):
        if not nightly.verify(NIGHT, 60):
            break
    log.refresh_from_db()


def told() -> set[str]:
    return set(Signal.objects.filter(rule="ledger_broken", tenant="acme").values_list("about", flat=True))
