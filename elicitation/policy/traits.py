"""What may be kept of a request: bits, names, counts and sizes. Never a message, title, label, default or value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy.canonical import CanonicalError, size
from elicitation.policy.capability import Declared
from elicitation.policy.decision import IdClass
from elicitation.policy.fields import KEYWORDS
from elicitation.policy.place import kept_name
from elicitation.policy.urls import Inspected

_MAX_NAMES: Final = 20
_NO_FIELDS: Final[Mapping[object, object]] = {}


@dataclass(frozen=True, slots=True)
class Traits:
    """The stored shape of one request. Sizes are UTF-8 bytes; names are at most 20 of at most 64 characters, and
    ``#n`` where a name may hide something. ``origin`` is empty unless it is on the caller's allowlist."""

    declared_form: bool
    declared_url: bool
    malformed: bool
    origin: str
    path_index: int | None
    parameter_names: tuple[str, ...]
    property_names: tuple[str, ...]
    keywords: tuple[str, ...]
    property_count: int
    choice_count: int
    text_bytes: int
    schema_bytes: int
    url_length: int
    id_class: IdClass


def observe(request: Mapping[str, object], declared: Declared, url: Inspected, id_class: IdClass) -> Traits:
    """The traits of a request whose depth is bounded already."""
    schema = request.get("requestedSchema")
    properties = schema.get("properties") if isinstance(schema, (dict, Mapping)) else None
    fields = properties if isinstance(properties, (dict, Mapping)) else _NO_FIELDS
    message, raw_url = request.get("message"), request.get("url")
    return Traits(
        declared_form=declared.form,
        declared_url=declared.url,
        malformed=declared.malformed,
        origin=url.destination.origin if url.destination else "",
        path_index=url.path_index,
        parameter_names=_names(url.parameter_names) if url.parameter_names else (),
        property_names=_names(fields) if fields else (),
        keywords=_keywords(schema, fields) if schema is not None else (),
        property_count=len(fields),
        choice_count=max(map(_choices, fields.values())) if fields else 0,
        text_bytes=len(message.encode("utf-8", "replace")) if isinstance(message, str) else 0,
        schema_bytes=_size(schema),
        url_length=len(raw_url) if isinstance(raw_url, str) else 0,
        id_class=id_class,
    )


def nothing(declared: Declared) -> Traits:
    """The traits of a request that is too large, too deep or no JSON: nothing of it is looked at."""
    return observe({}, declared, Inspected(), IdClass.MISSING)


def _names(names: Iterable[object]) -> tuple[str, ...]:
    kept: list[str] = []
    for ordinal, name in enumerate(names):
        if ordinal == _MAX_NAMES:
            break
        kept.append(kept_name(name, ordinal) if isinstance(name, str) else f"#{ordinal}")
    return tuple(kept)


def _keywords(schema: object, fields: Mapping[object, object]) -> tuple[str, ...]:
    used = {keyword for field in fields.values() if isinstance(field, (dict, Mapping)) for keyword in field}
    if isinstance(schema, (dict, Mapping)):
        used |= set(schema)
    return tuple(sorted(keyword for keyword in used if keyword in KEYWORDS))


def _choices(field: object) -> int:
    if not isinstance(field, (dict, Mapping)):
        return 0
    items = field.get("items")
    nested = _choices(items) if isinstance(items, (dict, Mapping)) and "items" not in items else 0
    listed = [value for key in ("enum", "oneOf", "anyOf") if isinstance(value := field.get(key), (list, tuple))]
    return max([nested, *map(len, listed)])


def _size(schema: object) -> int:
    if schema is None:
        return 0
    try:
        return size(schema)
    except CanonicalError:
        return 0
