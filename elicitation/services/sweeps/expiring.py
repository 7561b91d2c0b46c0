"""The sweep that makes the deadlines' moves."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from django.db import DatabaseError, connection, transaction
from django.db.models import BooleanField, F, Func, QuerySet

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import LIVE
from elicitation.services import actors, clock, deliveries, refusals
from elicitation.services.lookup import RELATED
from elicitation.services.move import Superseded, expire_if_due
from elicitation.services.move_many import expire_many
from elicitation.services.sweeps.heartbeat import beat

#: Entries in one transaction: by one statement, and by the ORM, which holds SQLite's only writing lock meanwhile.
BATCH: Final = 2000
ORM_BATCH: Final = 200
#: Where one pass ends although more is due; the next one goes on.
MOST: Final = 200_000
SECONDS: Final = 20.0
#: Closed refusals and forgotten deliveries in one pass.
UPKEEP: Final = 500

#: With the values in its text, as in the condition of the index: SQLite does not see through parameters.
_IS_LIVE: Final = Func(
    F("state"),
    template=f"%(expressions)s IN ({', '.join(repr(str(state)) for state in sorted(LIVE))})",
    output_field=BooleanField(),
)

logger = logging.getLogger(__name__)


def expire(most: int = MOST) -> int:
    """Make the deadline's move of every entry that is due, and close the hour of refusals that have gone quiet.

    1. Entries with held evidence are moved one by one: they are rare, and their evidence must follow.
    2. All others, oldest deadline first, in batches: one statement each on PostgreSQL, one transaction each on
       SQLite. A row that another worker holds is left to it.
    3. A batch that fails is moved row by row; a row that fails is logged by its number and left for the next sweep.
    4. Write the closing entries of refusals, and forget old traces of deliveries.

    Returns how many entries were moved: about ``most`` at most, and what ``SECONDS`` allow. Touches nothing that is
    not overdue.
    """
    moved = _Pass(most).run()
    refusals.close_quiet(clock.now(), UPKEEP)
    deliveries.forget_old(UPKEEP)
    beat("expire", moved)
    return moved


class _Pass:
    """One bounded pass. ``since`` is how far it has come; ``failed`` are the rows that it does not try again.

    What moves a batch returns how many it found.
    """

    def __init__(self, most: int) -> None:
        self.most, self.stops = most, time.monotonic() + SECONDS
        self.moved = 0
        self.since: datetime | None = None
        self.failed: set[int] = set()

    def run(self) -> int:
        if connection.vendor == "postgresql":
            self.one_by_one(self.due(UPKEEP, held_evidence=True))
            self.repeat(self.by_statement, BATCH)
        else:
            self.repeat(self.together, ORM_BATCH)
        return self.moved

    def repeat(self, move_some: Callable[[int], int], size: int) -> None:
        """Until a batch finds fewer than it may take, or can do nothing: the rest is in another worker's hands."""
        while self.moved < self.most and time.monotonic() < self.stops:
            before, wanted = self.moved + len(self.failed), min(size, self.most - self.moved)
            found = move_some(wanted)
            if found < wanted or self.moved + len(self.failed) == before:
                break

    def by_statement(self, size: int) -> int:
        try:
            done = expire_many(size, since=self.since, without=self.failed)
        except DatabaseError:
            return self.one_by_one(self.due(size, held_evidence=False))
        self.moved += done.count
        self.since = done.until or self.since
        return done.count

    def together(self, size: int) -> int:
        batch = self.due(size)
        try:
            with transaction.atomic():
                moved = sum([_expire_locked(pk) for pk in batch])
        except Exception:
            return self.one_by_one(batch)
        self.moved += moved
        return len(batch)

    def one_by_one(self, batch: list[int]) -> int:
        for pk in batch:
            try:
                with transaction.atomic():
                    moved = _expire_locked(pk)
            except Superseded:
                continue  # an event came first
            except Exception:
                logger.exception("an entry could not be expired", extra={"elicitation": pk})
                self.failed.add(pk)
            else:
                self.moved += moved
        return len(batch)

    def due(self, size: int, **only: bool) -> list[int]:
        """The numbers of overdue entries that have not failed yet, oldest deadline first."""
        entries = overdue().filter(**only).exclude(pk__in=self.failed)
        return list(entries.order_by("deadline").values_list("pk", flat=True)[:size])


def overdue() -> QuerySet[Elicitation]:
    """What is due by the database's clock."""
    return Elicitation.objects.filter(_IS_LIVE, deadline__lte=clock.now())


def _expire_locked(pk: int) -> int:
    """Move one entry unless another worker holds it. Returns how many moved. To be called in a transaction."""
    found = Elicitation.objects.select_for_update(skip_locked=True, of=("self",)).select_related(*RELATED)
    entry = found.filter(pk=pk).first()
    return int(entry is not None and expire_if_due(entry, actors.SCHEDULER, clock.now()))
