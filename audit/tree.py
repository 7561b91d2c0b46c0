"""The tree as it is stored: how it grows, and the roots and proofs out of it. Hashes of leaves are rebuilt from their
entries, those of whole subtrees are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from django.db import connection

from audit import line
from audit.merkle import TreeHash, consistency_proof, inclusion_proof
from audit.models import Leaf, LedgerEntry, Log, Subtree
from audit.verify import Edge, blocks, leaf_hash, node_hash

#: The leaves of a stored subtree are a power of this, 2**8.
WIDTH: Final = 256
_BITS: Final = 8
#: Ranges in one statement.
_RANGES: Final = 200


class NotKept(LookupError):
    """A leaf's entry is not there, because it was pruned or removed, or never was."""

    def __init__(self, leaf: int) -> None:
        super().__init__("the entry of a leaf is not kept")
        self.leaf = leaf


@dataclass(frozen=True, slots=True)
class Node:
    """The hash (32 bytes) of the ``number``-th complete subtree of ``WIDTH ** level`` leaves."""

    level: int
    number: int
    hash: bytes


def grow(edge: Edge, leaves: Sequence[bytes]) -> list[Node]:
    """Add leaves to ``edge`` by their hashes. Returns the subtrees to be stored that this completed, in order."""
    nodes: list[Node] = []
    taken = 0
    while taken < len(leaves):
        begun = edge.size % WIDTH
        part = leaves[taken : taken + WIDTH - begun]
        taken += len(part)
        if begun + len(part) < WIDTH:
            edge.extend(part)
            continue
        ours = len(edge.hashes) - begun.bit_count()
        block = Edge(begun, edge.hashes[ours:])
        block.extend(part)
        del edge.hashes[ours:]
        edge.size -= begun
        nodes += _carry(edge, block.root())
    return nodes


def _carry(edge: Edge, block: bytes) -> Iterator[Node]:
    """Add a block of ``WIDTH`` leaves by its hash."""
    level, number = 1, edge.size // WIDTH
    yield Node(level, number, block)
    while number % WIDTH == WIDTH - 1:
        for _ in range(_BITS):
            block = node_hash(edge.hashes.pop(), block)
        edge.size -= (WIDTH - 1) << _BITS * level
        level, number = level + 1, number // WIDTH
        yield Node(level, number, block)
    edge.append_block(_BITS * level, block)


def lines(log: Log, start: int, stop: int) -> list[bytes]:
    """The lines of leaves ``start`` to ``stop - 1``, in order. Raises ``NotKept``."""
    found = _lines(log, [(start, stop)])
    if len(found) != stop - start:
        raise NotKept(next(index for index in range(start, stop) if index not in found))
    return list(found.values())


def root(log: Log, size: int) -> bytes:
    """The root over the first ``size`` leaves. Raises ``NotKept``."""
    return _prove(log, lambda tree_hash: [tree_hash(0, size)])[0]


def edge(log: Log, size: int) -> Edge:
    """The edge of the first ``size`` leaves. Raises ``NotKept``."""
    return Edge(size, subtrees(log, 0, size))


def inclusion(log: Log, index: int, size: int) -> list[bytes]:
    """The audit path of leaf ``index`` in the tree of ``size`` leaves. Raises ``NotKept``, ``ValueError``."""
    return inclusions(log, [index], size)[0]


def inclusions(log: Log, indexes: Sequence[int], size: int) -> list[list[bytes]]:
    """The audit paths of several leaves, by few statements. Raises ``NotKept``, ``ValueError``."""
    hashes = _hashes_for(log, lambda tree_hash: [inclusion_proof(index, size, tree_hash) for index in indexes])
    return [inclusion_proof(index, size, hashes) for index in indexes]


def consistency(log: Log, old: int, new: int) -> list[bytes]:
    """That the tree of ``new`` leaves begins with the one of ``old``. Raises ``NotKept``, ``ValueError``."""
    return _prove(log, lambda tree_hash: consistency_proof(old, new, tree_hash))


def subtrees(log: Log, start: int, stop: int) -> list[bytes]:
    """The hashes of the complete subtrees that leaves ``start`` to ``stop - 1`` are cut into (``verify.blocks``).

    Raises ``NotKept``.
    """
    parts = [(index << level, (index + 1) << level) for level, index in blocks(start, stop)]
    return _prove(log, lambda tree_hash: [tree_hash(*part) for part in parts])


def _prove(log: Log, make: Callable[[TreeHash], list[bytes]]) -> list[bytes]:
    return make(_hashes_for(log, make))


def _hashes_for(log: Log, make: Callable[[TreeHash], object]) -> TreeHash:
    """The hashes that ``make`` asks for: which, does not depend on what they are, so all are read at once."""
    asked: set[tuple[int, int]] = set()

    def ask(start: int, stop: int) -> bytes:
        asked.add((start, stop))
        return b""

    make(ask)
    stored = _Stored(log, asked)
    return stored.tree_hash


class _Stored:
    """The hashes over some ranges of a log, each of which begins at a multiple of its largest subtree."""

    def __init__(self, log: Log, ranges: Iterable[tuple[int, int]]) -> None:
        leaves: set[tuple[int, int]] = set()
        nodes: dict[int, set[tuple[int, int]]] = {}
        for start, stop in ranges:
            for height, index in blocks(start, stop):
                level, wide = divmod(height, _BITS)
                part = (index << wide, (index + 1) << wide)
                (nodes.setdefault(level, set()) if level else leaves).add(part)
        self._leaves = {index: leaf_hash(text) for index, text in _lines(log, sorted(leaves)).items()}
        self._nodes = {level: _nodes(log, level, sorted(parts)) for level, parts in nodes.items()}

    def tree_hash(self, start: int, stop: int) -> bytes:
        """Raises ``NotKept``."""
        edge = Edge()
        for height, index in blocks(start, stop):
            level, wide = divmod(height, _BITS)
            known = self._nodes[level] if level else self._leaves
            block = Edge()
            for number in range(index << wide, (index + 1) << wide):
                if number not in known:
                    raise NotKept(number << _BITS * level)
                block.append(known[number])
            edge.hashes.append(block.root())
        return edge.root()


def _lines(log: Log, ranges: Sequence[tuple[int, int]]) -> dict[int, bytes]:
    """The lines of the leaves of these ranges, in their order, as far as the entries are there."""
    found = {}
    for index, text in _rows(_select_lines(), 'l."index"', log.pk, ranges):
        found[index] = line.beginning(index) + text.encode()
    return found


def _nodes(log: Log, level: int, ranges: Sequence[tuple[int, int]]) -> dict[int, bytes]:
    select = f"SELECT number, hash FROM {Subtree._meta.db_table} WHERE level = {level} AND log_id = %s"  # noqa: S608
    return {number: bytes(found) for number, found in _rows(select, "number", log.pk, ranges)}


@cache
def _select_lines() -> str:
    said = line.expression(connection.vendor, "e").replace("%", "%%")
    return f"""
SELECT l."index", {said}
FROM {Leaf._meta.db_table} l JOIN {LedgerEntry._meta.db_table} e ON e.id = l.entry_id
WHERE l.log_id = %s"""  # noqa: S608 - made of our own tables


def _rows(select: str, column: str, log: int, ranges: Collection[tuple[int, int]]) -> Iterator[tuple[int, Any]]:
    joined = list(_joined(ranges))
    with connection.cursor() as cursor:
        for at in range(0, len(joined), _RANGES):
            some = joined[at : at + _RANGES]
            among = " OR ".join([f"{column} >= %s AND {column} < %s"] * len(some))
            values = [edge for part in some for edge in part]
            cursor.execute(f"{select} AND ({among}) ORDER BY {column}", [log, *values])
            yield from cursor.fetchall()


def _joined(ranges: Collection[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted ranges, those that touch made one."""
    begun: tuple[int, int] | None = None
    for start, stop in ranges:
        if begun is not None and start <= begun[1]:
            begun = begun[0], max(stop, begun[1])
            continue
        if begun is not None:
            yield begun
        begun = start, stop
    if begun is not None:
        yield begun
