"""What the formats share: what a rendering is given and asked, and what it counts on the way for the manifest."""

from __future__ import annotations

import base64
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from audit.exporting.hashes import index_of
from audit.exporting.walk import Step
from audit.verify import Format, Stretch


@dataclass(frozen=True, slots=True)
class Head:
    """Whose export it is, known before the first row; ``gaps`` is whether something may be left out."""

    origin: str
    tenant: str
    size: int
    selection: dict[str, object]
    gaps: bool


class Rendering(ABC):
    """Writes the steps of one walk down. What it has counted so far are its plain attributes; ``digest`` is over the
    hashes of the leaves or over the bytes, as the format has it."""

    format: ClassVar[Format]
    #: Whether the walk's rows are rows of CSV; else they are lines.
    table: ClassVar[bool] = False

    def __init__(self, head: Head) -> None:
        self.head = head
        self.count = self.neutralised = 0
        self.first: int | None = None
        self.last: int | None = None
        self.digest = sha256()
        self.revisions: set[int] = set()

    @abstractmethod
    def opening(self) -> bytes:
        """What stands before the first step."""

    @abstractmethod
    def step(self, step: Step) -> bytes:
        """One step of the walk, in whole lines."""

    def ending(self, made_at: str) -> bytes:
        """What stands in the last record before the sealed manifest, and is digested with what comes before."""
        return b""

    @abstractmethod
    def closing(self, sealed: dict[str, object], left_out: Stretch | None) -> bytes:
        """The last record: the sealed manifest, and what is left out at the end."""

    @abstractmethod
    def again(self, written: Iterable[bytes]) -> None:
        """Count what was written before, opening and all, as if it were written now: the lines of a file."""

    def counted(self, rows: list[bytes]) -> None:
        """Takes notice of rows that are shown, each of which begins with its leaf."""
        if rows:
            self.first = index_of(rows[0]) if self.first is None else self.first
            self.last = index_of(rows[-1])
            self.count += len(rows)


def stretch_json(stretch: Stretch) -> dict[str, object]:
    """What is left out, as JSON Lines and OCSF tell it."""
    return {"from": stretch.start, "to": stretch.stop, "hashes": encoded(stretch.hashes)}


def encoded(hashes: Iterable[bytes]) -> list[str]:
    """Hashes in base64."""
    return [base64.b64encode(each).decode() for each in hashes]


def plain(value: object) -> bytes:
    """JSON without spaces, in ASCII."""
    return json.dumps(value, separators=(",", ":")).encode()


def revisions_of(lines: list[bytes]) -> set[int]:
    """The policy revisions that the lines name."""
    said = {line.partition(b',"policy_revision":')[2].partition(b",")[0].rstrip(b"}") for line in lines}
    return {int(each) for each in said if each.isdigit()}
