"""Canonical JSON bytes (RFC 8785) and their digest."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Final

#: Integers beyond this are not exact in an ECMAScript number (RFC 8785, section 3.2.2.3 and appendix D).
MAX_INTEGER: Final = 2**53 - 1
#: Deeper values are refused, so that no input can exhaust the stack.
MAX_DEPTH: Final = 200

_ESCAPES: Final = {
    '"': '\\"',
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    **{chr(code): f"\\u{code:04x}" for code in range(0x20) if chr(code) not in "\b\f\n\r\t"},
}
_TABLE: Final = str.maketrans(_ESCAPES)


class CanonicalError(ValueError):
    """The value has no canonical form. ``at`` is a JSON pointer whose names are replaced by ordinals (``#n``)."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(f"{at or '/'}: {problem}")
        self.at = at
        self.problem = problem


class TooDeep(CanonicalError):
    """Nested beyond what was asked for."""


class TooLarge(CanonicalError):
    """More values than were asked for."""


def canonical(value: object) -> bytes:
    """The canonical bytes of a JSON value (RFC 8785). Raises :class:`CanonicalError` for NaN, infinities, lone
    surrogates, integers beyond 2^53 - 1, other types, and nesting deeper than :data:`MAX_DEPTH`."""
    parts: list[str] = []
    _write(value, "", 0, parts)
    return "".join(parts).encode()


def size(value: object, deepest: int = MAX_DEPTH, most: int | None = None) -> int:
    """The number of canonical bytes of a JSON value. Raises :class:`CanonicalError` as :func:`canonical` does, and
    its kinds :class:`TooDeep` and :class:`TooLarge` for nesting beyond ``deepest`` and more than ``most`` values.
    The walk does not recurse. What holds no floats has as many bytes from the standard library's encoder, which does
    not mind the order of names."""
    plain, level, depth, nodes = True, [value], 0, 0
    while level:
        nodes += len(level)
        if depth > deepest:
            raise TooDeep("", "nested too deeply")
        if most is not None and nodes > most:
            raise TooLarge("", "too many values")
        following: list[object] = []
        for item in level:
            if isinstance(item, str) or item is None or item is True or item is False:
                continue
            if isinstance(item, dict):
                following += item.values()
                plain = plain and all(isinstance(name, str) for name in item)
            elif isinstance(item, list):
                following += item
            elif isinstance(item, int):
                plain = plain and abs(item) <= MAX_INTEGER
            else:
                plain = False
                following += item.values() if isinstance(item, Mapping) else item if isinstance(item, tuple) else ()
        level = following
        depth += 1
    try:
        return len(_ENCODER.encode(value).encode()) if plain else len(canonical(value))
    except UnicodeEncodeError:
        return len(canonical(value))


_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def digest(value: object) -> str:
    """``sha256:`` and the lower-case hex SHA-256 of the canonical bytes."""
    return "sha256:" + hashlib.sha256(canonical(value)).hexdigest()


def _write(value: object, at: str, depth: int, parts: list[str]) -> None:
    if depth > MAX_DEPTH:
        raise CanonicalError("", "nested too deeply")
    if value is None:
        parts.append("null")
    elif value is True:
        parts.append("true")
    elif value is False:
        parts.append("false")
    elif isinstance(value, str):
        parts.append(_string(value, at))
    elif isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise CanonicalError(at, "an integer beyond 2^53 - 1")
        parts.append(int.__repr__(value))
    elif isinstance(value, float):
        parts.append(_number(value, at))
    elif isinstance(value, Mapping):
        _object(value, at, depth, parts)
    elif isinstance(value, (list, tuple)):
        parts.append("[")
        for index, item in enumerate(value):
            if index:
                parts.append(",")
            _write(item, f"{at}/{index}", depth + 1, parts)
        parts.append("]")
    else:
        raise CanonicalError(at, "not a JSON type")


def _object(value: Mapping[object, object], at: str, depth: int, parts: list[str]) -> None:
    ordinals: dict[str, int] = {}
    for ordinal, name in enumerate(value):
        if not isinstance(name, str):
            raise CanonicalError(f"{at}/#{ordinal}", "a name that is not a string")
        _check(name, f"{at}/#{ordinal}")
        ordinals[str(name)] = ordinal
    parts.append("{")
    # Names sort by UTF-16 code units (RFC 8785, section 3.2.3), which differs from code points above U+FFFF.
    for index, name in enumerate(sorted(ordinals, key=lambda text: text.encode("utf-16-be"))):
        if index:
            parts.append(",")
        here = f"{at}/#{ordinals[name]}"
        parts.append(_string(name, here))
        parts.append(":")
        _write(value[name], here, depth + 1, parts)
    parts.append("}")


def _check(text: str, at: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise CanonicalError(at, "a lone surrogate") from None


def _string(text: str, at: str) -> str:
    _check(text, at)
    return f'"{text.translate(_TABLE)}"'


def _number(value: float, at: str) -> str:
    """ECMAScript's ``Number::toString`` (ECMA-262, 6.1.6.1.20); Python's repr gives the same shortest digits."""
    if not math.isfinite(value):
        raise CanonicalError(at, "not a finite number")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, exponent_text = float.__repr__(abs(value)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    # The value is 0.DIGITS times ten to the power of point.
    point = len(whole) + int(exponent_text or "0") - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        return f"{sign}{digits}{'0' * (point - count)}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    shown = point - 1
    tail = f".{digits[1:]}" if count > 1 else ""
    return f"{sign}{digits[0]}{tail}e{'+' if shown >= 0 else '-'}{abs(shown)}"
