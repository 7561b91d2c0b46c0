"""The small pattern language: what it refuses, and that it agrees with Python's where both read a pattern."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.pattern import PatternError, compile_pattern

atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "[a-c]", r"\d", r"\w", r"\.", "[a-]", r"[\d_]"])
counts = st.sampled_from(["", "?", "*", "+", "{2}", "{1,3}", "{0,2}", "{1,}"])
patterns = st.builds(
    lambda start, parts, end: start + "".join(parts) + end,
    st.sampled_from(["", "^"]),
    st.lists(st.builds(str.__add__, atoms, counts), max_size=4),
    st.sampled_from(["", "$"]),
)


@settings(max_examples=200)
@given(patterns, st.text("abcd0_.-", max_size=8))
def test_a_pattern_finds_what_python_finds(source: str, text: str) -> None:
    expected = re.search(source.replace("$", r"\Z"), text, re.ASCII) is not None
    assert compile_pattern(source).search(text) is expected


@pytest.mark.parametrize(
    "source",
    ["(a+)+", "a|b", "a**", "a++", "a{2}{3}", "a{3,2}", "a{999}", "a{x}", "a{2", "[", "[]", "[[a]]", "[b-a]", r"\b",
     r"\1", "a^b", "a$b", "*a", "]", "}", r"[\D]", "(?i)a", "a{,3}", "\\", "a" * 300, "a{500}b{500}"],
)  # fmt: skip
def test_what_is_outside_the_language_is_refused(source: str) -> None:
    with pytest.raises(PatternError):
        compile_pattern(source)


def test_a_pattern_that_stops_other_engines_runs_at_once() -> None:
    pattern = compile_pattern("^a*a*a*a*a*a*a*a*a*a*b$")
    began = time.perf_counter()
    assert not pattern.search("a" * 2000)
    assert time.perf_counter() - began < 2


@given(st.text(max_size=40))
def test_no_source_makes_the_reader_fail_otherwise(source: str) -> None:
    try:
        compile_pattern(source).search("abc")
    except PatternError:
        return
