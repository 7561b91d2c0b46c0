"""The walk over the leaves of a log: what is shown, row by row, and what is left out before it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from django.db import connection

from audit.exporting import rows
from audit.exporting.hashes import Hashes, index_of
from audit.exporting.selection import Selection
from audit.models import Leaf, LedgerEntry, Log
from audit.tree import WIDTH
from audit.verify import Stretch

#: Leaves among which one statement looks for those that are selected.
_WINDOW: Final = 50_000
#: Blocks that are read together where neighbouring ones hold something.
_TOGETHER: Final = 16


@dataclass(frozen=True, slots=True)
class Step:
    """Rows that follow one another, and what is left out before the first. ``after`` is the leaf to go on from.

    Only the last step of a walk may be without rows.
    """

    left_out: Stretch | None
    rows: list[bytes]
    after: int


@dataclass(frozen=True, slots=True)
class Walk:
    """Leaves ``0`` to ``size - 1`` of ``log``, as lines, or as rows of CSV when ``table``."""

    log: Log
    size: int
    selection: Selection
    table: bool

    @property
    def gaps(self) -> bool:
        """Whether something may be left out."""
        return bool(self.selection.as_json() or self.log.pruned)

    def steps(self, start: int) -> Iterator[Step]:
        """From leaf ``start`` on, where an earlier walk has come to."""
        hashes = Hashes(self.log, self.size)
        first = min(max(start, self.log.pruned, self.selection.from_size or 0), self.size)
        return self._some(hashes, start, first) if self.selection.by_entry else self._all(hashes, start, first)

    def _all(self, hashes: Hashes, start: int, first: int) -> Iterator[Step]:
        """All leaves from ``first`` on. A jump between them is an entry that is missing, and stays a jump."""
        # Told before the rows are read: while they come, the connection takes no other statement.
        left_out = hashes.stretch(start, first) if start < first else None
        if self.table:
            batches = rows.table_rows(self.log, first, self.size, wider=self.gaps)
        else:
            batches = rows.lines(self.log, first, self.size)
        for batch in batches:
            yield Step(left_out, batch, index_of(batch[-1]) + 1)
            left_out = None
        if left_out:
            yield Step(left_out, [], self.size)

    def _some(self, hashes: Hashes, position: int, first: int) -> Iterator[Step]:
        """The selected ones of the leaves from ``first`` on, and what is left out before each."""
        for run in self._picked(hashes, first):
            leaf, after = index_of(run[0]), index_of(run[-1]) + 1
            yield Step(hashes.stretch(position, leaf) if position < leaf else None, run, after)
            position = after
        if position < self.size:
            yield Step(hashes.stretch(position, self.size), [], self.size)

    def _picked(self, hashes: Hashes, start: int) -> Iterator[list[bytes]]:
        """Runs of neighbouring leaves among the selected ones, in order."""
        for blocks in _neighbours(groupby(self._selected(start), lambda leaf: leaf // WIDTH)):
            first, last = min(blocks), max(blocks)
            batches = rows.lines(self.log, first * WIDTH, min((last + 1) * WIDTH, self.size))
            lines = {index_of(line): line for batch in batches for line in batch}
            for block, leaves in blocks.items():
                span = range(block * WIDTH, (block + 1) * WIDTH)
                hashes.learn(block, (lines[leaf] for leaf in span if leaf in lines))
                shown = [lines[leaf] for leaf in leaves if leaf in lines]
                if self.table:
                    shown = [row for batch in rows.picked_table_rows(self.log, leaves, wider=True) for row in batch]
                yield from _runs(shown)

    def _selected(self, start: int) -> Iterator[int]:
        """The selected leaves, in order. Those of one elicitation are few, and one statement finds them by an index."""
        window = self.size if self.selection.elicitation_id else _WINDOW
        where, parameters = self.selection.where()
        statement = f"""
SELECT l."index" FROM {Leaf._meta.db_table} l JOIN {LedgerEntry._meta.db_table} e ON e.id = l.entry_id
WHERE l.log_id = %s AND l."index" >= %s AND l."index" < %s AND {where} ORDER BY l."index"
"""  # noqa: S608 - made of our own tables and columns
        for first in range(start, self.size, window):
            with connection.cursor() as cursor:
                cursor.execute(statement, [self.log.pk, first, min(first + window, self.size), *parameters])
                found = [leaf for (leaf,) in cursor.fetchall()]
            yield from found


def _neighbours(grouped: Iterable[tuple[int, Iterable[int]]]) -> Iterator[dict[int, list[int]]]:
    """Blocks that follow one another, up to ``_TOGETHER``, each with its selected leaves."""
    together: dict[int, list[int]] = {}
    for block, leaves in grouped:
        if together and (block - 1 not in together or len(together) == _TOGETHER):
            yield together
            together = {}
        together[block] = list(leaves)
    if together:
        yield together


def _runs(shown: list[bytes]) -> Iterator[list[bytes]]:
    """Cuts rows where leaves between them are left out."""
    run: list[bytes] = []
    for row in shown:
        if run and index_of(row) != index_of(run[-1]) + 1:
            yield run
            run = []
        run.append(row)
    if run:
        yield run
