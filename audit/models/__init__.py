"""The tables of the ledger, of the logs that seal it, and of the signals about it."""

from audit.models.exports import Export
from audit.models.ledger import FORMAT_VERSION, LedgerEntry
from audit.models.log import Checkpoint, Hourly, Leaf, Log, Mark, Subtree
from audit.models.retention import LegalHold, Prune
from audit.models.signals import Outgoing, Signal

__all__ = [
    "FORMAT_VERSION",
    "Checkpoint",
    "Export",
    "Hourly",
    "Leaf",
    "LedgerEntry",
    "LegalHold",
    "Log",
    "Mark",
    "Outgoing",
    "Prune",
    "Signal",
    "Subtree",
]
