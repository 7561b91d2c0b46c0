"""Sealed logs to export, files of every kind made of them, and what the verifier says of each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.utils import timezone

from audit import note, wording
from audit.exporting.selection import Selection
from audit.models import Export, LedgerEntry, Log
from audit.seal import seal
from audit.verify import Checkpoint, Format, Report, parse_key, verify
from elicitation.services import exports
from elicitation.services.exports import Wanted

BEGAN = datetime(2026, 11, 30, 12, tzinfo=UTC)
ABOUT = UUID("6f1c1a52-8f0e-4d3b-9a57-1c2d3e4f5a6b")
#: What a spreadsheet takes for a formula, or may.
DANGEROUS = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff201",
    "=1,2",
    '="x"',
]


def entry(number: int, **columns: Any) -> LedgerEntry:
    """One of a busy tenant's entries; every seventh is about ``ABOUT``."""
    said: dict[str, Any] = {
        "tenant": "acme",
        "at": BEGAN + timedelta(milliseconds=number),
        "event": ("admit", "shown", "answer_accept")[number % 3],
        "elicitation_id": ABOUT if number % 7 == 0 else UUID(int=number),
        "client_id": number % 5,
        "negotiated": number % 2 == 0 or None,
        "place": "/properties/#3/title",
        "policy_revision": 7 + (number >= 400),
        "actor_kind": "service",
        "latency_ms": 40 * number,
    }
    return LedgerEntry(**said | columns)


def sealed(count: int, *, passes: int = 1, **columns: Any) -> Log:
    """Acme's log with so many entries more, sealed under as many checkpoints as there are ``passes``."""
    begins = LedgerEntry.objects.filter(tenant="acme").count()
    for part in range(passes):
        numbers = range(begins + count * part // passes, begins + count * (part + 1) // passes)
        LedgerEntry.objects.bulk_create([entry(number, **columns) for number in numbers], batch_size=500)
        seal_everything()
    return Log.objects.get(tenant="acme")


def seal_everything() -> None:
    while seal(timezone.now()):
        pass


@contextmanager
def anything_goes() -> Iterator[None]:
    """As after somebody who owns the database dropped the alphabet."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {wording.TABLE} DROP CONSTRAINT {wording.NAME}")
        else:
            cursor.execute(f"DROP TRIGGER {wording.NAME}")
    yield


def whole(log: Log, format_: Format, *, to_size: int | None = None, **selection: Any) -> tuple[Export, bytes]:
    """A streamed export and its bytes."""
    wanted = Wanted(format_, Selection(**selection), to_size)
    export = exports.ask(log, wanted, exports.auditor(1), streamed=True)
    return export, b"".join(exports.stream(export))


def judged(content: bytes, log: Log, folder: Path, kept: tuple[Checkpoint, ...] = ()) -> Report:
    """What the verifier says to somebody who has the log's key."""
    path = folder / "export"
    path.write_bytes(content)
    return verify(path, [parse_key(key) for key in keys(log)], kept)


def keys(log: Log) -> list[str]:
    return [note.verifier_key(log.origin, seed) for seed in settings.DESK_LEDGER_KEYS.values()]
