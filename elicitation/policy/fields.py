"""One property of a form: its type, its keywords, its choices and its default."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.policy.choices import check_choices, check_several
from elicitation.policy.codes import Rule
from elicitation.policy.decision import Wire
from elicitation.policy.document import Document
from elicitation.policy.pattern import PatternError, compile_pattern
from elicitation.policy.place import Findings, Place
from elicitation.policy.texts import Reader
from elicitation.policy.values import FORMATS, broken_keyword, count, is_number


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Keywords that combine, refer or decide: a flat form needs none of them.
LOGIC: Final = _words(
    "$ref $dynamicRef $recursiveRef $anchor $dynamicAnchor $id $vocabulary allOf anyOf oneOf not if then else "
    "dependentSchemas dependentRequired dependencies patternProperties propertyNames "
    "unevaluatedProperties unevaluatedItems"
)
_PRIMITIVES: Final = frozenset({"string", "number", "integer", "boolean"})
_NOTES: Final = frozenset({"title", "description", "$comment"})
_FLAGS: Final = frozenset({"deprecated", "readOnly"})
_SPECIFIC: Final[dict[str, frozenset[str]]] = {
    "string": frozenset({"minLength", "maxLength", "format", "pattern", "enumNames"}),
    "choice": frozenset({"enum", "enumNames", "oneOf"}),
    "number": frozenset({"minimum", "maximum"}),
    "integer": frozenset({"minimum", "maximum"}),
    "boolean": frozenset(),
    "array": frozenset({"minItems", "maxItems", "items"}),
}
#: Every keyword that a form may have or that is denied by name: the closed list that may be kept of a request.
KEYWORDS: Final = (
    LOGIC
    | _NOTES
    | _FLAGS
    | frozenset().union(*_SPECIFIC.values())
    | _words("type properties required default examples writeOnly nullable const additionalProperties $schema")
    | _words("$defs definitions exclusiveMinimum exclusiveMaximum multipleOf uniqueItems contains prefixItems")
    | _words("contentEncoding contentMediaType contentSchema minProperties maxProperties")
)
_SECRET_FORMATS: Final = frozenset({"password", "secret", "credential", "token"})


@dataclass(frozen=True, slots=True)
class _Context:
    """What every check of one property needs."""

    place: Place
    wire: Wire
    document: Document
    findings: Findings
    reader: Reader

    def step(self, keyword: str, ordinal: int) -> Place:
        return self.place.key(keyword) if keyword in KEYWORDS else self.place.name(keyword, ordinal)

    def secret_format(self, shape: str) -> bool:
        """Whether a format says that the value is a secret, as those of HTML and OpenAPI do."""
        return shape.casefold() in _SECRET_FORMATS or self.reader.matcher.hit(shape) is not None


def in_order(members: Mapping[str, object]) -> list[tuple[str, int]]:
    """The names of an object in their order, each with the ordinal at which it was written."""
    return sorted((name, ordinal) for ordinal, name in enumerate(members))


def written(field: object) -> bool:
    """Whether a field is filled in freely: no choice, and neither yes nor no."""
    if not isinstance(field, (dict, Mapping)):
        return False
    return field.get("type") in ("string", "number", "integer") and not ("enum" in field or "oneOf" in field)


def check_note(value: object, place: Place, reader: Reader) -> None:
    """A title, description or comment: a bounded text that asks for nothing secret."""
    if isinstance(value, str):
        reader.bounded(value, place)
    else:
        reader.findings.add(Rule.FORM_KEYWORD_VALUE, place)


def check_field(field: object, place: Place, wire: Wire, reader: Reader) -> None:
    """Judge one property's schema (client/elicitation, Requested Schema; R13, R19, and operator policy)."""
    if not isinstance(field, Mapping):
        reader.findings.add(Rule.FORM_SCHEMA_MALFORMED, place)
        return
    findings = reader.findings
    context = _Context(place, wire, reader.document, findings, reader)
    _secret_marks(context, field)
    before = findings.seen
    kind = _kind(context, field)
    for keyword, ordinal in in_order(field):
        if keyword != "type":
            _keyword(context, kind, keyword, field[keyword], context.step(keyword, ordinal))
    if kind is None:
        return
    if kind == "array":
        check_several(reader, field, place)
    else:
        check_choices(reader, field, place)
    _bounds(context, field)
    if findings.seen == before and "default" in field and broken_keyword(field, field["default"]) is not None:
        findings.add(Rule.FORM_DEFAULT, place.key("default"))


def _secret_marks(context: _Context, field: Mapping[str, object]) -> None:
    shape = field.get("format")
    if isinstance(shape, str) and shape not in FORMATS and context.secret_format(shape):
        context.findings.add(Rule.FORM_CREDENTIAL_FORMAT, context.place.key("format"))
    if field.get("writeOnly") not in (None, False):
        context.findings.add(Rule.FORM_CREDENTIAL_FORMAT, context.place.key("writeOnly"))


def _kind(context: _Context, field: Mapping[str, object]) -> str | None:
    """The kind of a field: its type, or ``choice`` for a string of listed values, which the protocol has as a kind
    of its own. Nullable in any spelling gets one verdict, and so do unions."""
    declared = field.get("type")
    options = [field.get("anyOf"), field.get("oneOf"), declared]
    lists = [option for option in options if isinstance(option, (list, tuple))]
    types = [item.get("type") if isinstance(item, Mapping) else item for option in lists for item in option]
    null_default = "default" in field and field["default"] is None
    if "null" in types or field.get("nullable") not in (None, False) or null_default or declared == "null":
        context.findings.add(Rule.FORM_NULLABLE, context.place)
        return None
    if isinstance(declared, (list, tuple)) or "anyOf" in field or ("oneOf" in field and declared != "string"):
        context.findings.add(Rule.FORM_UNION, context.place)
        return None
    if declared == "object" or (declared is None and "properties" in field):
        context.findings.add(Rule.FORM_NESTED, context.place)
        return None
    if declared == "array":
        return "array"
    if not isinstance(declared, str) or declared not in _PRIMITIVES:
        context.findings.add(Rule.FORM_TYPE_UNKNOWN, context.place.key("type"))
        return None
    return "choice" if declared == "string" and ("enum" in field or "oneOf" in field) else declared


def _keyword(context: _Context, kind: str | None, keyword: str, value: object, here: Place) -> None:
    if keyword in _NOTES:
        check_note(value, here, context.reader)
    elif keyword in ("default", "examples"):
        _sample(context, keyword, value, here)
    elif keyword in _FLAGS or keyword in ("writeOnly", "nullable"):
        if not isinstance(value, bool):
            context.findings.add(Rule.FORM_KEYWORD_VALUE, here)
    elif keyword.startswith("x-"):
        context.reader.extension(keyword, value, here)
    elif kind is None:
        return
    elif keyword in _SPECIFIC[kind]:
        _specific(context, keyword, value, here)
    elif keyword in LOGIC:
        context.findings.add(Rule.FORM_KEYWORD_LOGIC, here)
    else:
        context.findings.add(Rule.FORM_KEYWORD_UNKNOWN, here)


def _sample(context: _Context, keyword: str, value: object, here: Place) -> None:
    """Defaults and examples are shown to the person: no secret, and nothing that asks for one."""
    if keyword == "examples" and not isinstance(value, (list, tuple)):
        context.findings.add(Rule.FORM_KEYWORD_VALUE, here)
        return
    for item in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(item, str):
            context.reader.bounded(item, here)
        elif isinstance(item, (list, tuple, Mapping)):
            context.findings.add(Rule.FORM_KEYWORD_VALUE, here)


def _specific(context: _Context, keyword: str, value: object, here: Place) -> None:
    match keyword:
        case "minLength" | "maxLength" | "minItems" | "maxItems":
            if count(value) is None:
                context.findings.add(Rule.FORM_KEYWORD_VALUE, here)
        case "minimum" | "maximum":
            if not is_number(value):
                context.findings.add(Rule.FORM_KEYWORD_VALUE, here)
        case "format":
            if not isinstance(value, str) or not (value in FORMATS or context.secret_format(value)):
                context.findings.add(Rule.FORM_FORMAT, here)
        case "pattern":
            _pattern(context, value, here)
        case _:
            return


def _pattern(context: _Context, value: object, here: Place) -> None:
    if context.wire is not Wire.V2025_11_25:
        context.findings.add(Rule.FORM_PATTERN_NOT_IN_WIRE, here)
    if not isinstance(value, str):
        context.findings.add(Rule.FORM_KEYWORD_VALUE, here)
        return
    try:
        compile_pattern(value)
    except PatternError:
        context.findings.add(Rule.FORM_PATTERN_UNSUPPORTED, here)


def _bounds(context: _Context, field: Mapping[str, object]) -> None:
    for lower, upper in (("minLength", "maxLength"), ("minimum", "maximum"), ("minItems", "maxItems")):
        low, high = field.get(lower), field.get(upper)
        if isinstance(low, (int, float)) and isinstance(high, (int, float)) and low > high:
            context.findings.add(Rule.FORM_BOUNDS, context.place.key(lower))
    low, high = field.get("minimum"), field.get("maximum")
    if field.get("type") != "integer" or not isinstance(low, (int, float)) or not isinstance(high, (int, float)):
        return
    # Between 1.2 and 1.8 there is no integer.
    if is_number(low) and is_number(high) and math.ceil(low) > math.floor(high):
        context.findings.add(Rule.FORM_BOUNDS, context.place.key("minimum"))
