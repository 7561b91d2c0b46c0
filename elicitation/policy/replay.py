"""What a draft would have said to a request of which only the traits were kept; what they cannot tell is no guess."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from elicitation.policy import limits
from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass, Mode, Purpose, Wire
from elicitation.policy.destinations import BOUND, Destination
from elicitation.policy.document import Document, Links
from elicitation.policy.routing import SENSITIVE
from elicitation.policy.rules import entry

#: The desk writes ``?name=elc_…`` into a link; closer than this to the longest length, the sum is not known.
_WRITTEN: Final = 128


class ReplayOutcome(StrEnum):
    ADMIT = "admit"
    DENY = "deny"
    NOT_REPLAYABLE = "not_replayable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a decision row keeps of a request. ``origin`` and ``path_prefix`` are empty where no destination was found;
    ``rules`` are all findings; names that were not kept are spelled ``#n``. Where the caller left the mode out
    (``mode_asked`` false), ``mode`` is the purpose's."""

    wire: Wire
    purpose: Purpose
    mode: Mode | None
    mode_asked: bool
    tenant: str
    service: str
    origin: str
    path_prefix: str
    parameter_names: tuple[str, ...]
    property_names: tuple[str, ...]
    keywords: tuple[str, ...]
    property_count: int
    choice_count: int
    text_bytes: int
    schema_bytes: int
    url_length: int
    id_class: IdClass
    asked_window: int | None
    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """``rule`` is the one that would deny, or the one that cannot be judged without the text; else ``None``."""

    outcome: ReplayOutcome
    rule: Rule | None


@dataclass(slots=True)
class _Findings:
    denied: list[Rule] = field(default_factory=list)
    unknown: list[Rule] = field(default_factory=list)

    def deny(self, rule: Rule, when: bool = True) -> None:
        if when:
            self.denied.append(rule)

    def wonder(self, rule: Rule, when: bool = True) -> None:
        if when:
            self.unknown.append(rule)


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
#: Judged on text that was not kept: they stand for as long as the document says the same about it.
_BY_VOCABULARY: Final = frozenset(
    {Rule.FORM_CREDENTIAL_NAME, Rule.FORM_CREDENTIAL_TEXT, Rule.FORM_CREDENTIAL_MESSAGE, Rule.FORM_CREDENTIAL_VALUE}
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
    found = _Findings()
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
        _form(recorded, before, draft, found)
    elif recorded.mode is Mode.URL:
        _url(recorded, before, draft, found)
    asked = recorded.asked_window
    found.deny(Rule.WINDOW_OUT_OF_RANGE, asked is not None and not 1 <= asked <= draft.windows.max_seconds)
    if found.denied:
        return Verdict(ReplayOutcome.DENY, found.denied[0])
    if found.unknown:
        return Verdict(ReplayOutcome.NOT_REPLAYABLE, found.unknown[0])
    return Verdict(ReplayOutcome.ADMIT, None)


def _standing(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    """Findings that no document changes."""
    judged = _COMPUTED | _BY_VOCABULARY | _BY_SIZE | _BY_DESTINATION | _BY_ID | _BY_LIMITS
    judged |= {Rule.FORM_TEXT_TOO_LONG, Rule.REQUEST_MESSAGE_TOO_LONG}
    for rule in recorded.rules:
        if rule not in judged and entry(rule).denies:
            found.deny(rule)
        elif rule in _BY_LIMITS:
            (found.deny if draft.limits == before.limits else found.wonder)(rule)


def _sizes(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
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


def _route(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    served = draft.purposes.get(recorded.purpose)
    if served is None:
        found.deny(Rule.ROUTE_PURPOSE_NOT_SERVED)
    elif recorded.mode is not served.mode:
        sensitive = recorded.purpose in SENSITIVE
        found.deny(Rule.ROUTE_SENSITIVE_IN_FORM if sensitive else Rule.ROUTE_MODE_CONTRADICTS_PURPOSE)


def _message(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    """Lengths are kept in bytes, and bounded in characters: at most as many, at least a quarter."""
    long = Rule.REQUEST_MESSAGE_TOO_LONG
    if draft.forms.max_message == before.forms.max_message:
        found.deny(long, long in recorded.rules)
    elif recorded.text_bytes > draft.forms.max_message:
        (found.deny if recorded.text_bytes > 4 * draft.forms.max_message else found.wonder)(long)


def _form(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    old, new, rules = before.forms, draft.forms, set(recorded.rules)
    _message(recorded, before, draft, found)
    readable = not any(entry(rule).denies and rule.startswith("form.schema") for rule in rules)
    found.deny(Rule.FORM_EMPTY, readable and recorded.property_count == 0 and not new.empty_confirmation)
    bounds = (
        (Rule.FORM_TOO_MANY_FIELDS, recorded.property_count > new.max_fields),
        (Rule.FORM_TOO_MANY_CHOICES, recorded.choice_count > new.max_choices),
    )
    for rule, exceeded in bounds:
        found.deny(rule, exceeded)
        found.wonder(rule, rule in rules and not exceeded)  # what was beyond the bound was not looked at
    if Rule.FORM_MULTI_SELECT in rules:
        # Its choices were not looked at while lists were refused.
        (found.wonder if new.multi_select else found.deny)(Rule.FORM_MULTI_SELECT)
    elif not new.multi_select and old.multi_select:
        found.wonder(Rule.FORM_MULTI_SELECT, "items" in recorded.keywords)
    if rules & {Rule.FORM_LINK, Rule.FORM_LINK_FLAGGED}:
        found.deny(Rule.FORM_LINK, new.links is Links.DENY)
    if new.max_text != old.max_text:
        longest = recorded.schema_bytes > new.max_text or Rule.FORM_TEXT_TOO_LONG in rules
        found.wonder(Rule.FORM_TEXT_TOO_LONG, longest)
    else:
        found.deny(Rule.FORM_TEXT_TOO_LONG, Rule.FORM_TEXT_TOO_LONG in rules)
    _words(recorded, before, draft, found)


def _words(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    spoken = _BY_VOCABULARY & set(recorded.rules)
    if draft.vocabulary == before.vocabulary:
        for rule in sorted(spoken):
            found.deny(rule)
        return
    matcher = draft.vocabulary.matcher()
    found.deny(
        Rule.FORM_CREDENTIAL_NAME,
        any(matcher.hit(name) for name in recorded.property_names if not name.startswith("#")),
    )
    found.wonder(Rule.FORM_CREDENTIAL_TEXT)  # titles, labels and the message were not kept


def _url(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    rules = set(recorded.rules)
    longest = draft.urls.max_length
    if Rule.URL_TOO_LONG in rules:
        (found.deny if longest <= before.urls.max_length else found.wonder)(Rule.URL_TOO_LONG)
    else:
        found.deny(Rule.URL_TOO_LONG, recorded.url_length > longest)
        shrunk = longest < before.urls.max_length
        found.wonder(Rule.URL_TOO_LONG, shrunk and longest - _WRITTEN < recorded.url_length <= longest)
    if draft.forms.max_message != before.forms.max_message or Rule.REQUEST_MESSAGE_TOO_LONG in rules:
        _message(recorded, before, draft, found)
    _identifier(recorded, before, draft, found)
    if recorded.origin:
        _listed(recorded, before, draft, found)
    else:
        _unlisted(recorded, before, draft, found)


def _identifier(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
    spoken = _BY_ID & set(recorded.rules)
    if draft.identifiers == before.identifiers:
        for rule in sorted(spoken):
            found.deny(rule)
    elif spoken or recorded.id_class is IdClass.OPAQUE:
        found.wonder(Rule.ID_TOO_SHORT)


def _unlisted(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
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


def _listed(recorded: Recorded, before: Document, draft: Document, found: _Findings) -> None:
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


def _changed(recorded: Recorded, old: Destination | None, new: Destination, found: _Findings) -> None:
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
