"""A service's feed of completed entries: at least once, and never skipping one that commits late.

An entry gets its place when the feed is read, not when it completes: whatever a reader cannot see yet comes later.
A reader may begin at the end: nothing that completes afterwards is missing there.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.db.models import QuerySet

from elicitation.models import Elicitation, Service
from elicitation.policy.lifecycle import State

#: Places given in one transaction; more wait for the next reading.
BATCH: Final = 500
#: Batches given when the end is asked for, before it is told as it then is.
BATCHES_TO_THE_END: Final = 20


def after(service: Service, cursor: int, limit: int) -> list[Elicitation]:
    """Completed entries of ``service`` with a place beyond ``cursor``, in order, at most ``limit``."""
    if _unfed(service).exists():
        _give_places(service)
    return list(Elicitation.objects.filter(service=service, feed_index__gt=cursor).order_by("feed_index")[:limit])


def end(service: Service) -> int:
    """The place after which everything is yet to come: each entry that is not complete now gets a later one.

    What is complete and has no place gets one first, in bounded steps; where that is not enough, the end comes before
    what is left, and a reader sees that too.
    """
    for _ in range(BATCHES_TO_THE_END):
        if not _unfed(service).exists():
            break
        _give_places(service)
    return Service.objects.values_list("feed_last", flat=True).get(pk=service.pk)


def _unfed(service: Service) -> QuerySet[Elicitation]:
    return Elicitation.objects.filter(service=service, state=State.COMPLETE, feed_index=None)


def _give_places(service: Service) -> None:
    """One reader of a service at a time; a place once given never changes."""
    with transaction.atomic():
        locked = Service.objects.select_for_update().get(pk=service.pk)
        rows = list(_unfed(service).order_by("completed_at", "pk").only("pk")[:BATCH])
        for place, row in enumerate(rows, start=locked.feed_last + 1):
            row.feed_index = place
        Elicitation.objects.bulk_update(rows, ["feed_index"])
        Service.objects.filter(pk=locked.pk).update(feed_last=locked.feed_last + len(rows))
