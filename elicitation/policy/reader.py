"""Strict reading of JSON: no duplicate keys, no unknown keys, every value of its type and in its range."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NoReturn, TypeVar

T = TypeVar("T")


class DocumentError(ValueError):
    """Something in the document is wrong. ``at`` is a JSON pointer; ``problem`` never repeats the value."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(f"{at or '/'}: {problem}")
        self.at = at
        self.problem = problem


def load(text: str) -> object:
    """Parse JSON, refusing duplicate keys and the constants that are no JSON. Raises :class:`DocumentError`."""
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except DocumentError:
        raise
    except RecursionError:
        raise DocumentError("", "nested too deeply") from None
    except ValueError as error:
        where = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise DocumentError("", f"not JSON{where}") from None
    return value


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) != len(pairs):
        raise DocumentError("", "a key is written twice in one object")
    return unique


def _no_constant(_: str) -> NoReturn:
    raise DocumentError("", "NaN and infinities are not JSON")


class Section:
    """One object of the document: members are taken by name, and what is left over is refused."""

    def __init__(self, value: object, at: str) -> None:
        if not isinstance(value, Mapping):
            raise DocumentError(at, "must be an object")
        for name in value:
            if not isinstance(name, str):
                raise DocumentError(at, "names must be strings")
        self._left = dict(value)
        self.at = at

    def place(self, name: str) -> str:
        return f"{self.at}/{name.replace('~', '~0').replace('/', '~1')}"

    def take(self, name: str) -> object:
        if name not in self._left:
            raise DocumentError(self.place(name), "is missing")
        return self._left.pop(name)

    def has(self, name: str) -> bool:
        return name in self._left

    def section(self, name: str) -> Section:
        return Section(self.take(name), self.place(name))

    def integer(self, name: str, low: int, high: int) -> int:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise DocumentError(self.place(name), f"must be a whole number from {low} to {high}")
        return value

    def number(self, name: str, low: float, high: float) -> float:
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
            raise DocumentError(self.place(name), f"must be a number from {low:g} to {high:g}")
        return float(value)

    def boolean(self, name: str) -> bool:
        value = self.take(name)
        if not isinstance(value, bool):
            raise DocumentError(self.place(name), "must be true or false")
        return value

    def text(self, name: str, longest: int) -> str:
        return text(self.take(name), self.place(name), longest)

    def choice(self, name: str, kind: Callable[[str], T], choices: str) -> T:
        return choice(self.text(name, 64), kind, self.place(name), choices)

    def texts(self, name: str, most: int, longest: int) -> tuple[str, ...]:
        """A list of different, non-empty strings."""
        value, at = self.take(name), self.place(name)
        if not isinstance(value, (list, tuple)) or len(value) > most:
            raise DocumentError(at, f"must be a list of at most {most} strings")
        items = tuple(text(item, f"{at}/{index}", longest) for index, item in enumerate(value))
        if len(set(items)) != len(items):
            raise DocumentError(at, "lists something twice")
        return items

    def members(self) -> list[tuple[str, object]]:
        """All members that are left, taken together, in the order in which they were written."""
        left = list(self._left.items())
        self._left.clear()
        return left

    def done(self) -> None:
        """Refuse what nobody took. The place is the object, as an unknown name may be anything."""
        if self._left:
            raise DocumentError(self.at, "has a member that is not known")


def text(value: object, at: str, longest: int) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= longest:
        raise DocumentError(at, f"must be a string of 1 to {longest} characters")
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise DocumentError(at, "must be well-formed text")
    return value


def choice(value: str, kind: Callable[[str], T], at: str, choices: str) -> T:
    try:
        return kind(value)
    except ValueError:
        raise DocumentError(at, f"must be one of {choices}") from None
