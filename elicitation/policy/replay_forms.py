"""What a draft would have said to a form, and to a message of either mode, of which only the traits were kept."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.document import Document, Links
from elicitation.policy.recorded import Found, Recorded
from elicitation.policy.rules import entry

#: Judged on text that was not kept: they stand for as long as the document says the same about it.
BY_VOCABULARY: Final = frozenset({Rule.FORM_CREDENTIAL_NAME, Rule.FORM_CREDENTIAL_TEXT, Rule.FORM_CREDENTIAL_MESSAGE})


def replay_message(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    """Lengths are kept in bytes, and bounded in characters: at most as many, at least a quarter."""
    long = Rule.REQUEST_MESSAGE_TOO_LONG
    if draft.forms.max_message == before.forms.max_message:
        found.deny(long, long in recorded.rules)
    elif recorded.text_bytes > draft.forms.max_message:
        (found.deny if recorded.text_bytes > 4 * draft.forms.max_message else found.wonder)(long)


def replay_form(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    """The rules of form mode."""
    old, new, rules = before.forms, draft.forms, set(recorded.rules)
    replay_message(recorded, before, draft, found)
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


def _words(recorded: Recorded, before: Document, draft: Document, found: Found) -> None:
    spoken = BY_VOCABULARY & set(recorded.rules)
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
