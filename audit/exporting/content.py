"""The whole content of an export, piece by piece, from any leaf on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from audit.exporting import manifest
from audit.exporting.formats import RENDERINGS, Head, Rendering
from audit.exporting.selection import Selection
from audit.exporting.walk import Walk
from audit.models import Checkpoint, Export, Log
from audit.tree import NotKept
from audit.verify import Format

#: Pieces are at least so large, in bytes, but for the last.
_PIECE = 1 << 16


class Pruned(Exception):
    """Leaves were pruned while the export was made, so it can neither show them nor tell that they are gone."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes in whole lines; ``after`` is the leaf to go on from, ``None`` with the manifest at the end."""

    data: bytes
    after: int | None


@dataclass(slots=True)
class Content:
    """One export's content, signed by every key of ``ring``; ``rendering`` counts along."""

    export: Export
    ring: Mapping[str, bytes]
    log: Log = field(init=False)
    rendering: Rendering = field(init=False)
    _walk: Walk = field(init=False)

    def __post_init__(self) -> None:
        export, kind = self.export, RENDERINGS[Format(self.export.format)]
        self.log = Log.objects.get(pk=export.log_id)
        selection = Selection.of(export)
        self._walk = Walk(self.log, export.size, selection, kind.table)
        head = Head(self.log.origin, self.log.tenant, export.size, selection.as_json(), self._walk.gaps)
        self.rendering = kind(head)

    def pieces(self, start: int | None) -> Iterator[Piece]:
        """From leaf ``start`` on, of which ``rendering`` has been told; ``None`` for all, with the opening.

        Raises ``Pruned`` and ``audit.tree.NotKept``, then without an end.
        """
        try:
            yield from self._pieces(start)
        except NotKept as gap:
            if gap.leaf < Log.objects.get(pk=self.log.pk).pruned:
                raise Pruned from None
            raise

    def _pieces(self, start: int | None) -> Iterator[Piece]:
        shown = self.rendering.first
        if shown is not None and shown < self.log.pruned:
            raise Pruned  # what was written before the prune cannot be gone on with
        waiting, size = [], 0
        if start is None:
            waiting.append(self.rendering.opening())
        after, left_out = start or 0, None
        for step in self._walk.steps(after):
            if not step.rows:
                left_out = step.left_out
                break
            waiting.append(self.rendering.step(step))
            size, after = size + len(waiting[-1]), step.after
            if size >= _PIECE:
                yield Piece(b"".join(waiting), after)
                waiting, size = [], 0
        if not Log.objects.filter(pk=self.log.pk, pruned=self.log.pruned).exists():
            raise Pruned
        sealed = manifest.sealed(
            self.rendering,
            self.log,
            Checkpoint.objects.get(log=self.log, size=self.export.size),
            export=self.export.uid,
            made_at=self.export.made_at,
            ring=self.ring,
        )
        waiting.append(self.rendering.closing(sealed, left_out))
        yield Piece(b"".join(waiting), None)
