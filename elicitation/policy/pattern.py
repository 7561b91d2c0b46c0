"""A small pattern language that runs in linear time: literals, character classes and counts, no groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

#: Counts are written out into positions; a pattern with more of them is refused.
MAX_POSITIONS: Final = 512
_MAX_SOURCE: Final = 256

_DIGIT: Final = (("0", "9"),)
_WORD: Final = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
_SPACE: Final = (("\t", "\r"), (" ", " "), ("\xa0", "\xa0"), ("\u2028", "\u2029"), ("\ufeff", "\ufeff"))
_LINE_ENDS: Final = (("\n", "\n"), ("\r", "\r"), ("\u2028", "\u2029"))
_CLASSES: Final = {"d": _DIGIT, "w": _WORD, "s": _SPACE}
_LITERAL_ESCAPES: Final = frozenset("\\^$.|?*+()[]{}/-")
_CONTROL_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}


class PatternError(ValueError):
    """The pattern is outside the language."""


@dataclass(frozen=True, slots=True)
class _Set:
    """The characters that one position takes: ranges, or everything but them."""

    ranges: tuple[tuple[str, str], ...]
    negated: bool = False

    def takes(self, char: str) -> bool:
        return any(low <= char <= high for low, high in self.ranges) is not self.negated


@dataclass(frozen=True, slots=True)
class _Position:
    chars: _Set
    optional: bool
    repeats: bool


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern. ``anchored_start`` and ``anchored_end`` tell whether it had ``^`` and ``$``."""

    positions: tuple[_Position, ...]
    anchored_start: bool
    anchored_end: bool

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in ``text``, as JSON Schema reads it; code points, at most
        :data:`MAX_POSITIONS` steps for each."""
        last = len(self.positions)
        live = self._closure({0})
        for char in text:
            if last in live and not self.anchored_end:
                return True
            following: set[int] = set()
            for index in live:
                if index < last and self.positions[index].chars.takes(char):
                    following.add(index if self.positions[index].repeats else index + 1)
                    if self.positions[index].repeats:
                        following.add(index + 1)
            if not self.anchored_start:
                following.add(0)
            live = self._closure(following)
            if not live:
                return False
        return last in live

    def _closure(self, states: set[int]) -> set[int]:
        reached = set(states)
        for index in states:
            while index < len(self.positions) and self.positions[index].optional:
                index += 1
                if index in reached:
                    break
                reached.add(index)
        return reached


@lru_cache(maxsize=1024)
def compile_pattern(source: str) -> Pattern:
    """Read a pattern of the language: ``^``? then literals, ``.``, ``\\d \\w \\s`` and classes, each with ``? * +
    {n} {n,} {n,m}`` or none, then ``$``?. Raises :class:`PatternError` for anything else."""
    if len(source) > _MAX_SOURCE:
        raise PatternError("too long")
    return _Reader(source).read()


class _Reader:
    """One pass over the source, without looking back."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._index = 0

    def read(self) -> Pattern:
        start = self._skip("^")
        end = False
        positions: list[_Position] = []
        while self._index < len(self._source):
            if self._source[self._index :] == "$":
                end = True
                break
            chars = self._set()
            low, high = self._count()
            positions.extend(_Position(chars, optional=False, repeats=False) for _ in range(low))
            if high is None:
                positions.append(_Position(chars, optional=True, repeats=True))
            else:
                positions.extend(_Position(chars, optional=True, repeats=False) for _ in range(high - low))
            if len(positions) > MAX_POSITIONS:
                raise PatternError("counts too high")
        return Pattern(tuple(positions), start, end)

    def _skip(self, char: str) -> bool:
        if self._source.startswith(char, self._index):
            self._index += 1
            return True
        return False

    def _next(self) -> str:
        if self._index >= len(self._source):
            raise PatternError("ends too early")
        self._index += 1
        return self._source[self._index - 1]

    def _set(self) -> _Set:
        char = self._next()
        if char == "[":
            return self._class()
        if char == "\\":
            return _Set(*self._escape())
        if char == ".":
            return _Set(_LINE_ENDS, negated=True)
        if char in "^$|?*+(){}]":
            raise PatternError("a sign that the language does not have")
        return _Set(((char, char),))

    def _escape(self) -> tuple[tuple[tuple[str, str], ...], bool]:
        char = self._next()
        if char in _CLASSES:
            return _CLASSES[char], False
        if char.lower() in _CLASSES:
            return _CLASSES[char.lower()], True
        if char in _LITERAL_ESCAPES:
            return ((char, char),), False
        if char in _CONTROL_ESCAPES:
            return ((_CONTROL_ESCAPES[char],) * 2,), False
        raise PatternError("an escape that the language does not have")

    def _class(self) -> _Set:
        negated = self._skip("^")
        ranges: list[tuple[str, str]] = []
        while not self._skip("]"):
            low = self._member()
            if len(low) == 1 and low[0][0] == low[0][1] and self._dash():
                self._index += 1
                high = self._member()
                if len(high) != 1 or high[0][0] != high[0][1] or high[0][0] < low[0][0]:
                    raise PatternError("a range that runs backwards")
                low = ((low[0][0], high[0][0]),)
            ranges.extend(low)
        if not ranges:
            raise PatternError("an empty class")
        return _Set(tuple(ranges), negated)

    def _member(self) -> tuple[tuple[str, str], ...]:
        char = self._next()
        if char == "[":
            raise PatternError("a class within a class")
        if char != "\\":
            return ((char, char),)
        ranges, negated = self._escape()
        if negated:
            raise PatternError("a negated class within a class")
        return ranges

    def _dash(self) -> bool:
        rest = self._source[self._index : self._index + 2]
        return len(rest) == 2 and rest[0] == "-" and rest[1] != "]"

    def _count(self) -> tuple[int, int | None]:
        for sign, count in (("?", (0, 1)), ("*", (0, None)), ("+", (1, None))):
            if self._skip(sign):
                return self._end_of_count(count)
        if not self._skip("{"):
            return 1, 1
        text, _, rest = self._source[self._index :].partition("}")
        self._index = len(self._source) - len(rest)
        low, comma, high = text.partition(",")
        if not _is_count(low) or (high and not _is_count(high)) or self._source[self._index - 1] != "}":
            raise PatternError("a count that cannot be read")
        if not comma:
            return self._end_of_count((int(low), int(low)))
        if high and int(high) < int(low):
            raise PatternError("a count that runs backwards")
        return self._end_of_count((int(low), int(high) if high else None))

    def _end_of_count(self, count: tuple[int, int | None]) -> tuple[int, int | None]:
        if self._source[self._index : self._index + 1] in ("?", "*", "+", "{") and self._index < len(self._source):
            raise PatternError("a count of a count")
        if count[0] > MAX_POSITIONS or (count[1] or 0) > MAX_POSITIONS:
            raise PatternError("counts too high")
        return count


def _is_count(text: str) -> bool:
    return 0 < len(text) <= 4 and text.isascii() and text.isdigit()
