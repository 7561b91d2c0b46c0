"""The desk in Django's admin: elicitations with one action, everything else to read."""

from elicitation.admin import decisions, elicitations, ledger, parties, revisions

__all__ = ["decisions", "elicitations", "ledger", "parties", "revisions"]
