"""The one decoder: bytes in, a typed value out, or a 4xx that names the place and repeats nothing."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final, NoReturn, TypeVar

import msgspec
from django.http import HttpRequest

from elicitation.api.problems import Problem
from elicitation.policy.place import shown_name

MAX_BYTES: Final = 65_536
MAX_DEPTH: Final = 32
MAX_NUMBER: Final = 32  # characters; more digits than a double or a 64-bit integer can mean

T = TypeVar("T")

_WHERE: Final = re.compile(r" - at `(\$[^`]*)`\Z")
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\[([0-9]+)\]|\[\.\.\.\]")
_MISSING: Final = re.compile(r"Object missing required field `([A-Za-z_]+)`\Z")
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', re.DOTALL)


class _Duplicate:
    """Stands in the place of an object that named a member twice, until its place is known."""

    def __init__(self, ordinal: int) -> None:
        self.ordinal = ordinal


class _BadNumber:
    """Stands in the place of a number that no program should be sent."""


def decode(request: HttpRequest, shape: type[T]) -> T:
    """The body of ``request`` as a ``shape``. Raises ``Problem`` (400, 413 or 415)."""
    if request.content_type != "application/json":
        raise Problem(415, "body.media_type", "Send the body as application/json.")
    return parse(read(request), shape)


def read(request: HttpRequest) -> bytes:
    """The body's bytes, bounded before they are read. Raises ``Problem`` (411 or 413)."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if not length and request.META.get("HTTP_TRANSFER_ENCODING"):
        raise Problem(411, "body.length_required", "Send the body with its Content-Length, not in chunks.")
    if length and (not length.isascii() or not length.isdigit() or int(length) > MAX_BYTES):
        raise Problem(413, "body.too_large", f"The body is larger than {MAX_BYTES} bytes.")
    return request.body


def parse(body: bytes, shape: type[T]) -> T:
    """``body`` as a ``shape``. Raises ``Problem`` (400 or 413)."""
    if len(body) > MAX_BYTES:
        raise Problem(413, "body.too_large", f"The body is larger than {MAX_BYTES} bytes.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise Problem(400, "body.malformed", "The body is not UTF-8.") from None
    if _depth(text) > MAX_DEPTH:
        raise Problem(400, "body.too_deep", f"The body is nested deeper than {MAX_DEPTH} levels.")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_float,
            parse_constant=lambda _name: _BadNumber(),
        )
    except ValueError:
        raise Problem(400, "body.malformed", "The body is not JSON.") from None
    _check(value)
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError as error:
        _explain(value, str(error))


def _depth(text: str) -> int:
    """The deepest nesting, found before anything recursive reads the text."""
    depth = deepest = 0
    for token in _STRUCTURE.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif mark in "]}":
            depth -= 1
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Duplicate:
    members: dict[str, Any] = {}
    for ordinal, (name, value) in enumerate(pairs):
        if name in members:
            return _Duplicate(ordinal)
        members[name] = value
    return members


def _integer(digits: str) -> int | _BadNumber:
    return int(digits) if len(digits) <= MAX_NUMBER else _BadNumber()


def _float(digits: str) -> float | _BadNumber:
    number = float(digits) if len(digits) <= MAX_NUMBER else math.inf
    return number if math.isfinite(number) else _BadNumber()


def _check(root: object) -> None:
    """Refuse what JSON allows and nobody can mean: in document order, the first place is named."""
    stack: list[tuple[str, object]] = [("", root)]
    while stack:
        at, value = stack.pop()
        match value:
            case _Duplicate():
                raise Problem(400, "body.duplicate_key", "A member is named twice.", at=f"{at}/#{value.ordinal}")
            case _BadNumber():
                raise Problem(400, "body.number", "A number is too long, too large, or not a number.", at=at)
            case str():
                _check_text(value, at)
            case list():
                stack.extend((f"{at}/{index}", item) for index, item in reversed(list(enumerate(value))))
            case dict():
                for ordinal, name in enumerate(value):
                    _check_text(name, f"{at}/#{ordinal}")
                stack.extend(
                    (f"{at}/{_shown(name, ordinal)}", item)
                    for ordinal, (name, item) in reversed(list(enumerate(value.items())))
                )


def _check_text(text: str, at: str) -> None:
    if "\x00" in text:
        raise Problem(400, "body.text", "A text holds a NUL character.", at=at)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise Problem(400, "body.text", "A text holds half of a surrogate pair.", at=at)


def _shown(name: str, ordinal: int) -> str:
    return shown_name(name, ordinal).replace("~", "~0").replace("/", "~1")


def _explain(root: object, message: str) -> NoReturn:
    """Turn the library's message, which may repeat the input, into ours: its place and what is wrong with it."""
    where = _WHERE.search(message)
    path, complaint = (where[1], message[: where.start()]) if where else ("$", message)
    at, value = "", root
    for step in _STEP.finditer(path):
        name, index = step.groups()
        at += f"/{name or index or '*'}"
        if name is not None and isinstance(value, dict):
            value = value.get(name)
        elif index is not None and isinstance(value, list):
            value = value[int(index)]
    missing = _MISSING.match(complaint)
    if missing is not None:
        raise Problem(400, "body.missing_member", "A member is missing.", at=f"{at}/{missing[1]}")
    if complaint.startswith("Object contains unknown field"):
        name = complaint.removeprefix("Object contains unknown field `").removesuffix("`")
        ordinal = list(value).index(name) if isinstance(value, dict) and name in value else 0
        raise Problem(400, "body.unknown_member", "A member is not known here.", at=f"{at}/#{ordinal}")
    if complaint.startswith("Expected"):  # tells of types and bounds, which are ours
        raise Problem(400, "body.invalid", f"{complaint.replace('`', '')}.", at=at)
    raise Problem(400, "body.invalid", "This value is not one that the member takes.", at=at)
