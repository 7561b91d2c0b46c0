"""Exports of the ledger: asked for on the record, made in slices by whoever is free, kept for a while."""

from __future__ import annotations

import errno
from collections.abc import Generator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from audit import note, seal
from audit.exporting.content import Content, Pruned
from audit.exporting.file import Progress, Taken, advance, is_of, part_of
from audit.exporting.selection import Selection
from audit.ledger import Entry, append
from audit.models import Checkpoint, Export, Leaf, LedgerEntry, Log, Prune
from audit.tree import NotKept
from audit.verify import Format
from elicitation.services import clock
from elicitation.services.actors import Actor, ActorKind

#: Exports of so many leaves are sent while they are made; larger ones become a job.
SMALL: Final = 20_000
#: Of one log, so that nobody fills the queue, or the disk.
MOST_UNFINISHED: Final = 20
MOST_KEPT: Final = 200
#: How long a file is kept after it is ready, or after it stopped.
KEPT: Final = timedelta(days=7)
#: A worker that has not been heard of for so long is dead; a slice is far shorter.
LEASE: Final = timedelta(minutes=3)
#: A seal takes up a bounded number of entries; so many are made before an export that wants all.
_SEALS: Final = 1_000
#: Numbers beyond these no column holds.
LAST_REVISION: Final = 2**31 - 1
LAST_SIZE: Final = 2**63 - 1
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


ALL: Final = Selection()


class NothingSealed(Exception):
    """The tenant's log has no checkpoint yet, so there is nothing that an export could prove."""


class NoSuchCheckpoint(Exception):
    """No checkpoint of the log has the size that was named. ``member`` says which one was."""

    def __init__(self, member: str) -> None:
        super().__init__("the log has no checkpoint of this size")
        self.member = member


class PruneNotTold(Exception):
    """All that the checkpoint covers was pruned; or nothing up to there tells of the prune, and a whole export would
    look like a robbed one."""


class NoSuchElicitation(Exception):
    """No entry of the tenant is about the elicitation. Absent and another tenant's: all the same."""


class TooMany(Exception):
    """So many exports of the log are unfinished, or kept, that there is no place for another. ``str()`` says which."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be exported, and how. ``to_size`` is an older checkpoint's, under which the export then stands."""

    format: Format
    selection: Selection = ALL
    to_size: int | None = None


def auditor(user_id: int) -> Actor:
    """Somebody who reads the ledger in the admin."""
    return Actor(ActorKind.OPERATOR, str(user_id), "auditor")


def log_of(tenant: str) -> Log:
    """The tenant's log. Raises ``NothingSealed``."""
    log = Log.objects.filter(tenant=tenant).first()
    if log is None:
        raise NothingSealed
    return log


def seal_all() -> None:
    """Seal what is not sealed yet, so that an export holds it."""
    for _ in range(_SEALS):
        if not seal.seal(clock.now()):
            break


def ask(log: Log, wanted: Wanted, by: Actor, *, streamed: bool = False) -> Export:
    """Put an export on the record: its row, and its entry in the ledger. ``streamed`` ones are made by the caller.

    Raises ``NothingSealed``, ``NoSuchCheckpoint``, ``PruneNotTold``, ``NoSuchElicitation``, ``TooMany``.
    """
    if not streamed:
        _must_have_place(log)
    checkpoints, selection = Checkpoint.objects.filter(log=log), wanted.selection
    found = checkpoints.order_by("-size") if wanted.to_size is None else checkpoints.filter(size=wanted.to_size)
    checkpoint = found.first()
    if checkpoint is None:
        raise NothingSealed if wanted.to_size is None else NoSuchCheckpoint("to")
    start = selection.from_size
    if start is not None and (start > checkpoint.size or not checkpoints.filter(size=start).exists()):
        raise NoSuchCheckpoint("from")
    if checkpoint.size < log.pruned or (
        wanted.to_size is not None and log.pruned and selection == ALL and not _told_of_prune(log, checkpoint.size)
    ):
        raise PruneNotTold
    about = LedgerEntry.objects.filter(tenant=log.tenant, elicitation_id=selection.elicitation_id)
    if selection.elicitation_id is not None and not about.exists():
        raise NoSuchElicitation
    with transaction.atomic():
        at = clock.now()
        export = Export.objects.create(
            log=log,
            format=wanted.format,
            size=checkpoint.size,
            status=Export.Status.SENT if streamed else Export.Status.WAITING,
            made_at=at,
            actor_kind=by.kind,
            actor_id=by.id,
            role=by.role,
            **selection.columns(),
        )
        append(
            at,
            Entry(
                tenant=log.tenant,
                event="exported",
                related_id=export.uid,
                elicitation_id=selection.elicitation_id,
                policy_revision=selection.policy_revision,
                actor_kind=by.kind,
                actor_id=by.id,
                role=by.role,
            ),
        )
    return export


def is_small(log: Log, wanted: Wanted) -> bool:
    """Whether it is made while somebody waits."""
    size = log.size if wanted.to_size is None else wanted.to_size
    return size - (wanted.selection.from_size or 0) <= SMALL


def stream(export: Export) -> Generator[bytes, None, None]:
    """The content of a streamed export; what goes wrong is raised, so that it has no end then."""
    content = Content(export, seal.keys())
    sent = 0
    for piece in content.pieces(None):
        sent += len(piece.data)
        yield piece.data
    _keep(export, Progress(sent, export.size, content.rendering.count, whole=True), Export.Status.SENT)


def write(export: Export, path: Path, seconds: float) -> Progress:
    """Go on with a streamed export in a file of the caller's. Raises what ``audit.exporting.file.advance`` raises."""
    progress = advance(export, path, seal.keys(), seconds)
    _keep(export, progress, Export.Status.SENT)
    return progress


def begun(log: Log, wanted: Wanted, by: Actor, part: Path) -> Export | None:
    """The streamed export of the same kind by the same actor that ``part`` belongs to, and that has not come to its
    end. Raises ``OSError``."""
    asked = {"since": None, "until": None, "from_size": None, "event": "", "elicitation_id": None}
    same = asked | {"policy_revision": None} | wanted.selection.columns()
    to = {} if wanted.to_size is None else {"size": wanted.to_size}
    mine = {"actor_kind": by.kind, "actor_id": by.id, "role": by.role}
    rows = Export.objects.filter(log=log, format=wanted.format, status=Export.Status.SENT, finished_at=None)
    # Of two that begin alike, the one that had come further.
    rows = rows.filter(**same, **to, **mine).order_by("-bytes_done", "-pk")
    return next((row for row in rows if is_of(part, row)), None)


def path_of(export: Export) -> Path:
    """Where the desk keeps the file."""
    return Path(settings.DESK_EXPORT_DIR) / f"{export.uid}.{extension(export)}"


def percent(export: Export) -> int:
    """How far it is, of a hundred."""
    if export.status in (Export.Status.READY, Export.Status.GONE):
        return 100
    start = export.from_size or 0
    return min(99, max(0, export.next_leaf - start) * 100 // max(1, export.size - start))


def verifier_keys(log: Log) -> list[str]:
    """The log's keys as auditors bring them to the verifier, the current one first."""
    return [note.verifier_key(log.origin, seed) for seed in seal.keys().values()]


def extension(export: Export) -> str:
    return "csv" if export.format == Export.Format.CSV else "jsonl"


def name_of(export: Export) -> str:
    """What a download is called: ``acme-1234-ocsf.jsonl``."""
    kind = "-ocsf" if export.format == Export.Format.OCSF else ""
    return f"{export.log.tenant}-{export.size}{kind}.{extension(export)}"


def resume(export: Export) -> bool:
    """Let an export that stopped go on. Returns whether it had stopped."""
    stopped = Export.objects.filter(pk=export.pk, status=Export.Status.FAILED)
    return bool(stopped.update(status=Export.Status.WAITING, problem="", lease_until=None, finished_at=None))


def carry_on(seconds: float) -> int:
    """Go on with the oldest unfinished export that nobody works on. Returns how many entries that added."""
    now = clock.now()
    free = Q(lease_until=None) | Q(lease_until__lt=now)
    waiting = Export.objects.filter(free, status__in=(Export.Status.WAITING, Export.Status.RUNNING))
    export = waiting.select_related("log").order_by("made_at").first()
    if export is None:
        return 0
    lease = now + LEASE
    if not waiting.filter(pk=export.pk).update(status=Export.Status.RUNNING, lease_until=lease):
        return 0  # another worker got there first
    before, export.lease_until = export.count, lease
    try:
        Path(settings.DESK_EXPORT_DIR).mkdir(mode=0o700, parents=True, exist_ok=True)
        progress = advance(export, path_of(export), seal.keys(), seconds)
    except Taken:
        return 0
    except OSError as error:
        return _stop(export, "disk_full" if error.errno in _FULL else "file_error")
    except Pruned:
        return _stop(export, "pruned")
    except NotKept:
        return _stop(export, "not_kept")
    _keep(export, progress, Export.Status.READY if progress.whole else Export.Status.RUNNING)
    return progress.count - before


def let_go() -> int:
    """Remove the files that were kept long enough, but for those that hold what was pruned. Returns how many exports
    that were."""
    old = clock.now() - KEPT
    over = Export.objects.filter(status__in=(Export.Status.READY, Export.Status.FAILED), finished_at__lt=old)
    over = over.exclude(pk__in=_of_prunes())
    gone = 0
    for export in over.order_by("pk")[:100]:
        # A prune is ordered under the same lock, so it never counts on a file that goes. Both in one transaction: if
        # the worker dies in between, the next one comes back to it.
        with transaction.atomic():
            Log.objects.select_for_update().get(pk=export.log_id)
            if not over.filter(pk=export.pk).update(status=Export.Status.GONE):
                continue
            for path in (path_of(export), part_of(path_of(export))):
                path.unlink(missing_ok=True)
        gone += 1
    return gone


def _of_prunes() -> QuerySet[Prune, int]:
    """The exports that hold what was pruned."""
    return Prune.objects.values_list("export", flat=True)


def _must_have_place(log: Log) -> None:
    """Raises ``TooMany``."""
    mine = Export.objects.filter(log=log)
    if mine.filter(status__in=(Export.Status.WAITING, Export.Status.RUNNING)).count() >= MOST_UNFINISHED:
        raise TooMany("Too many exports of this log are unfinished; wait for one of them.")
    kept = mine.filter(status__in=(Export.Status.READY, Export.Status.FAILED)).exclude(pk__in=_of_prunes())
    if kept.count() >= MOST_KEPT:
        raise TooMany(f"Too many exports of this log are kept; each goes after {KEPT.days} days.")


def _told_of_prune(log: Log, size: int) -> bool:
    told = LedgerEntry.objects.filter(tenant=log.tenant, event="pruned", repeat_count__gte=log.pruned)
    return Leaf.objects.filter(log=log, index__lt=size, entry_id__in=told.values("pk")).exists()


def _keep(export: Export, progress: Progress, status: Export.Status) -> None:
    """Remember how far the export has come, unless its lease ran out and somebody else has it."""
    done: dict[str, Any] = {
        "bytes_done": progress.bytes_done,
        "next_leaf": progress.next_leaf,
        "count": progress.count,
        "digest": progress.digest,
    }
    finished: datetime | None = clock.now() if progress.whole else None
    mine = Export.objects.filter(pk=export.pk, lease_until=export.lease_until)
    mine.update(status=status, lease_until=None, finished_at=finished, **done)
    for name, value in done.items():
        setattr(export, name, value)


def _stop(export: Export, problem: str) -> int:
    mine = Export.objects.filter(pk=export.pk, lease_until=export.lease_until)
    mine.update(status=Export.Status.FAILED, problem=problem, lease_until=None, finished_at=clock.now())
    return 0
