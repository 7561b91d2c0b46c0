"""The request around its form or URL: whether it can be read, its mode, its members and its message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elicitation.policy.canonical import CanonicalError, TooDeep, TooLarge, size
from elicitation.policy.codes import Rule
from elicitation.policy.decision import Ask, Mode, Wire
from elicitation.policy.document import Document
from elicitation.policy.fields import in_order
from elicitation.policy.place import Findings, Place
from elicitation.policy.texts import carries_secret, check_text, hidden_characters

#: Objects that travel beside the question and are passed on.
_ASIDE: Final = frozenset({"_meta", "task"})
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
#: Bytes of one ASCII character in JSON, at most.
_MAX_ESCAPE: Final = 6


def unreadable_by(request: object, document: Document) -> Rule | None:
    """Why the request is not looked at: no JSON, or beyond the policy's depth or size. The walk does not recurse."""
    if not isinstance(request, (dict, Mapping)):
        return Rule.REQUEST_MALFORMED
    if _flat_and_short(request, document.forms.max_bytes):
        return None
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


def _flat_and_short(request: Mapping[str, object], most: int) -> bool:
    """Whether plain texts are all there is, too few to be too much however they are escaped: url mode as a rule."""
    length = 0
    for name, value in request.items():
        if not isinstance(name, str) or not isinstance(value, str) or not (value.isascii() and name.isascii()):
            return False
        length += len(name) + len(value) + 1
    return length * _MAX_ESCAPE < most


def asked_mode(request: Mapping[str, object]) -> Mode | None:
    """The mode as the caller spelled it; a wrong spelling is found by :func:`check_members` and routed by purpose."""
    mode = request.get("mode")
    return _MODES.get(mode) if isinstance(mode, str) else None


def check_members(ask: Ask, mode: Mode | None, place: Place, document: Document, findings: Findings) -> None:
    """Mode, message and members (2025-11-25 and 2026-07-28, client/elicitation; R10, R11, R15)."""
    request = ask.request
    if "mode" in request and asked_mode(request) is None:
        findings.add(Rule.REQUEST_MODE_MALFORMED, place.key("mode"))
    allowed = _ALLOWED[ask.wire, mode]
    if not request.keys() <= allowed or not request.keys().isdisjoint(_ASIDE):
        _members(request, allowed, place, findings)
    _message(request.get("message"), mode, place.key("message"), document, findings)


def _members(request: Mapping[str, object], allowed: frozenset[str], place: Place, findings: Findings) -> None:
    """Members that the mode has. What travels beside the question is shown to nobody, so that its words ask for
    nothing; but it is passed on, and must not be a way for a secret (R54; operator policy)."""
    for name, ordinal in in_order(request):
        if name not in allowed:
            known = name in _MEMBERS[Mode.FORM] | _MEMBERS[Mode.URL]
            findings.add(Rule.REQUEST_MEMBER_UNKNOWN, place.key(name) if known else place.name(name, ordinal))
        elif name in _ASIDE and not isinstance(request[name], Mapping):
            findings.add(Rule.REQUEST_MALFORMED, place.key(name))
        elif name in _ASIDE and carries_secret(request[name]):
            findings.add(Rule.FORM_CREDENTIAL_VALUE, place.key(name))


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
