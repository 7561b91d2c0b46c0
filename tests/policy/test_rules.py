"""The catalogue: one entry for each rule, one kind of source, and advice that leads nowhere dangerous."""

from pathlib import Path

import pytest

from elicitation.policy.rules import CATALOGUE, Rule, RuleEntry, Source, entry

ROOT = Path(__file__).parents[2]

every_entry = pytest.mark.parametrize("about", CATALOGUE, ids=lambda about: about.rule)


def test_the_catalogue_covers_the_rules_exactly_once() -> None:
    assert sorted(about.rule for about in CATALOGUE) == sorted(Rule)


@every_entry
def test_a_rule_is_the_protocols_or_the_operators_never_both(about: RuleEntry) -> None:
    assert about.sources
    operator = Source.OPERATOR in about.sources
    assert operator is (about.sources == (Source.OPERATOR,))
    assert operator is (about.section == "")


@every_entry
def test_a_rule_of_the_protocol_names_its_requirements(about: RuleEntry) -> None:
    assert about.requirements or about.sources == (Source.OPERATOR,)
    assert all(need[0] == "R" and 1 <= int(need[1:]) <= 81 for need in about.requirements)


@every_entry
def test_a_rule_has_a_title_and_one_sentence_of_advice(about: RuleEntry) -> None:
    assert about.title
    assert not about.title.endswith(".")
    assert about.advice.endswith(".")
    assert about.advice.count(". ") == 0


@every_entry
def test_advice_never_sends_a_secret_another_way(about: RuleEntry) -> None:
    words = about.advice.lower()
    for dangerous in ("use a form", "form mode", "in a form instead", "downgrade", "by e-mail", "in the chat"):
        assert dangerous not in words


def test_every_rule_is_used_somewhere() -> None:
    sources = [
        path for path in (ROOT / "elicitation").rglob("*.py") if not path.name.startswith(("codes", "catalogue"))
    ]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert [rule.name for rule in Rule if f"Rule.{rule.name}" not in text] == []


def test_a_source_reads_as_revision_page_and_section() -> None:
    assert entry(Rule.ERROR_CODE).source_text == "spec:2025-11-25 client/elicitation#url-elicitation-required-error"
    assert entry(Rule.URL_SCHEME).source_text == "operator"
