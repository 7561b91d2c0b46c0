"""The sweep that makes the deadlines' moves."""

from __future__ import annotations

import logging
from typing import Final

from django.db import transaction

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import LIVE
from elicitation.services import actors, clock, deliveries, refusals
from elicitation.services.lookup import RELATED
from elicitation.services.move import Superseded, expire_if_due
from elicitation.services.sweeps.heartbeat import beat

BATCH: Final = 500
MAX_BATCHES: Final = 20

logger = logging.getLogger(__name__)


def expire() -> int:
    """Make the deadline's move of every entry that is due, and close the hour of refusals that have gone quiet.

    1. Read the ids of due entries, oldest deadline first, a batch at a time.
    2. Move each in a transaction of its own; a row that another worker holds is left to it.
    3. A row that fails is logged by its number and left for the next sweep; it never stops the others.
    4. Write the closing entries of refusals, and forget old traces of deliveries.

    Returns how many entries were moved. Touches nothing that is not overdue.
    """
    moved, failed = 0, set[int]()
    for _ in range(MAX_BATCHES):
        due = (
            Elicitation.objects.filter(state__in=sorted(LIVE), deadline__lte=clock.now())
            .exclude(pk__in=failed)
            .order_by("deadline")
            .values_list("pk", flat=True)[:BATCH]
        )
        batch = list(due)
        for pk in batch:
            try:
                moved += _expire_one(pk)
            except Exception:
                logger.exception("an entry could not be expired", extra={"elicitation": pk})
                failed.add(pk)
        if len(batch) < BATCH:
            break
    refusals.close_quiet(clock.now(), BATCH)
    deliveries.forget_old(BATCH)
    beat("expire", moved)
    return moved


def _expire_one(pk: int) -> int:
    try:
        with transaction.atomic():
            entry = (
                Elicitation.objects.select_for_update(skip_locked=True, of=("self",))
                .select_related(*RELATED)
                .filter(pk=pk)
                .first()
            )
            return int(entry is not None and expire_if_due(entry, actors.SCHEDULER, clock.now()))
    except Superseded:
        return 0  # an event came first
