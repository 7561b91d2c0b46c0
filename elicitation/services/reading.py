"""Reading a log's lines as they are, without a file: that it was done is on the ledger, too."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import transaction

from audit.ledger import Entry, append
from audit.models import LedgerEntry, Log
from elicitation.services import clock
from elicitation.services.actors import Actor

#: Of one reader it is told so often, and not each time: whoever follows the log reads that, too.
TOLD_EVERY: Final = timedelta(hours=1)
#: A reader is looked for among so many of the last exports and readings.
_LAST: Final = 50


def note(log: Log, by: Actor) -> None:
    """Put on the record that ``by`` reads the lines of ``log``: an export that no row of ours describes."""
    now = clock.now()
    exported = LedgerEntry.objects.filter(tenant=log.tenant, event="exported").order_by("-pk")
    last = exported.values_list("related_id", "actor_kind", "actor_id", "at")[:_LAST]
    if any(said[:3] == (None, by.kind, by.id) and now - TOLD_EVERY < said[3] <= now for said in last):
        return
    with transaction.atomic():
        append(now, Entry(tenant=log.tenant, event="exported", actor_kind=by.kind, actor_id=by.id, role=by.role))
