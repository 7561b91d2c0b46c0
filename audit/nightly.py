"""Verifying what is stored, once a day and when somebody asks: every entry against the tree, the tree against its
checkpoints, those against the keys; and a search for entries that sealing missed. In slices that can be resumed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings
from django.db import connection
from django.db.models import F, Max, Min, Q

from audit import retention, tree, triggers, wording
from audit.horizon import TABLE
from audit.models import Checkpoint, Leaf, LedgerEntry, Log, Mark, Prune, Subtree
from audit.note import verifier_key
from audit.seal import IS_LEAF, is_intact, seal_late
from audit.signals import About, observe_again
from audit.verify import (
    BadSignature,
    Malformed,
    VerifierKey,
    leaf_hash,
    parse_checkpoint,
    parse_key,
    parse_note,
    verify_note,
)

EVERY: Final = timedelta(hours=24)
#: Leaves in one slice, and entries that are searched at a time.
SLICE: Final = 16 * tree.WIDTH
SEARCHED: Final = 20_000
#: One checkpoint in so many has its signatures verified, and the last.
SIGNED: Final = 100

Verdict = Log.Verdict


class Broken(Exception):
    """Something does not fit: what, and the first leaf that it may be about."""

    def __init__(self, verdict: Log.Verdict, leaf: int | None) -> None:
        super().__init__(verdict)
        self.verdict, self.leaf = verdict, leaf


def request(log: Log, at: datetime) -> None:
    """Have ``log`` verified now, and what sealing missed searched for."""
    Log.objects.filter(pk=log.pk).update(verify_due_at=at, verifying_from=None, verifying_to=None)
    Mark.objects.update(looked_at=None)


def verify(at: datetime, seconds: float) -> int:
    """Go on with what is due, for about so many ``seconds``: the logs, longest unverified first, and then the search.

    Returns how many leaves and entries were looked at; 0 when nothing is due. Touches no entry; what the search finds
    is sealed, late. What is wrong stands in the log, and is a signal.
    """
    stops, done = time.monotonic() + seconds, 0
    while True:
        log = _next(at)
        some = _slice(log, at) if log is not None else _search(at)
        done += some
        if not some or time.monotonic() >= stops:
            return done


def _next(at: datetime) -> Log | None:
    stale = Q(verified_at=None) | Q(verified_at__lte=at - EVERY) | Q(verified_at__gt=at)  # a clock was ahead
    due = Log.objects.filter(Q(verifying_from__isnull=False) | Q(verify_due_at__lte=at) | stale, size__gt=0)
    return due.order_by(F("verifying_from").asc(nulls_last=True), F("verified_at").asc(nulls_first=True), "pk").first()


def _slice(log: Log, at: datetime) -> int:
    """Verify some leaves more, or begin, or come to the end. Returns how many leaves were looked at, and 1 at least.

    Two verifiers may do the same slice; the one that comes second changes nothing.
    """
    mine = Log.objects.filter(pk=log.pk, verifying_from=log.verifying_from, verifying_to=log.verifying_to)
    try:
        if log.verifying_from is None or log.verifying_to is None:
            _standing(log)
            mine.update(verifying_from=log.pruned, verifying_to=log.size)
            return 1
        start = max(log.verifying_from, log.pruned)
        reached = _Verification(log, start, _signers(log)).run(min(start + SLICE, log.verifying_to))
    except Broken as found:
        present = Log.objects.get(pk=log.pk)
        if log.pruned != present.pruned or (log.verifying_from is None and log.size != present.size):
            return 1  # what is missing was pruned meanwhile, or the log grew while its standing was read
        if mine.update(**_result(at, found.verdict, found.leaf), verified_size=found.leaf or 0):
            _tell(log, found.leaf, at)
        return 1
    if reached < log.verifying_to:
        mine.update(verifying_from=reached)
    else:
        mine.update(**_result(at, Verdict.VERIFIED, None), verified_size=reached)
    return max(reached - start, 1)


def _result(at: datetime, verdict: Log.Verdict, leaf: int | None) -> dict[str, object]:
    return {
        "verdict": verdict,
        "verdict_leaf": leaf,
        "verified_at": at,
        "verify_due_at": None,
        "verifying_from": None,
        "verifying_to": None,
    }


def _tell(log: Log, leaf: int | None, at: datetime) -> None:
    about = f"log-{log.pk}" if leaf is None else f"leaf-{leaf}"
    observe_again("ledger_broken", About(log.tenant, about), at, at)


def _standing(log: Log) -> None:
    """What does not depend on any leaf: the guards, the last checkpoint, and what was pruned. Raises ``Broken``."""
    if triggers.missing(connection) or wording.missing(connection):
        raise Broken(Verdict.UNGUARDED, None)
    if log.pruned and not any(map(retention.is_told, Prune.objects.filter(log=log, upto__gte=log.pruned))):
        raise Broken(Verdict.REMOVED, 0)
    if not is_intact(log) or max(log.witnessed_size, log.filed_size) > log.size:
        raise Broken(Verdict.CHECKPOINT, None)
    last = Checkpoint.objects.filter(log=log).latest("size")
    if not _is_signed(last, _signers(log)):
        raise Broken(Verdict.SIGNATURE, last.size - 1)


def _signers(log: Log) -> list[VerifierKey]:
    return [parse_key(verifier_key(log.origin, seed)) for seed in settings.DESK_LEDGER_KEYS.values()]


def _is_signed(checkpoint: Checkpoint, keys: list[VerifierKey]) -> bool:
    """Whether a key of the ring signed it, and no signature of such a key is wrong. Keys leave the ring: an earlier
    checkpoint that none of them signed is vouched for by the last one, which is over the same tree."""
    try:
        return bool(verify_note(parse_note(checkpoint.note), keys))
    except (BadSignature, Malformed):
        return False


@dataclass(slots=True)
class _Suspect:
    """What did not fit first: entries from leaf ``since`` on, or what is stored about them."""

    stored: Log.Verdict
    since: int
    leaf: int


class _Verification:
    """From leaf ``start``, a multiple of ``tree.WIDTH`` up to which the stored subtrees are good.

    A stored hash or checkpoint that does not fit may be wrong itself, or an entry under it: what is stored next about
    the same entries tells, so a slice goes on to it.
    """

    def __init__(self, log: Log, start: int, keys: list[VerifierKey]) -> None:
        self.log, self.keys = log, keys
        self.good = start
        self.suspect: _Suspect | None = None
        try:
            self.edge = tree.edge(log, start)
        except tree.NotKept as missing:
            raise Broken(Verdict.SUBTREE, missing.leaf) from None

    def run(self, stop: int) -> int:
        """Verify up to ``stop``, and further while it is open what is wrong. Returns up to where. Raises ``Broken``."""
        assert self.log.verifying_to is not None
        while True:
            self.some(stop)
            if self.suspect is None:
                return stop
            if stop == self.log.verifying_to:
                raise Broken(Verdict.EDITED, self.suspect.since)
            stop = min(stop + SLICE, self.log.verifying_to)

    def some(self, stop: int) -> None:
        start = self.edge.size
        hashes = list(_leaves(self.log, start, stop))
        checkpoints = Checkpoint.objects.filter(log=self.log, size__gt=start, size__lte=stop).order_by("size")
        for number, checkpoint in enumerate(checkpoints):
            self.compare(tree.grow(self.edge, hashes[self.edge.size - start : checkpoint.size - start]))
            self.hold(checkpoint, number)
        self.compare(tree.grow(self.edge, hashes[self.edge.size - start :]))

    def compare(self, nodes: list[tree.Node]) -> None:
        """Hold the stored subtrees against those that the entries make."""
        if not nodes:
            return
        wanted = Q()
        for node in nodes:
            wanted |= Q(level=node.level, number=node.number)
        found = {(row.level, row.number): bytes(row.hash) for row in Subtree.objects.filter(wanted, log=self.log)}
        for node in nodes:
            size = tree.WIDTH**node.level
            fits = found.get((node.level, node.number)) == node.hash
            if self.suspect is not None and self.suspect.stored is Verdict.CHECKPOINT:
                # Of the block that the checkpoint ends in: the entries are what they were, or are not.
                raise Broken(*(Verdict.CHECKPOINT, self.suspect.leaf) if fits else (Verdict.EDITED, self.suspect.since))
            if fits:
                self.good = max(self.good, (node.number + 1) * size)
            else:
                self.doubt(Verdict.SUBTREE, node.number * size)

    def hold(self, checkpoint: Checkpoint, number: int) -> None:
        """Hold ``checkpoint`` against the entries, and now and then its signatures."""
        try:
            stated = parse_checkpoint(parse_note(checkpoint.note).text)
        except Malformed:
            raise Broken(Verdict.CHECKPOINT, checkpoint.size - 1) from None
        if (stated.origin, stated.size, stated.root) != (self.log.origin, checkpoint.size, bytes(checkpoint.root)):
            raise Broken(Verdict.CHECKPOINT, checkpoint.size - 1)
        if stated.root != self.edge.root():
            if self.suspect is not None:
                raise Broken(Verdict.EDITED, self.suspect.since)
            self.doubt(Verdict.CHECKPOINT, checkpoint.size - 1)
            return
        if self.suspect is not None:
            raise Broken(self.suspect.stored, self.suspect.leaf)
        self.good = max(self.good, checkpoint.size)
        if number % SIGNED == 0:
            try:
                verify_note(parse_note(checkpoint.note), self.keys)
            except BadSignature:
                raise Broken(Verdict.SIGNATURE, checkpoint.size - 1) from None

    def doubt(self, stored: Log.Verdict, leaf: int) -> None:
        if self.suspect is None:
            self.suspect = _Suspect(stored, self.good, leaf)


def _leaves(log: Log, start: int, stop: int) -> Iterator[bytes]:
    try:
        hashes = map(leaf_hash, tree.lines(log, start, stop))
    except tree.NotKept as missing:
        raise Broken(Verdict.REMOVED, missing.leaf) from None
    odd = _odd(log, start, stop)
    if odd is not None:
        raise Broken(Verdict.EDITED, odd)
    return hashes


def _odd(log: Log, start: int, stop: int) -> int | None:
    """The first leaf whose entry is another tenant's, or holds what no writer can have put there: a line could not
    tell such a row from the one that was sealed."""
    kept = wording.is_kept(connection.vendor, LedgerEntry._meta.concrete_fields, "e.")
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT min(l."index") FROM {Leaf._meta.db_table} l JOIN {TABLE} e ON e.id = l.entry_id '  # noqa: S608
            f'WHERE l.log_id = %s AND l."index" >= %s AND l."index" < %s AND NOT (e.tenant = %s AND {kept})',
            [log.pk, start, stop, log.tenant],
        )
        (odd,) = cursor.fetchone()
    return None if odd is None else int(odd)


def _search(at: datetime) -> int:
    """Look for entries up to the mark that are no leaves, some numbers further; seal them, late, and say so.

    Returns how many entries were looked at; 0 when the last search was today.
    """
    mark = Mark.objects.first()
    if mark is None or (mark.looked_to is None and mark.looked_at is not None and at - EVERY < mark.looked_at <= at):
        return 0
    above = mark.looked_to if mark.looked_to is not None else -(2**63)
    some = LedgerEntry.objects.filter(pk__gt=above, pk__lte=mark.through).order_by("pk").values("pk")[:SEARCHED]
    upto = some.aggregate(last=Max("pk"))["last"]
    if upto is None:
        Mark.objects.filter(pk=mark.pk).update(looked_to=None, looked_at=at)
        return 0
    missed = _missed(above, upto)
    if missed:
        seal_late([number for number, _ in missed], at)
        for tenant in sorted({tenant for _, tenant in missed}):
            log = Log.objects.get(tenant=tenant)
            ours = [number for number, owner in missed if owner == tenant]
            leaf = Leaf.objects.filter(log=log, entry_id__in=ours).aggregate(first=Min("index"))["first"]
            # What is worse stays to be read: the entry of a leaf that was removed looks unsealed, too.
            unbroken = Log.objects.filter(pk=log.pk, verdict__in=(Verdict.UNKNOWN, Verdict.VERIFIED))
            unbroken.update(verdict=Verdict.UNSEALED, verdict_leaf=leaf)
            _tell(log, leaf, at)
    Mark.objects.filter(pk=mark.pk).update(looked_to=upto)
    return SEARCHED


def _missed(above: int, upto: int) -> list[tuple[int, str]]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT e.id, e.tenant FROM {TABLE} e WHERE e.id > %s AND e.id <= %s"  # noqa: S608
            f" AND NOT {IS_LEAF} AND l.entry_id > %s) ORDER BY e.id LIMIT {SEARCHED}",
            [above, upto, above],
        )
        found: list[tuple[int, str]] = cursor.fetchall()
        return found
