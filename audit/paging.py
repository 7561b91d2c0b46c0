"""The newest rows of a long table, page by page, with work that is bounded however long the table is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet

#: So many rows of each branch are looked through for one page.
LOOKED_THROUGH: Final = 20_000
#: So many branches are merged, each with a query or two of its own.
MERGED: Final = 200


@dataclass(frozen=True, slots=True)
class Reading:
    """How a list is read. Each of ``branches`` has its rows in the order of an index that ends with the primary key;
    no row is in two of them. ``rest`` is what no index serves: it is looked for among the newest rows of each."""

    branches: Sequence[QuerySet[Any]]
    rest: Q | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """One page: the primary keys, newest first. Rows with a smaller one than ``older`` may follow. ``looked_to`` is
    the row down to which was looked when that ended before the page was full."""

    numbers: list[int]
    older: int | None
    looked_to: int | None


def newest(reading: Reading, size: int, before: int | None = None, window: int = LOOKED_THROUGH) -> Part:
    """Up to ``size`` rows, those with a smaller primary key than ``before`` alone."""
    found: set[int] = set()
    floor: int | None = None
    for branch in reading.branches:
        rows = (branch if before is None else branch.filter(pk__lt=before)).order_by("-pk").values_list("pk", flat=True)
        if reading.rest is not None:
            last = rows[window - 1 : window].first()
            rows = rows.filter(reading.rest) if last is None else rows.filter(reading.rest, pk__gte=last)
        else:
            last = None
        mine = list(rows[: size + 1])
        found.update(mine)
        if last is not None and len(mine) <= size:
            floor = last if floor is None else max(floor, last)
    # Below the floor, one of the branches may have more.
    numbers = sorted((number for number in found if floor is None or number >= floor), reverse=True)
    if len(numbers) > size:
        return Part(numbers[:size], numbers[size - 1], None)
    return Part(numbers, floor, floor)
