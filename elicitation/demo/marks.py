"""Marked secrets: values that are typed, said or charged in the demo, and must be found nowhere in the desk."""

from __future__ import annotations

import secrets

MARK = "CANARY"


def marked(kind: str) -> str:
    """A fresh value that a search for :data:`MARK` finds wherever it leaks to."""
    return f"{MARK}-{kind}-{secrets.token_hex(4)}"


def reference() -> str:
    """A provider's reference for a charge, marked too: the desk keeps it sealed."""
    return f"pi_{MARK}{secrets.token_hex(4)}"
