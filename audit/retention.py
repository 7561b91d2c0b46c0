"""Retention: legal holds, and the pruning of what a log begins with, once it is sealed and exported.

An order is written together with its ledger entry; when that entry is sealed, the leaves before ``upto`` are removed
in batches. The hashes of their subtrees stay, and so does every proof about what survives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Min, QuerySet

from audit import note, retention_role, verify
from audit.models import Checkpoint, Export, Leaf, LedgerEntry, LegalHold, Log, Prune
from audit.tree import WIDTH
from audit.verify import Verdict

#: Leaves at a time: one transaction each, during which SQLite's other writers wait. Whole blocks, whose hashes stay, so
#: that what is left can be proven after each of them.
BATCH: Final = {"postgresql": 20 * WIDTH, "sqlite": 4 * WIDTH}


#: Events that an elicitation did not do: they alone are nothing to hold.
_LOOKED: Final = ("exported", "evidence_packed", "hold_placed", "hold_lifted")


class Limit(StrEnum):
    """What a prune may not go beyond."""

    ASKED = "asked"
    HOLD_OF_LOG = "hold_of_log"
    HOLD = "hold"
    EXPORT = "export"
    WITNESS = "witness"


@dataclass(frozen=True, slots=True)
class Bound:
    """Leaf ``leaf`` and those behind it stay, because of ``limit``."""

    limit: Limit
    leaf: int


@dataclass(frozen=True, slots=True)
class Plan:
    """What would go: leaves ``log.pruned`` to ``upto - 1``. ``bounds`` are all that there are, the lowest first;
    ``export`` is the one that has to hold them."""

    log: Log
    asked: int
    upto: int
    bounds: tuple[Bound, ...]
    export: Export | None

    @property
    def count(self) -> int:
        """How many leaves would go."""
        return max(0, self.upto - self.log.pruned)


class Obstacle(StrEnum):
    """Why nothing was ordered, held or removed."""

    NOTHING = "nothing"
    EXPORT_GONE = "export_gone"
    EXPORT_NOT_VERIFIED = "export_not_verified"
    EXPORT_RUNNING = "export_running"
    EXPORT_STOPPED = "export_stopped"
    PRUNE_RUNNING = "prune_running"
    CHANGED = "changed"
    NOT_TOLD = "not_told"
    NOT_THERE = "not_there"
    HELD = "held"
    HELD_ALREADY = "held_already"
    NO_ENTRY = "no_entry"
    LIFTED_ALREADY = "lifted_already"


class NotDone(Exception):
    """Nothing was changed, because of ``obstacle``."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(obstacle)
        self.obstacle = obstacle


# Legal holds


def place_hold(log: Log, elicitation_id: UUID | None, at: datetime) -> LegalHold:
    """Keep the entries of one elicitation, or without one the whole log. To be called in the transaction of its entry.

    Raises ``NotDone`` when the same is held already, or the log has no entry of the elicitation.
    """
    _locked(log)
    same = LegalHold.objects.filter(log=log, elicitation_id=elicitation_id, lifted_at=None)
    if same.exists():
        raise NotDone(Obstacle.HELD_ALREADY)
    if elicitation_id is not None and not _about(log, [elicitation_id]).exclude(event__in=_LOOKED).exists():
        raise NotDone(Obstacle.NO_ENTRY)
    return LegalHold.objects.create(log=log, elicitation_id=elicitation_id, made_at=at)


def lift_hold(hold: LegalHold, at: datetime) -> None:
    """To be called in the transaction of its entry. Raises ``NotDone`` when somebody else has lifted it."""
    if LegalHold.objects.filter(pk=hold.pk, lifted_at=None).update(lifted_at=at) != 1:
        raise NotDone(Obstacle.LIFTED_ALREADY)


# What may go


def size_before(log: Log, moment: datetime) -> int:
    """How many leaves were sealed, and so written, before ``moment``, by the checkpoints of the log."""
    last = Checkpoint.objects.filter(log=log, at__lte=moment).order_by("-at", "-size").first()
    return last.size if last else 0


def plan(log: Log, asked: int) -> Plan:
    """What a prune of the leaves before ``asked`` would remove now: whole blocks of 256, within every bound."""
    export = _whole(log)
    bounds = [Bound(Limit.ASKED, asked), Bound(Limit.EXPORT, export.size if export else 0)]
    held = list(LegalHold.objects.filter(log=log, lifted_at=None).values_list("elicitation_id", flat=True))
    if None in held:
        bounds.append(Bound(Limit.HOLD_OF_LOG, 0))
    first = _first_leaf(log, [uid for uid in held if uid is not None])
    if first is not None:
        bounds.append(Bound(Limit.HOLD, first))
    if settings.DESK_WITNESS_URL or settings.DESK_WITNESS_FILE or log.witnessed_size or log.witness_problem:
        bounds.append(Bound(Limit.WITNESS, log.witnessed_size))
    bounds.sort(key=lambda bound: bound.leaf)
    return Plan(log, asked, bounds[0].leaf // WIDTH * WIDTH, tuple(bounds), export)


def check_export(export: Export, path: Path) -> None:
    """Verify the export's file with the keys of the ring, and that it is of this log's own tree. Takes as long as an
    auditor's verification; to be called outside of a transaction.

    Raises ``NotDone``.
    """
    origin = export.log.origin
    keys = [verify.parse_key(note.verifier_key(origin, seed)) for seed in settings.DESK_LEDGER_KEYS.values()]
    ours = Checkpoint.objects.get(log=export.log, size=export.size)
    try:
        report = verify.verify(path, keys, [verify.Checkpoint(origin, ours.size, bytes(ours.root))])
    except (OSError, verify.CouldNotRun):
        raise NotDone(Obstacle.EXPORT_GONE) from None
    if report.verdict is not Verdict.VERIFIED:
        raise NotDone(Obstacle.EXPORT_NOT_VERIFIED)


# Pruning


def order(wanted: Plan, at: datetime) -> Prune:
    """Order what was planned. To be called in the transaction of its entry, ``pruned``, with ``repeat_count`` and
    ``related_id`` from the order.

    Raises ``NotDone`` when there is nothing to prune, when an export or another prune of this log is under way, or when
    what bounds it has changed since.
    """
    log = _locked(wanted.log)
    now = plan(log, wanted.asked)
    if (now.upto, now.export) != (wanted.upto, wanted.export):
        raise NotDone(Obstacle.CHANGED)
    if not now.count or now.export is None:
        raise NotDone(Obstacle.NOTHING)
    if unfinished(log) is not None:
        raise NotDone(Obstacle.PRUNE_RUNNING)
    if Export.objects.filter(log=log, status__in=(Export.Status.WAITING, Export.Status.RUNNING)).exists():
        raise NotDone(Obstacle.EXPORT_RUNNING)
    return Prune.objects.create(log=log, upto=now.upto, export=now.export, ordered_at=at)


def unfinished(log: Log) -> Prune | None:
    """The order that is still to be carried out. Before anything else is ordered, it is."""
    return Prune.objects.filter(log=log, finished_at=None).order_by("pk").first()


def is_told(prune: Prune) -> bool:
    """Whether the order's own entry is sealed, behind all that it removes."""
    return Leaf.objects.filter(log=prune.log, index__gte=prune.upto, entry_id__in=_told(prune)).exists()


def carry_on(prune: Prune, at: datetime) -> int:
    """Remove the next leaves, lowest first, with their entries, and count them as pruned, as one transaction; safe to
    be lost and called again. With the last of them the order is finished.

    Returns how many; 0 when none is left. Raises ``NotDone`` before the order's own entry is sealed, when a hold was
    placed on one of them meanwhile, and when not all of them are there; what the database refuses, it refuses.
    """
    with transaction.atomic():
        log = _locked(prune.log)
        stop = min(log.pruned + BATCH[connection.vendor], prune.upto)
        if stop <= log.pruned:
            return 0
        if not is_told(prune):
            raise NotDone(Obstacle.NOT_TOLD)
        bounds = plan(log, prune.upto).bounds
        if any(bound.limit in (Limit.HOLD_OF_LOG, Limit.HOLD) and bound.leaf < stop for bound in bounds):
            raise NotDone(Obstacle.HELD)
        gone = _remove(prune, log.pruned, stop)
        if gone != stop - log.pruned:
            raise NotDone(Obstacle.NOT_THERE)
        # After the leaves, which the database lets go only where the log still has them.
        Log.objects.filter(pk=log.pk).update(pruned=stop)
        if stop == prune.upto:
            Prune.objects.filter(pk=prune.pk).update(finished_at=at)
        return gone


def _remove(prune: Prune, first: int, stop: int) -> int:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"SELECT {retention_role.FUNCTION}(%s, %s)", [prune.uid, stop - first])
            return int(cursor.fetchone()[0])
        span = [prune.log_id, first, stop]
        these = f'{Leaf._meta.db_table} WHERE log_id = %s AND "index" >= %s AND "index" < %s'
        cursor.execute(
            f"DELETE FROM {LedgerEntry._meta.db_table} WHERE id IN (SELECT entry_id FROM {these})",  # noqa: S608
            span,
        )
        cursor.execute(f"DELETE FROM {these}", span)  # noqa: S608 - made of our own tables
        return int(cursor.rowcount)


def _locked(log: Log) -> Log:
    """The log as it is now, held until the transaction ends: a hold and a prune are decided one after the other."""
    return Log.objects.select_for_update().get(pk=log.pk)


def _whole(log: Log) -> Export | None:
    """The export of the whole log that reaches furthest, of those whose file is kept."""
    ready = Export.objects.filter(log=log, format=Export.Format.JSONL, status=Export.Status.READY)
    whole = ready.filter(
        since=None, until=None, from_size=None, to_size=None, event="", elicitation_id=None, policy_revision=None
    )
    return whole.order_by("-size", "-pk").first()


def _about(log: Log, elicitations: Sequence[UUID]) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.filter(tenant=log.tenant, elicitation_id__in=elicitations)


def _first_leaf(log: Log, elicitations: Sequence[UUID]) -> int | None:
    """The first leaf about one of them that is still there."""
    if not elicitations:
        return None
    leaves = Leaf.objects.filter(log=log, entry_id__in=_about(log, elicitations).values("pk"))
    first: int | None = leaves.aggregate(first=Min("index"))["first"]
    return first


def _told(prune: Prune) -> QuerySet[LedgerEntry, int]:
    told = LedgerEntry.objects.filter(tenant=prune.log.tenant, event="pruned", related_id=prune.uid)
    return told.filter(repeat_count=prune.upto).values_list("pk", flat=True)
