"""The errors that ask for an elicitation: -32042 with its list, and -32021 for a capability that is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from elicitation.policy import capability, traits
from elicitation.policy.admission import Ruling, Setting, judge
from elicitation.policy.decision import Ask, Decision, Delivery, Finding, Mode, Outcome, Purpose, Wire
from elicitation.policy.document import Document
from elicitation.policy.place import ROOT, Findings
from elicitation.policy.routing import REASONS
from elicitation.policy.rules import Rule, entry
from elicitation.policy.traits import Traits

CODE_URL_REQUIRED: Final = -32042
CODE_MISSING_CAPABILITY: Final = -32021
_MESSAGE: Final = "URL elicitation required"
#: An error that sends a person to more pages than this asks too much.
_MAX_ENTRIES: Final = 10

_ERROR: Final = ROOT.key("error")
_DATA: Final = _ERROR.key("data")
_LIST: Final = _DATA.key("elicitations")


def build_error(elicitations: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """The JSON-RPC error object that lists admitted url requests, as :attr:`Ruling.request` has them (2025-11-25,
    client/elicitation, URL Elicitation Required Error; R41, R43, R44). Raises ``ValueError`` for an empty list."""
    if not elicitations:
        raise ValueError("a URL-required error lists at least one elicitation")
    listed = [dict(one) for one in elicitations]
    return {"code": CODE_URL_REQUIRED, "message": _MESSAGE, "data": {"elicitations": listed}}


def missing_capability(mode: Mode) -> dict[str, object]:
    """The JSON-RPC error object for a mode that the request did not declare (2026-07-28, basic; R6)."""
    return {
        "code": CODE_MISSING_CAPABILITY,
        "message": f"This request needs the client capability elicitation.{mode}",
        "data": {"requiredCapabilities": {"elicitation": {str(mode): {}}}},
    }


@dataclass(frozen=True, slots=True)
class ErrorAsk:
    """An error body that a service is about to send, and on whose behalf. ``error`` is raw JSON."""

    wire: Wire
    purpose: Purpose
    capabilities: object
    error: object
    tenant: str
    service: str


@dataclass(frozen=True, slots=True)
class ErrorRuling:
    """The verdict on an error body. ``error`` is the exact object to send, its list form and URLs normalised, or
    ``None`` on a denial; ``rulings`` are those of its elicitations, in order; ``traits`` are the first one's."""

    decision: Decision
    error: dict[str, object] | None
    traits: Traits
    rulings: tuple[Ruling, ...] = field(default=())


def judge_error(ask: ErrorAsk, document: Document, revision: int) -> ErrorRuling:
    """Judge a -32042 error before it is sent. Never raises, whatever JSON it holds. The flat shape is admitted only
    where ``legacy.flat_url_required_error`` says so. Source: 2025-11-25, client/elicitation, URL Elicitation
    Required Error (R41 to R44); 2026-07-28 has no such error (R46)."""
    findings = Findings()
    if ask.wire is Wire.V2026_07_28:
        findings.add(Rule.ERROR_NOT_IN_WIRE, _ERROR.key("code"))
    rulings: list[Ruling] = []
    for setting, request in _entries(ask.error, document, findings):
        one = Ask(
            wire=ask.wire,
            delivery=Delivery.URL_REQUIRED,
            purpose=ask.purpose,
            capabilities=ask.capabilities,
            request=request,
            tenant=ask.tenant,
            service=ask.service,
            elicitation_id="",
        )
        rulings.append(judge(one, document, revision, setting))
    _repeats(rulings, findings)
    return _ruling(ask, findings, rulings, document, revision)


def _entries(error: object, document: Document, findings: Findings) -> list[tuple[Setting, Mapping[str, object]]]:
    """The elicitations of the error with their places; what is wrong with the error around them is found here."""
    if not isinstance(error, Mapping):
        findings.add(Rule.ERROR_MALFORMED, _ERROR)
        return []
    code, data = error.get("code"), error.get("data")
    if isinstance(code, bool) or code != CODE_URL_REQUIRED:
        findings.add(Rule.ERROR_CODE, _ERROR.key("code"))
    if not isinstance(error.get("message"), str):
        findings.add(Rule.ERROR_MALFORMED, _ERROR.key("message"))
    if not isinstance(data, Mapping):
        findings.add(Rule.ERROR_LIST_MISSING, _DATA)
        return []
    if "elicitations" not in data and ("url" in data or "elicitationId" in data):
        admitted = document.legacy.flat_url_required_error
        findings.add(Rule.ERROR_FLAT_FLAGGED if admitted else Rule.ERROR_FLAT, _DATA)
        # The flat shape has neither mode nor, at times, a message of its own: those of the error stand in.
        return [(Setting(_DATA, own_ids=True), {"mode": str(Mode.URL), "message": error.get("message"), **data})]
    listed = data.get("elicitations")
    if not isinstance(listed, (list, tuple)) or not listed:
        findings.add(Rule.ERROR_LIST_MISSING, _LIST)
        return []
    if len(listed) > _MAX_ENTRIES:
        findings.add(Rule.REQUEST_TOO_LARGE, _LIST)
        return []
    entries: list[tuple[Setting, Mapping[str, object]]] = []
    for index, item in enumerate(listed):
        place = _LIST.index(index)
        if not isinstance(item, Mapping):
            findings.add(Rule.ERROR_MALFORMED, place)
            continue
        if item.get("mode") != Mode.URL:
            findings.add(Rule.ERROR_ENTRY_MODE, place.key("mode"))
        entries.append((Setting(place, own_ids=True), item))
    return entries


def _repeats(rulings: Sequence[Ruling], findings: Findings) -> None:
    seen = [ruling.wire_id for ruling in rulings if ruling.wire_id is not None]
    if len(set(seen)) != len(seen):
        findings.add(Rule.ID_REPEATED, _LIST)


def _ruling(
    ask: ErrorAsk, findings: Findings, rulings: Sequence[Ruling], document: Document, revision: int
) -> ErrorRuling:
    everything: list[Finding] = list(findings.items)
    for ruling in rulings:
        everything.extend(finding for finding in ruling.decision.findings if finding not in everything)
    denied = any(entry(finding.rule).denies for finding in everything)
    declared = capability.read(ask.capabilities)
    decision = Decision(
        outcome=Outcome.DENY if denied else Outcome.ADMIT,
        requested_mode=Mode.URL,
        negotiated=declared.url,
        reason=REASONS[ask.purpose],
        policy_revision=revision,
        policy_digest=document.digest,
        findings=tuple(everything),
    )
    sent = [ruling.request for ruling in rulings if ruling.request is not None]
    return ErrorRuling(
        decision=decision,
        error=build_error(sent) if sent and not denied else None,
        traits=rulings[0].traits if rulings else traits.nothing(declared),
        rulings=tuple(rulings),
    )
