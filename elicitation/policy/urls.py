"""The URL grammar: what a browser will open, at an origin on the allowlist, without a secret in it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from elicitation.policy.codes import Rule
from elicitation.policy.destinations import MAX_OPAQUE, STEPS, Destination, looks_numeric, normal_origin
from elicitation.policy.document import Document
from elicitation.policy.place import Findings, Place
from elicitation.policy.query import Setting, check_query, check_segment, decode_once
from elicitation.policy.shapes import secret_shaped

#: RFC 3986, appendix B, narrowed to hierarchical URLs in printable ASCII without the backslash.
_SPLIT: Final = re.compile(
    r"([A-Za-z][A-Za-z0-9+.-]*)://([!\"$-.0->@-\[\]-~]*)([!\"$->@-\[\]-~]*)(?:\?([!\"$-\[\]-~]*))?(?:#([!-\[\]-~]*))?"
)
#: A path of whole segments, none of which is empty or dots, without escapes.
_PLAIN_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~!$&'()*+,=:@-]+)*/?")
#: RFC 3986 path characters; neither Python nor a browser rewrites these (WHATWG URL, path percent-encode set).
_PATH: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*")
_FRAGMENT: Final = re.compile(r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})+")
#: Escapes that mean something else to another reader: controls, dot, slash, backslash, percent, DEL.
_TRICKS: Final = re.compile(r"%(?:[01][0-9A-Fa-f]|2[eEfF5]|5[cC]|7[fF])")
#: Everything but printable ASCII without the backslash.
_FORBIDDEN: Final = re.compile(r"[^!-\[\]-~]")
_CONTROLS: Final = re.compile(r"%(?:[01][0-9A-Fa-f]|7[fF])")
_HOST: Final = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")


class Caller(NamedTuple):
    """On whose behalf a URL is judged. ``shown_id`` is the id that a bound parameter may already carry: none
    before the desk has written it, the elicitation's own in an error that is about to be sent."""

    tenant: str
    service: str
    shown_id: str | None = None


class Inspected(NamedTuple):
    """What became of a URL: its normalised form when nothing was found, its destination when there is one, and
    the names of its parameters as they stood."""

    url: str | None = None
    destination: Destination | None = None
    path_index: int | None = None
    parameter_names: tuple[str, ...] = ()

    def with_id(self, elicitation_id: str) -> str | None:
        """The URL with the id written into the destination's bound parameter, as the last of the query."""
        bound = self.destination.bound_parameter if self.destination else None
        if self.url is None or bound is None:
            return self.url
        base, mark, fragment = self.url.partition("#")
        return f"{base}{'&' if '?' in base else '?'}{bound}={elicitation_id}{mark}{fragment}"


def inspect(raw: object, place: Place, caller: Caller, document: Document, findings: Findings) -> Inspected:
    """Judge a URL. What is admitted parses alike in every reader, and differs from ``raw`` at most in the case of
    scheme and host, a default port and an empty path. Nothing is fetched. Sources: client/elicitation, Safe URL
    Handling (R54 to R56); WHATWG URL; operator policy for the allowlist."""
    if not isinstance(raw, str) or not raw:
        findings.add(Rule.URL_MISSING, place)
        return Inspected()
    if len(raw) > document.urls.max_length:
        findings.add(Rule.URL_TOO_LONG, place)
        return Inspected()
    split = _SPLIT.fullmatch(raw)
    if split is None:
        if _FORBIDDEN.search(raw):
            findings.add(Rule.URL_FORBIDDEN_CHARACTER, place)
            return Inspected()
        scheme = raw.partition(":")[0].lower()
        findings.add(Rule.URL_MALFORMED if scheme == "https" or ":" not in raw else Rule.URL_SCHEME, place)
        return Inspected()
    before = findings.seen
    # The origins of destinations are normalised: what equals one as it stands needs no reading.
    origin: str | None = f"{split[1]}://{split[2]}"
    destination = document.destination_for(str(origin), caller.tenant, caller.service)
    if destination is None:
        origin = _origin(split[1], split[2], place, findings)
        destination = document.destination_for(origin, caller.tenant, caller.service) if origin else None
        if origin and destination is None:
            findings.add(_unlisted(origin), place)
    setting = Setting(place, caller.shown_id, destination, document)
    path_index = _path(split[3], setting, findings)
    names = check_query(split[4], setting, findings) if split[4] is not None else ()
    if split[5] is not None:
        _fragment(split[5], destination, place, findings)
    if origin is None or destination is None or findings.seen > before:
        return Inspected(None, destination, path_index, names)
    rest = raw[split.end(2) :]
    return Inspected(origin + (rest if split[3] else f"/{rest}"), destination, path_index, names)


def _origin(scheme: str, authority: str, place: Place, findings: Findings) -> str | None:
    """The normalised origin, or ``None`` with the reason among the findings."""
    problem = _authority_problem(authority.lower())
    if scheme.lower() != "https":
        findings.add(Rule.URL_SCHEME, place)
    if problem is not None:
        findings.add(problem, place)
    if scheme.lower() != "https" or problem is not None:
        return None
    origin = normal_origin(f"https://{authority}")
    if origin is None:
        findings.add(_unreadable(authority.lower()), place)
    return origin


def _authority_problem(authority: str) -> Rule | None:
    if not authority:
        return Rule.URL_MALFORMED
    if "@" in authority:
        return Rule.URL_USERINFO
    if "%" in authority:
        return Rule.URL_AUTHORITY_ESCAPE
    if _host(authority).endswith("."):
        return Rule.URL_TRAILING_DOT
    return None if _HOST.fullmatch(_host(authority)) else Rule.URL_MALFORMED


def _host(authority: str) -> str:
    if authority.startswith("["):
        return authority.partition("]")[0] + "]"
    return authority.partition(":")[0]


def _unreadable(authority: str) -> Rule:
    """Why a host and port that use plain characters are no origin."""
    host = _host(authority)
    if host.startswith("[") or looks_numeric(host.rpartition(".")[2]):
        return Rule.URL_IP_LITERAL
    if any(label.startswith("xn--") for label in host.split(".")):
        return Rule.URL_PUNYCODE
    return Rule.URL_NOT_CANONICAL if normal_origin(f"https://{host}") else Rule.URL_MALFORMED


def _unlisted(origin: str) -> Rule:
    host = _host(origin.removeprefix("https://"))
    if host.startswith("[") or looks_numeric(host.rpartition(".")[2]):
        return Rule.URL_IP_LITERAL
    if any(label.startswith("xn--") for label in host.split(".")):
        return Rule.URL_PUNYCODE
    return Rule.URL_ORIGIN_NOT_LISTED


def _path(path: str, setting: Setting, findings: Findings) -> int | None:
    path, place, destination = path or "/", setting.place, setting.destination
    if not _PLAIN_PATH.fullmatch(path):
        if not _PATH.fullmatch(path):
            findings.add(Rule.URL_NOT_CANONICAL, place)
            return None
        if STEPS.search(path) or _TRICKS.search(path):
            findings.add(Rule.URL_PATH_ESCAPE, place)
            return None
    opaque = destination.opaque_segment if destination is not None else None
    for index, segment in enumerate(path[1:].split("/")):
        plain = segment if "%" not in segment else decode_once(segment)
        if plain is None:
            findings.add(Rule.URL_PATH_ESCAPE, place)
            continue
        if index == opaque:
            if len(segment) > MAX_OPAQUE:
                findings.add(Rule.URL_TOO_LONG, place)
        elif secret_shaped(plain) is not None:
            findings.add(Rule.URL_VALUE_SECRET, place)
        if ";" in plain:
            check_segment(plain, index == opaque, setting, findings)
    if destination is None:
        return None
    path_index = destination.path_index(path)
    if path_index is None:
        findings.add(Rule.URL_PATH_NOT_LISTED, place)
    return path_index


def _fragment(fragment: str, destination: Destination | None, place: Place, findings: Findings) -> None:
    if destination is None or not destination.opaque_fragment or not fragment:
        findings.add(Rule.URL_FRAGMENT, place)
    elif not _FRAGMENT.fullmatch(fragment):
        findings.add(Rule.URL_NOT_CANONICAL, place)
    elif _CONTROLS.search(fragment):
        findings.add(Rule.URL_FORBIDDEN_CHARACTER, place)
    elif len(fragment) > MAX_OPAQUE:
        findings.add(Rule.URL_TOO_LONG, place)
