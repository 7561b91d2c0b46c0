"""Answers: three words, content only where it belongs, and faults that name no value."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.answers import Action, Content, ContentFault, check_content, judge, read_action
from elicitation.policy.decision import Mode
from elicitation.policy.lifecycle import Event
from elicitation.policy.rules import Rule

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "enum": ["eu", "us"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
        "agree": {"type": "boolean"},
        "day": {"type": "string", "format": "date"},
        "note": {"type": "string", "minLength": 2, "maxLength": 3},
        "code": {"type": "string", "pattern": "^[A-Z]{2}$"},
        "size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}]},
        "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1, "maxItems": 1},
    },
    "required": ["region", "count"],
}
GOOD = {"region": "eu", "count": 2}


@pytest.mark.parametrize("value", ["Accept", "ACCEPT", "accepted", "", None, True, 1, ["accept"], {}])
def test_another_spelling_is_malformed_and_no_refusal(value: object) -> None:
    assert read_action(value) is None


def test_the_three_actions_are_read_as_they_are_spelled() -> None:
    assert [read_action(word) for word in ("accept", "decline", "cancel")] == list(Action)


@pytest.mark.parametrize("content", [Content.ABSENT, Content.DROPPED])
def test_a_form_is_not_accepted_without_content(content: Content) -> None:
    assert judge(Action.ACCEPT, content, Mode.FORM).denial is Rule.ANSWER_CONTENT_MISSING


def test_a_form_is_accepted_with_content() -> None:
    ruling = judge(Action.ACCEPT, Content.PRESENT, Mode.FORM)
    assert (ruling.denial, ruling.flags, ruling.content) == (None, (), Content.PRESENT)
    assert ruling.event is Event.ANSWER_ACCEPT


@pytest.mark.parametrize("content", [Content.PRESENT, Content.DROPPED])
def test_content_on_a_url_acceptance_is_dropped_and_flagged(content: Content) -> None:
    ruling = judge(Action.ACCEPT, content, Mode.URL)
    assert (ruling.denial, ruling.flags, ruling.content) == (None, (Rule.ANSWER_CONTENT_ON_URL,), Content.DROPPED)


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("action", [Action.DECLINE, Action.CANCEL])
def test_content_on_a_refusal_is_stripped_and_flagged(action: Action, mode: Mode) -> None:
    ruling = judge(action, Content.PRESENT, mode)
    assert (ruling.denial, ruling.flags, ruling.content) == (None, (Rule.ANSWER_CONTENT_STRIPPED,), Content.DROPPED)
    assert judge(action, Content.ABSENT, mode).flags == ()


@pytest.mark.parametrize(
    ("content", "faults"),
    [
        (GOOD, []),
        ({**GOOD, "count": 3.0}, []),
        ({**GOOD, "agree": False, "day": "2026-02-28", "note": "äö", "code": "EU", "size": "s", "tags": ["a"]}, []),
        ({**GOOD, "note": "\U0001f600\U0001f600\U0001f600"}, []),
        ({}, [("/region", "required"), ("/count", "required")]),
        ({**GOOD, "count": "3"}, [("/count", "type")]),
        ({**GOOD, "count": 3.5}, [("/count", "type")]),
        ({**GOOD, "count": True}, [("/count", "type")]),
        ({**GOOD, "count": math.inf}, [("/count", "type")]),
        ({**GOOD, "count": None}, [("/count", "type")]),
        ({**GOOD, "count": 0}, [("/count", "minimum")]),
        ({**GOOD, "count": 6}, [("/count", "maximum")]),
        ({**GOOD, "region": "EU "}, [("/region", "enum")]),
        ({**GOOD, "region": ["eu"]}, [("/region", "type")]),
        ({**GOOD, "password": "CANARY"}, [("/#2", "additionalProperties")]),
        ({**GOOD, "CANARY": 1}, [("/#2", "additionalProperties")]),
        ({**GOOD, "day": "2026-02-30"}, [("/day", "format")]),
        ({**GOOD, "note": "a"}, [("/note", "minLength")]),
        ({**GOOD, "note": "abcd"}, [("/note", "maxLength")]),
        ({**GOOD, "code": "eu"}, [("/code", "pattern")]),
        ({**GOOD, "size": "x"}, [("/size", "oneOf")]),
        ({**GOOD, "tags": []}, [("/tags", "minItems")]),
        ({**GOOD, "tags": ["a", "b"]}, [("/tags", "maxItems")]),
        ({**GOOD, "tags": ["c"]}, [("/tags", "items")]),
        ({**GOOD, "agree": "false"}, [("/agree", "type")]),
        (None, [("", "type")]),
        ([], [("", "type")]),
    ],
    ids=str,
)
def test_content_is_held_against_its_form(content: object, faults: list[tuple[str, str]]) -> None:
    assert check_content(SCHEMA, content) == tuple(ContentFault(*fault) for fault in faults)


def test_a_confirmation_accepts_an_empty_object() -> None:
    assert check_content({"type": "object", "properties": {}}, {}) == ()


@pytest.mark.parametrize(
    ("shape", "good", "bad"),
    [
        (
            "email",
            ["alice@example.com", "a.b+c@x.example"],
            ["alice", "a@b@c", "@x.example", "a b@x.example", ".a@x.example"],
        ),
        (
            "uri",
            ["https://example.com/a?b#c", "urn:isbn:1"],
            ["example.com", "https://a b", "https://é.example", "a:#b#c"],
        ),
        ("date", ["2024-02-29"], ["2026-02-29", "2026-1-1", "20260101", "2026-13-01", "0000-01-01"]),
        (
            "date-time",
            ["2026-01-01T00:00:00Z", "2026-01-01t23:59:60.5+05:30"],
            [
                "2026-01-01",
                "2026-01-01T00:00:00",
                "2026-01-01 00:00:00Z",
                "2026-01-01T24:00:00Z",
                "2026-01-01T00:00:00+25:00",
            ],
        ),
    ],
)
def test_the_four_formats_are_checked(shape: str, good: list[str], bad: list[str]) -> None:
    schema = {"type": "object", "properties": {"f": {"type": "string", "format": shape}}}
    for text in good:
        assert check_content(schema, {"f": text}) == ()
    for text in bad:
        assert check_content(schema, {"f": text}) == (ContentFault("/f", "format"),)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["properties", "required", "type"]), anything, max_size=3), anything)
def test_no_schema_and_no_content_makes_the_check_fail(schema: dict[str, object], content: object) -> None:
    check_content(schema, content)
    check_content(SCHEMA, content)
    check_content(SCHEMA, dict.fromkeys(SCHEMA["properties"], content))
