"""The desk in Django's admin: elicitations with one action, the policy with its drafts, everything else to read."""

from elicitation.admin import (
    checkpoints,
    decisions,
    drafts,
    elicitations,
    exports,
    holds,
    ledger,
    parties,
    people,
    revisions,
    rules,
    signals,
)

__all__ = [
    "checkpoints",
    "decisions",
    "drafts",
    "elicitations",
    "exports",
    "holds",
    "ledger",
    "parties",
    "people",
    "revisions",
    "rules",
    "signals",
]
