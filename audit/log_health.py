"""How a log stands: sealed and witnessed up to where, what is not sealed yet, and what the last verification found."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db import connection
from django.db.models import Max

from audit.horizon import TABLE
from audit.models import Leaf, Log, Mark
from audit.seal import IS_LEAF, is_intact

#: Unsealed entries are counted to here and no further, and looked for among so many.
MOST_COUNTED: Final = 10_000
_MOST_SEEN: Final = 50_000


@dataclass(frozen=True, slots=True)
class Progress:
    """A verification under way: leaves ``done`` of ``size``."""

    done: int
    size: int


@dataclass(frozen=True, slots=True)
class LogHealth:
    """``unsealed`` entries at least; exactly so many unless ``unsealed_more``. ``witness_problem`` is a code."""

    tenant: str
    origin: str
    sealed_size: int
    sealed_at: datetime | None
    witnessed_size: int
    witnessed_at: datetime | None
    witness_problem: str
    unsealed: int
    unsealed_more: bool
    pruned: int
    verified_size: int
    verified_at: datetime | None
    verdict: Log.Verdict
    verdict_leaf: int | None
    verifying: Progress | None
    verify_due: bool


def health(log: Log) -> LogHealth:
    """How ``log`` stands now; costs the unsealed tail."""
    unsealed, more = _unsealed(log)
    under_way = log.verifying_from is not None and log.verifying_to is not None
    return LogHealth(
        tenant=log.tenant,
        origin=log.origin,
        sealed_size=log.size,
        sealed_at=log.sealed_at,
        witnessed_size=log.witnessed_size,
        witnessed_at=log.witnessed_at,
        witness_problem=log.witness_problem,
        unsealed=unsealed,
        unsealed_more=more,
        pruned=log.pruned,
        verified_size=log.verified_size,
        verified_at=log.verified_at,
        verdict=Log.Verdict(log.verdict),
        verdict_leaf=log.verdict_leaf,
        verifying=Progress(log.verifying_from or 0, log.verifying_to or 0) if under_way else None,
        verify_due=log.verify_due_at is not None,
    )


def newest_seal_age(at: datetime) -> timedelta | None:
    """How long ago anything was sealed last; ``None`` when nothing ever was."""
    last: datetime | None = Log.objects.aggregate(last=Max("sealed_at"))["last"]
    return None if last is None else at - last


def _unsealed(log: Log) -> tuple[int, bool]:
    """How many entries of the tenant are not sealed yet, and whether there may be more."""
    through = _sealed_through(log)
    seen = f"SELECT tenant FROM {TABLE} e WHERE e.id > %s AND NOT {IS_LEAF} AND l.entry_id > %s) ORDER BY id LIMIT %s"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*), count(CASE WHEN tenant = %s THEN 1 END) FROM ({seen}) AS seen",  # noqa: S608
            [log.tenant, through, through, _MOST_SEEN],
        )
        among, ours = cursor.fetchone()
    return min(ours, MOST_COUNTED), ours > MOST_COUNTED or among == _MOST_SEEN


def _sealed_through(log: Log) -> int:
    """The number of an entry up to which all are sealed. The sealer's mark is passed by what a log did not take that
    is not intact."""
    mark = Mark.objects.first()
    if mark is None or is_intact(log):
        return mark.through if mark else 0
    last = (
        Leaf.objects.filter(log=log, index__lt=log.size).order_by("-index").values_list("entry_id", flat=True).first()
    )
    return min(mark.through, last or 0)
