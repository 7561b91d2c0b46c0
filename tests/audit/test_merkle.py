"""The tree: the published vectors, every proof of every small tree, and an implementation that others wrote."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pymerkle
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.merkle import consistency_proof, inclusion_proof
from audit.verify import (
    EMPTY_ROOT,
    Edge,
    blocks,
    leaf_hash,
    node_hash,
    verify_consistency,
    verify_inclusion,
)

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "vectors" / "rfc6962.json").read_text())
LEAVES = [leaf_hash(bytes.fromhex(leaf)) for leaf in PUBLISHED["leaves"]]
ROOTS = [bytes.fromhex(root) for root in PUBLISHED["roots"]]
MOST = 300
MANY = [leaf_hash(b"leaf %d" % index) for index in range(MOST)]
SIZES = st.integers(0, MOST)


@cache
def tree_hash(start: int, stop: int) -> bytes:
    """MTH(D[start:stop]) as the RFC defines it."""
    if stop - start < 2:
        return MANY[start] if stop > start else EMPTY_ROOT
    left = 1
    while 2 * left < stop - start:
        left *= 2
    return node_hash(tree_hash(start, start + left), tree_hash(start + left, stop))


def published_hash(start: int, stop: int) -> bytes:
    edge = Edge()
    edge.extend(LEAVES[start:stop])
    return edge.root()


def hashes(encoded: list[str]) -> list[bytes]:
    return [bytes.fromhex(each) for each in encoded]


def root(size: int) -> bytes:
    return tree_hash(0, size)


def test_leaves_and_roots_are_the_published_ones() -> None:
    assert [leaf.hex() for leaf in LEAVES] == PUBLISHED["leaf_hashes"]
    assert [published_hash(0, size) for size in range(9)] == ROOTS
    assert ROOTS[0] == EMPTY_ROOT


@pytest.mark.parametrize("vector", PUBLISHED["inclusion"], ids=lambda vector: f"{vector['index']} of {vector['size']}")
def test_inclusion_proofs_are_the_published_ones(vector: dict[str, Any]) -> None:
    index, size, proof = vector["index"], vector["size"], hashes(vector["proof"])
    assert inclusion_proof(index, size, published_hash) == proof
    assert verify_inclusion(LEAVES[index], index, size, proof, ROOTS[size])


@pytest.mark.parametrize("vector", PUBLISHED["consistency"], ids=lambda vector: f"{vector['old']} to {vector['new']}")
def test_consistency_proofs_are_the_published_ones(vector: dict[str, Any]) -> None:
    old, new, proof = vector["old"], vector["new"], hashes(vector["proof"])
    assert consistency_proof(old, new, published_hash) == proof
    assert verify_consistency(old, ROOTS[old], new, ROOTS[new], proof)


def test_every_leaf_of_every_small_tree_is_proven_to_be_in_it() -> None:
    for size in range(1, MOST + 1):
        for index in range(size):
            assert verify_inclusion(MANY[index], index, size, inclusion_proof(index, size, tree_hash), root(size))


def test_every_small_tree_is_proven_to_begin_with_every_smaller_one() -> None:
    for new in range(MOST + 1):
        for old in range(new + 1):
            proof = consistency_proof(old, new, tree_hash)
            assert verify_consistency(old, root(old), new, root(new), proof)


@given(st.data(), st.integers(1, MOST))
def test_a_proof_shows_nothing_else(data: st.DataObject, size: int) -> None:
    """Another leaf, place or root, and any proof that is not the right one to the last byte."""
    index, other = (data.draw(st.integers(0, size - 1)) for _ in range(2))
    proof = inclusion_proof(index, size, tree_hash)
    assert verify_inclusion(MANY[other], index, size, proof, root(size)) == (other == index)
    assert verify_inclusion(MANY[index], other, size, proof, root(size)) == (other == index)
    assert not verify_inclusion(MANY[index], index, size, proof, leaf_hash(b"another"))
    for changed in mutations(data, proof):
        assert not verify_inclusion(MANY[index], index, size, changed, root(size))


@given(st.data(), st.integers(2, MOST))
def test_a_consistency_proof_shows_nothing_else(data: st.DataObject, new: int) -> None:
    old = data.draw(st.integers(1, new - 1))
    proof = consistency_proof(old, new, tree_hash)
    assert not verify_consistency(old, leaf_hash(b"another"), new, root(new), proof)
    assert not verify_consistency(old, root(old), new, leaf_hash(b"another"), proof)
    assert not verify_consistency(new, root(new), old, root(old), proof)
    for changed in mutations(data, proof):
        assert not verify_consistency(old, root(old), new, root(new), changed)


def mutations(data: st.DataObject, proof: list[bytes]) -> list[list[bytes]]:
    """The proof with a hash more, and, if it has any, one less, another one, or two that changed places."""
    changed = [[*proof, leaf_hash(b"more")], [leaf_hash(b"more"), *proof]]
    if proof:
        at = data.draw(st.integers(0, len(proof) - 1))
        flipped = bytes([proof[at][0] ^ 1]) + proof[at][1:]
        changed += [proof[:at] + proof[at + 1 :], [*proof[:at], flipped, *proof[at + 1 :]]]
    if len(proof) > 1:
        changed.append([*proof[1:], proof[0]])
    return changed


@pytest.mark.parametrize(("index", "size"), [(-1, 5), (5, 5), (0, 0), (7, 3)])
def test_no_leaf_outside_of_the_tree_is_proven(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="no such leaf"):
        inclusion_proof(index, size, tree_hash)
    assert not verify_inclusion(MANY[0], index, size, [], root(max(size, 1)))


def test_a_leaf_is_not_the_root_of_more_leaves_and_a_tree_not_that_of_a_larger_one() -> None:
    """However the root is chosen, a proof that ends too early shows nothing."""
    for size in (2, 3, 8):
        assert not verify_inclusion(MANY[0], 0, size, [], MANY[0])
        assert not verify_consistency(1, MANY[0], size, MANY[0], [])
    assert not verify_consistency(2, root(2), 4, root(2), [])
    assert not verify_inclusion(MANY[0], 0, 8, inclusion_proof(0, 4, tree_hash), root(4))
    assert not verify_consistency(2, root(2), 8, root(4), consistency_proof(2, 4, tree_hash))


def test_nothing_is_proven_of_sizes_that_cannot_be() -> None:
    for old, new in ((-1, 3), (4, 3)):
        with pytest.raises(ValueError, match="no earlier size"):
            consistency_proof(old, new, tree_hash)
        assert not verify_consistency(old, root(3), new, root(3), [])


def test_every_tree_begins_with_the_empty_one_and_with_itself() -> None:
    assert consistency_proof(0, 5, tree_hash) == consistency_proof(5, 5, tree_hash) == []
    assert verify_consistency(0, EMPTY_ROOT, 5, root(5), [])
    assert not verify_consistency(0, root(1), 5, root(5), [])
    assert not verify_consistency(0, EMPTY_ROOT, 5, root(5), [MANY[0]])
    assert verify_consistency(5, root(5), 5, root(5), [])
    assert not verify_consistency(5, root(4), 5, root(5), [])
    assert not verify_consistency(5, root(5), 5, root(5), [MANY[0]])


@given(st.lists(SIZES, max_size=5))
def test_an_edge_grows_to_the_same_root_in_whatever_steps(steps: list[int]) -> None:
    edge, stops = Edge(), sorted(steps)
    for start, stop in zip([0, *stops], stops, strict=False):
        edge = Edge.from_bytes(edge.size, edge.to_bytes())  # as it is between two seals
        if stop - start == 1:
            edge.append(MANY[start])
        else:
            edge.extend(iter(MANY[start:stop]))
        assert edge.root() == root(stop)
        assert len(edge.hashes) == stop.bit_count()


def test_an_edge_grows_over_more_leaves_than_are_folded_at_a_time() -> None:
    leaves = [leaf_hash(b"%d" % index) for index in range(5000)]
    one, all_at_once = Edge(), Edge()
    for leaf in leaves:
        one.append(leaf)
    all_at_once.extend(leaves)
    assert (one.size, one.hashes) == (all_at_once.size, all_at_once.hashes)


@given(st.tuples(SIZES, SIZES, SIZES).map(sorted))
def test_a_stretch_can_be_left_out_by_the_hashes_of_its_blocks(places: list[int]) -> None:
    first, second, size = places
    edge = Edge()
    edge.extend(MANY[:first])
    for level, index in blocks(first, second):
        edge.append_block(level, tree_hash(index << level, (index + 1) << level))
    edge.extend(MANY[second:size])
    assert edge.root() == root(size)


@given(st.tuples(SIZES, SIZES).map(sorted))
def test_blocks_are_aligned_and_follow_one_another(places: list[int]) -> None:
    start, stop = places
    at, levels = start, []
    for level, index in blocks(start, stop):
        assert index << level == at
        assert at + (2 << level) > stop or at % (2 << level), "a larger one would have fitted"
        at += 1 << level
        levels.append(level)
    assert at == stop
    assert len(levels) <= 2 * MOST.bit_length()


def test_a_block_begins_at_a_multiple_of_its_leaves() -> None:
    edge = Edge(2, [tree_hash(0, 2)])
    with pytest.raises(ValueError, match="multiple"):
        edge.append_block(2, tree_hash(0, 4))
    assert edge == Edge(2, [tree_hash(0, 2)])


@pytest.mark.parametrize(("size", "length"), [(3, 32), (3, 96), (0, 32), (4, 31), (-1, 0)])
def test_an_edge_has_one_hash_for_each_of_its_blocks(size: int, length: int) -> None:
    with pytest.raises(ValueError, match="one hash"):
        Edge.from_bytes(size, bytes(length))


def test_an_implementation_of_others_has_the_same_roots_and_accepts_our_proofs() -> None:
    """pymerkle lists a proof's own leaf first and counts leaves from 1; the rest is the path of RFC 6962."""
    tree = pymerkle.InmemoryTree(algorithm="sha256")
    for index in range(70):
        tree.append_entry(b"leaf %d" % index)
    for size in range(1, 71):
        assert tree.get_root(size) == root(size)
        for index in range(size):
            proof = tree.prove_inclusion(index + 1, size)
            proof.path = [MANY[index], *inclusion_proof(index, size, tree_hash)]
            pymerkle.verify_inclusion(MANY[index], root(size), proof, index=index + 1, size=size)
            proof.path = proof.path[::-1]
            if size > 1:
                with pytest.raises(pymerkle.InvalidProof):
                    pymerkle.verify_inclusion(MANY[index], root(size), proof)
