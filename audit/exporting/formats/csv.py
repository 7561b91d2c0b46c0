"""CSV (RFC 4180), safe in a spreadsheet: what would be a formula there is neutralised and counted, numbers are not
touched."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Final

from audit import line
from audit.exporting.formats.rendering import Rendering, encoded, plain
from audit.exporting.rows import table_row
from audit.exporting.walk import Step
from audit.verify import PLAIN, Format, Stretch

#: With one of these a cell begins that a spreadsheet takes for a formula; the last four are their fullwidth twins.
_DANGEROUS: Final = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")
#: What the rows of an untouched ledger consist of: the alphabet of its texts, commas and newlines.
_HARMLESS: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/#$-,\n"
_TEXTS: Final = tuple(at for at, name in enumerate(line.NAMES) if name not in PLAIN)
_REVISION: Final = line.NAMES.index("policy_revision")


class Csv(Rendering):
    """``digest`` is over all bytes before the last record."""

    format = Format.CSV
    table = True

    def opening(self) -> bytes:
        return self._kept(",".join([*line.NAMES, *(["left_out"] if self.head.gaps else [])]).encode() + b"\n")

    def step(self, step: Step) -> bytes:
        rows = step.rows
        self.counted(rows)
        if not step.left_out:
            return self._kept(self._safe(rows))
        first = self._safe(rows[:1])[:-1] + _told(step.left_out) + b"\n"
        return self._kept(first + self._safe(rows[1:]))

    def closing(self, sealed: dict[str, object], left_out: Stretch | None) -> bytes:
        quoted = plain(sealed).replace(b'"', b'""')
        empty = b"," * (len(line.NAMES) - 2 + self.head.gaps)
        return b'#manifest,"' + quoted + b'"' + empty + (_told(left_out) if left_out else b"") + b"\n"

    def again(self, written: Iterable[bytes]) -> None:
        rows = csv.reader(self._decoded(written))
        next(rows)
        for cells in rows:
            self.counted([cells[0].encode()])
            self.neutralised += sum(cell.startswith("'") for cell in cells)
            self._revised([cells[_REVISION].encode()])

    def _decoded(self, written: Iterable[bytes]) -> Iterator[str]:
        for row in written:
            yield self._kept(row).decode()

    def _kept(self, data: bytes) -> bytes:
        self.digest.update(data)
        return data

    def _revised(self, cells: Iterable[bytes]) -> None:
        self.revisions.update(int(each) for each in set(cells) if each.isdigit())

    def _safe(self, rows: list[bytes]) -> bytes:
        content = b"".join(rows)
        if b",-" in content or content.translate(None, _HARMLESS):
            return b"".join(map(self._rewritten, rows))
        behind = len(line.NAMES) - _REVISION + self.head.gaps
        self._revised([row.rsplit(b",", behind)[1] for row in content.split(b"\n")[:-1]])
        return content

    def _rewritten(self, row: bytes) -> bytes:
        (cells,) = csv.reader(io.StringIO(str(row, "utf-8"), newline=""))
        for at in _TEXTS:
            if cells[at].startswith(_DANGEROUS):
                cells[at] = f"'{cells[at]}"
                self.neutralised += 1
        self._revised([cells[_REVISION].encode()])
        return table_row(cells)


def _told(stretch: Stretch) -> bytes:
    hashes = ",".join(encoded(stretch.hashes))
    return f'"{stretch.start}-{stretch.stop}:{hashes}"'.encode()
