"""The words of the field and the shape of a decision: what was asked, what was decided, by which rule, and where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from elicitation.policy.rules import Rule, entry


class Wire(StrEnum):
    """A revision of the protocol, as it names itself on the wire."""

    V2025_11_25 = "2025-11-25"
    V2026_07_28 = "2026-07-28"


class Mode(StrEnum):
    """How the person answers: in the client, or on an outside page (2025-11-25, client/elicitation)."""

    FORM = "form"
    URL = "url"


class Delivery(StrEnum):
    """How the question reaches the client: pushed, as a -32042 error, or as an input-required result."""

    CREATE = "create"
    URL_REQUIRED = "url_required"
    INPUT_REQUIRED = "input_required"


class Purpose(StrEnum):
    """What the answer is for. The purpose, never the caller's wish, chooses the mode (operator policy)."""

    CHOICE = "choice"
    CONFIRMATION = "confirmation"
    PARAMETER = "parameter"
    PROFILE = "profile"
    CREDENTIAL = "credential"
    PAYMENT = "payment"
    THIRD_PARTY_AUTHORIZATION = "third_party_authorization"
    EXTERNAL_TRANSACTION = "external_transaction"


class Outcome(StrEnum):
    ADMIT = "admit"
    DENY = "deny"


class IdClass(StrEnum):
    """What kind of correlation id was offered; the ledger keeps this, never a refused id (design: identifiers)."""

    MINTED = "minted"
    UUID4 = "uuid4"
    OPAQUE = "opaque"
    TOO_SHORT = "too_short"
    STRUCTURED = "structured"
    SEQUENTIAL = "sequential"
    PERSONAL = "personal"
    TOKEN = "token"  # noqa: S105 - a class of identifier, not a secret
    MISSING = "missing"


#: A denial never suggests another way to ask; the field exists so that a client cannot mistake its absence.
FALLBACK: Final = "none"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing wrong: the rule, and two spellings of the place, neither of which carries a value.

    ``at`` is a JSON pointer into the caller's body, for the caller. ``place`` has keywords and ordinals only
    (``/requestedSchema/properties/#3/title``), for the ledger, where a name could be a secret too.
    """

    rule: Rule
    at: str
    place: str

    def as_json(self) -> dict[str, str]:
        about = entry(self.rule)
        return {"rule": self.rule, "source": about.source_text, "at": self.at, "advice": about.advice}


@dataclass(frozen=True, slots=True)
class Decision:
    """The policy's answer to one request. All findings are kept, in a fixed order; the first denial decides."""

    outcome: Outcome
    requested_mode: Mode | None
    negotiated: bool
    reason: str
    policy_revision: int
    policy_digest: str
    findings: tuple[Finding, ...] = field(default=())

    def __post_init__(self) -> None:
        denied = any(entry(finding.rule).denies for finding in self.findings)
        if denied is not (self.outcome is Outcome.DENY):
            raise ValueError("a decision is a denial exactly when a finding denies")

    @property
    def admitted(self) -> bool:
        return self.outcome is Outcome.ADMIT

    @property
    def deciding(self) -> Finding | None:
        """The finding that decided, or ``None`` for an admission."""
        return next((finding for finding in self.findings if entry(finding.rule).denies), None)

    def as_json(self) -> dict[str, object]:
        """The decision as the API shows it. Rule and source of an admission are those of :attr:`Rule.ADMITTED`."""
        deciding = self.deciding
        about = entry(deciding.rule if deciding else Rule.ADMITTED)
        return {
            "outcome": self.outcome,
            "requestedMode": self.requested_mode,
            "negotiated": self.negotiated,
            "reason": self.reason,
            "fallback": FALLBACK,
            "rule": about.rule,
            "source": about.source_text,
            "at": deciding.at if deciding else "",
            "advice": about.advice,
            "policyRevision": self.policy_revision,
            "policyDigest": self.policy_digest,
            "findings": [finding.as_json() for finding in self.findings],
        }


@dataclass(frozen=True, slots=True)
class Ask:
    """One request as the policy sees it: raw where it must be judged, typed where the API has typed it already.

    ``capabilities`` is the raw JSON value that the client declared for this very request. ``request`` is the raw
    ``params`` of ``elicitation/create``. ``elicitation_id`` is the desk's own id (``elc_`` and 26 base-32
    characters), to be written into a bound URL parameter. ``providers`` are those that are open to the tenant;
    ``None`` where that is not known, as in the drill.
    """

    wire: Wire
    delivery: Delivery
    purpose: Purpose
    capabilities: object
    request: Mapping[str, object]
    tenant: str
    service: str
    elicitation_id: str
    window_seconds: int | None = None
    providers: frozenset[str] | None = None
