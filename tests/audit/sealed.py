"""Entries to seal, and the tree over them as the standard defines it, to hold the stored one against."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django.db import transaction

from audit import line
from audit.ledger import Entry, append
from audit.models import Checkpoint, Leaf, LedgerEntry, Log
from audit.seal import seal
from audit.verify import EMPTY_ROOT, leaf_hash, node_hash, parse_checkpoint, parse_note

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def say(count: int, tenant: str = "acme", event: str = "cancel") -> None:
    """Append so many entries, in one transaction."""
    with transaction.atomic():
        append(NOON, *[Entry(tenant=tenant, event=event, actor_kind="operator", outcome="moved")] * count)


def sealed(count: int, tenant: str = "acme", at: datetime = NOON) -> Log:
    """The log after so many entries more, all sealed by one pass or several."""
    say(count, tenant)
    seal_all(at)
    return Log.objects.get(tenant=tenant)


def seal_all(at: datetime = NOON) -> int:
    count = 0
    while done := seal(at):
        count += done
    return count


def leaf_hashes(log: Log) -> list[bytes]:
    """From the entries and their leaves, by the reference for lines."""
    leaves = dict(Leaf.objects.filter(log=log).values_list("entry_id", "index"))
    entries = LedgerEntry.objects.filter(pk__in=list(leaves)) if len(leaves) < 500 else LedgerEntry.objects.all()
    lines = {leaves[entry.pk]: line.line(leaves[entry.pk], entry) for entry in entries if entry.pk in leaves}
    return [leaf_hash(lines[index]) for index in sorted(lines)]


def tree_hash(hashes: Sequence[bytes]) -> bytes:
    """MTH of RFC 6962, section 2.1, as it is written there."""
    if not hashes:
        return EMPTY_ROOT
    if len(hashes) == 1:
        return hashes[0]
    split = 1 << (len(hashes) - 1).bit_length() - 1
    return node_hash(tree_hash(hashes[:split]), tree_hash(hashes[split:]))


def assert_sealed(log: Log) -> None:
    """Every entry of the tenant is one leaf, the leaves are dense, and each checkpoint states the root of its size."""
    log.refresh_from_db()
    leaves = list(Leaf.objects.filter(log=log).order_by("index").values_list("index", "entry_id"))
    assert [index for index, _ in leaves] == list(range(log.size))
    entries = set(LedgerEntry.objects.filter(tenant=log.tenant).values_list("pk", flat=True))
    assert {entry for _, entry in leaves} == entries
    hashes = leaf_hashes(log)
    for checkpoint in Checkpoint.objects.filter(log=log):
        stated = parse_checkpoint(parse_note(checkpoint.note).text)
        assert (stated.origin, stated.size, stated.root) == (log.origin, checkpoint.size, bytes(checkpoint.root))
        assert stated.root == tree_hash(hashes[: stated.size])
