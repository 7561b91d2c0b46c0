"""An export as a file: FILE.part, which can be gone on with after an interruption, and is renamed when it is whole."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

from audit.exporting.content import Content
from audit.exporting.formats import Rendering
from audit.models import Export


class Taken(Exception):
    """Another process is writing this file."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a file has come: good up to ``bytes_done``, with ``count`` entries, and going on at ``next_leaf``."""

    bytes_done: int
    next_leaf: int
    count: int
    whole: bool


#: What the last file of this process had counted, and where: the next slice need not read it again.
_known: dict[UUID, tuple[int, Rendering]] = {}


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
        start = _taken_up(file, export, content)
        progress = Progress(file.tell(), start or 0, content.rendering.count, whole=False)
        for piece in content.pieces(start):
            _write(file, piece.data)
            whole = piece.after is None
            after = export.size if piece.after is None else piece.after
            progress = Progress(progress.bytes_done + len(piece.data), after, content.rendering.count, whole)
            if time.monotonic() >= until:
                break
        os.fsync(file.fileno())
        _known.clear()
        if progress.whole:
            part.rename(path)
            _sync_folder(path.parent)
        else:
            _known[export.uid] = progress.bytes_done, content.rendering
    return progress


def _opened(part: Path) -> BinaryIO:
    """The file, for this process alone, readable by its owner alone. Raises ``Taken``."""
    file = os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600), "r+b", buffering=0)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise Taken from None
    return file


def _taken_up(file: BinaryIO, export: Export, content: Content) -> int | None:
    """The leaf to go on from, with ``content`` told of those before; ``None`` to begin anew."""
    done = export.bytes_done
    if not done or os.fstat(file.fileno()).st_size < done:
        file.truncate(0)
        return None
    file.truncate(done)
    known = _known.pop(export.uid, None)  # it counts on from here, whatever becomes of this slice
    if known and known[0] == done:
        content.rendering = known[1]
    else:
        content.rendering.again(_lines(file))
    file.seek(done)
    return export.next_leaf


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
