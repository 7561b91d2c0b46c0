"""A service's feed of completed entries: at least once, and never skipping one that commits late.

An entry gets its place when the feed is read, not when it completes: whatever a reader cannot see yet comes later.
"""

from __future__ import annotations

from typing import Final

from django.db import transaction

from elicitation.models import Elicitation, Service
from elicitation.policy.lifecycle import State

#: Places given in one reading; more wait for the next.
BATCH: Final = 500


def after(service: Service, cursor: int, limit: int) -> list[Elicitation]:
    """Completed entries of ``service`` with a place beyond ``cursor``, in order, at most ``limit``."""
    unfed = Elicitation.objects.filter(service=service, state=State.COMPLETE, feed_index=None)
    if unfed.exists():
        _give_places(service)
    return list(Elicitation.objects.filter(service=service, feed_index__gt=cursor).order_by("feed_index")[:limit])


def _give_places(service: Service) -> None:
    """One reader of a service at a time; a place once given never changes."""
    with transaction.atomic():
        locked = Service.objects.select_for_update().get(pk=service.pk)
        unfed = Elicitation.objects.filter(service=service, state=State.COMPLETE, feed_index=None)
        last = locked.feed_last
        for pk in unfed.order_by("completed_at", "pk").values_list("pk", flat=True)[:BATCH]:
            last += 1
            Elicitation.objects.filter(pk=pk, feed_index=None).update(feed_index=last)
        Service.objects.filter(pk=locked.pk).update(feed_last=last)
