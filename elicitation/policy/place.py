"""Where a finding is: one path in two spellings, and the collector of findings. Neither carries a value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Finding
from elicitation.policy.rules import entry
from elicitation.policy.shapes import secret_shaped

_MAX_NAME: Final = 64


def shown_name(name: str, ordinal: int) -> str:
    """A name from the caller's body as it may be shown back: itself, or ``#n`` where it may hide a value."""
    if 0 < len(name) <= _MAX_NAME and name.isprintable() and secret_shaped(name) is None:
        return name
    return f"#{ordinal}"


def kept_name(name: str, ordinal: int) -> str:
    """A name as it may be stored: a plain identifier that is shaped like no secret, or ``#n``."""
    plain = name.isascii() and name.replace("_", "a").replace("-", "a").replace(".", "a").isalnum()
    return shown_name(name, ordinal) if plain else f"#{ordinal}"


@dataclass(frozen=True, slots=True)
class Place:
    """A path into the caller's body. Ordinals count from 0, in the order of the caller's members."""

    at: str = ""
    place: str = ""

    def key(self, keyword: str) -> Place:
        """One step by a word of ours or of the protocol, which both spellings may carry."""
        step = "/" + (keyword if keyword.isalnum() else keyword.replace("~", "~0").replace("/", "~1"))
        return Place(self.at + step, self.place + step)

    def index(self, ordinal: int) -> Place:
        return Place(f"{self.at}/{ordinal}", f"{self.place}/{ordinal}")

    def name(self, name: str, ordinal: int) -> Place:
        """One step by a name that the caller chose: shown to the caller, an ordinal in what is stored."""
        shown = shown_name(name, ordinal).replace("~", "~0").replace("/", "~1")
        return Place(f"{self.at}/{shown}", f"{self.place}/#{ordinal}")


ROOT: Final = Place()
REQUEST: Final = ROOT.key("request")

#: A body can be wrong in a thousand places; the reply names the first ones, and never fewer than the one that denies.
MAX_FINDINGS: Final = 50


@dataclass(slots=True)
class Findings:
    """Collects findings in the order in which the checks run, each once. ``seen`` counts all that were reported,
    kept or not, so that a check can tell whether it found anything."""

    items: list[Finding] = field(default_factory=list)
    seen: int = 0
    denied: bool = False

    def add(self, rule: Rule, place: Place) -> None:
        self.seen += 1
        finding = Finding(rule, place.at, place.place)
        denies = entry(rule).denies
        room = len(self.items) < MAX_FINDINGS or (denies and not self.denied)
        if room and finding not in self.items:
            self.items.append(finding)
            self.denied |= denies
