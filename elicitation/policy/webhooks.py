"""Signatures of webhooks (Standard Webhooks): made and verified over raw bytes, in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

HEADER_ID: Final = "webhook-id"
HEADER_TIMESTAMP: Final = "webhook-timestamp"
HEADER_SIGNATURE: Final = "webhook-signature"

_VERSION: Final = "v1"
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix that the scheme gives to secrets
#: Printable ASCII; the dot is out, as it separates the parts of the signed text.
_ID: Final = re.compile(r"[!-\-/-~]{1,256}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,15}")
#: Signatures tried from one header: enough for a rotation, too few for a flood.
_MAX_SIGNATURES: Final = 16


class Reason(StrEnum):
    """Why a delivery is not authentic. The first two are malformed (400), the others not ours (401)."""

    HEADER_MISSING = "header_missing"
    HEADER_MALFORMED = "header_malformed"
    TOO_OLD = "too_old"
    TOO_NEW = "too_new"
    NO_KEY = "no_key"
    NO_MATCH = "no_match"


@dataclass(frozen=True, slots=True)
class Verified:
    """An authentic delivery: the key that signed it, its id, and its time in unix seconds."""

    kid: str
    message_id: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Rejected:
    reason: Reason


def secret_bytes(text: str) -> bytes | None:
    """The key in a ``whsec_`` secret (base 64 after the prefix, which may be missing), or ``None``."""
    try:
        raw = base64.b64decode(text.removeprefix(_SECRET_PREFIX).encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw or None


def sign(message_id: str, timestamp: int, body: bytes, key: bytes) -> str:
    """``v1,`` and the base-64 HMAC-SHA-256 of ``id.timestamp.body``; ``timestamp`` in unix seconds."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"{_VERSION}," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")


def verify(
    headers: Mapping[str, str], body: bytes, keys: Mapping[str, bytes], now: int, tolerance: int = 300
) -> Verified | Rejected:
    """Verify a delivery: ``headers`` with lower-case names, ``keys`` by key id, ``now`` and ``tolerance`` in seconds.
    Never raises. Every key is tried against every signature, in constant time. Source: Standard Webhooks."""
    values = [headers.get(name) for name in (HEADER_ID, HEADER_TIMESTAMP, HEADER_SIGNATURE)]
    if not all(values):
        return Rejected(Reason.HEADER_MISSING)
    message_id, stamp, offered = (value or "" for value in values)
    signatures = _signatures(offered)
    if not _ID.fullmatch(message_id) or not _TIMESTAMP.fullmatch(stamp) or not signatures:
        return Rejected(Reason.HEADER_MALFORMED)
    timestamp = int(stamp)
    if timestamp < now - tolerance:
        return Rejected(Reason.TOO_OLD)
    if timestamp > now + tolerance:
        return Rejected(Reason.TOO_NEW)
    if not keys:
        return Rejected(Reason.NO_KEY)
    signer: str | None = None
    for kid, key in keys.items():
        # The text as it was sent is what was signed: 007 is not 7.
        expected = hmac.new(key, f"{message_id}.{stamp}.".encode() + body, hashlib.sha256).digest()
        for signature in signatures:
            if hmac.compare_digest(expected, signature) and signer is None:
                signer = kid
    return Rejected(Reason.NO_MATCH) if signer is None else Verified(signer, message_id, timestamp)


def _signatures(offered: str) -> list[bytes]:
    """The readable ``v1`` signatures of the header; other versions and unreadable ones are passed over."""
    readable: list[bytes] = []
    for item in offered.split(" ")[:_MAX_SIGNATURES]:
        version, _, text = item.partition(",")
        if version != _VERSION:
            continue
        try:
            readable.append(base64.b64decode(text.encode("ascii"), validate=True))
        except (binascii.Error, ValueError):
            continue
    return readable
