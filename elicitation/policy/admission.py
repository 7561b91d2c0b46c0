"""May this question be asked, of this client, in this mode, at this address? All checks run, in a fixed order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elicitation.policy import capability, traits, urls
from elicitation.policy.codes import Rule
from elicitation.policy.decision import Ask, Decision, Delivery, IdClass, Mode, Outcome, Wire
from elicitation.policy.destinations import Destination
from elicitation.policy.document import Document
from elicitation.policy.forms import check_schema
from elicitation.policy.identifiers import REFUSED_BY, classify
from elicitation.policy.members import asked_mode, check_members, unreadable_by
from elicitation.policy.place import REQUEST, ROOT, Findings, Place
from elicitation.policy.routing import REASONS, route
from elicitation.policy.traits import Traits

_NOT_LOOKED_AT: Final = urls.Inspected()
_DECLARATION: Final = ROOT.key("client").key("capabilities").key("elicitation")


@dataclass(frozen=True, slots=True)
class Ruling:
    """A decision and what follows from it. ``request`` holds the exact params to send, or ``None`` on a denial;
    ``wire_id`` is the caller's own admissible elicitationId; ``destination`` is there even on a denial, when the
    URL's origin is one of the caller's; ``window_seconds`` is the time to answer and act."""

    decision: Decision
    mode: Mode | None
    wire_id: str | None
    id_class: IdClass
    request: dict[str, object] | None
    destination: Destination | None
    path_index: int | None
    window_seconds: int
    traits: Traits


@dataclass(frozen=True, slots=True)
class Setting:
    """Where a request stands: its place in the caller's body, and whether it carries ids that the desk gave
    before, as an error that is about to be sent does."""

    place: Place = REQUEST
    own_ids: bool = False


_ALONE: Final = Setting()


def decide(ask: Ask, document: Document, revision: int) -> Ruling:
    """Judge one request under one revision of the policy. Never raises, whatever JSON the request holds. The
    sources of the rules are in the catalogue; the order is wire, capability, shape, route, form or URL, id, window.
    """
    return judge(ask, document, revision, _ALONE)


def judge(ask: Ask, document: Document, revision: int, setting: Setting) -> Ruling:
    """:func:`decide` for a request that stands in ``setting``."""
    findings = Findings()
    declared = capability.read(ask.capabilities)
    _wire(ask, document, findings)
    unreadable = unreadable_by(ask.request, document)
    asked = asked_mode(ask.request) if unreadable is None else None
    mode, contradiction = route(ask.purpose, asked, document)
    problem = declared.problem(mode)
    if problem is not None:
        findings.add(problem, _DECLARATION)
    if unreadable is not None:
        findings.add(unreadable, setting.place)
    found, url = _NOT_LOOKED_AT, None
    id_class, wire_id = IdClass.MISSING, None
    if unreadable is None:
        check_members(ask, mode, setting.place, document, findings)
        if contradiction is not None:
            _misroute(contradiction, setting.place, findings)
        if mode is Mode.FORM:
            _form(ask, setting.place, document, findings)
        elif mode is Mode.URL:
            found, url = _url(ask, setting, document, findings)
            id_class, wire_id = _identifier(ask, setting, document, findings)
    if ask.delivery is Delivery.URL_REQUIRED and mode is Mode.FORM:
        findings.add(Rule.DELIVERY_NEEDS_URL, ROOT.key("delivery"))
    window = _window(ask, document, findings)
    seen = traits.observe(ask.request, declared, found, id_class) if unreadable is None else traits.nothing(declared)
    decision = _decision(ask, mode, declared, findings, document, revision)
    admitted = decision.admitted and mode is not None
    return Ruling(
        decision=decision,
        mode=mode,
        wire_id=wire_id if admitted else None,
        id_class=id_class,
        request=_sent(ask, mode, url, wire_id) if admitted and mode is not None else None,
        destination=found.destination,
        path_index=found.path_index,
        window_seconds=window,
        traits=seen,
    )


def _decision(
    ask: Ask,
    mode: Mode | None,
    declared: capability.Declared,
    findings: Findings,
    document: Document,
    revision: int,
) -> Decision:
    return Decision(
        outcome=Outcome.DENY if findings.denied else Outcome.ADMIT,
        requested_mode=mode,
        negotiated=mode is not None and declared.negotiated(mode),
        reason=REASONS[ask.purpose],
        policy_revision=revision,
        policy_digest=document.digest,
        findings=tuple(findings.items),
    )


def _wire(ask: Ask, document: Document, findings: Findings) -> None:
    if ask.wire not in document.wires:
        findings.add(Rule.WIRE_NOT_SERVED, ROOT.key("wire"))
    new = ask.delivery is Delivery.INPUT_REQUIRED
    if new is not (ask.wire is Wire.V2026_07_28):
        findings.add(Rule.DELIVERY_NOT_IN_WIRE, ROOT.key("delivery"))


def _misroute(rule: Rule, place: Place, findings: Findings) -> None:
    unserved = rule is Rule.ROUTE_PURPOSE_NOT_SERVED
    findings.add(rule, ROOT.key("purpose") if unserved else place.key("mode"))


def _form(ask: Ask, place: Place, document: Document, findings: Findings) -> None:
    here = place.key("requestedSchema")
    if "requestedSchema" not in ask.request:
        findings.add(Rule.FORM_SCHEMA_MISSING, here)
        return
    check_schema(ask.request["requestedSchema"], here, ask.wire, document, findings)


def _url(ask: Ask, setting: Setting, document: Document, findings: Findings) -> tuple[urls.Inspected, str | None]:
    """What was found about the URL, and the URL as it is to be sent."""
    here = setting.place.key("url")
    shown = ask.request.get("elicitationId") if setting.own_ids else None
    caller = urls.Caller(ask.tenant, ask.service, shown if isinstance(shown, str) else None)
    found = urls.inspect(ask.request.get("url"), here, caller, document, findings)
    if found.destination is not None and ask.purpose not in found.destination.purposes:
        findings.add(Rule.DESTINATION_PURPOSE, ROOT.key("purpose"))
    if found.destination is not None and ask.providers is not None and found.destination.provider not in ask.providers:
        findings.add(Rule.DESTINATION_PROVIDER, here)
    written = found.url if setting.own_ids else found.with_id(ask.elicitation_id)
    if written is not None and len(written) > document.urls.max_length:
        findings.add(Rule.URL_TOO_LONG, here)
    return found, written


def _identifier(ask: Ask, setting: Setting, document: Document, findings: Findings) -> tuple[IdClass, str | None]:
    """The class of the id that will stand on the wire, and the caller's own id if it sent one."""
    here = setting.place.key("elicitationId")
    if ask.wire is Wire.V2026_07_28:
        if "elicitationId" in ask.request:
            findings.add(Rule.ID_NOT_IN_WIRE, here)
        return IdClass.MINTED, None
    if "elicitationId" not in ask.request:
        if setting.own_ids:
            findings.add(Rule.ID_MISSING, here)
            return IdClass.MISSING, None
        return IdClass.MINTED, None
    sent = ask.request["elicitationId"]
    if not isinstance(sent, str) or not sent:
        findings.add(Rule.ID_MALFORMED, here)
        return IdClass.MISSING, None
    id_class = classify(sent, document.identifiers.min_length)
    if id_class in REFUSED_BY:
        findings.add(REFUSED_BY[id_class], here)
        return id_class, None
    if id_class is IdClass.MINTED and not setting.own_ids:
        if sent != ask.elicitation_id:
            findings.add(Rule.ID_FOREIGN, here)
        return id_class, None
    return id_class, sent


def _window(ask: Ask, document: Document, findings: Findings) -> int:
    asked = ask.window_seconds
    if asked is None:
        return document.window_for(ask.purpose)
    if not 1 <= asked <= document.windows.max_seconds:
        findings.add(Rule.WINDOW_OUT_OF_RANGE, ROOT.key("window_seconds"))
        return document.window_for(ask.purpose)
    return asked


def _sent(ask: Ask, mode: Mode, url: str | None, wire_id: str | None) -> dict[str, object]:
    """The params as they go out: the mode spelled out, the URL normalised, the id in its places."""
    sent: dict[str, object] = {**ask.request, "mode": str(mode)}
    if mode is Mode.FORM:
        return sent
    sent["url"] = url
    if ask.wire is Wire.V2025_11_25:
        sent["elicitationId"] = wire_id or ask.elicitation_id
    return sent
