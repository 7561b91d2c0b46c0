"""The policy document: typed sections, strict parsing, canonical bytes, digest, and the default first revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Final

from elicitation.policy import default_vocabulary, signal_rules
from elicitation.policy.canonical import canonical, digest
from elicitation.policy.decision import Mode, Purpose, Wire
from elicitation.policy.destinations import Binding, Destination, EvidenceSource, read_destination
from elicitation.policy.reader import DocumentError, Section, choice, load
from elicitation.policy.routing import URL_ONLY
from elicitation.policy.sections import (
    Forms,
    Identifiers,
    Legacy,
    Limits,
    Links,
    PurposeRule,
    Urls,
    Vocabulary,
    Windows,
)
from elicitation.policy.signal_rules import Signals
from elicitation.policy.vocabulary import segments

__all__ = [
    "DEFAULT_DOCUMENT",
    "Binding",
    "Destination",
    "Document",
    "DocumentError",
    "EvidenceSource",
    "Links",
    "lay_over",
    "parse",
]

_DAY: Final = 86400
_MAX_DOCUMENT: Final = 4_000_000


@dataclass(frozen=True)
class Document:
    """One revision's content. Frozen; equal documents have equal bytes. Not slotted, for the cached digest."""

    wires: tuple[Wire, ...]
    purposes: Mapping[Purpose, PurposeRule] = field(hash=False)
    windows: Windows
    limits: Limits
    forms: Forms
    vocabulary: Vocabulary
    destinations: tuple[Destination, ...]
    urls: Urls
    identifiers: Identifiers
    legacy: Legacy
    signals: Signals

    @cached_property
    def digest(self) -> str:
        """``sha256:`` and the hex digest of :meth:`canonical`."""
        return digest(self.as_json())

    def canonical(self) -> bytes:
        """The RFC 8785 bytes of the document, which :func:`parse` reads back to an equal one."""
        return canonical(self.as_json())

    def as_json(self) -> dict[str, object]:
        return {
            "wires": [str(wire) for wire in self.wires],
            "purposes": {str(purpose): _purpose_json(rule) for purpose, rule in self.purposes.items()},
            "windows": asdict(self.windows),
            "limits": asdict(self.limits),
            "forms": asdict(self.forms) | {"links": str(self.forms.links)},
            "vocabulary": {"deny": list(self.vocabulary.deny), "allow": list(self.vocabulary.allow)},
            "destinations": [destination.as_json() for destination in self.destinations],
            "urls": asdict(self.urls),
            "identifiers": asdict(self.identifiers),
            "legacy": asdict(self.legacy),
            "signals": asdict(self.signals),
        }

    def destination_for(self, origin: str, tenant: str, service: str) -> Destination | None:
        """The destination at a normalised origin that this tenant's service may use. There is at most one, and an
        origin that is listed for others only is as good as not listed."""
        for destination in self._by_origin.get(origin, ()):
            if tenant in destination.tenants and service in destination.services:
                return destination
        return None

    @cached_property
    def _by_origin(self) -> Mapping[str, tuple[Destination, ...]]:
        """An allowlist may be long, and is asked for every link."""
        origins: dict[str, tuple[Destination, ...]] = {}
        for destination in self.destinations:
            origins[destination.origin] = (*origins.get(destination.origin, ()), destination)
        return origins

    def window_for(self, purpose: Purpose) -> int:
        """The window of a purpose in seconds, where the caller asks for none."""
        rule = self.purposes.get(purpose)
        if rule is None or rule.window_seconds is None:
            return self.windows.default_seconds
        return rule.window_seconds


def _purpose_json(rule: PurposeRule) -> dict[str, object]:
    return {"mode": str(rule.mode)} | ({} if rule.window_seconds is None else {"window_seconds": rule.window_seconds})


def parse(text: str) -> Document:
    """Read a policy document. Raises :class:`DocumentError`, which names the place and never the value, for
    duplicate or unknown keys, wrong types, values out of range, and entries that contradict each other."""
    if len(text) > _MAX_DOCUMENT:
        raise DocumentError("", f"longer than {_MAX_DOCUMENT} characters")
    return _read(load(text))


def lay_over(document: Document, overlay: Mapping[str, object]) -> Document:
    """The document with whole sections replaced by the overlay's, read as strictly as any other."""
    return _read(document.as_json() | dict(overlay))


def _read(value: object) -> Document:
    root = Section(value, "")
    wires = root.texts("wires", len(Wire), 32)
    if not wires:
        raise DocumentError("/wires", "must not be empty")
    windows = _windows(root.section("windows"))
    document = Document(
        wires=tuple(choice(wire, Wire, f"/wires/{index}", ", ".join(Wire)) for index, wire in enumerate(wires)),
        purposes=_purposes(root.section("purposes"), windows.max_seconds),
        windows=windows,
        limits=_limits(root.section("limits")),
        forms=_forms(root.section("forms")),
        vocabulary=_vocabulary(root.section("vocabulary")),
        destinations=_destinations(root),
        urls=Urls(_integer(root.section("urls"), "max_length", 64, 8192)),
        identifiers=Identifiers(_integer(root.section("identifiers"), "min_length", 8, 64)),
        legacy=_legacy(root.section("legacy")),
        signals=signal_rules.read(root.section("signals")),
    )
    root.done()
    return document


def _purposes(section: Section, max_seconds: int) -> Mapping[Purpose, PurposeRule]:
    purposes: dict[Purpose, PurposeRule] = {}
    for ordinal, (name, value) in enumerate(section.members()):
        purpose = choice(name, Purpose, f"{section.at}/#{ordinal}", ", ".join(Purpose))
        one = Section(value, f"{section.at}/{purpose}")
        mode = one.choice("mode", Mode, ", ".join(Mode))
        window = one.integer("window_seconds", 1, max_seconds) if one.has("window_seconds") else None
        one.done()
        if purpose in URL_ONLY and mode is not Mode.URL:
            raise DocumentError(one.place("mode"), "must be url: this purpose is never asked in a form")
        purposes[purpose] = PurposeRule(mode, window)
    return MappingProxyType(purposes)


def _windows(section: Section) -> Windows:
    longest = section.integer("max_seconds", 1, 7 * _DAY)
    windows = Windows(
        default_seconds=section.integer("default_seconds", 1, longest),
        max_seconds=longest,
        retry_seconds=section.integer("retry_seconds", 1, 31 * _DAY),
        replay_seconds=section.integer("replay_seconds", 0, _DAY),
    )
    section.done()
    return windows


def _limits(section: Section) -> Limits:
    limits = Limits(
        pending_per_subject=section.integer("pending_per_subject", 1, 1000),
        asks_per_subject_hour=section.integer("asks_per_subject_hour", 1, 100_000),
        asks_per_service_hour=section.integer("asks_per_service_hour", 1, 100_000_000),
    )
    section.done()
    return limits


def _forms(section: Section) -> Forms:
    forms = Forms(
        max_fields=section.integer("max_fields", 1, 200),
        max_choices=section.integer("max_choices", 1, 1000),
        max_text=section.integer("max_text", 1, 10_000),
        max_message=section.integer("max_message", 1, 10_000),
        max_bytes=section.integer("max_bytes", 256, 1_000_000),
        max_depth=section.integer("max_depth", 3, 32),
        multi_select=section.boolean("multi_select"),
        empty_confirmation=section.boolean("empty_confirmation"),
        links=section.choice("links", Links, ", ".join(Links)),
    )
    section.done()
    return forms


def _vocabulary(section: Section) -> Vocabulary:
    vocabulary = Vocabulary(deny=section.texts("deny", 5000, 100), allow=section.texts("allow", 5000, 100))
    section.done()
    for name, terms in (("deny", vocabulary.deny), ("allow", vocabulary.allow)):
        for index, term in enumerate(terms):
            if not segments(term):
                raise DocumentError(f"{section.place(name)}/{index}", "must hold a word")
    return vocabulary


def _destinations(root: Section) -> tuple[Destination, ...]:
    value = root.take("destinations")
    if not isinstance(value, (list, tuple)) or len(value) > 1000:
        raise DocumentError("/destinations", "must be a list of at most 1000 destinations")
    destinations = tuple(read_destination(item, f"/destinations/{index}") for index, item in enumerate(value))
    for index, later in enumerate(destinations):
        for earlier in destinations[:index]:
            shared = set(later.tenants) & set(earlier.tenants) and set(later.services) & set(earlier.services)
            if later.origin == earlier.origin and shared:
                raise DocumentError(f"/destinations/{index}", "repeats the origin of another for one tenant's service")
    return destinations


def _integer(section: Section, name: str, low: int, high: int) -> int:
    """The only member of a section."""
    value = section.integer(name, low, high)
    section.done()
    return value


def _legacy(section: Section) -> Legacy:
    legacy = Legacy(section.boolean("flat_url_required_error"))
    section.done()
    return legacy


_FORM_PURPOSES: Final = (Purpose.CHOICE, Purpose.CONFIRMATION, Purpose.PARAMETER, Purpose.PROFILE)

#: Revision 1: forms, and no destination that a link could lead to (operator policy).
DEFAULT_DOCUMENT: Final = Document(
    wires=(Wire.V2025_11_25, Wire.V2026_07_28),
    purposes=MappingProxyType(
        {purpose: PurposeRule(Mode.FORM, None) for purpose in _FORM_PURPOSES}
        | {
            Purpose.CREDENTIAL: PurposeRule(Mode.URL, None),
            Purpose.PAYMENT: PurposeRule(Mode.URL, 3600),
            Purpose.THIRD_PARTY_AUTHORIZATION: PurposeRule(Mode.URL, None),
            Purpose.EXTERNAL_TRANSACTION: PurposeRule(Mode.URL, None),
        }
    ),
    windows=Windows(default_seconds=900, max_seconds=3600, retry_seconds=_DAY, replay_seconds=900),
    limits=Limits(pending_per_subject=5, asks_per_subject_hour=30, asks_per_service_hour=10_000),
    forms=Forms(
        max_fields=12,
        max_choices=50,
        max_text=500,
        max_message=1000,
        max_bytes=16384,
        max_depth=6,
        multi_select=False,
        empty_confirmation=True,
        links=Links.DENY,
    ),
    vocabulary=Vocabulary(default_vocabulary.DENY, default_vocabulary.ALLOW),
    destinations=(),
    urls=Urls(max_length=2048),
    identifiers=Identifiers(min_length=20),
    legacy=Legacy(flat_url_required_error=False),
    signals=signal_rules.DEFAULT,
)
