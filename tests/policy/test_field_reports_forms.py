"""Field reports on what a form may be: each named row as a test of its whole kind."""

import json
import math
from typing import Any

import pytest

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.answers import Action, Content, check_content, judge
from elicitation.policy.decision import Mode
from elicitation.policy.rules import Rule
from tests.policy.asking import DOCUMENT, ask, ask_form, first, forms, rules

CANARY = "CANARY-9f3k"
FIELDS = {
    "region": {"type": "string", "enum": ["eu", "us"]},
    "zone": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    "count": {"type": "integer", "minimum": 1, "maximum": 5},
    "ratio": {"type": "number", "minimum": 0.5},
    "note": {"type": "string", "minLength": 2, "maxLength": 5},
    "code": {"type": "string", "pattern": "^[a-z]+$"},
    "day": {"type": "string", "format": "date"},
    "moment": {"type": "string", "format": "date-time"},
    "mail": {"type": "string", "format": "email"},
    "link": {"type": "string", "format": "uri"},
    "urgent": {"type": "boolean"},
    "several": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}, "minItems": 1, "maxItems": 2},
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": ["region", "count"]}
GOOD = {"region": "eu", "count": 3}


def faults(content: object) -> list[tuple[str, str]]:
    return [(fault.at, fault.keyword) for fault in check_content(SCHEMA, content)]


@pytest.mark.parametrize(
    ("name", "value", "keyword"),
    [
        ("region", CANARY, "enum"),
        ("zone", CANARY, "oneOf"),
        ("note", CANARY, "maxLength"),
        ("code", CANARY, "pattern"),
        ("day", CANARY, "format"),
        ("moment", CANARY, "format"),
        ("mail", CANARY, "format"),
        ("link", CANARY, "format"),
        ("count", CANARY, "type"),
        ("ratio", [CANARY], "type"),
        ("urgent", {CANARY: CANARY}, "type"),
        ("several", [CANARY], "items"),
        ("several", ["x", "y", CANARY], "maxItems"),
    ],
)
def test_b16_a_fault_names_place_and_keyword_and_never_the_value(name: str, value: object, keyword: str) -> None:
    found = check_content(SCHEMA, {**GOOD, name: value})
    assert [(fault.at, fault.keyword) for fault in found] == [(f"/{name}", keyword)]
    assert CANARY not in repr(found)


@pytest.mark.parametrize("name", [CANARY, "password", "", "a/b~c", "x" * 5000, "\u202e", "region ", "__proto__"])
def test_b16_a_property_that_the_form_does_not_have_is_counted_and_not_named(name: str) -> None:
    found = check_content(SCHEMA, {**GOOD, name: CANARY})
    assert [(fault.at, fault.keyword) for fault in found] == [("/#2", "additionalProperties")]
    assert CANARY not in repr(found)


def test_b51_a_form_without_fields_is_a_confirmation_class_with_a_switch() -> None:
    admitted = ask_form({}, message="Delete three files?")
    assert rules(admitted) == []
    assert admitted.traits.property_count == 0
    assert first(ask_form({}, under=forms(empty_confirmation=False))) == "form.empty"


@pytest.mark.parametrize(
    ("members", "rule"),
    [
        ({}, "form.schema_missing"),
        ({"requestedSchema": None}, "form.schema_malformed"),
        ({"requestedSchema": []}, "form.schema_malformed"),
        ({"requestedSchema": {}}, "form.schema_malformed"),
        ({"requestedSchema": {"type": "object"}}, "form.schema_malformed"),
        ({"requestedSchema": {"properties": {}}}, "form.schema_malformed"),
        ({"requestedSchema": {"type": "object", "properties": None}}, "form.schema_malformed"),
        ({"requestedSchema": {"type": "object", "properties": []}}, "form.schema_malformed"),
        ({"requestedSchema": True}, "form.schema_malformed"),
    ],
    ids=str,
)
def test_b51_an_absent_schema_is_no_confirmation(members: dict[str, object], rule: str) -> None:
    assert first(decide(ask({"message": "Sure?", **members}), DOCUMENT, 1)) == rule


def test_b51_a_confirmation_is_accepted_with_an_empty_object_and_not_without_one() -> None:
    assert check_content({"type": "object", "properties": {}}, {}) == ()
    assert judge(Action.ACCEPT, Content.PRESENT, Mode.FORM).denial is None
    assert judge(Action.ACCEPT, Content.ABSENT, Mode.FORM).denial is Rule.ANSWER_CONTENT_MISSING
    assert check_content({"type": "object", "properties": {}}, None) != ()


@pytest.mark.parametrize(
    "kind",
    [{"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
     {"type": "string", "enum": ["a", "b"]}, {"type": "string", "format": "date"}],
    ids=str,
)  # fmt: skip
def test_b52_nullable_gets_one_verdict_and_one_hint_in_every_spelling(kind: dict[str, object]) -> None:
    spellings: list[dict[str, object]] = [
        {"anyOf": [kind, {"type": "null"}]},
        {"anyOf": [{"type": "null"}, kind], "default": None},
        {"oneOf": [kind, {"type": "null"}]},
        {**kind, "type": [kind["type"], "null"]},
        {**kind, "type": ["null", kind["type"]], "default": None},
        {**kind, "nullable": True},
        {**kind, "default": None},
        {**kind, "enum": ["a", None]} if "enum" in kind else {"type": "null"},
    ]
    for spelling in spellings[:7]:
        ruling = ask_form({"f": {**spelling, "title": "Field"}})
        assert rules(ruling) == ["form.nullable"]
        assert ruling.decision.as_json()["advice"] == "Drop null and leave the field out of required."
        assert ruling.decision.findings[0].at == "/request/requestedSchema/properties/f"
        assert ruling.request is None


@pytest.mark.parametrize(
    "field",
    [
        {"oneOf": [{"type": "string"}, {"type": "integer"}]},
        {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        {"type": ["string", "integer"]},
        {"type": ["string"]},
        {"anyOf": [{"type": "string"}]},
        {"type": "integer", "oneOf": [{"const": 1, "title": "One"}]},
    ],
    ids=str,
)
def test_b52_a_real_union_is_denied_as_one(field: dict[str, object]) -> None:
    assert first(ask_form({"f": field})) == "form.union"


REGION = {"type": "string", "enum": ["eu", "us"]}


def with_root(members: dict[str, Any]) -> Ruling:
    return ask_form({"region": REGION}, **members)


LOGIC = ["$ref", "$dynamicRef", "$id", "$anchor", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
         "dependentSchemas", "dependentRequired", "patternProperties", "propertyNames",
         "unevaluatedProperties"]  # fmt: skip


@pytest.mark.parametrize(
    "root",
    [
        {"title": "Region"},
        {"description": "Where it runs"},
        {"$comment": "made by a generator"},
        {"additionalProperties": False},
        {"$defs": {"Unused": {"type": "object", "properties": {"a": {"$ref": "#"}}}}},
        {"definitions": {}},
        {"x-order": ["region"]},
        *[{"$schema": f"{address}{end}"} for end in ("", "#") for address in (
            "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema")],
    ],
    ids=str,
)  # fmt: skip
def test_b53_a_harmless_root_keyword_is_admitted_and_sent_on(root: dict[str, Any]) -> None:
    ruling = with_root(root)
    assert rules(ruling) == []
    assert ruling.request is not None
    assert ruling.request["requestedSchema"] == {"type": "object", "properties": {"region": REGION}, **root}


@pytest.mark.parametrize(
    "note", [{"deprecated": True}, {"examples": ["eu"]}, {"readOnly": False}, {"x-order": 1}], ids=str
)
def test_b53_a_harmless_keyword_of_a_property_is_admitted_and_sent_on(note: dict[str, object]) -> None:
    ruling = ask_form({"region": {**REGION, **note}})
    assert rules(ruling) == []
    assert ruling.request is not None
    assert note.items() <= ruling.request["requestedSchema"]["properties"]["region"].items()  # type: ignore[index]


@pytest.mark.parametrize("keyword", LOGIC)
def test_b53_a_logic_keyword_is_denied_by_its_name_at_the_root_and_in_a_property(keyword: str) -> None:
    at_root = with_root({keyword: {}})
    assert first(at_root) == "form.keyword_logic"
    assert at_root.decision.findings[0].at == f"/request/requestedSchema/{keyword}"
    inside = ask_form({"region": {"type": "string", keyword: {}}})
    assert not inside.decision.admitted
    assert inside.request is None


@pytest.mark.parametrize(
    ("keyword", "value", "rule"),
    [
        ("$schema", "https://example.com/schema", "form.dialect"),
        ("$schema", "http://json-schema.org/draft-04/schema#", "form.dialect"),
        ("$schema", 7, "form.dialect"),
        ("additionalProperties", True, "form.additional_properties"),
        ("additionalProperties", {"type": "string"}, "form.additional_properties"),
        ("minProperties", 1, "form.keyword_unknown"),
        ("default", {}, "form.keyword_unknown"),
        ("surprise", 1, "form.keyword_unknown"),
    ],
)
def test_b53_nothing_at_the_root_is_dropped_in_silence(keyword: str, value: object, rule: str) -> None:
    assert first(with_root({keyword: value})) == rule


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({}, [("/region", "required"), ("/count", "required")]),
        ({"region": "eu"}, [("/count", "required")]),
        ({"region": "eu", "count": "3"}, [("/count", "type")]),
        ({"region": "eu", "count": 3.0}, []),
        ({"region": "eu", "count": 3.5}, [("/count", "type")]),
        ({"region": "eu", "count": math.inf}, [("/count", "type")]),
        ({"region": "eu", "count": math.nan}, [("/count", "type")]),
        ({"region": "eu", "count": json.loads("1e999")}, [("/count", "type")]),
        ({"region": "eu", "count": None}, [("/count", "type")]),
        ({"region": "eu", "count": True}, [("/count", "type")]),
        ({"region": "eu", "count": 0}, [("/count", "minimum")]),
        ({"region": "eu", "count": 6}, [("/count", "maximum")]),
        ({"region": "EU ", "count": 3}, [("/region", "enum")]),
        ({"region": "", "count": 3}, [("/region", "enum")]),
        ({**GOOD, "password": CANARY}, [("/#2", "additionalProperties")]),
        ({**GOOD, "urgent": "false"}, [("/urgent", "type")]),
        ({**GOOD, "urgent": 0}, [("/urgent", "type")]),
        ({**GOOD, "urgent": None}, [("/urgent", "type")]),
        ({**GOOD, "day": "2026-02-30"}, [("/day", "format")]),
        ({**GOOD, "day": "2026-2-3"}, [("/day", "format")]),
        ({**GOOD, "moment": "2026-02-28T25:00:00Z"}, [("/moment", "format")]),
        ({**GOOD, "several": ["x", "y"]}, []),
        ({**GOOD, "several": []}, [("/several", "minItems")]),
        ({**GOOD, "several": "x"}, [("/several", "type")]),
        ({**GOOD, "ratio": 95.5}, []),
        ({**GOOD, "note": "héé"}, []),
        ([], [("", "type")]),
        (None, [("", "type")]),
        ("region=eu", [("", "type")]),
    ],
    ids=str,
)
def test_b54_content_that_does_not_fit_is_refused_with_places_and_keywords(
    content: object, expected: list[tuple[str, str]]
) -> None:
    assert faults(content) == expected


def test_b54_an_optional_field_that_was_not_touched_stays_absent() -> None:
    content = dict(GOOD)
    assert faults(content) == []
    assert content == GOOD
