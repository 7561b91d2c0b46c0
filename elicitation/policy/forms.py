"""A form's requested schema: untrusted, flat, and asking for nothing that must stay secret."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Wire
from elicitation.policy.document import Document
from elicitation.policy.fields import LOGIC, check_field, check_note, in_order, written
from elicitation.policy.place import Findings, Place
from elicitation.policy.texts import Reader, carries_secret

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


_KNOWN_ROOT: Final = _ROOT_NOTES | _ROOT_OPAQUE | LOGIC | {"$schema", "additionalProperties"}


@dataclass(frozen=True, slots=True)
class _Form:
    wire: Wire
    document: Document
    findings: Findings
    reader: Reader


def check_schema(schema: object, place: Place, wire: Wire, document: Document, findings: Findings) -> None:
    """Judge a ``requestedSchema`` whose size and depth are already bounded. Source: client/elicitation, Requested
    Schema (R12, R13) for what a form is; operator policy for bounds, links, and what the protocol leaves open.
    Members are read in the order of their names, so that the order in which they were written decides nothing."""
    if not isinstance(schema, Mapping):
        findings.add(Rule.FORM_SCHEMA_MALFORMED, place)
        return
    form = _Form(wire, document, findings, Reader(document, findings))
    _root(form, schema, place)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        findings.add(Rule.FORM_SCHEMA_MALFORMED, place.key("properties"))
        return
    _properties(form, properties, place.key("properties"))
    _required(form, schema, properties, place.key("required"))


def _properties(form: _Form, properties: Mapping[str, object], place: Place) -> None:
    if not properties and not form.document.forms.empty_confirmation:
        form.findings.add(Rule.FORM_EMPTY, place)
    if len(properties) > form.document.forms.max_fields:
        form.findings.add(Rule.FORM_TOO_MANY_FIELDS, place)
        return
    for name, ordinal in in_order(properties):
        here = place.name(name, ordinal)
        form.reader.bounded(name, here, Rule.FORM_CREDENTIAL_NAME)
        if written(properties[name]):
            form.reader.written(name, here)
        check_field(properties[name], here, form.wire, form.reader)


def _root(form: _Form, schema: Mapping[str, object], place: Place) -> None:
    if schema.get("type") != "object":
        form.findings.add(Rule.FORM_SCHEMA_MALFORMED, place.key("type"))
    for keyword, ordinal in in_order(schema):
        if keyword in ("type", "properties", "required"):
            continue
        value = schema[keyword]
        here = place.key(keyword) if keyword in _KNOWN_ROOT else place.name(keyword, ordinal)
        if keyword in _ROOT_NOTES:
            check_note(value, here, form.reader)
        elif keyword == "$schema":
            if not isinstance(value, str) or value not in _DIALECTS:
                form.findings.add(Rule.FORM_DIALECT, here)
        elif keyword == "additionalProperties":
            if value is not False:
                form.findings.add(Rule.FORM_ADDITIONAL_PROPERTIES, here)
        elif keyword in LOGIC:
            form.findings.add(Rule.FORM_KEYWORD_LOGIC, here)
        elif keyword in _ROOT_OPAQUE:
            if not isinstance(value, Mapping) or not all(isinstance(one, (Mapping, bool)) for one in value.values()):
                form.findings.add(Rule.FORM_KEYWORD_VALUE, here)
            if carries_secret(value):
                form.findings.add(Rule.FORM_CREDENTIAL_VALUE, here)
        elif keyword.startswith("x-"):
            form.reader.extension(keyword, value, here)
        else:
            form.findings.add(Rule.FORM_KEYWORD_UNKNOWN, here)


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
