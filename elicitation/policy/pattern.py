"""A small pattern language that runs in linear time: literals, character classes and counts, no groups."""

from __future__ import annotations

from collections.abc import Iterable
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


class Pattern:
    """A compiled pattern. ``anchored_start`` and ``anchored_end`` tell whether it had ``^`` and ``$``.

    The states are the positions and the end, each a bit of an integer, so that one step over a character is a few
    operations whatever the pattern is (Navarro and Raffinot, 2001: bit-parallel search with optional characters)."""

    def __init__(self, positions: tuple[_Position, ...], anchored_start: bool, anchored_end: bool) -> None:
        self.anchored_start = anchored_start
        self.anchored_end = anchored_end
        self._end = 1 << len(positions)
        self._repeats = _bits(index for index, one in enumerate(positions) if one.repeats)
        self._sets: dict[_Set, int] = {}
        for index, one in enumerate(positions):
            self._sets[one.chars] = self._sets.get(one.chars, 0) | 1 << index
        # Optional positions in a row are a run; a state in it reaches the rest of the run and the place after it.
        optional = [one.optional for one in positions]
        firsts = [index for index, one in enumerate(optional) if one and not (index and optional[index - 1])]
        afters = [
            index + 1 for index, one in enumerate(optional) if one and True not in optional[index + 1 : index + 2]
        ]
        self._firsts, self._afters = _bits(firsts), _bits(afters)
        self._runs = _bits(index for index, one in enumerate(optional) if one) | self._afters
        self._taken: dict[str, int] = {}

    def search(self, text: str) -> bool:
        """Whether the pattern occurs in ``text``, as JSON Schema reads it; one step for each code point."""
        again = 0 if self.anchored_start else 1
        live = self._closure(1)
        for char in text:
            if live & self._end and not self.anchored_end:
                return True
            moved = live & self._positions_for(char)
            live = self._closure(moved << 1 | moved & self._repeats | again)
            if not live:
                return False
        return bool(live & self._end)

    def _closure(self, states: int) -> int:
        inside = states & self._runs | self._afters
        below = (inside - self._firsts) ^ inside
        return states | self._runs & ~below

    def _positions_for(self, char: str) -> int:
        """The positions that take a character; remembered for ASCII, which is what nearly all texts are."""
        known = self._taken.get(char)
        if known is None:
            known = 0
            for chars, positions in self._sets.items():
                if chars.takes(char):
                    known |= positions
            if char.isascii():
                self._taken[char] = known
        return known


def _bits(indices: Iterable[int]) -> int:
    return sum(1 << index for index in indices)


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
