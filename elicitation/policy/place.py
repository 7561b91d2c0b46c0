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


class Place:
    """A path into the caller's body, as its last step and the place above. Never changed, and written out only for
    a finding: most places are looked at and left. Ordinals count from 0, in the order of the caller's members."""

    __slots__ = ("_above", "_ordinal", "_word")

    def __init__(self, above: Place | None, word: str | None, ordinal: int | None) -> None:
        self._above = above
        self._word = word
        self._ordinal = ordinal

    def key(self, keyword: str) -> Place:
        """One step by a word of ours or of the protocol, which both spellings may carry."""
        return Place(self, keyword, None)

    def index(self, ordinal: int) -> Place:
        return Place(self, None, ordinal)

    def name(self, name: str, ordinal: int) -> Place:
        """One step by a name that the caller chose: shown to the caller, an ordinal in what is stored."""
        return Place(self, name, ordinal)

    @property
    def at(self) -> str:
        """A JSON pointer into the caller's body (RFC 6901), for the caller."""
        if self._above is None:
            return ""
        if self._word is None:
            return f"{self._above.at}/{self._ordinal}"
        shown = self._word if self._ordinal is None else shown_name(self._word, self._ordinal)
        return f"{self._above.at}/{_escaped(shown)}"

    @property
    def place(self) -> str:
        """The same with ordinals for the caller's names, for what is stored."""
        if self._above is None:
            return ""
        if self._word is None:
            return f"{self._above.place}/{self._ordinal}"
        step = _escaped(self._word) if self._ordinal is None else f"#{self._ordinal}"
        return f"{self._above.place}/{step}"


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")


ROOT: Final = Place(None, None, None)
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
