"""What somebody does to the database of a running desk, in a process beside it: ``python -m tests.audit.filling fill
TENANT COUNT`` fills a log, ``… lose TENANT`` removes the newest entry that the last export of a log is to show."""

from __future__ import annotations

import os
import sys

import django


def fill(tenant: str, count: int) -> None:
    """Open ``tenant`` and write so many entries of one moment into its log, sealed."""
    from django.utils import timezone

    from audit.models import LedgerEntry
    from elicitation.services.parties import open_tenant
    from tests.audit.exported import entry, seal_everything

    now = timezone.now()
    open_tenant(tenant, tenant)
    entries = (entry(number, tenant=tenant, at=now) for number in range(count))
    LedgerEntry.objects.bulk_create(entries, batch_size=500)
    seal_everything()


def lose(tenant: str) -> None:
    """As an owner of the database can do it."""
    from audit.models import Export, Leaf, LedgerEntry
    from audit.triggers import LEDGER
    from tests.audit.pruned import tampering

    export = Export.objects.filter(log__tenant=tenant).latest("pk")
    newest = Leaf.objects.get(log_id=export.log_id, index=export.size - 1)
    with tampering(LEDGER):
        LedgerEntry.objects.filter(pk=newest.entry_id).delete()


if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    match sys.argv[1:]:
        case "fill", tenant, count:
            fill(tenant, int(count))
        case "lose", tenant:
            lose(tenant)
        case _:
            sys.exit(2)
