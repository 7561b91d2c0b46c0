"""Signatures of webhooks (Standard Webhooks, and Stripe's): verified over raw bytes, in constant time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

HEADER_ID: Final = "webhook-id"
HEADER_TIMESTAMP: Final = "webhook-timestamp"
HEADER_SIGNATURE: Final = "webhook-signature"
HEADER_STRIPE: Final = "stripe-signature"

#: Of either scheme; what is signed otherwise does not count.
_VERSION: Final = "v1"
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix that both schemes give to secrets
_STRIPE_SECRET: Final = re.compile(r"whsec_[!-~]{1,250}")
#: Printable ASCII; the dot is out, as it separates the parts of the signed text.
_ID: Final = re.compile(r"[!-\-/-~]{1,256}")
_TIMESTAMP: Final = re.compile(r"[0-9]{1,15}")
_HEX_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")
#: Parts tried from one header: enough for a rotation, too few for a flood.
_MAX_SIGNATURES: Final = 16
#: Worked with where there is no key, so that time does not tell it. What it verifies is never accepted.
_NOBODYS: Final[Mapping[str, bytes]] = {"": bytes(32)}


class Scheme(StrEnum):
    """How a provider signs its events."""

    STANDARD = "standard"
    STRIPE = "stripe"


class Reason(StrEnum):
    """Why a delivery is not authentic. The first two are malformed (400), the others not ours (401)."""

    HEADER_MISSING = "header_missing"
    HEADER_MALFORMED = "header_malformed"
    TOO_OLD = "too_old"
    TOO_NEW = "too_new"
    NO_KEY = "no_key"
    NO_MATCH = "no_match"


MALFORMED: Final = frozenset({Reason.HEADER_MISSING, Reason.HEADER_MALFORMED})


@dataclass(frozen=True, slots=True)
class Verified:
    """An authentic delivery: the key that signed it, its id, and its time in unix seconds. Stripe's id is that of
    the event in the body, which is read after this; until then it is empty."""

    kid: str
    message_id: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Rejected:
    reason: Reason


@dataclass(frozen=True, slots=True)
class _Sent:
    """What the headers say: ``stamp`` as it was sent, and what stands before the body in the signed text."""

    stamp: str
    before: bytes
    signatures: list[bytes]
    message_id: str = ""


def secret_bytes(text: str) -> bytes | None:
    """The key in a ``whsec_`` secret (base 64 after the prefix, which may be missing), or ``None``."""
    try:
        raw = base64.b64decode(text.removeprefix(_SECRET_PREFIX).encode("ascii"), validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw or None


def signing_key(scheme: Scheme, text: str) -> bytes | None:
    """The key in a secret as ``scheme`` uses it, or ``None``. Stripe's is the text itself, its prefix included."""
    match scheme:
        case Scheme.STANDARD:
            return secret_bytes(text)
        case Scheme.STRIPE:
            return text.encode("ascii") if _STRIPE_SECRET.fullmatch(text) else None


def sign(message_id: str, timestamp: int, body: bytes, key: bytes) -> str:
    """``v1,`` and the base-64 HMAC-SHA-256 of ``id.timestamp.body``; ``timestamp`` in unix seconds."""
    signed = f"{message_id}.{timestamp}.".encode() + body
    return f"{_VERSION}," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode("ascii")


def verify(
    headers: Mapping[str, str], body: bytes, keys: Mapping[str, bytes], now: int, tolerance: int = 300
) -> Verified | Rejected:
    """Verify a delivery: ``headers`` with lower-case names, ``keys`` by key id, ``now`` and ``tolerance`` in seconds.
    Never raises. Every key is tried against every signature, in constant time. Source: Standard Webhooks."""
    return _judged(_standard(headers), body, keys, now, tolerance)


def verify_stripe(
    headers: Mapping[str, str], body: bytes, keys: Mapping[str, bytes], now: int, tolerance: int = 300
) -> Verified | Rejected:
    """As :func:`verify`, for ``Stripe-Signature: t=<unix seconds>,v1=<hex>,…``: HMAC-SHA-256 of ``t.body``.
    Several ``v1`` are sent during a rotation; no other version counts. Source: Stripe, Verifying signatures."""
    return _judged(_stripe(headers), body, keys, now, tolerance)


_VERIFY: Final[dict[Scheme, Callable[..., Verified | Rejected]]] = {
    Scheme.STANDARD: verify,
    Scheme.STRIPE: verify_stripe,
}


def verify_as(
    scheme: Scheme, headers: Mapping[str, str], body: bytes, keys: Mapping[str, bytes], now: int
) -> Verified | Rejected:
    """Verify a delivery by ``scheme``. Malformed is only what no scheme can read, and each one is worked through:
    so neither reason nor time tells a stranger how the provider signs, or whether there is one. Never raises."""
    verdicts = {each: judge(headers, body, keys if each is scheme else {}, now) for each, judge in _VERIFY.items()}
    verdict = verdicts[scheme]
    if isinstance(verdict, Rejected) and verdict.reason in MALFORMED:
        others = (each for each in verdicts.values() if isinstance(each, Rejected))
        if any(each.reason not in MALFORMED for each in others):
            return Rejected(Reason.NO_MATCH)
    return verdict


def _standard(headers: Mapping[str, str]) -> _Sent | Reason:
    values = [headers.get(name) for name in (HEADER_ID, HEADER_TIMESTAMP, HEADER_SIGNATURE)]
    if not all(values):
        return Reason.HEADER_MISSING
    message_id, stamp, offered = (value or "" for value in values)
    signatures = _signatures(offered)
    if not _ID.fullmatch(message_id) or not _TIMESTAMP.fullmatch(stamp) or not signatures:
        return Reason.HEADER_MALFORMED
    # The text as it was sent is what was signed: 007 is not 7.
    return _Sent(stamp, f"{message_id}.{stamp}.".encode(), signatures, message_id)


def _stripe(headers: Mapping[str, str]) -> _Sent | Reason:
    offered = headers.get(HEADER_STRIPE)
    if not offered:
        return Reason.HEADER_MISSING
    parts = [item.partition("=") for item in offered.split(",")[:_MAX_SIGNATURES]]
    stamps = [text for name, _, text in parts if name == "t"]
    signatures = [bytes.fromhex(text) for name, _, text in parts if name == _VERSION and _HEX_SIGNATURE.fullmatch(text)]
    if len(stamps) != 1 or not _TIMESTAMP.fullmatch(stamps[0]) or not signatures:
        return Reason.HEADER_MALFORMED
    return _Sent(stamps[0], f"{stamps[0]}.".encode(), signatures)


def _judged(
    sent: _Sent | Reason, body: bytes, keys: Mapping[str, bytes], now: int, tolerance: int
) -> Verified | Rejected:
    if isinstance(sent, Reason):
        return Rejected(sent)
    timestamp = int(sent.stamp)
    if timestamp < now - tolerance:
        return Rejected(Reason.TOO_OLD)
    if timestamp > now + tolerance:
        return Rejected(Reason.TOO_NEW)
    signer: str | None = None
    for kid, key in (keys or _NOBODYS).items():
        expected = hmac.new(key, sent.before + body, hashlib.sha256).digest()
        for signature in sent.signatures:
            if hmac.compare_digest(expected, signature) and signer is None:
                signer = kid
    if not keys:
        return Rejected(Reason.NO_KEY)
    return Rejected(Reason.NO_MATCH) if signer is None else Verified(signer, sent.message_id, timestamp)


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
