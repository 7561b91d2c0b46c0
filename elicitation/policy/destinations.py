"""An outside page that links may lead to: its origin, who may use it, and what its URLs may carry."""

from __future__ import annotations

import ipaddress
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import Final, TypeVar

from elicitation.policy.decision import Purpose
from elicitation.policy.pattern import PatternError, compile_pattern
from elicitation.policy.reader import DocumentError, Section, choice, text

#: The pattern's place is taken by this word where the desk writes its own id.
BOUND: Final = "elicitation_id"
#: An opaque place is exempt from the shape tests, but not from this length (characters).
MAX_OPAQUE: Final = 512

_LABEL: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SPLIT: Final = re.compile(r"https://(\[[0-9a-f:.]+\]|[a-z0-9.-]+)(?::([0-9]{1,5}))?", re.IGNORECASE)
_OPAQUE: Final = re.compile(r"fragment|path:(?:0|[1-9][0-9]?)|parameter:[A-Za-z0-9_.-]{1,64}")
_PATH: Final = re.compile(r"/(?:[A-Za-z0-9._~!$&()*+,;=:@-]|/(?!/))*")
#: A step that leads nowhere or up, also to a server that drops ``;`` and what follows it in a segment.
STEPS: Final = re.compile(r"/(?:\.{0,2}(?:;|%3[bB])|\.{1,2}(?:/|\Z)|/)")
_PARAMETER: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
#: Written alike in the policy's pattern language and in Python's.
_ONE_CLASS: Final = re.compile(
    r"\^\[(?:[A-Za-z0-9!]-[A-Za-z0-9~]|[A-Za-z0-9_.])+-?\](?:\+|\{[0-9]{1,3}(?:,[0-9]{1,3})?\})\$"
)
_SLUG: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


class Binding(StrEnum):
    """What ties the person to the completion: the subject in the evidence, or provider and id alone."""

    SUBJECT = "subject"
    ASSERTED = "asserted"


class EvidenceSource(StrEnum):
    """By which ways a destination's completions may come."""

    WEBHOOK = "webhook"
    RECONCILE = "reconcile"
    SERVER = "server"


@dataclass(frozen=True)
class Destination:
    """One entry of the allowlist. ``parameters`` maps a name to a pattern or to :data:`BOUND`; ``opaque`` lists
    ``fragment``, ``path:<n>`` (segments count from 0) or ``parameter:<name>``, at most one of each kind. Not slotted,
    for what is found once and kept."""

    origin: str
    provider: str
    tenants: tuple[str, ...]
    services: tuple[str, ...]
    purposes: tuple[Purpose, ...]
    paths: tuple[str, ...]
    parameters: Mapping[str, str] = field(hash=False)
    opaque: tuple[str, ...]
    binding: Binding
    sources: tuple[EvidenceSource, ...]
    connect_page: bool
    reuse_results: bool
    usual_seconds: int

    @cached_property
    def bound_parameter(self) -> str | None:
        """The name of the parameter that carries the elicitation's id, if the destination has one."""
        return next((name for name, pattern in self.parameters.items() if pattern == BOUND), None)

    @cached_property
    def opaque_segment(self) -> int | None:
        """Which segment of the path is opaque, if one is."""
        return next((int(place[5:]) for place in self.opaque if place.startswith("path:")), None)

    @cached_property
    def opaque_parameter(self) -> str | None:
        """The name of the opaque parameter, if there is one."""
        return next((place[10:] for place in self.opaque if place.startswith("parameter:")), None)

    @cached_property
    def _fitting(self) -> Mapping[str, Callable[[str], object]]:
        return {name: _search(pattern) for name, pattern in self.parameters.items() if pattern != BOUND}

    def fits(self, name: str, value: str) -> bool:
        """Whether a value fits the pattern of a listed parameter that is not bound."""
        return bool(self._fitting[name](value))

    @property
    def opaque_fragment(self) -> bool:
        return "fragment" in self.opaque

    @cached_property
    def _prefixes(self) -> tuple[str, ...]:
        return tuple(prefix if prefix.endswith("/") else f"{prefix}/" for prefix in self.paths)

    def path_index(self, path: str) -> int | None:
        """Which of the path prefixes holds ``path``; a prefix ends at a slash or covers a whole segment."""
        for index, prefix in enumerate(self._prefixes):
            if path.startswith(prefix) or path == self.paths[index]:
                return index
        return None

    def as_json(self) -> dict[str, object]:
        return {
            "origin": self.origin,
            "provider": self.provider,
            "tenants": list(self.tenants),
            "services": list(self.services),
            "purposes": [str(purpose) for purpose in self.purposes],
            "paths": list(self.paths),
            "parameters": dict(self.parameters),
            "opaque": list(self.opaque),
            "binding": str(self.binding),
            "sources": [str(source) for source in self.sources],
            "connect_page": self.connect_page,
            "reuse_results": self.reuse_results,
            "usual_seconds": self.usual_seconds,
        }


def _search(pattern: str) -> Callable[[str], object]:
    """The search for a pattern. One class with a count, as most are, has nothing to go back to in any engine."""
    return re.compile(pattern[1:-1]).fullmatch if _ONE_CLASS.fullmatch(pattern) else compile_pattern(pattern).search


def normal_origin(raw: str) -> str | None:
    """The normalised https origin, or ``None``: scheme and host in lower case, no default port, and nothing else
    (RFC 6454, section 4; WHATWG URL, host parsing, for addresses)."""
    split = _SPLIT.fullmatch(raw)
    if split is None:
        return None
    host, port_text = split[1].lower(), split[2]
    port = int(port_text) if port_text else 443
    if not (_is_name(host) or _is_address(host)) or not 0 < port <= 65535 or str(port) != (port_text or "443"):
        return None
    return f"https://{host}" + (f":{port}" if port != 443 else "")


def _is_name(host: str) -> bool:
    labels = host.split(".")
    if len(host) > 253 or any(not _LABEL.fullmatch(label) for label in labels):
        return False
    # A browser reads a host whose last label is a number as an address.
    return not looks_numeric(labels[-1]) and all(_is_a_label(label) for label in labels)


def looks_numeric(label: str) -> bool:
    """Whether a host's last label makes a browser read the host as an address (WHATWG URL, ends in a number)."""
    return label.isdigit() or re.fullmatch(r"0x[0-9a-f]*", label) is not None


def _is_a_label(label: str) -> bool:
    """True for a plain label, and for an A-label that stands for something and is spelled canonically (RFC 5890)."""
    if not label.startswith("xn--"):
        return True
    try:
        plain = label[4:].encode().decode("punycode")
        again = plain.encode("punycode").decode()
    except (UnicodeError, ValueError):
        return False
    letters = all(unicodedata.category(char)[0] in "LMN" or char in "-\u00b7" for char in plain)
    stable = again == label[4:] and unicodedata.normalize("NFC", plain.lower()) == plain
    return letters and stable and not plain.isascii()


def _is_address(host: str) -> bool:
    try:
        if host.startswith("["):
            return f"[{ipaddress.IPv6Address(host[1:-1]).compressed}]" == host
        return str(ipaddress.IPv4Address(host)) == host
    except ValueError:
        return False


def read_destination(value: object, at: str) -> Destination:
    """Read and validate one destination. Raises :class:`DocumentError`; source: operator policy."""
    section = Section(value, at)
    origin = normal_origin(section.text("origin", 300))
    if origin is None:
        raise DocumentError(section.place("origin"), "must be an https origin: scheme, host, port, nothing more")
    provider = section.text("provider", 64)
    if not _SLUG.fullmatch(provider):
        raise DocumentError(section.place("provider"), "must be a provider's slug")
    destination = Destination(
        origin=origin,
        provider=provider,
        tenants=section.texts("tenants", 1000, 64),
        services=section.texts("services", 1000, 64),
        purposes=_words(section, "purposes", Purpose),
        paths=_paths(section),
        parameters=_parameters(section.section("parameters")),
        opaque=_opaque(section),
        binding=section.choice("binding", Binding, ", ".join(Binding)),
        sources=_words(section, "sources", EvidenceSource),
        connect_page=_no_page_yet(section),
        reuse_results=section.boolean("reuse_results"),
        usual_seconds=section.integer("usual_seconds", 1, 31 * 86400),
    )
    section.done()
    for index, place in enumerate(destination.opaque):
        kind, _, name = place.partition(":")
        if kind == "parameter" and destination.parameters.get(name, BOUND) == BOUND:
            raise DocumentError(f"{section.place('opaque')}/{index}", "names no parameter with a pattern")
    return destination


W = TypeVar("W", Purpose, EvidenceSource)


def _words(section: Section, name: str, kind: type[W]) -> tuple[W, ...]:
    at = section.place(name)
    words = section.texts(name, len(kind), 64)
    if not words:
        raise DocumentError(at, "must not be empty")
    return tuple(choice(word, kind, f"{at}/{index}", ", ".join(kind)) for index, word in enumerate(words))


def _paths(section: Section) -> tuple[str, ...]:
    paths = section.texts("paths", 50, 200)
    at = section.place("paths")
    if not paths:
        raise DocumentError(at, "must not be empty; the path / admits every path")
    for index, path in enumerate(paths):
        if not _PATH.fullmatch(path) or STEPS.search(path):
            raise DocumentError(f"{at}/{index}", "must be a plain path that begins with a slash")
    return paths


def _parameters(section: Section) -> Mapping[str, str]:
    parameters: dict[str, str] = {}
    for ordinal, (name, value) in enumerate(section.members()):
        at = f"{section.at}/#{ordinal}"
        if not _PARAMETER.fullmatch(name):
            raise DocumentError(at, "must have a plain name of at most 64 characters")
        pattern = text(value, at, 256)
        if pattern != BOUND:
            check_pattern(pattern, at)
        parameters[name] = pattern
    if list(parameters.values()).count(BOUND) > 1 or len(parameters) > 50:
        raise DocumentError(section.at, "must hold at most 50 parameters, and the elicitation's id in one of them")
    if len({name.casefold() for name in parameters}) != len(parameters):
        raise DocumentError(section.at, "lists something twice")
    return MappingProxyType(parameters)


def check_pattern(pattern: str, at: str) -> None:
    """A parameter's pattern covers the whole value and runs in linear time, or :class:`DocumentError`."""
    try:
        compiled = compile_pattern(pattern)
    except PatternError as error:
        raise DocumentError(at, f"must be a pattern of literals, classes and counts: {error}") from None
    if not (compiled.anchored_start and compiled.anchored_end):
        raise DocumentError(at, "must be anchored at both ends")


def _opaque(section: Section) -> tuple[str, ...]:
    places = section.texts("opaque", 3, 80)
    at = section.place("opaque")
    for index, place in enumerate(places):
        if not _OPAQUE.fullmatch(place):
            raise DocumentError(f"{at}/{index}", "must be fragment, path:<n> or parameter:<name>")
    if len({place.partition(":")[0] for place in places}) != len(places):
        raise DocumentError(at, "must mark at most one place of each kind")
    return places


def _no_page_yet(section: Section) -> bool:
    """Evidence would wait for a page that this desk does not serve, so no policy may demand it."""
    if section.boolean("connect_page"):
        raise DocumentError(section.place("connect_page"), "must be false: this desk serves no connect page")
    return False
