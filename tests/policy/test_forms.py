"""Forms: flat, bounded, and asking for nothing that must stay secret."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, Purpose, Wire
from tests.policy.asking import DOCUMENT, REPOSITORY_TOKEN, ask, ask_form, first, form_request, forms, rules

REGION = {"type": "string", "enum": ["eu", "us"]}


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string"},
        {"type": "string", "minLength": 1, "maxLength": 5, "default": "abc"},
        {"type": "string", "format": "email", "default": "alice@example.com"},
        {"type": "string", "format": "uri"},
        {"type": "string", "format": "date", "default": "2026-02-28"},
        {"type": "string", "format": "date-time", "default": "2026-02-28T12:00:00Z"},
        {"type": "string", "pattern": "^[A-Z]{2}$", "default": "EU"},
        {"type": "number", "minimum": 0.5, "maximum": 2},
        {"type": "integer", "minimum": 1, "maximum": 5, "default": 3.0},
        {"type": "boolean", "default": False},
        {"type": "string", "enum": ["eu", "us"], "default": "eu"},
        {"type": "string", "enum": ["eu", "us"], "enumNames": ["Europe", "America"]},
        {"type": "string", "oneOf": [{"const": "eu", "title": "Europe"}, {"const": "us", "title": "America"}]},
        {"type": "string", "title": "Region", "description": "Where it runs", "deprecated": True, "x-order": 1},
        {"type": "string", "examples": ["eu"]},
    ],
    ids=str,
)
def test_a_field_of_the_protocol_is_admitted(field: dict[str, object]) -> None:
    ruling = ask_form({"field": field})
    assert rules(ruling) == []
    assert ruling.request is not None
    assert ruling.request["mode"] == "form"


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ({"type": "object", "properties": {}}, "form.nested"),
        ({"properties": {"a": {}}}, "form.nested"),
        ({"type": "array", "items": {"type": "object"}}, "form.nested"),
        ({"type": "array", "items": {"type": "string"}}, "form.array"),
        ({"type": "array"}, "form.array"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"]}}, "form.multi_select"),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, "form.multi_select"),
        ({}, "form.type_unknown"),
        ({"type": "file"}, "form.type_unknown"),
        ({"enum": [1, 2], "type": "integer"}, "form.keyword_unknown"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "form.nullable"),
        ({"type": ["string", "null"]}, "form.nullable"),
        ({"type": "string", "nullable": True}, "form.nullable"),
        ({"type": "string", "default": None}, "form.nullable"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, "form.union"),
        ({"type": ["string", "integer"]}, "form.union"),
        ({"type": "string", "$ref": "#/$defs/a"}, "form.keyword_logic"),
        ({"type": "string", "if": {}}, "form.keyword_logic"),
        ({"type": "string", "allOf": []}, "form.keyword_logic"),
        ({"type": "string", "not": {}}, "form.keyword_logic"),
        ({"type": "string", "const": "a"}, "form.keyword_unknown"),
        ({"type": "number", "multipleOf": 2}, "form.keyword_unknown"),
        ({"type": "number", "maxLength": 2}, "form.keyword_unknown"),
        ({"type": "string", "maxLength": "5"}, "form.keyword_value"),
        ({"type": "string", "minLength": -1}, "form.keyword_value"),
        ({"type": "string", "title": 5}, "form.keyword_value"),
        ({"type": "integer", "minimum": True}, "form.keyword_value"),
        ({"type": "string", "deprecated": "yes"}, "form.keyword_value"),
        ({"type": "string", "format": "hostname"}, "form.format"),
        ({"type": "string", "pattern": "^(a+)+$"}, "form.pattern_unsupported"),
        ({"type": "string", "minLength": 5, "maxLength": 2}, "form.bounds"),
        ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, "form.bounds"),
        ({"type": "string", "enum": []}, "form.choices_malformed"),
        ({"type": "string", "enum": ["a", 1]}, "form.choices_malformed"),
        ({"type": "string", "oneOf": [{"const": "a"}]}, "form.choices_malformed"),
        ({"type": "string", "enum": ["a"], "oneOf": [{"const": "a", "title": "A"}]}, "form.choices_malformed"),
        ({"type": "string", "enum": ["a", "a"]}, "form.choices_duplicate"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}, "form.choices_names"),
        ({"type": "string", "enumNames": ["A"]}, "form.choices_names"),
        ({"type": "string", "enum": ["a"], "default": "b"}, "form.default"),
        ({"type": "integer", "maximum": 5, "default": 6}, "form.default"),
        ({"type": "boolean", "default": "yes"}, "form.default"),
        ({"type": "string", "format": "date", "default": "2026-02-30"}, "form.default"),
        ({"type": "string", "title": "x" * 501}, "form.text_too_long"),
        ({"type": "string", "enum": [str(n) for n in range(51)]}, "form.too_many_choices"),
        ("string", "form.schema_malformed"),
    ],
    ids=str,
)
def test_a_field_that_is_none_is_denied_by_its_own_rule(field: object, rule: str) -> None:
    ruling = ask_form({"field": field})
    assert first(ruling) == rule
    assert ruling.request is None


@pytest.mark.parametrize(
    ("root", "rule"),
    [
        ({"title": "Region", "description": "Where"}, None),
        ({"$schema": "https://json-schema.org/draft/2020-12/schema"}, None),
        ({"$schema": "http://json-schema.org/draft-07/schema#"}, None),
        ({"$schema": "https://schemas.example.com/mine"}, "form.dialect"),
        ({"additionalProperties": False}, None),
        ({"additionalProperties": True}, "form.additional_properties"),
        ({"$defs": {"unused": {"type": "object"}}}, None),
        ({"x-order": ["region"]}, None),
        ({"$ref": "#/$defs/a"}, "form.keyword_logic"),
        ({"allOf": [{}]}, "form.keyword_logic"),
        ({"if": {}}, "form.keyword_logic"),
        ({"minProperties": 1}, "form.keyword_unknown"),
        ({"required": ["region"]}, None),
        ({"required": ["absent"]}, "form.required_unknown"),
        ({"required": "region"}, "form.keyword_value"),
        ({"required": ["region", "region"]}, "form.keyword_value"),
        ({"type": "array"}, "form.schema_malformed"),
    ],
    ids=str,
)
def test_the_root_keeps_annotations_and_denies_logic(root: dict[str, Any], rule: str | None) -> None:
    ruling = ask_form({"region": REGION}, **root)
    assert rules(ruling) == ([rule] if rule else [])
    if rule is None:
        assert ruling.request is not None
        assert ruling.request["requestedSchema"] == form_request({"region": REGION}, **root)["requestedSchema"]


def test_both_nullable_spellings_get_one_verdict() -> None:
    spellings = [
        ask_form({"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}}),
        ask_form({"a": {"type": ["string", "null"]}}),
    ]
    assert [rules(ruling) for ruling in spellings] == [["form.nullable"]] * 2
    assert "Drop null" in str(spellings[0].decision.as_json()["advice"])


@pytest.mark.parametrize(
    ("properties", "message", "place"),
    [
        ({"password": {"type": "string"}}, "Hi.", "/request/requestedSchema/properties/#0"),
        ({"value": {"type": "string", "title": "API key"}}, "Hi.", "/request/requestedSchema/properties/#0/title"),
        ({"f": {"type": "string", "description": "paste the token here"}}, "Hi.",
         "/request/requestedSchema/properties/#0/description"),
        ({"f": {"type": "string", "enum": ["a", "Use my password"]}}, "Hi.",
         "/request/requestedSchema/properties/#0/enum/1"),
        ({"f": {"type": "string", "format": "password"}}, "Hi.", "/request/requestedSchema/properties/#0/format"),
        ({"f": {"type": "string", "writeOnly": True}}, "Hi.", "/request/requestedSchema/properties/#0/writeOnly"),
        ({"f": {"type": "string", "default": "sk-abcdefgh12345678"}}, "Hi.",
         "/request/requestedSchema/properties/#0/default"),
        ({"f": {"type": "string"}}, "Please type your card number.", "/request/message"),
        ({"f": {"type": "string", "oneOf": [{"const": "a", "title": "My passphrase"}]}}, "Hi.",
         "/request/requestedSchema/properties/#0/oneOf/0/title"),
    ],
)  # fmt: skip
def test_a_request_for_a_credential_is_denied_at_its_place(properties: object, message: str, place: str) -> None:
    ruling = ask_form(properties, message=message)
    assert ruling.decision.deciding is not None
    assert first(ruling).startswith("form.credential")
    assert ruling.decision.deciding.place == place


def test_profile_data_is_no_secret() -> None:
    fields = {name: {"type": "string"} for name in ("full_name", "email", "username")}
    request = form_request(fields, "Who shall receive the invoice?")
    assert rules(decide(ask(request, Purpose.PROFILE), DOCUMENT, 1)) == []


@pytest.mark.parametrize(
    "text",
    [
        "Pay at https://evil.example/pay",
        "[here](x)",
        "evil.example/pay",
        '<a href="x">',
        "www.evil.example",
        "example.com",
    ],
)
def test_a_link_in_a_forms_text_is_denied_or_flagged(text: str) -> None:
    denied = ask_form({"region": REGION}, message=text)
    assert first(denied) == "form.link"
    flagged = ask_form({"region": REGION}, message=text, under=forms(links="flag"))
    assert rules(flagged) == ["form.link_flagged"]
    assert flagged.decision.admitted


@pytest.mark.parametrize(
    "text", ["The price is 3.50 EUR.", "Choose e.g. eu", "yes/no?", "and/or", "Ends here.Next one"]
)
def test_an_ordinary_text_is_no_link(text: str) -> None:
    assert rules(ask_form({"region": REGION}, message=text)) == []


@pytest.mark.parametrize("sign", ["\u200f", "\u2068", "\u200d", "\n"])
def test_marks_that_languages_need_are_admitted(sign: str) -> None:
    assert rules(ask_form({"region": REGION}, message=f"Choose{sign} one")) == []


@pytest.mark.parametrize("sign", ["\u202e", "\x00", "\x1b", "\u2067", "\x85"])
def test_hidden_characters_in_a_text_are_denied(sign: str) -> None:
    assert first(ask_form({"region": REGION}, message=f"Choose{sign} one")) == "text.hidden_characters"


def test_a_form_without_fields_is_a_confirmation_that_the_policy_may_switch_off() -> None:
    assert rules(ask_form({})) == []
    assert rules(ask_form({}, under=forms(empty_confirmation=False))) == ["form.empty"]


def test_a_choice_of_several_can_be_switched_on() -> None:
    switched = forms(multi_select=True)
    several = {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "default": ["a"]}
    assert rules(ask_form({"f": several}, under=switched)) == []
    assert rules(ask_form({"f": {**several, "default": ["c"]}}, under=switched)) == ["form.default"]


def test_the_newer_revision_has_no_pattern() -> None:
    request = form_request({"f": {"type": "string", "pattern": "^a$"}})
    ruling = decide(ask(request, wire=Wire.V2026_07_28, delivery=Delivery.INPUT_REQUIRED), DOCUMENT, 1)
    assert rules(ruling) == ["form.pattern_not_in_wire"]


def test_a_form_has_at_most_the_policys_fields() -> None:
    fields = {f"field{letter}": {"type": "string"} for letter in "abcdefghijklm"}
    assert rules(ask_form(fields)) == ["form.too_many_fields"]


@pytest.mark.parametrize("members", [{}, {"requestedSchema": None}, {"requestedSchema": {"type": "object"}}])
def test_a_schema_that_is_absent_or_no_object_is_malformed(members: dict[str, object]) -> None:
    assert first(decide(ask({"message": "Choose.", **members}), DOCUMENT, 1)).startswith("form.schema_m")


def test_a_foreign_name_is_shown_to_the_caller_and_counted_for_the_ledger() -> None:
    finding = ask_form({"kontonummer": {"type": "file"}}).decision.findings[0]
    assert finding.at == "/request/requestedSchema/properties/kontonummer/type"
    assert finding.place == "/request/requestedSchema/properties/#0/type"
    secret = ask_form({REPOSITORY_TOKEN: {"type": "file"}}).decision.findings[0]
    assert "ghp_" not in secret.at


names = st.sampled_from(["region", "size", "note", "count"])
notes = {"title": st.sampled_from(["Region", "Size"]), "description": st.sampled_from(["Where it runs", "How many"])}
choices = st.lists(st.sampled_from(["eu", "us", "asia", "none"]), min_size=1, max_size=4, unique=True)
fields = st.one_of(
    st.fixed_dictionaries(
        {"type": st.just("string")},
        optional={
            **notes,
            "minLength": st.integers(0, 5),
            "maxLength": st.integers(3, 9),
            "default": st.text("abc", max_size=9),
        },
    ),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["number", "integer"])},
        optional={**notes, "minimum": st.integers(-5, 5), "maximum": st.integers(0, 9), "default": st.integers(-9, 9)},
    ),
    st.fixed_dictionaries({"type": st.just("boolean")}, optional={**notes, "default": st.booleans()}),
    st.fixed_dictionaries(
        {"type": st.just("string"), "enum": choices}, optional={**notes, "default": st.sampled_from(["eu", "mars"])}
    ),
    st.fixed_dictionaries(
        {"type": st.just("string"), "oneOf": choices.map(lambda all_: [{"const": one, "title": one} for one in all_])}
    ),
    st.dictionaries(
        st.sampled_from(["type", "enum", "const", "items"]), st.sampled_from(["string", [], {}, 5]), max_size=2
    ),
)

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_NOTES = {"title": _TEXT, "description": _TEXT}
_STRING = {
    "minLength": _COUNT,
    "maxLength": _COUNT,
    "format": {"enum": ["email", "uri", "date", "date-time"]},
    "default": _TEXT,
}


def _object(kind: object, members: dict[str, object], *required: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": {"type": {"enum": kind}, **_NOTES, **members},
        "required": ["type", *required],
        "additionalProperties": False,
    }


_TITLED = {"type": "object", "properties": {"const": _TEXT, "title": _TEXT}, "required": ["const", "title"]}
#: The grammar of client/elicitation, Requested Schema, in 2025-11-25 and 2026-07-28, less multi-select.
GRAMMAR = {
    "type": "object",
    "required": ["type", "properties"],
    "properties": {
        "type": {"const": "object"},
        "required": {"type": "array", "items": _TEXT},
        "properties": {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    _object(["string"], _STRING),
                    _object(
                        ["number", "integer"],
                        {"minimum": {"type": "number"}, "maximum": {"type": "number"}, "default": {"type": "number"}},
                    ),
                    _object(["boolean"], {"default": {"type": "boolean"}}),
                    _object(["string"], {"enum": {"type": "array", "items": _TEXT}, "default": _TEXT}, "enum"),
                    _object(["string"], {"oneOf": {"type": "array", "items": _TITLED}, "default": _TEXT}, "oneOf"),
                ]
            },
        },
    },
}


@settings(max_examples=200)
@given(st.dictionaries(names, fields, max_size=3))
def test_an_admitted_form_is_one_of_the_protocols(properties: dict[str, object]) -> None:
    ruling = ask_form(properties)
    if ruling.request is not None:
        schema = ruling.request["requestedSchema"]
        jsonschema.validate(schema, GRAMMAR)
        jsonschema.Draft202012Validator.check_schema(schema)
        for field in properties.values():
            if isinstance(field, dict) and "default" in field:
                jsonschema.validate(field["default"], field)
