"""The parameters of a URL: listed ones only, each once, with its pattern, and no secret by name or by shape."""

from __future__ import annotations

import re
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from elicitation.policy.codes import Rule
from elicitation.policy.destinations import MAX_OPAQUE, Destination
from elicitation.policy.document import Document
from elicitation.policy.identifiers import parse
from elicitation.policy.place import Findings, Place
from elicitation.policy.shapes import secret_shaped
from elicitation.policy.vocabulary import detection_copy

#: RFC 3986 query characters less ``'``, which browsers encode, and less ``;``, at which some readers split.
_QUERY: Final = re.compile(r"(?:[A-Za-z0-9._~!$&()*+,=:@/?-]|%[0-9A-Fa-f]{2})+")
#: What some readers split or nest at, and control characters, at which some stop.
_UNCLEAR: Final = re.compile(r"[;\[\]\x00-\x1f\x7f-\x9f]")
_ESCAPE: Final = re.compile(r"%[0-9A-Fa-f]{2}")
_NESTED: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]{0,20}:)?//([^/?#]*)([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)


def decode_once(text: str, *, plus: bool = False) -> str | None:
    """The text without its percent-escapes, or ``None`` when it is not UTF-8 or was escaped twice."""
    spaced = text.replace("+", " ") if plus and "+" in text else text
    if "%" not in spaced:
        return spaced
    raw = unquote_to_bytes(spaced)
    try:
        plain = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if _ESCAPE.search(plain) else plain


class Setting(NamedTuple):
    """Where a query stands: whose destination it goes to, if any, and which id its bound parameter may carry."""

    place: Place
    shown_id: str | None
    destination: Destination | None
    document: Document


def check_query(query: str, setting: Setting, findings: Findings) -> tuple[str, ...]:
    """Judge a raw query and return the parameters' decoded names, in order. Without a destination the names and
    values are still held against vocabulary and shapes. Sources: R54, operator policy."""
    if not _QUERY.fullmatch(query):
        findings.add(Rule.URL_QUERY_MALFORMED, setting.place)
        return ()
    names: list[str] = []
    seen: set[str] = set()
    for piece in query.split("&"):
        raw_name, _, raw_value = piece.partition("=")
        name: str | None = raw_name
        value: str | None = raw_value
        if "%" in piece or "+" in piece:
            name, value = _decoded(raw_name), _decoded(raw_value)
        if not name or value is None:
            findings.add(Rule.URL_QUERY_MALFORMED, setting.place)
            continue
        names.append(name)
        folded = detection_copy(name).casefold()
        if folded in seen:
            findings.add(Rule.URL_PARAMETER_REPEATED, setting.place)
        seen.add(folded)
        # A listed name counts in its plain spelling only; an escaped one is another name to some readers.
        _parameter(name, value, raw_name == name, setting, findings)
    return tuple(names)


def _decoded(raw: str) -> str | None:
    """A name or a value as it is meant, or ``None`` when not everybody would read it so."""
    plain = decode_once(raw, plus=True)
    return None if plain is None or _UNCLEAR.search(plain) else plain


def _parameter(name: str, value: str, plain: bool, setting: Setting, findings: Findings) -> None:
    destination = setting.destination
    if destination is None or not plain or destination.opaque_parameter != name:
        _shapes(name, value, setting, findings)
    elif len(value) > MAX_OPAQUE:
        findings.add(Rule.URL_TOO_LONG, setting.place)
    if destination is None:
        return
    if not plain or name not in destination.parameters:
        findings.add(Rule.URL_PARAMETER_NOT_LISTED, setting.place)
    elif name == destination.bound_parameter:
        if not _may_carry(value, setting.shown_id):
            findings.add(Rule.URL_PARAMETER_BOUND, setting.place)
    elif not destination.fits(name, value):
        findings.add(Rule.URL_PARAMETER_VALUE, setting.place)


def check_segment(plain: str, opaque: bool, setting: Setting, findings: Findings) -> None:
    """Judge what follows a ``;`` in a path's segment, which some servers read as parameters (RFC 3986, section 3.3):
    names against the vocabulary, values by their shape unless the segment is opaque. Source: operator policy."""
    for piece in plain.split(";")[1:]:
        name, _, value = piece.partition("=")
        if setting.document.vocabulary.matcher().hit(name) is not None:
            findings.add(Rule.URL_PARAMETER_SECRET, setting.place)
        if not opaque and secret_shaped(value) is not None:
            findings.add(Rule.URL_VALUE_SECRET, setting.place)


def _may_carry(value: str, shown_id: str | None) -> bool:
    """An error that is about to be sent carries the elicitation's id, or the desk's own beside a server's."""
    return shown_id is not None and (value == shown_id or parse(value) is not None)


def _shapes(name: str, value: str, setting: Setting, findings: Findings) -> None:
    """The vocabulary applies to names, the shapes to both, and a URL inside a value is read one level deep."""
    place, vocabulary = setting.place, setting.document.vocabulary.matcher()
    if vocabulary.hit(name) is not None or secret_shaped(name) is not None:
        findings.add(Rule.URL_PARAMETER_SECRET, place)
    if secret_shaped(value) is not None:
        findings.add(Rule.URL_VALUE_SECRET, place)
    nested = _NESTED.match(value) if "//" in value else None
    if nested is None:
        return
    if "@" in nested[1]:
        findings.add(Rule.URL_VALUE_SECRET, place)
    for piece in re.split("[&;]", "&".join(part for part in (nested[3], nested[4]) if part)):
        inner_name, _, inner_value = piece.partition("=")
        inner = decode_once(inner_name, plus=True), decode_once(inner_value, plus=True)
        if inner[0] is None or inner[1] is None or _NESTED.match(inner[1]):
            findings.add(Rule.URL_QUERY_MALFORMED, place)
            continue
        if inner[0] and vocabulary.hit(inner[0]) is not None:
            findings.add(Rule.URL_PARAMETER_SECRET, place)
        if secret_shaped(inner[1]) is not None:
            findings.add(Rule.URL_VALUE_SECRET, place)
