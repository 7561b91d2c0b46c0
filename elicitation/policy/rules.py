"""The catalogue of rules: one entry for each code, with its source. The API, the admin and the error texts read it."""

from __future__ import annotations

from typing import Final

from elicitation.policy.catalogue_answers import ANSWERS
from elicitation.policy.catalogue_asking import ASKING
from elicitation.policy.catalogue_forms import FORMS
from elicitation.policy.catalogue_urls import URLS
from elicitation.policy.codes import Rule, RuleEntry, Source

__all__ = ["CATALOGUE", "Rule", "RuleEntry", "Source", "entry"]

#: Every rule, in the order in which the pages of the policy treat them.
CATALOGUE: Final[tuple[RuleEntry, ...]] = ASKING + FORMS + URLS + ANSWERS

_BY_RULE: Final[dict[Rule, RuleEntry]] = {about.rule: about for about in CATALOGUE}


def entry(rule: Rule) -> RuleEntry:
    """The catalogue's entry of ``rule``; there is one for every member of :class:`Rule`."""
    return _BY_RULE[rule]
