"""A form's requested schema: untrusted, flat, and asking for nothing that must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Wire
from elicitation.policy.document import Document
from elicitation.policy.fields import LOGIC, check_field
from elicitation.policy.place import Findings, Place
from elicitation.policy.texts import check_text

_DIALECTS: Final = frozenset(
    address + end
    for address in (
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema",
        "http://json-schema.org/draft-07/schema",
    )
    for end in ("", "#")
)
#: Keywords at the root that change nothing about the answer. Definitions stay unused, as references are denied.
_ROOT_NOTES: Final = frozenset({"title", "description", "$comment"})
_ROOT_OPAQUE: Final = frozenset({"$defs", "definitions"})


@dataclass(frozen=True, slots=True)
class _Form:
    document: Document
    wire: Wire
    findings: Findings


def check_schema(schema: object, place: Place, wire: Wire, document: Document, findings: Findings) -> None:
    """Judge a ``requestedSchema`` whose size and depth are already bounded. Source: client/elicitation, Requested
    Schema (R12, R13) for what a form is; operator policy for bounds, links, and what the protocol leaves open."""
    if not isinstance(schema, Mapping):
        findings.add(Rule.FORM_SCHEMA_MALFORMED, place)
        return
    form = _Form(document, wire, findings)
    _root(form, schema, place)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        findings.add(Rule.FORM_SCHEMA_MALFORMED, place.key("properties"))
        return
    if not properties and not document.forms.empty_confirmation:
        findings.add(Rule.FORM_EMPTY, place.key("properties"))
    if len(properties) > document.forms.max_fields:
        findings.add(Rule.FORM_TOO_MANY_FIELDS, place.key("properties"))
    else:
        for ordinal, (name, field) in enumerate(properties.items()):
            here = place.key("properties").name(name, ordinal)
            check_text(name, here, Rule.FORM_CREDENTIAL_NAME, document, findings)
            if len(name) > document.forms.max_text:
                findings.add(Rule.FORM_TEXT_TOO_LONG, here)
            check_field(field, here, wire, document, findings)
    _required(form, schema, properties, place.key("required"))


def _root(form: _Form, schema: Mapping[str, object], place: Place) -> None:
    if schema.get("type") != "object":
        form.findings.add(Rule.FORM_SCHEMA_MALFORMED, place.key("type"))
    for ordinal, (keyword, value) in enumerate(schema.items()):
        if keyword in ("type", "properties", "required"):
            continue
        here = place.key(keyword) if keyword in _KNOWN_ROOT else place.name(keyword, ordinal)
        if keyword in _ROOT_NOTES:
            check_note(value, here, form.document, form.findings)
        elif keyword == "$schema":
            if not isinstance(value, str) or value not in _DIALECTS:
                form.findings.add(Rule.FORM_DIALECT, here)
        elif keyword == "additionalProperties":
            if value is not False:
                form.findings.add(Rule.FORM_ADDITIONAL_PROPERTIES, here)
        elif keyword in LOGIC:
            form.findings.add(Rule.FORM_KEYWORD_LOGIC, here)
        elif keyword in _ROOT_OPAQUE:
            if not isinstance(value, Mapping):
                form.findings.add(Rule.FORM_KEYWORD_VALUE, here)
        elif not keyword.startswith("x-"):
            form.findings.add(Rule.FORM_KEYWORD_UNKNOWN, here)


_KNOWN_ROOT: Final = _ROOT_NOTES | _ROOT_OPAQUE | LOGIC | {"$schema", "additionalProperties"}


def check_note(value: object, place: Place, document: Document, findings: Findings) -> None:
    """A title, description or comment: a bounded text that asks for nothing secret."""
    if not isinstance(value, str):
        findings.add(Rule.FORM_KEYWORD_VALUE, place)
        return
    if len(value) > document.forms.max_text:
        findings.add(Rule.FORM_TEXT_TOO_LONG, place)
    check_text(value, place, Rule.FORM_CREDENTIAL_TEXT, document, findings)


def _required(form: _Form, schema: Mapping[str, object], properties: Mapping[str, object], place: Place) -> None:
    if "required" not in schema:
        return
    required = schema["required"]
    if not isinstance(required, (list, tuple)) or not all(isinstance(name, str) for name in required):
        form.findings.add(Rule.FORM_KEYWORD_VALUE, place)
        return
    if len(set(required)) != len(required):
        form.findings.add(Rule.FORM_KEYWORD_VALUE, place)
    for index, name in enumerate(required):
        if name not in properties:
            form.findings.add(Rule.FORM_REQUIRED_UNKNOWN, place.index(index))
