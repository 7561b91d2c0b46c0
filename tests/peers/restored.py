"""A desk's ledger before and after its database was moved: run as a process of its own, with the database in the
environment; each verb prints one JSON object.

    python -m tests.peers.restored make | look | go_on
"""

from __future__ import annotations

import hashlib
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from audit import nightly, retention, retention_role, tree, triggers, wording  # noqa: E402
from audit.models import Checkpoint, LedgerEntry, Log  # noqa: E402
from audit.verify import Format, parse_checkpoint, parse_note, verify_consistency  # noqa: E402
from elicitation.services import actors, exports  # noqa: E402
from elicitation.services.retention import carry_out, order  # noqa: E402
from tests.audit import exported  # noqa: E402
from tests.audit import pruned as pruning  # noqa: E402

TENANTS = ("acme", "globex")
#: Microseconds that a database, a dump or a spelling could lose.
EDGES = (0, 1, 10, 500_000, 999_999)


def write(count: int) -> None:
    """So many entries for each tenant, with every edge of the clock among them, unsealed."""
    begin = LedgerEntry.objects.count()
    for tenant in TENANTS:
        for number in range(begin, begin + count):
            at = datetime(2026, 12, 31, 23, 59, 59, EDGES[number % len(EDGES)], UTC) + timedelta(seconds=number)
            exported.entry(number, tenant=tenant, at=at).save(force_insert=True)


def make() -> dict[str, Any]:
    """Logs that are sealed under several checkpoints, exported, and one of them pruned; and some entries more."""
    call_command("migrate", verbosity=0)
    for _ in range(2):
        write(400)
        exported.seal_everything()
    pruning.exported()
    pruning.prune(512)
    write(3)
    return look()


def look() -> dict[str, Any]:
    """How the logs stand, and the lines of an export under each one's last checkpoint."""
    at = timezone.now()
    for log in Log.objects.all():
        nightly.request(log, at)
    while nightly.verify(at, 60):
        pass
    return {
        "version": connection.get_database_version()[0],
        "guards": [*triggers.missing(connection), *wording.missing(connection)],
        "logs": {log.tenant: _standing(log) for log in Log.objects.filter(tenant__in=TENANTS)},
        "entries": LedgerEntry.objects.count(),
    }


def _standing(log: Log) -> dict[str, Any]:
    checkpoints = list(Checkpoint.objects.filter(log=log).order_by("size"))
    with TemporaryDirectory() as folder:
        _, content = exported.whole(log, Format.JSONL)
        kept = tuple(parse_checkpoint(parse_note(row.note).text) for row in checkpoints if row.size >= log.pruned)
        verdict = exported.judged(content, log, Path(folder), kept).verdict
    lines = content.splitlines(keepends=True)[1:-1]
    return {
        "night": [log.verdict, log.verdict_leaf],
        "export": verdict,
        "lines": [len(lines), hashlib.sha256(b"".join(lines)).hexdigest()],
        "size": log.size,
        "pruned": log.pruned,
        "notes": [row.note for row in checkpoints],
        "root": tree.root(log, log.size).hex(),
    }


def go_on() -> dict[str, Any]:
    """More is written and sealed, and what was pruned before does not stand in the way of pruning more."""
    before = {log.tenant: log for log in Log.objects.filter(tenant__in=TENANTS)}
    roots = {tenant: tree.root(log, log.size) for tenant, log in before.items()}
    write(300)
    exported.seal_everything()
    consistent = {}
    for log in Log.objects.filter(tenant__in=TENANTS):
        old = before[log.tenant]
        proof = tree.consistency(log, old.size, log.size)
        grown = log.size - old.size
        root = tree.root(log, log.size)
        consistent[log.tenant] = [grown, verify_consistency(old.size, roots[log.tenant], log.size, root, proof)]
    ready = retention_role.is_ready(connection)
    pruning.exported()
    carry_out(order(retention.plan(Log.objects.get(tenant="acme"), 768), actors.shell()))
    exports.seal_all()
    unsealed = LedgerEntry.objects.extra(where=["id NOT IN (SELECT entry_id FROM audit_leaf)"]).count()
    return look() | {"consistent": consistent, "unsealed": unsealed, "ready": ready}


if __name__ == "__main__":
    verbs = {"make": make, "look": look, "go_on": go_on}
    sys.stdout.write(json.dumps(verbs[sys.argv[1]]()))
