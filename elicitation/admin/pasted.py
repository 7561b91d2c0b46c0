"""Ids as people paste them: with spaces, quotes, in upper case, inside an address or a log line, several at once."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from elicitation.policy import identifiers

_OURS: Final = re.compile(r"(?<![a-z0-9])elc_[a-z2-7]{26}(?![a-z0-9])")
_UUID: Final = re.compile(
    r"(?<![0-9a-z-])[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?![0-9a-z-])"
)
#: What a service's own id may be made of.
_WIRE: Final = re.compile(r"[A-Za-z0-9._~-]{4,200}")
_LOOKED_AT: Final = 2_000
_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Pasted:
    """What was found in a text: ids of the desk, and words that may be a service's own ids."""

    ours: tuple[UUID, ...]
    wire: tuple[str, ...]

    @property
    def spelled(self) -> list[str]:
        """What is searched for, exactly, in words for the person who pasted."""
        if self.ours:
            return [identifiers.mint_text(uid.bytes) for uid in self.ours]
        return list(self.wire)


def read(text: str) -> Pasted:
    """The ids in ``text``. A service's own ids are looked for only where there is none of the desk's."""
    plain = "".join(char for char in text[:_LOOKED_AT] if unicodedata.category(char) != "Cf")
    lower = plain.lower()
    raw = [identifiers.parse(word) for word in _OURS.findall(lower)]
    found = [UUID(bytes=each) for each in raw if each is not None] + [UUID(word) for word in _UUID.findall(lower)]
    ours = tuple(dict.fromkeys(found))[:_AT_ONCE]
    return Pasted(ours, tuple(dict.fromkeys(_WIRE.findall(plain)))[:_AT_ONCE])
