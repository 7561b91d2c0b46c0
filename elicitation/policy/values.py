"""Does one value fit one field of a form? Answers with the keyword that it breaks, never with the value."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from typing import Final

from elicitation.policy.pattern import PatternError, compile_pattern

FORMATS: Final = frozenset({"email", "uri", "date", "date-time"})

_LOCAL: Final = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
_DOMAIN: Final = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)*[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
)
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*")
_DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:[Zz]|[+-]([0-9]{2}):([0-9]{2}))")


def is_number(value: object) -> bool:
    """A finite JSON number; a boolean is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def is_integer(value: object) -> bool:
    """A number without a fraction: 3.0 is an integer, as JSON Schema has it."""
    return is_number(value) and isinstance(value, (int, float)) and (isinstance(value, int) or value.is_integer())


def count(value: object) -> int | None:
    """A keyword's count: a whole number that is not negative, or ``None``."""
    return int(value) if isinstance(value, (int, float)) and is_integer(value) and value >= 0 else None


def choices(field: Mapping[str, object]) -> list[str] | None:
    """The values of a choice in either spelling (``enum``, ``oneOf`` or ``anyOf`` of ``const``), or ``None``."""
    listed = field.get("enum")
    if isinstance(listed, (list, tuple)):
        return [item for item in listed if isinstance(item, str)]
    for keyword in ("oneOf", "anyOf"):
        titled = field.get(keyword)
        if isinstance(titled, (list, tuple)):
            consts = [item.get("const") for item in titled if isinstance(item, Mapping)]
            return [item for item in consts if isinstance(item, str)]
    return None


def broken_keyword(field: Mapping[str, object], value: object) -> str | None:
    """The first keyword of an admitted field schema that ``value`` breaks, or ``None``. Lengths are code points."""
    match field.get("type"):
        case "string":
            return _string(field, value)
        case "number":
            return _number(field, value) if is_number(value) else "type"
        case "integer":
            return _number(field, value) if is_integer(value) else "type"
        case "boolean":
            return None if isinstance(value, bool) else "type"
        case "array":
            return _array(field, value)
        case _:
            return "type"


def _string(field: Mapping[str, object], value: object) -> str | None:
    if not isinstance(value, str) or any("\ud800" <= char <= "\udfff" for char in value):
        return "type"
    offered = choices(field)
    if offered is not None and value not in offered:
        return "enum" if "enum" in field else "oneOf"
    shortest, longest = count(field.get("minLength")), count(field.get("maxLength"))
    if shortest is not None and len(value) < shortest:
        return "minLength"
    if longest is not None and len(value) > longest:
        return "maxLength"
    shape = field.get("format")
    if isinstance(shape, str) and not fits_format(shape, value):
        return "format"
    pattern = field.get("pattern")
    if isinstance(pattern, str) and not _fits_pattern(pattern, value):
        return "pattern"
    return None


def _fits_pattern(source: str, value: str) -> bool:
    """A pattern outside the linear language is never admitted; should one get here, nothing fits it."""
    try:
        return compile_pattern(source).search(value)
    except PatternError:
        return False


def _number(field: Mapping[str, object], value: object) -> str | None:
    assert isinstance(value, (int, float))
    low, high = field.get("minimum"), field.get("maximum")
    if isinstance(low, (int, float)) and value < low:
        return "minimum"
    if isinstance(high, (int, float)) and value > high:
        return "maximum"
    return None


def _array(field: Mapping[str, object], value: object) -> str | None:
    if not isinstance(value, (list, tuple)):
        return "type"
    fewest, most = count(field.get("minItems")), count(field.get("maxItems"))
    if fewest is not None and len(value) < fewest:
        return "minItems"
    if most is not None and len(value) > most:
        return "maxItems"
    items = field.get("items")
    offered = choices(items) if isinstance(items, Mapping) else None
    if offered is None or any(not isinstance(item, str) or item not in offered for item in value):
        return "items"
    return None


def fits_format(shape: str, value: str) -> bool:
    """The four formats of the protocol (RFC 5321 addresses, RFC 3986, RFC 3339); any other fits nothing."""
    match shape:
        case "email":
            local, at, domain = value.rpartition("@")
            sized = bool(at) and len(local) <= 64 and len(domain) <= 253
            return sized and bool(_LOCAL.fullmatch(local)) and bool(_DOMAIN.fullmatch(domain))
        case "uri":
            return bool(_URI.fullmatch(value)) and value.count("#") <= 1
        case "date":
            return _is_date(value)
        case "date-time":
            return len(value) > 10 and value[10] in "Tt" and _is_date(value[:10]) and _is_time(value[11:])
        case _:
            return False


def _is_date(value: str) -> bool:
    found = _DATE.fullmatch(value)
    if found is None or found[1] == "0000":
        return False
    try:
        dt.date(int(found[1]), int(found[2]), int(found[3]))
    except ValueError:
        return False
    return True


def _is_time(value: str) -> bool:
    found = _TIME.fullmatch(value)
    if found is None:
        return False
    hour, minute, second = int(found[1]), int(found[2]), int(found[3])
    # A leap second ends a minute 59 in every zone whose offset is in whole hours.
    in_range = hour <= 23 and minute <= 59 and (second <= 59 or (second == 60 and minute == 59))
    return in_range and int(found[4] or 0) <= 23 and int(found[5] or 0) <= 59
