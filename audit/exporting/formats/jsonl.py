"""JSON Lines, for machines: the bytes hashed are the bytes exported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice

from audit.exporting.formats.rendering import Rendering, plain, revisions_of, stretch_json
from audit.exporting.walk import Step
from audit.verify import Format, Stretch


class JsonLines(Rendering):
    """``digest`` is over the hashes of the leaves that are shown: the bytes themselves are proven by them."""

    format = Format.JSONL

    def opening(self) -> bytes:
        head = self.head
        said = {"origin": head.origin, "tenant": head.tenant, "size": head.size, "selection": head.selection}
        return plain({"ledger_export": 1} | said) + b"\n"

    def step(self, step: Step) -> bytes:
        self._take(step.rows)
        return self._told(step.left_out) + b"\n".join([*step.rows, b""])

    def closing(self, sealed: dict[str, object], left_out: Stretch | None) -> bytes:
        return self._told(left_out) + plain(sealed) + b"\n"

    def again(self, written: Iterable[bytes]) -> None:
        entries = (line[:-1] for line in written if line.startswith(b'{"index":'))
        for lines in _batches(entries):
            self._take(lines)

    def _take(self, lines: list[bytes]) -> None:
        self.counted(lines)
        self.revisions |= revisions_of(lines)
        self.digest.update(b"".join([sha256(b"\x00" + line).digest() for line in lines]))

    @staticmethod
    def _told(left_out: Stretch | None) -> bytes:
        return plain({"left_out": stretch_json(left_out)}) + b"\n" if left_out else b""


def _batches(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    while batch := list(islice(lines, 1000)):
        yield batch
