"""Keyed digests of what must be found again but not read: people, operations, results.

A digest is ``kid:hex``. Look-ups try each live key; what is found under an older one is written anew on sight.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Final, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from elicitation.policy.canonical import canonical

SUBJECT: Final = b"subject"
OPERATION: Final = b"operation"
RESULT: Final = b"result"
DELIVERY: Final = b"delivery"


class Split(NamedTuple):
    kid: str
    hex: str


def candidates(domain: bytes, parts: Sequence[str | None]) -> list[str]:
    """The digest of ``parts`` under every live key, the current one first (HMAC-SHA-256 over canonical JSON).

    ``domain`` keeps digests of different things apart. Raises ``ImproperlyConfigured`` without a key.
    """
    ring: dict[str, bytes] = settings.DESK_DIGEST_KEYS
    if not ring:
        raise ImproperlyConfigured("DESK_DIGEST_KEYS is not set; `python3 manage.py up` makes one.")
    message = domain + b"\x00" + canonical(list(parts))
    return [f"{kid}:{hmac.new(key, message, hashlib.sha256).hexdigest()}" for kid, key in ring.items()]


def split(digest: str | None) -> Split:
    """Key id and hexadecimal part, as the ledger keeps them in columns of their own."""
    kid, _, text = (digest or "").partition(":")
    return Split(kid, text)
