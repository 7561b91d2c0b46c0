"""Field reports on choices: single and several, in every spelling, each named row as a test of its whole kind."""

import pytest

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, Wire
from tests.policy.asking import DOCUMENT, ask, ask_form, first, form_request, forms, rules

CHOICES: dict[str, dict[str, object]] = {
    "plain": {"type": "string", "enum": ["a", "b"]},
    "named": {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]},
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]},
}


@pytest.mark.parametrize("wire", Wire)
@pytest.mark.parametrize("spelling", CHOICES.values(), ids=CHOICES)
def test_b50_a_single_choice_is_admitted_alike_in_its_three_spellings(spelling: dict[str, object], wire: Wire) -> None:
    delivery = Delivery.CREATE if wire is Wire.V2025_11_25 else Delivery.INPUT_REQUIRED
    for extra in ({}, {"default": "b"}, {"title": "Zone", "description": "Where"}):
        ruling = decide(ask(form_request({"f": {**spelling, **extra}}), wire=wire, delivery=delivery), DOCUMENT, 1)
        assert rules(ruling) == []
        assert ruling.traits.choice_count == 2
    assert rules(ask_form({"f": {**spelling, "default": "c"}})) == ["form.default"]


SEVERAL: dict[str, dict[str, object]] = {
    "plain": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
    "titled": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]}},
}


@pytest.mark.parametrize("spelling", SEVERAL.values(), ids=SEVERAL)
def test_b50_a_choice_of_several_is_the_operators_to_switch_on(spelling: dict[str, object]) -> None:
    off, on = ask_form({"f": spelling}), ask_form({"f": spelling}, under=forms(multi_select=True))
    assert rules(off) == ["form.multi_select"]
    assert off.decision.as_json()["source"] == "operator"
    assert rules(on) == []
    full = {**spelling, "minItems": 1, "maxItems": 2, "default": ["a"], "title": "Zones"}
    assert rules(ask_form({"f": full}, under=forms(multi_select=True))) == []


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ({"type": "integer", "enum": [1, 2]}, "form.keyword_unknown"),
        ({"type": "string", "enum": [1, 2]}, "form.choices_malformed"),
        ({"type": "string", "enum": ["a", None]}, "form.choices_malformed"),
        ({"type": "string", "enum": []}, "form.choices_malformed"),
        ({"type": "string", "enum": {"a": "A"}}, "form.choices_malformed"),
        ({"type": "string", "enum": "ab"}, "form.choices_malformed"),
        ({"enum": ["a", "b"]}, "form.type_unknown"),
        ({"type": "string", "enum": ["a", "a"]}, "form.choices_duplicate"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "a", "title": "B"}]},
         "form.choices_duplicate"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "A"]}, "form.choices_duplicate"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b", "title": "A"}]},
         "form.choices_duplicate"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A"]}, "form.choices_names"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B", "C"]}, "form.choices_names"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": "AB"}, "form.choices_names"),
        ({"type": "string", "enum": ["a", "b"], "enumNames": ["A", 2]}, "form.choices_names"),
        ({"type": "string", "enumNames": ["A"]}, "form.choices_names"),
        ({"type": "string", "oneOf": [{"const": "a"}]}, "form.choices_malformed"),
        ({"type": "string", "oneOf": [{"const": 1, "title": "One"}]}, "form.choices_malformed"),
        ({"type": "string", "oneOf": [{"const": "a", "title": "A", "description": "x"}]}, "form.choices_malformed"),
        ({"type": "string", "oneOf": []}, "form.choices_malformed"),
        ({"type": "string", "enum": ["a"], "oneOf": [{"const": "a", "title": "A"}]}, "form.choices_malformed"),
        ({"type": "string", "anyOf": [{"const": "a", "title": "A"}]}, "form.union"),
        ({"type": "string", "enum": ["a", "b"], "default": 1}, "form.default"),
        ({"type": "string", "enum": [f"choice {n}" for n in range(500)]}, "form.too_many_choices"),
        ({"type": "string", "oneOf": [{"const": f"c{n}", "title": f"C {n}"} for n in range(51)]},
         "form.too_many_choices"),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_b50_a_choice_in_any_other_spelling_is_denied_by_its_own_rule(field: dict[str, object], rule: str) -> None:
    assert first(ask_form({"f": field})) == rule


@pytest.mark.parametrize(
    ("field", "rule"),
    [
        ({"type": "array"}, "form.array"),
        ({"type": "array", "items": {"type": "string"}}, "form.array"),
        ({"type": "array", "items": {"type": "integer", "enum": [1]}}, "form.choices_malformed"),
        ({"type": "array", "items": {"enum": ["a"]}}, "form.choices_malformed"),
        ({"type": "array", "items": {"type": "string", "anyOf": [{"const": "a", "title": "A"}]}},
         "form.choices_malformed"),
        ({"type": "array", "items": {"oneOf": [{"const": "a", "title": "A"}]}}, "form.array"),
        ({"type": "array", "items": {"type": "string", "enum": ["a"], "enumNames": ["A"]}}, "form.choices_malformed"),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "a"]}}, "form.choices_duplicate"),
        ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}}, "form.array"),
        ({"type": "array", "items": {"type": "object"}}, "form.nested"),
        ({"type": "array", "items": [{"type": "string", "enum": ["a"]}]}, "form.array"),
        ({**SEVERAL["plain"], "minItems": 3, "maxItems": 2}, "form.bounds"),
        ({**SEVERAL["plain"], "minItems": 3}, "form.bounds"),
        ({**SEVERAL["plain"], "uniqueItems": True}, "form.keyword_unknown"),
        ({**SEVERAL["plain"], "default": "a"}, "form.default"),
        ({**SEVERAL["plain"], "default": ["c"]}, "form.default"),
        ({**SEVERAL["plain"], "minItems": 2, "default": ["a"]}, "form.default"),
    ],
    ids=lambda value: str(value)[:60],
)  # fmt: skip
def test_b50_an_array_that_is_no_choice_is_denied_even_with_the_switch_on(field: dict[str, object], rule: str) -> None:
    assert first(ask_form({"f": field}, under=forms(multi_select=True))) == rule
