"""May this question be asked, of this client, in this mode, at this address? All checks run, in a fixed order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy import capability, traits, urls
from elicitation.policy.canonical import CanonicalError, TooDeep, TooLarge, size
from elicitation.policy.codes import Rule
from elicitation.policy.decision import Ask, Decision, Delivery, IdClass, Mode, Outcome, Wire
from elicitation.policy.destinations import Destination
from elicitation.policy.document import Document
from elicitation.policy.fields import in_order
from elicitation.policy.forms import check_schema
from elicitation.policy.identifiers import REFUSED_BY, classify
from elicitation.policy.place import REQUEST, ROOT, Findings, Place
from elicitation.policy.routing import REASONS, route
from elicitation.policy.rules import entry
from elicitation.policy.texts import check_text, hidden_characters
from elicitation.policy.traits import Traits

_COMMON: Final = frozenset({"mode", "message", "_meta"})
#: The members of a request in each mode; ``task`` exists on 2025-11-25 only.
_MEMBERS: Final[dict[Mode, frozenset[str]]] = {
    Mode.FORM: _COMMON | {"requestedSchema"},
    Mode.URL: _COMMON | {"url", "elicitationId"},
}
#: The members on 2025-11-25, which has tasks, and on the later revision; without a mode, those of both modes.
_ALLOWED: Final[dict[tuple[Wire, Mode | None], frozenset[str]]] = {
    (wire, mode): members | ({"task"} if wire is Wire.V2025_11_25 else set())
    for wire in Wire
    for mode, members in (*_MEMBERS.items(), (None, frozenset().union(*_MEMBERS.values())))
}
_MODES: Final = {str(mode): mode for mode in Mode}
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
    unreadable = _unreadable(ask.request, document)
    asked = _asked_mode(ask.request) if unreadable is None else None
    mode, contradiction = route(ask.purpose, asked, document)
    problem = declared.problem(mode)
    if problem is not None:
        findings.add(problem, _DECLARATION)
    if unreadable is not None:
        findings.add(unreadable, setting.place)
    found = urls.Inspected()
    id_class, wire_id = IdClass.MISSING, None
    if unreadable is None:
        _shape(ask, mode, setting.place, document, findings)
        if contradiction is not None:
            _misroute(contradiction, setting.place, findings)
        if mode is Mode.FORM:
            _form(ask, setting.place, document, findings)
        elif mode is Mode.URL:
            found = _url(ask, setting, document, findings)
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
        request=_sent(ask, mode, found, wire_id, setting) if admitted and mode is not None else None,
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
    denied = any(entry(finding.rule).denies for finding in findings.items)
    return Decision(
        outcome=Outcome.DENY if denied else Outcome.ADMIT,
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


def _unreadable(request: object, document: Document) -> Rule | None:
    """Why the request is not looked at: no JSON, or beyond the policy's depth or size. The walk does not recurse."""
    if not isinstance(request, Mapping):
        return Rule.REQUEST_MALFORMED
    # The request and its schema stand above the form's own depth.
    try:
        bytes_ = size(request, document.forms.max_depth + 2, document.forms.max_bytes)
    except TooDeep:
        return Rule.REQUEST_TOO_DEEP
    except TooLarge:
        return Rule.REQUEST_TOO_LARGE
    except CanonicalError:
        return Rule.REQUEST_MALFORMED
    # A URL has its own length, beside the form's bytes.
    too_large = bytes_ > document.forms.max_bytes + document.urls.max_length
    return Rule.REQUEST_TOO_LARGE if too_large else None


def _asked_mode(request: Mapping[str, object]) -> Mode | None:
    """The mode as the caller spelled it; a wrong spelling is found by :func:`_shape` and routed by purpose."""
    mode = request.get("mode")
    return _MODES.get(mode) if isinstance(mode, str) else None


def _shape(ask: Ask, mode: Mode | None, place: Place, document: Document, findings: Findings) -> None:
    """Mode, message and members (2025-11-25 and 2026-07-28, client/elicitation; R10, R11, R15)."""
    request = ask.request
    if "mode" in request and _asked_mode(request) is None:
        findings.add(Rule.REQUEST_MODE_MALFORMED, place.key("mode"))
    members = _ALLOWED[ask.wire, mode]
    for name, ordinal in in_order(request):
        if name not in members:
            known = name in _MEMBERS[Mode.FORM] | _MEMBERS[Mode.URL]
            findings.add(Rule.REQUEST_MEMBER_UNKNOWN, place.key(name) if known else place.name(name, ordinal))
        elif name in ("_meta", "task") and not isinstance(request[name], Mapping):
            findings.add(Rule.REQUEST_MALFORMED, place.key(name))
    _message(request.get("message"), mode, place.key("message"), document, findings)


def _message(message: object, mode: Mode | None, place: Place, document: Document, findings: Findings) -> None:
    """In url mode the message may name the secret: asking for a key on the next page is the right thing to do."""
    if not isinstance(message, str) or not message.strip():
        findings.add(Rule.REQUEST_MESSAGE_MISSING, place)
        return
    if len(message) > document.forms.max_message:
        findings.add(Rule.REQUEST_MESSAGE_TOO_LONG, place)
    if mode is Mode.URL:
        if hidden_characters(message):
            findings.add(Rule.TEXT_HIDDEN_CHARACTERS, place)
    else:
        check_text(message, place, Rule.FORM_CREDENTIAL_MESSAGE, document, findings)


def _misroute(rule: Rule, place: Place, findings: Findings) -> None:
    unserved = rule is Rule.ROUTE_PURPOSE_NOT_SERVED
    findings.add(rule, ROOT.key("purpose") if unserved else place.key("mode"))


def _form(ask: Ask, place: Place, document: Document, findings: Findings) -> None:
    here = place.key("requestedSchema")
    if "requestedSchema" not in ask.request:
        findings.add(Rule.FORM_SCHEMA_MISSING, here)
        return
    check_schema(ask.request["requestedSchema"], here, ask.wire, document, findings)


def _url(ask: Ask, setting: Setting, document: Document, findings: Findings) -> urls.Inspected:
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
    return found


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


def _sent(ask: Ask, mode: Mode, found: urls.Inspected, wire_id: str | None, setting: Setting) -> dict[str, object]:
    """The params as they go out: the mode spelled out, the URL normalised, the id in its places."""
    sent: dict[str, object] = {**ask.request, "mode": str(mode)}
    if mode is Mode.FORM:
        return sent
    sent["url"] = found.url if setting.own_ids else found.with_id(ask.elicitation_id)
    if ask.wire is Wire.V2025_11_25:
        sent["elicitationId"] = wire_id or ask.elicitation_id
    return sent
