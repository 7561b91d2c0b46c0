"""The rules about forms."""

from __future__ import annotations

from typing import Final

from elicitation.policy.codes import Rule, RuleEntry
from elicitation.policy.entries import NEW, PAGE, SCHEMA, SENSITIVE, local, spec

_NOT_IN_A_FORM: Final = "Remove it: what a person must keep secret is never asked in a form."

FORMS: Final[tuple[RuleEntry, ...]] = (
    spec(
        Rule.FORM_SCHEMA_MISSING,
        f"{PAGE}#form-mode-elicitation-requests",
        "R12",
        "A form needs a requested schema",
        "Send a schema with the type object and its properties.",
    ),
    spec(
        Rule.FORM_SCHEMA_MALFORMED,
        SCHEMA,
        "R12 R13",
        "The requested schema is not a flat object schema",
        "Send the type object and an object of properties, each of them a schema.",
    ),
    spec(
        Rule.FORM_NESTED,
        SCHEMA,
        "R13",
        "A form holds no nested objects",
        "Ask for flat values; several questions may follow each other.",
    ),
    spec(
        Rule.FORM_ARRAY,
        SCHEMA,
        "R13",
        "A form holds no arrays other than a choice of several",
        "Ask for single values or for a choice.",
    ),
    local(
        Rule.FORM_MULTI_SELECT,
        "A choice of several is switched off",
        "Ask for a single choice; the protocol allows several, this policy does not.",
    ),
    spec(
        Rule.FORM_TYPE_UNKNOWN,
        SCHEMA,
        "R13",
        "The type is not one of a form",
        "Use string, number, integer or boolean.",
    ),
    spec(
        Rule.FORM_NULLABLE,
        SCHEMA,
        "R13",
        "A form has no null",
        "Drop null and leave the field out of required.",
    ),
    spec(Rule.FORM_UNION, SCHEMA, "R13", "A form has no unions", "Give the field one type."),
    spec(
        Rule.FORM_KEYWORD_LOGIC,
        SCHEMA,
        "R13 R79",
        "A form has no schema logic",
        "Write the property out in full, without references and conditions.",
    ),
    spec(
        Rule.FORM_KEYWORD_UNKNOWN,
        SCHEMA,
        "R13",
        "The keyword is not one of a form",
        "Leave the keyword out; nothing is dropped in silence.",
    ),
    spec(
        Rule.FORM_KEYWORD_VALUE,
        SCHEMA,
        "R13",
        "The keyword's value has the wrong type",
        "Give the keyword the type that JSON Schema gives it.",
    ),
    local(
        Rule.FORM_DIALECT,
        "The schema names an unknown dialect",
        "Name JSON Schema 2020-12, 2019-09 or draft-07, or leave the dialect out.",
    ),
    local(
        Rule.FORM_ADDITIONAL_PROPERTIES,
        "A form takes its own properties only",
        "Leave additionalProperties out or set it to false.",
    ),
    spec(
        Rule.FORM_FORMAT,
        SCHEMA,
        "R13",
        "The format is not one of a form",
        "Use email, uri, date or date-time.",
    ),
    spec(
        Rule.FORM_PATTERN_NOT_IN_WIRE,
        SCHEMA,
        "R13",
        "This protocol revision has no pattern",
        "Leave the pattern out and check the answer in the server.",
        sources=NEW,
    ),
    local(
        Rule.FORM_PATTERN_UNSUPPORTED,
        "The pattern cannot be run in linear time",
        "Use literals, character classes and counts only, without groups and alternatives.",
        needs="R79",
    ),
    local(Rule.FORM_BOUNDS, "The bounds exclude every answer", "Make the lower bound at most the upper one."),
    spec(
        Rule.FORM_CHOICES_MALFORMED,
        SCHEMA,
        "R13",
        "The choices are not written as the protocol writes them",
        "Give a non-empty list of strings, or of const and title.",
    ),
    local(Rule.FORM_CHOICES_DUPLICATE, "A choice is listed twice", "List each choice once."),
    local(Rule.FORM_CHOICES_NAMES, "Choices and their names differ in number", "Give each choice one name."),
    local(Rule.FORM_REQUIRED_UNKNOWN, "A required field is not in the form", "Require only fields that are there."),
    local(Rule.FORM_DEFAULT, "The default does not fit its own field", "Give a default that the field accepts."),
    local(Rule.FORM_EMPTY, "A form without fields is switched off", "Ask for at least one value."),
    local(Rule.FORM_TOO_MANY_FIELDS, "The form has too many fields", "Ask for less at once."),
    local(Rule.FORM_TOO_MANY_CHOICES, "A field has too many choices", "Offer fewer choices."),
    local(Rule.FORM_TEXT_TOO_LONG, "A text of the form is too long", "Shorten the text."),
    local(
        Rule.FORM_LINK,
        "A form's text carries a link",
        "Leave the link out; only a url request may lead the person to a page.",
        needs="R21 R61",
    ),
    local(
        Rule.FORM_LINK_FLAGGED,
        "A form's text carries a link, which the policy flags",
        "Leave the link out; clients should not make it clickable.",
        needs="R21 R61",
        denies=False,
    ),
    spec(
        Rule.FORM_CREDENTIAL_NAME,
        SENSITIVE,
        "R19",
        "A field's name asks for a credential",
        _NOT_IN_A_FORM,
    ),
    spec(
        Rule.FORM_CREDENTIAL_TEXT,
        SENSITIVE,
        "R19",
        "A title, description, label or example asks for a credential",
        _NOT_IN_A_FORM,
    ),
    spec(Rule.FORM_CREDENTIAL_MESSAGE, SENSITIVE, "R19", "The message asks for a credential", _NOT_IN_A_FORM),
    spec(Rule.FORM_CREDENTIAL_FORMAT, SENSITIVE, "R19", "A field is marked as secret", _NOT_IN_A_FORM),
    spec(Rule.FORM_CREDENTIAL_VALUE, SENSITIVE, "R19", "A value has the shape of a secret", _NOT_IN_A_FORM),
)
