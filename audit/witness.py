"""Showing checkpoints to an outsider: a file that is appended to, and a witness (C2SP tlog-witness) that answers with
its cosignature. How a request travels is the caller's matter."""

from __future__ import annotations

import base64
import fcntl
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db.models import F

from audit import tree
from audit.models import Checkpoint, Log
from audit.note import verify_cosignatures
from audit.signals import About, observe_again
from audit.verify import BadSignature, Malformed, parse_key, parse_signature

#: A checkpoint is shown again so long after a failure: the longer nobody has seen one, the longer.
LEAST_WAIT: Final = timedelta(seconds=20)
MOST_WAIT: Final = timedelta(minutes=10)
_SIZE: Final = re.compile(rb"(0|[1-9]\d{0,18})\n")

#: No note is as long.
_NEAR: Final = 1 << 16
#: The last signature of a note, and the empty line behind it.
_ENDED: Final = re.compile("\u2014 [^\n]*\n\n".encode())

logger = logging.getLogger(__name__)


class Problem(StrEnum):
    """Why a checkpoint was not witnessed."""

    FILE = "file"  # it could not be written
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    REDIRECT = "redirect"
    UNKNOWN_LOG = "unknown_log"  # 404: the witness was not told of this log
    UNKNOWN_KEY = "unknown_key"  # 403: nor of any key that signed
    REFUSED = "refused"  # any other 4xx
    FAILED = "failed"  # 5xx
    MALFORMED = "malformed"  # not what the specification says
    NOT_COSIGNED = "not_cosigned"  # no cosignature of the witness's key, or one that does not hold
    OVERTAKEN = "overtaken"  # it saw another checkpoint meanwhile, twice
    NOT_KEPT = "not_kept"  # what would show the way from what it saw last is not kept
    AHEAD = "ahead"  # it saw a larger log than there is
    CONTRADICTED = "contradicted"  # it saw another log


#: The log is not what it was; nothing that is tried again will mend it.
BROKEN: Final = frozenset({Problem.AHEAD, Problem.CONTRADICTED})


class NotWitnessed(Exception):
    """This try failed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem


@dataclass(frozen=True, slots=True)
class Reply:
    """The HTTP status and body of a witness's reply."""

    status: int
    body: bytes


#: Posts a body to the witness's ``add-checkpoint``. Raises ``NotWitnessed``.
Post = Callable[[bytes], Reply]


def is_configured() -> bool:
    """Whether anybody is to be shown anything."""
    return bool(settings.DESK_WITNESS_URL or settings.DESK_WITNESS_FILE)


def due(at: datetime, most: int) -> list[Log]:
    """Logs that have grown since they were witnessed and may be tried again, those that waited longest first."""
    grown = Log.objects.filter(size__gt=F("witnessed_size")).order_by(F("witness_tried_at").asc(nulls_first=True))
    return [log for log in grown if _may_be_tried(log, at)][:most]


def _may_be_tried(log: Log, at: datetime) -> bool:
    tried = log.witness_tried_at
    return tried is None or tried > at or tried + _wait(log) <= at  # in the future: a clock was ahead


def show(log: Log, at: datetime, post: Post) -> bool:
    """Show the newest checkpoint of ``log``, outside of any transaction, and note what came of it.

    Returns whether it was witnessed. A log that the witness saw otherwise is a signal.
    """
    claimed = Log.objects.filter(pk=log.pk, witness_tried_at=log.witness_tried_at).update(witness_tried_at=at)
    checkpoint = Checkpoint.objects.filter(log=log).order_by("-size").first()
    if not claimed or checkpoint is None:
        return False
    try:
        _file(log, checkpoint)
        if settings.DESK_WITNESS_URL:
            checkpoint.cosignatures = _cosigned(log, checkpoint, post)
            Checkpoint.objects.filter(pk=checkpoint.pk).update(cosignatures=checkpoint.cosignatures)
    except NotWitnessed as refusal:
        _failed(log, refusal.problem, at)
        return False
    Log.objects.filter(pk=log.pk).update(witnessed_size=checkpoint.size, witnessed_at=at, witness_problem="")
    return True


def append(path: Path, note: str) -> None:
    """Append ``note`` and an empty line to the file at ``path``, whole and lastingly, or raise ``OSError``. What an
    interruption left of a note at the end goes."""
    handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        size = _whole(handle, os.fstat(handle).st_size)
        os.ftruncate(handle, size)
        if not size:
            os.fchmod(handle, 0o644)
        try:
            _write(handle, f"{note}\n".encode())
            os.fsync(handle)
        except OSError:
            os.ftruncate(handle, size)
            raise
    finally:
        os.close(handle)


def _whole(handle: int, size: int) -> int:
    """How long the file is up to the end of its last note; all of it, if none ends near: then it is none of ours."""
    start = max(0, size - _NEAR)
    ends = [ended.end() for ended in _ENDED.finditer(os.pread(handle, size - start, start))]
    return start + ends[-1] if ends else size if start else 0


def _write(handle: int, text: bytes) -> None:
    while text:
        text = text[os.write(handle, text) :]


def _file(log: Log, checkpoint: Checkpoint) -> None:
    path: Path | None = settings.DESK_WITNESS_FILE
    if path is None or log.filed_size >= checkpoint.size:
        return
    try:
        append(path, checkpoint.note)
    except OSError:
        raise NotWitnessed(Problem.FILE) from None
    Log.objects.filter(pk=log.pk).update(filed_size=checkpoint.size)


def _cosigned(log: Log, checkpoint: Checkpoint, post: Post) -> str:
    """The witness's signature lines. It is asked twice when it knows another size than we believe."""
    old = log.witnessed_size
    reply = post(_request(log, old, checkpoint))
    if reply.status == 409:
        old = _other_size(reply, checkpoint)
        reply = post(_request(log, old, checkpoint))
    match reply.status:
        case 200:
            return _lines(checkpoint.note, reply.body)
        case 409:
            raise NotWitnessed(Problem.OVERTAKEN)
        case 422:
            raise NotWitnessed(Problem.CONTRADICTED)
        case 404:
            raise NotWitnessed(Problem.UNKNOWN_LOG)
        case 403:
            raise NotWitnessed(Problem.UNKNOWN_KEY)
        case status:
            kinds = {3: Problem.REDIRECT, 4: Problem.REFUSED, 5: Problem.FAILED}
            raise NotWitnessed(kinds.get(status // 100, Problem.MALFORMED))


def _request(log: Log, old: int, checkpoint: Checkpoint) -> bytes:
    try:
        proof = tree.consistency(log, old, checkpoint.size)
    except tree.NotKept:
        raise NotWitnessed(Problem.NOT_KEPT) from None
    lines = [f"old {old}", *(base64.b64encode(node).decode() for node in proof), "", checkpoint.note]
    return "\n".join(lines).encode()


def _other_size(reply: Reply, checkpoint: Checkpoint) -> int:
    if not _SIZE.fullmatch(reply.body):
        raise NotWitnessed(Problem.MALFORMED)
    size = int(reply.body)
    if size > checkpoint.size:
        raise NotWitnessed(Problem.AHEAD)
    return size


def _lines(note: str, body: bytes) -> str:
    """The lines of our witness alone: what others say under its name is not held against any key."""
    key = parse_key(settings.DESK_WITNESS_KEY)
    try:
        text = body.decode()
        if verify_cosignatures(note, text, settings.DESK_WITNESS_KEY) is None:
            raise NotWitnessed(Problem.NOT_COSIGNED)
        ours = [line for line in text.splitlines() if parse_signature(line).key_id == key.key_id]
    except BadSignature:
        raise NotWitnessed(Problem.NOT_COSIGNED) from None
    except (Malformed, UnicodeDecodeError):
        raise NotWitnessed(Problem.MALFORMED) from None
    return "".join(f"{line}\n" for line in ours)


def _failed(log: Log, problem: Problem, at: datetime) -> None:
    if problem != log.witness_problem:
        logger.warning("a checkpoint was not witnessed", extra={"problem": problem})
    Log.objects.filter(pk=log.pk).update(witness_problem=problem)
    if problem in BROKEN:
        observe_again("ledger_broken", About(log.tenant, f"log-{log.pk}"), at, at)


def _wait(log: Log) -> timedelta:
    """How long after the last try."""
    if not log.witness_problem or log.witness_tried_at is None:
        return LEAST_WAIT
    silent = log.witness_tried_at - (log.witnessed_at or log.sealed_at or log.witness_tried_at)
    return min(max(silent / 8, LEAST_WAIT), MOST_WAIT)
