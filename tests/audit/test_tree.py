"""The stored tree: its roots and proofs are the standard's, and hold by a verifier that knows nothing of the desk."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from audit import tree
from audit.models import Log, Subtree
from audit.verify import Edge, verify_consistency, verify_inclusion
from tests.audit.sealed import leaf_hashes, sealed, tree_hash

#: Over two levels' worth of leaves the shapes repeat; the second level itself is grown without a database.
SIZES = [0, 1, 2, 3, 255, 256, 257, 300, 511, 512, 513, 700]
LEAVES = [index.to_bytes(32, "big") for index in range(2 * 65_536 + 300)]


@pytest.fixture
def log(db: None) -> Log:
    for count in (1, 254, 1, 1, 443):
        log = sealed(count)
    assert log.size == 700
    return log


def test_roots_and_edges_are_those_of_the_standard(log: Log) -> None:
    hashes = leaf_hashes(log)
    for size in SIZES:
        assert tree.root(log, size) == tree_hash(hashes[:size])
        assert tree.edge(log, size).root() == tree_hash(hashes[:size])
    assert bytes(log.edge) == tree.edge(log, log.size).to_bytes()


def test_every_leaf_is_proven_to_be_in_the_tree(log: Log) -> None:
    hashes = leaf_hashes(log)
    for size in SIZES[1:]:
        indexes = sorted({0, size - 1, size // 2, size // 3})
        root = tree_hash(hashes[:size])
        for index, proof in zip(indexes, tree.inclusions(log, indexes, size), strict=True):
            assert verify_inclusion(hashes[index], index, size, proof, root)
            assert not verify_inclusion(hashes[index - 1 if index else -1], index, size, proof, root)
            assert tree.inclusion(log, index, size) == proof


def test_every_tree_is_proven_to_begin_with_the_earlier_ones(log: Log) -> None:
    hashes = leaf_hashes(log)
    for new in SIZES:
        for old in [size for size in SIZES if size <= new]:
            proof, root = tree.consistency(log, old, new), tree_hash(hashes[:new])
            assert verify_consistency(old, tree_hash(hashes[:old]), new, root, proof)
            assert not old or not verify_consistency(old, tree_hash(hashes[1 : old + 1]), new, root, proof)


def test_a_proof_takes_few_statements(log: Log) -> None:
    for prove in (lambda: tree.inclusion(log, 300, 700), lambda: tree.consistency(log, 299, 700)):
        with CaptureQueriesContext(connection) as asked:
            prove()
        assert len(asked) <= 2


def test_what_is_stored_are_the_subtrees_of_256_leaves(log: Log) -> None:
    hashes = leaf_hashes(log)
    stored = {(node.level, node.number): bytes(node.hash) for node in Subtree.objects.filter(log=log)}
    assert stored == {(1, 0): tree_hash(hashes[:256]), (1, 1): tree_hash(hashes[256:512])}


def test_no_leaf_is_made_up(log: Log) -> None:
    with pytest.raises(tree.NotKept) as refused:
        tree.lines(log, 698, 702)
    assert refused.value.leaf == 700
    with pytest.raises(tree.NotKept):
        tree.root(log, 701)
    with pytest.raises(ValueError):
        tree.inclusion(log, 700, 700)
    with pytest.raises(ValueError):
        tree.consistency(log, 5, 4)


def test_a_log_proves_nothing_by_another_logs_leaves(log: Log) -> None:
    other = sealed(3, "umbrella")
    assert tree.root(other, 3) == tree_hash(leaf_hashes(other)) != tree.root(log, 3)


@given(st.lists(st.integers(0, 600), max_size=6))
def test_however_it_grew_the_tree_is_the_same(steps: list[int]) -> None:
    edge, nodes = Edge(), []
    for step in steps:
        nodes += tree.grow(edge, LEAVES[edge.size : edge.size + step])
    plain = Edge()
    plain.extend(LEAVES[: edge.size])
    assert (edge.size, edge.hashes) == (sum(steps), plain.hashes)
    assert [(node.level, node.number) for node in nodes] == [(1, number) for number in range(edge.size // 256)]


def test_the_second_level_is_stored_when_it_is_complete() -> None:
    edge, nodes = Edge(), []
    for step in (65_535, 1, 65_000, 836):
        nodes += tree.grow(edge, LEAVES[edge.size : edge.size + step])
    assert edge.root() == tree_hash(LEAVES[: edge.size])
    assert [(node.level, node.number) for node in nodes if node.level == 2] == [(2, 0), (2, 1)]
    assert [node.hash for node in nodes if node.level == 2] == [
        tree_hash(LEAVES[:65_536]),
        tree_hash(LEAVES[65_536 : 2 * 65_536]),
    ]
