"""What a draft would have said to a request of which only the traits were kept; what they cannot tell is no guess."""

from __future__ import annotations

from typing import Final

from elicitation.policy import limits
from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass, Mode
from elicitation.policy.destinations import BOUND, Destination
from elicitation.policy.document import Document
from elicitation.policy.recorded import Found, Recorded, ReplayOutcome, Verdict
from elicitation.policy.replay_forms import BY_VOCABULARY, replay_form, replay_message
from elicitation.policy.routing import SENSITIVE
from elicitation.policy.rules import entry

__all__ = ["Recorded", "ReplayOutcome", "Verdict", "replay"]

#: The desk writes ``?name=elc_…`` into a link; closer than this to the longest length, the sum is not known.
_WRITTEN: Final = 128

#: Judged anew from the traits below; a recorded finding of theirs says nothing about another document.
_COMPUTED: Final = frozenset(
    {
        Rule.WIRE_NOT_SERVED,
        Rule.ROUTE_PURPOSE_NOT_SERVED,
        Rule.ROUTE_SENSITIVE_IN_FORM,
        Rule.ROUTE_MODE_CONTRADICTS_PURPOSE,
        Rule.WINDOW_OUT_OF_RANGE,
        Rule.FORM_EMPTY,
        Rule.FORM_TOO_MANY_FIELDS,
        Rule.FORM_TOO_MANY_CHOICES,
        Rule.FORM_MULTI_SELECT,
        Rule.FORM_LINK,
        Rule.FORM_LINK_FLAGGED,
        Rule.URL_TOO_LONG,
        Rule.URL_ORIGIN_NOT_LISTED,
        Rule.DESTINATION_PURPOSE,
    }
)
_BY_SIZE: Final = frozenset({Rule.REQUEST_TOO_LARGE, Rule.REQUEST_TOO_DEEP})
_BY_DESTINATION: Final = frozenset(
    {
        Rule.URL_PATH_NOT_LISTED,
        Rule.URL_PARAMETER_NOT_LISTED,
        Rule.URL_PARAMETER_BOUND,
        Rule.URL_PARAMETER_VALUE,
        Rule.URL_PARAMETER_SECRET,
        Rule.URL_VALUE_SECRET,
        Rule.URL_FRAGMENT,
        Rule.URL_PUNYCODE,
        Rule.URL_IP_LITERAL,
        Rule.DESTINATION_PROVIDER,
    }
)
#: Counted, not judged on the request: a draft with other limits says nothing about a request of then.
_BY_LIMITS: Final = limits.RULES
_BY_ID: Final = frozenset({Rule.ID_TOO_SHORT, Rule.ID_STRUCTURED, Rule.ID_SEQUENTIAL, Rule.ID_PERSONAL})


def replay(recorded: Recorded, before: Document, draft: Document) -> Verdict:
    """The verdict of ``draft`` on a request that was decided under ``before`` (operator policy)."""
    found = Found()
    found.deny(Rule.WIRE_NOT_SERVED, recorded.wire not in draft.wires)
    served = draft.purposes.get(recorded.purpose)
    if not found.denied and not recorded.mode_asked and (served is None or served.mode is not recorded.mode):
        # The request would be read as another mode's, or as none's: no finding of then says anything now.
        unserved = served is None
        outcome = ReplayOutcome.DENY if unserved else ReplayOutcome.NOT_REPLAYABLE
        return Verdict(outcome, Rule.ROUTE_PURPOSE_NOT_SERVED if unserved else Rule.ROUTE_MODE_CONTRADICTS_PURPOSE)
    _standing(recorded, before, draft, found)
    _sizes(recorded, before, draft, found)
    _route(recorded, before, draft, found)
    if recorded.mode is Mode.FORM:
        replay_form(recorded, before, draft, found)
    elif recorded.mode is Mode.URL:
        _url(recorded, before, draft, found)
    asked = recorded.asked_window
    found.deny(Rule.WINDOW_OUT_OF_RANGE, asked is not None and not 1 <= asked <= draft.windows.max_seconds)
    if found.denied:
        return Verdict(ReplayOutcome.DENY, found.denied[0])
    if found.unknown:
        return Verdict(ReplayOutcome.NOT_REPLAYABLE, found.unknown[0])
    return Verdict(ReplayOutcome.ADMIT, None)


def _standing(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    """Findings that no document changes."""
    judged = _COMPUTED | BY_VOCABULARY | _BY_SIZE | _BY_DESTINATION | _BY_ID | _BY_LIMITS
    judged |= {Rule.FORM_TEXT_TOO_LONG, Rule.REQUEST_MESSAGE_TOO_LONG}
    for rule in recorded.rules:
        if rule not in judged and entry(rule).denies:
            found.deny(rule)
        elif rule in _BY_LIMITS:
            (found.deny if draft.limits == before.limits else found.wonder)(rule)


def _sizes(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    """Size and depth of the request as a whole; what was beyond them was not looked at."""
    old, new = (before.forms, before.urls), (draft.forms, draft.urls)
    bounds = (old[0].max_bytes, old[0].max_depth, old[1].max_length)
    same = bounds == (new[0].max_bytes, new[0].max_depth, new[1].max_length)
    for rule in _BY_SIZE & set(recorded.rules):
        (found.deny if same else found.wonder)(rule)
    if not _BY_SIZE & set(recorded.rules):
        found.wonder(Rule.REQUEST_TOO_DEEP, new[0].max_depth < old[0].max_depth)
        shrunk = new[0].max_bytes + new[1].max_length < old[0].max_bytes + old[1].max_length
        found.wonder(Rule.REQUEST_TOO_LARGE, shrunk or new[0].max_bytes < old[0].max_bytes)


def _route(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    served = draft.purposes.get(recorded.purpose)
    if served is None:
        found.deny(Rule.ROUTE_PURPOSE_NOT_SERVED)
    elif recorded.mode is not served.mode:
        sensitive = recorded.purpose in SENSITIVE
        found.deny(Rule.ROUTE_SENSITIVE_IN_FORM if sensitive else Rule.ROUTE_MODE_CONTRADICTS_PURPOSE)


def _url(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    rules = set(recorded.rules)
    longest = draft.urls.max_length
    if Rule.URL_TOO_LONG in rules:
        (found.deny if longest <= before.urls.max_length else found.wonder)(Rule.URL_TOO_LONG)
    else:
        found.deny(Rule.URL_TOO_LONG, recorded.url_length > longest)
        shrunk = longest < before.urls.max_length
        found.wonder(Rule.URL_TOO_LONG, shrunk and longest - _WRITTEN < recorded.url_length <= longest)
    if draft.forms.max_message != before.forms.max_message or Rule.REQUEST_MESSAGE_TOO_LONG in rules:
        replay_message(recorded, before, draft, found)
    _identifier(recorded, before, draft, found)
    if recorded.origin:
        _listed(recorded, before, draft, found)
    else:
        _unlisted(recorded, before, draft, found)


def _identifier(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    spoken = _BY_ID & set(recorded.rules)
    if draft.identifiers == before.identifiers:
        for rule in sorted(spoken):
            found.deny(rule)
    elif spoken or recorded.id_class is IdClass.OPAQUE:
        found.wonder(Rule.ID_TOO_SHORT)


def _unlisted(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    """The origin was on nobody's list for this service, and was therefore not kept."""
    spoken = sorted(
        (_BY_DESTINATION | {Rule.URL_ORIGIN_NOT_LISTED}) & set(recorded.rules),
        key=lambda rule: rule != Rule.URL_ORIGIN_NOT_LISTED,
    )
    new = _origins(draft, recorded) - _origins(before, recorded)
    for rule in spoken:
        (found.wonder if new else found.deny)(rule)


def _origins(document: Document, recorded: Recorded) -> set[str]:
    return {
        each.origin
        for each in document.destinations
        if recorded.tenant in each.tenants and recorded.service in each.services
    }


def _listed(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    old = before.destination_for(recorded.origin, recorded.tenant, recorded.service)
    new = draft.destination_for(recorded.origin, recorded.tenant, recorded.service)
    if new is None:
        found.deny(Rule.URL_ORIGIN_NOT_LISTED)
        return
    found.deny(Rule.DESTINATION_PURPOSE, recorded.purpose not in new.purposes)
    same_words = draft.vocabulary == before.vocabulary
    if old is not None and _judges_alike(old, new) and same_words:
        for rule in sorted(_BY_DESTINATION & set(recorded.rules)):
            found.deny(rule)
        return
    _changed(recorded, old, new, found)
    if not same_words:
        found.wonder(Rule.URL_PARAMETER_SECRET, bool(recorded.parameter_names))


def _judges_alike(old: Destination, new: Destination) -> bool:
    def judged(one: Destination) -> tuple[object, ...]:
        return one.provider, one.paths, dict(one.parameters), one.opaque

    return judged(old) == judged(new)


def _changed(recorded: Recorded, old: Destination | None, new: Destination, found: Found) -> None:
    """The same origin under other conditions: path and parameter names are known, values are not."""
    if old is None or old.provider != new.provider or old.opaque != new.opaque:
        found.wonder(Rule.DESTINATION_PROVIDER)
        return
    prefix = recorded.path_prefix
    if old.paths != new.paths and (not prefix or new.path_index(prefix) is None):
        narrower = not prefix or any(path.startswith(prefix) for path in new.paths)
        (found.wonder if narrower else found.deny)(Rule.URL_PATH_NOT_LISTED)
    for name in recorded.parameter_names:
        pattern = new.parameters.get(name)
        if name.startswith("#"):
            found.wonder(Rule.URL_PARAMETER_NOT_LISTED)
        elif pattern is None:
            found.deny(Rule.URL_PARAMETER_NOT_LISTED)
        elif pattern == BOUND:
            found.deny(Rule.URL_PARAMETER_BOUND)
        else:
            found.wonder(Rule.URL_PARAMETER_VALUE, pattern != old.parameters.get(name))
    for rule in sorted(_BY_DESTINATION & set(recorded.rules)):
        found.wonder(rule)
