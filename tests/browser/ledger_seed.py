"""Fills a desk's logs, a small one and a large one, and asks for exports that have come to every end. Run by itself."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import django

#: Leaves of the large log: more than are exported while somebody waits.
LARGE = 20_200
SMALL = 700


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    django.setup()
    from django.contrib.auth.models import User
    from django.db import transaction
    from django.utils import timezone

    from audit.exporting.selection import Selection
    from audit.models import Export, Log
    from audit.verify import Format
    from elicitation.services import exports
    from elicitation.services.exports import Wanted
    from tests.audit.exported import ABOUT
    from tests.audit.filling import fill

    fill("acme", SMALL)
    fill("globex", LARGE)
    now, acme = timezone.now(), Log.objects.get(tenant="acme")
    auditor = User.objects.get(username="operator")

    def ended(format_: Format, selection: Selection, **standing: Any) -> None:
        """An export as it stands after what nobody can wait for in a test."""
        with transaction.atomic():
            export = exports.ask(acme, Wanted(format_, selection), exports.auditor(auditor.pk))
            Export.objects.filter(pk=export.pk).update(**standing)

    stopped = Export.Status.FAILED
    ended(Format.CSV, Selection(event="shown"), status=stopped, problem="disk_full", next_leaf=500, finished_at=now)
    ended(Format.JSONL, Selection(since=now - timedelta(days=1)), status=Export.Status.GONE, finished_at=now)
    later = now + timedelta(days=1)
    busy = {"status": Export.Status.RUNNING, "next_leaf": 280, "count": 40, "lease_until": later}
    ended(Format.OCSF, Selection(elicitation_id=ABOUT), **busy)


if __name__ == "__main__":
    main()
