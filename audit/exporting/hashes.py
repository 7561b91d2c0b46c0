"""The hashes that stand for leaves which an export leaves out, from the stored tree and from rebuilt lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from audit.exporting import rows
from audit.models import Log
from audit.tree import WIDTH, subtrees
from audit.verify import HASH_BYTES, Edge, Stretch, blocks, leaf_hash

#: Blocks of ``WIDTH`` leaves.
_KEPT: Final = 4
#: Stands for a leaf whose entry is gone. It is nobody's hash, so the export does not verify.
_GONE: Final = bytes(HASH_BYTES)
_INDEX: Final = re.compile(rb'(?:\{"index":)?(\d+)')


def index_of(row: bytes) -> int:
    """The leaf of a line, or of a row of CSV."""
    found = _INDEX.match(row)
    assert found is not None  # every statement of ours begins with it
    return int(found[1])


class Hashes:
    """The hashes of one log up to ``size`` leaves; keeps those of the few blocks that it saw last."""

    def __init__(self, log: Log, size: int) -> None:
        self._log, self._size = log, size
        self._blocks: dict[int, list[bytes]] = {}

    def stretch(self, start: int, stop: int) -> Stretch:
        """Leaves ``start`` to ``stop - 1`` as they are left out."""
        return Stretch(start, stop, self.between(start, stop))

    def between(self, start: int, stop: int) -> tuple[bytes, ...]:
        """The hashes of the complete subtrees that leaves ``start`` to ``stop - 1`` decompose into."""
        first, last = -(-start // WIDTH) * WIDTH, stop // WIDTH * WIDTH
        if first >= last:
            return tuple(self._rebuilt(start, stop))
        return (*self._rebuilt(start, first), *subtrees(self._log, first, last), *self._rebuilt(last, stop))

    def learn(self, block: int, lines: Iterable[bytes]) -> None:
        """Take the lines of a block, read for something else, so that they are not read again."""
        first = block * WIDTH
        found = {index_of(line): leaf_hash(line) for line in lines}
        while len(self._blocks) >= _KEPT:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[block] = [found.get(leaf, _GONE) for leaf in range(first, min(first + WIDTH, self._size))]

    def _rebuilt(self, start: int, stop: int) -> Iterator[bytes]:
        """Those of subtrees that are smaller than a block."""
        for level, number in blocks(start, stop):
            block, at = divmod(number << level, WIDTH)
            edge = Edge()
            edge.extend(self._leaves(block)[at : at + (1 << level)])
            yield edge.root()

    def _leaves(self, block: int) -> list[bytes]:
        if block not in self._blocks:
            first = block * WIDTH
            read = rows.lines(self._log, first, min(first + WIDTH, self._size))
            self.learn(block, (line for batch in read for line in batch))
        return self._blocks[block]
