"""The desk in Django's admin: elicitations with one action, the policy with its drafts, everything else to read."""

from elicitation.admin import decisions, drafts, elicitations, ledger, parties, revisions, rules, signals

__all__ = ["decisions", "drafts", "elicitations", "ledger", "parties", "revisions", "rules", "signals"]
