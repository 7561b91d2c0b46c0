"""Sealing: each entry becomes the next leaf of its tenant's log, and each log's new size and root are signed."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache, reduce
from itertools import groupby
from operator import itemgetter, or_
from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from audit import line, note, tree
from audit.horizon import TABLE, Horizon, present
from audit.models import Checkpoint, Hourly, Leaf, Log, Mark, Subtree
from audit.signals import About, observe_again
from audit.verify import Edge, leaf_hash

#: Entries at a time, of one pass, and how long it goes on: SQLite's only writer must not hold up the others.
BATCH: Final = 5_000
MOST: Final = {"postgresql": 50_000, "sqlite": 2_000}
SECONDS: Final = 2.0

_MARK: Final = 1

#: Whether entry ``e`` is a leaf ``l``: of its own tenant's log, and where that has leaves. A bracket is to be closed.
IS_LEAF: Final = f"""EXISTS (
SELECT 1 FROM {Leaf._meta.db_table} l JOIN {Log._meta.db_table} g ON g.id = l.log_id
WHERE l.entry_id = e.id AND g.tenant = e.tenant AND l."index" >= g.pruned AND l."index" < g.size"""  # noqa: S608

#: Tenant, number and the line behind its beginning.
_New = tuple[str, int, str]


def seal(at: datetime) -> int:
    """Seal what has been committed and is not sealed: one bounded pass, as one transaction.

    1. Take the mark. Only sealers hold it; while another one does, there is nothing to do.
    2. Read which number was given out last, and then which transactions may hold smaller ones.
    3. Take the entries that are not leaves yet, in the order of their numbers, by statements that each see what is
       committed by then; make them the next leaves, and count them by the hour.
    4. Sign the new size and root of each log that grew.
    5. Move the mark. What a transaction of step 2 commits later lies above the number that is kept with it.

    Returns how many entries were sealed. Touches no entry, and waits for nobody who appends. Raises
    ``ImproperlyConfigured`` without a key.
    """
    ring = keys()
    if not Mark.objects.filter(pk=_MARK).exists():
        Mark.objects.bulk_create([Mark(pk=_MARK)], ignore_conflicts=True)
    stops = time.monotonic() + SECONDS
    with transaction.atomic():
        mark = Mark.objects.select_for_update(skip_locked=True).filter(pk=_MARK).first()
        if mark is None:
            return 0
        now = present()
        horizon = Horizon.of(mark, now)
        sealing, through = _Sealing(ring, at), horizon.start(now)
        most = MOST[connection.vendor]
        size = min(BATCH, most)
        while new := _above(through, size):
            sealing.add(new)
            through = new[-1][1]
            most -= len(new)
            if len(new) < size or most <= 0 or time.monotonic() >= stops:
                break
        exhausted = len(new) < size
        sealing.sign()
        horizon.after(now, None if exhausted else through).keep(mark)
    return sealing.count


def seal_late(entries: Sequence[int], at: datetime) -> int:
    """Seal these entries, which the passes will not find any more. Waits for a pass that is under way.

    Returns how many were not sealed yet, and are now. Raises ``ImproperlyConfigured`` without a key.
    """
    ring = keys()
    with transaction.atomic():
        Mark.objects.select_for_update().filter(pk=_MARK).first()
        sealing = _Sealing(ring, at)
        sealing.add(_of(entries))
        sealing.sign()
    return sealing.count


def keys() -> Mapping[str, bytes]:
    """The seeds that sign, by key id, the current one first. Raises ``ImproperlyConfigured`` when there is none."""
    if not settings.DESK_LEDGER_KEYS:
        raise ImproperlyConfigured("DESK_LEDGER_KEYS is not set; nothing can be sealed without it.")
    ring: Mapping[str, bytes] = settings.DESK_LEDGER_KEYS
    return ring


def is_intact(log: Log) -> bool:
    """Whether the log stands where its last checkpoint says: a log signs nothing that contradicts what it signed.

    Nor what stands where it has no leaves, not yet or not any more: no sealer wrote that.
    """
    last = Checkpoint.objects.filter(log=log).order_by("-size").first()
    try:
        edge = Edge.from_bytes(log.size, bytes(log.edge))
    except ValueError:
        return False
    beyond = (Q(level=level, number__gte=edge.size // tree.WIDTH**level) for level in range(1, 8))
    if (
        Leaf.objects.filter(Q(index__gte=edge.size) | Q(index__lt=log.pruned), log=log).exists()
        or Subtree.objects.filter(reduce(or_, beyond), log=log).exists()
    ):
        return False
    if last is None:
        return edge.size == 0
    return (last.size, bytes(last.root)) == (edge.size, edge.root())


class _Sealing:
    """One transaction's sealing. The caller holds the mark."""

    def __init__(self, ring: Mapping[str, bytes], at: datetime) -> None:
        self.ring, self.at = ring, at
        self.count = 0
        self.grown: dict[str, _Growing | None] = {}

    def add(self, new: Sequence[_New]) -> None:
        """Make entries the next leaves of their logs, in this order. A log that is not intact gets none, nor one of
        which an entry stands as a leaf where no sealer put it."""
        sealed: list[int] = []
        for tenant, entries in groupby(sorted(new, key=itemgetter(0)), key=itemgetter(0)):
            if tenant not in self.grown:
                self.grown[tenant] = self.opened(tenant)
            growing = self.grown[tenant]
            if growing is None or growing.stuck:
                continue
            try:
                with transaction.atomic():
                    sealed += growing.add(list(entries))
            except IntegrityError:
                growing.stuck = True
                self.tell(growing.log)
        if sealed:
            _count_hours(sealed)
            self.count += len(sealed)

    def opened(self, tenant: str) -> _Growing | None:
        origin = f"{urlsplit(settings.DESK_BASE_URL).netloc}/{tenant}"
        log, _ = Log.objects.get_or_create(tenant=tenant, defaults={"origin": origin})
        if is_intact(log):
            return _Growing(log)
        self.tell(log)
        return None

    def tell(self, log: Log) -> None:
        observe_again("ledger_broken", About(log.tenant, f"log-{log.pk}"), log.sealed_at or self.at, self.at)

    def sign(self) -> None:
        """Sign what grew."""
        for growing in self.grown.values():
            if growing is not None and growing.edge.size > growing.log.size:
                growing.sign(self.ring, self.at)


class _Growing:
    """A log that grows. Its row and its checkpoint are written at the end."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.edge = Edge.from_bytes(log.size, bytes(log.edge))
        self.stuck = False

    def add(self, entries: Sequence[_New]) -> list[int]:
        """Write the next leaves, and the subtrees that they complete. Returns the entries' numbers. Raises
        ``IntegrityError``, and then has not grown."""
        start, numbers = self.edge.size, [number for _, number, _ in entries]
        hashes = [leaf_hash(line.beginning(index) + rest.encode()) for index, (_, _, rest) in enumerate(entries, start)]
        _write_leaves(self.log.pk, start, numbers)
        Subtree.objects.bulk_create(
            Subtree(log=self.log, level=node.level, number=node.number, hash=node.hash)
            for node in tree.grow(self.edge, hashes)
        )
        return numbers

    def sign(self, ring: Mapping[str, bytes], at: datetime) -> None:
        log, size, root = self.log, self.edge.size, self.edge.root()
        signed = note.sign(note.checkpoint_text(log.origin, size, root), log.origin, ring)
        Checkpoint.objects.create(log=log, size=size, root=root, at=at, note=signed)
        Log.objects.filter(pk=log.pk).update(size=size, edge=self.edge.to_bytes(), sealed_at=at)


def _above(number: int, most: int) -> list[_New]:
    """Entries above ``number`` that are not leaves yet, in the order of their numbers."""
    # The second bound keeps the planner from reading every leaf there is.
    clause = f"NOT {IS_LEAF} AND l.entry_id > %s) AND e.id > %s ORDER BY e.id LIMIT %s"
    return _select(clause, [number, number, most])


def _of(entries: Sequence[int]) -> list[_New]:
    among, value = _among(entries)
    return _select(f"NOT {IS_LEAF}) AND e.id {among} ORDER BY e.id", [value])


@cache
def _columns() -> str:
    return "e.tenant, e.id, " + line.expression(connection.vendor, "e").replace("%", "%%")


def _select(clause: str, values: list[Any]) -> list[_New]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {_columns()} FROM {TABLE} e WHERE {clause}", values)  # noqa: S608
        found: list[_New] = cursor.fetchall()
        return found


def _among(numbers: Sequence[int]) -> tuple[str, Any]:
    """A condition on a number, and its value."""
    if connection.vendor == "postgresql":
        return "= ANY(%s::bigint[])", _array(numbers)
    return "IN (SELECT value FROM json_each(%s))", json.dumps(numbers)


def _array(numbers: Sequence[int]) -> str:
    """PostgreSQL's spelling; the driver's own looks at each number."""
    return f"{{{','.join(map(str, numbers))}}}"


def _write_leaves(log: int, start: int, numbers: Sequence[int]) -> None:
    insert = f'INSERT INTO {Leaf._meta.db_table} (log_id, "index", entry_id)'
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            rows = "SELECT %s, %s + place - 1, number FROM unnest(%s::bigint[]) WITH ORDINALITY AS t(number, place)"
            cursor.execute(f"{insert} {rows}", [log, start, _array(numbers)])
        else:
            leaves = [(log, index, number) for index, number in enumerate(numbers, start)]
            cursor.executemany(f"{insert} VALUES (%s, %s, %s)", leaves)


_COUNTED: Final = "tenant, hour, event, outcome, rule, provider, client_id"
_HOUR: Final = {"postgresql": "date_trunc('hour', at, 'UTC')", "sqlite": "substr(at, 1, 13) || ':00:00'"}


def _count_hours(numbers: Sequence[int]) -> None:
    """Count the entries of these numbers by hour and kind."""
    table, (among, value) = Hourly._meta.db_table, _among(numbers)
    statement = f"""
INSERT INTO {table} ({_COUNTED}, count)
SELECT tenant, {_HOUR[connection.vendor]}, event, outcome, rule, provider, coalesce(client_id, 0), count(*)
FROM {TABLE} WHERE id {among} GROUP BY 1, 2, 3, 4, 5, 6, 7
ON CONFLICT ({_COUNTED}) DO UPDATE SET count = {table}.count + excluded.count"""  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(statement, [value])
