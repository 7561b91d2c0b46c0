"""Canonical JSON, held against another implementation of RFC 8785."""

import json

import pytest
import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.canonical import CanonicalError, canonical, digest

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


def test_the_example_of_the_design_has_its_bytes_and_digest() -> None:
    arguments = {"hours": 2, "booking_id": "B-1042", "note": "café"}
    assert canonical(arguments).decode() == '{"booking_id":"B-1042","hours":2,"note":"café"}'
    assert digest(arguments) == "sha256:93156e25d62dc7396df74dfa83dbc2eb9f6dcc0e3917254a3cb3690ff91dce48"


@settings(max_examples=200)
@given(values)
def test_the_bytes_are_those_of_another_implementation(value: object) -> None:
    assert canonical(value) == rfc8785.dumps(value)  # type: ignore[arg-type]


@settings(max_examples=200)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_written_as_ecmascript_writes_it(value: float) -> None:
    written = canonical(value)
    assert written == rfc8785.dumps(value)
    assert float(written) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (1e21, "1e+21"),
        (1e20, "100000000000000000000"),
        (1e-6, "0.000001"),
        (1e-7, "1e-7"),
        (1.5e-10, "1.5e-10"),
        (-123.456, "-123.456"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (9007199254740993.0, "9007199254740992"),
    ],
)
def test_numbers_at_the_edges_of_the_notation(value: float, expected: str) -> None:
    assert canonical(value).decode() == expected


def test_names_sort_by_utf_16_code_units() -> None:
    names = ["\ufb33", "\U0001f600", "€", "1", "\r", "ö", "\x80"]
    written = json.loads(canonical(dict.fromkeys(names, 0)))
    assert list(written) == ["\r", "1", "\x80", "ö", "€", "\U0001f600", "\ufb33"]


@pytest.mark.parametrize(
    ("value", "at"),
    [
        ({"a": [1, float("nan")]}, "/#0/1"),
        ([float("inf")], "/0"),
        ({"a": "\ud800"}, "/#0"),
        ({"\udfff": 1}, "/#0"),
        ([2**53], "/0"),
        ([-(2**53)], "/0"),
        ({"a": {1, 2}}, "/#0"),
        ({1: "a"}, "/#0"),
        (b"bytes", ""),
    ],
)
def test_what_has_no_canonical_form_is_refused_with_its_place(value: object, at: str) -> None:
    with pytest.raises(CanonicalError) as refused:
        canonical(value)
    assert refused.value.at == at


def test_a_deep_value_is_refused_rather_than_exhausting_the_stack() -> None:
    deep: object = 1
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(CanonicalError):
        canonical(deep)
