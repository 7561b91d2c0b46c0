"""An export as a file: FILE.part, which can be gone on with after an interruption, and is renamed when it is whole.

What somebody changed meanwhile is not gone on with: the digest of what was written tells.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, Final
from uuid import UUID

from audit.exporting.content import Content
from audit.exporting.formats import Rendering
from audit.models import Export

_CHUNK: Final = 1 << 18


class Taken(Exception):
    """Another process is writing this file."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file has come: good up to ``bytes_done``, with ``count`` entries, and going on at ``next_leaf``.

    ``digest`` is SHA-256 over those bytes, in hex; of a stream there is none.
    """

    bytes_done: int
    next_leaf: int
    count: int
    whole: bool
    digest: str = ""


@dataclass(frozen=True, slots=True)
class _Known:
    """A file as this process left it, so that the next slice need not read it again."""

    state: tuple[int, int, int]
    digest: Any  # what hashlib makes; its class has no public name
    rendering: Rendering


_known: dict[UUID, _Known] = {}


def part_of(path: Path) -> Path:
    """Where the file is until it is whole."""
    return path.with_name(f"{path.name}.part")


def advance(export: Export, path: Path, ring: Mapping[str, bytes], seconds: float) -> Progress:
    """Go on with the file of ``export`` for about so long, from where its row says that it is good.

    What lies beyond that is written anew. When the file is whole it is ``path``. Raises ``Taken``, ``OSError`` (a full
    disk), and what ``Content.pieces`` raises: the row's word still holds then.
    """
    part = part_of(path)
    if path.exists() and not part.exists():  # renamed, and then something died before the row knew
        path.rename(part)
    until = time.monotonic() + seconds
    with _opened(part) as file:
        content = Content(export, ring)
        start, digest = _taken_up(file, export, content)
        done, after, whole = file.tell(), start or 0, False
        for piece in content.pieces(start):
            _write(file, piece.data)
            digest.update(piece.data)
            done += len(piece.data)
            whole = piece.after is None
            after = export.size if piece.after is None else piece.after
            if time.monotonic() >= until:
                break
        os.fsync(file.fileno())
        _known.clear()
        if whole:
            part.rename(path)
            _sync_folder(path.parent)
        else:
            _known[export.uid] = _Known(_state(file), digest, content.rendering)
    return Progress(done, after, content.rendering.count, whole, digest.hexdigest())


def is_of(part: Path, export: Export) -> bool:
    """Whether the file begins with what was written of ``export``. Raises ``OSError``."""
    with part.open("rb") as file:
        return bool(_digest(file, export.bytes_done).hexdigest() == export.digest)


def _opened(part: Path) -> BinaryIO:
    """The file, for this process alone, readable by its owner alone. Raises ``Taken``."""
    file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Taken from None
    return file


def _taken_up(file: BinaryIO, export: Export, content: Content) -> tuple[int | None, Any]:
    """The leaf to go on from, with ``content`` told of those before, and the digest so far; ``None`` to begin anew."""
    known = _known.pop(export.uid, None)  # it counts on from here, whatever becomes of this slice
    if known and known.state == _state(file) and known.digest.hexdigest() == export.digest:
        content.rendering = known.rendering
        file.seek(export.bytes_done)
        return export.next_leaf, known.digest
    digest = _digest(file, export.bytes_done)
    if digest.hexdigest() == export.digest:
        file.truncate(export.bytes_done)
        content.rendering.again(_lines(file))
        file.seek(export.bytes_done)
        return export.next_leaf, digest
    file.truncate(0)
    file.seek(0)
    return None, sha256()


def _digest(file: BinaryIO, count: int) -> Any:
    """SHA-256 over so many bytes from here on, or over what there is."""
    digest = sha256()
    while count and (some := file.read(min(count, _CHUNK))):
        digest.update(some)
        count -= len(some)
    return digest


def _state(file: BinaryIO) -> tuple[int, int, int]:
    """Differs once somebody has written to the file, or put another in its place."""
    found = os.fstat(file.fileno())
    return found.st_ino, found.st_size, found.st_ctime_ns


def _lines(file: BinaryIO) -> Iterator[bytes]:
    with os.fdopen(os.dup(file.fileno()), "rb") as reading:
        reading.seek(0)
        yield from reading


def _write(file: BinaryIO, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
