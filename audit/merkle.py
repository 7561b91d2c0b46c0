"""Proofs out of an RFC 6962 tree: that an entry is in it, and that it begins with an earlier one."""

from __future__ import annotations

from collections.abc import Callable

#: The hash over leaves ``start`` to ``stop - 1``: MTH(D[start:stop]) of RFC 6962, section 2.1.
TreeHash = Callable[[int, int], bytes]


def inclusion_proof(index: int, size: int, tree_hash: TreeHash) -> list[bytes]:
    """The audit path of leaf ``index`` in the tree of ``size`` leaves, nearest sibling first (RFC 6962, 2.1.1).

    Raises ``ValueError`` when there is no such leaf.
    """
    if not 0 <= index < size:
        raise ValueError("no such leaf in a tree of this size")
    proof = []
    start, stop = 0, size
    while stop - start > 1:
        middle = start + _split(stop - start)
        if index < middle:
            proof.append(tree_hash(middle, stop))
            stop = middle
        else:
            proof.append(tree_hash(start, middle))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, tree_hash: TreeHash) -> list[bytes]:
    """That the tree of ``new`` leaves begins with the one of ``old`` (RFC 6962, 2.1.2); empty for 0 and for ``new``.

    Raises ``ValueError`` when ``old`` is no earlier size.
    """
    if not 0 <= old <= new:
        raise ValueError("no earlier size")
    if old in (0, new):
        return []
    proof = []
    start, stop = 0, new
    while stop != old:
        middle = start + _split(stop - start)
        if old <= middle:
            proof.append(tree_hash(middle, stop))
            stop = middle
        else:
            proof.append(tree_hash(start, middle))
            start = middle
    if start:
        proof.append(tree_hash(start, stop))
    return proof[::-1]


def _split(leaves: int) -> int:
    """How many of ``leaves``, more than one, the left subtree holds: the largest power of two below."""
    return 1 << ((leaves - 1).bit_length() - 1)
