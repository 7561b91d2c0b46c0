"""Limits on asking: people who are asked too often say yes to everything (operator policy)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Decision, Finding, Outcome
from elicitation.policy.sections import Limits

RULES: Final = frozenset({Rule.LIMIT_PENDING_PER_SUBJECT, Rule.LIMIT_ASKS_PER_SUBJECT, Rule.LIMIT_ASKS_PER_SERVICE})


@dataclass(frozen=True, slots=True)
class Asked:
    """How much is asked already: the person's open questions, and questions in the last hour. A count may stop at
    the limit."""

    pending_of_subject: int
    asks_of_subject: int
    asks_of_service: int


def exceeded(asked: Asked, limits: Limits) -> Rule | None:
    """The limit that one more question would pass."""
    if asked.pending_of_subject >= limits.pending_per_subject:
        return Rule.LIMIT_PENDING_PER_SUBJECT
    if asked.asks_of_subject >= limits.asks_per_subject_hour:
        return Rule.LIMIT_ASKS_PER_SUBJECT
    if asked.asks_of_service >= limits.asks_per_service_hour:
        return Rule.LIMIT_ASKS_PER_SERVICE
    return None


def denied(decision: Decision, rule: Rule) -> Decision:
    """An admission turned into a denial by ``rule``."""
    subject = "/subject"
    return replace(
        decision, outcome=Outcome.DENY, findings=(*decision.findings, Finding(rule, at=subject, place=subject))
    )
