"""Signed notes as the log makes them: checkpoints, its keys, and the cosignatures that witnesses answer with."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.verify import (
    COSIGNATURE,
    ED25519,
    HASH_BYTES,
    BadSignature,
    Malformed,
    ed25519_verify,
    key_id,
    parse_checkpoint,
    parse_key,
    parse_note,
    parse_signature,
)

_TIME_BYTES: Final = 8
_LATEST: Final = 2**63 - 1


def verifier_key(name: str, seed: bytes) -> str:
    """The public key of a seed (32 bytes) as auditors bring it: ``<name>+<8 hex>+<base64>`` (C2SP signed-note)."""
    public = _public(seed)
    encoded = base64.b64encode(bytes([ED25519]) + public).decode()
    return f"{name}+{key_id(name, ED25519, public).hex()}+{encoded}"


def checkpoint_text(origin: str, size: int, root: bytes) -> str:
    """What a log signs: its origin, its size and the root (32 bytes) over that many leaves (C2SP tlog-checkpoint).

    Raises ``Malformed`` for anything that could not be read back.
    """
    if len(root) != HASH_BYTES:
        raise Malformed("a root has 32 bytes")
    text = f"{origin}\n{size}\n{base64.b64encode(root).decode()}\n"
    parse_checkpoint(text)
    return text


def signature_lines(text: str, name: str, ring: Mapping[str, bytes]) -> list[str]:
    """One signature line over ``text``, without newline, by each key (a seed of 32 bytes) of the ring, in its order."""
    return [_line(text, name, seed) for seed in ring.values()]


def sign(text: str, name: str, ring: Mapping[str, bytes]) -> str:
    """The signed note of ``text``, which ends in a newline, by each key of the ring, in its order.

    Raises ``Malformed`` when it would be none: a text without its newline, a name with a space, an empty ring.
    """
    note = "".join(line + "\n" for line in [text, *signature_lines(text, name, ring)])
    if parse_note(note).text != text:
        raise Malformed("a note's text ends in a newline and is told from its signatures")
    return note


def verify_cosignatures(note: str, lines: str, witness: str) -> int | None:
    """When the witness of this verifier key saw the checkpoint in ``note``, in seconds since 1970, by the signature
    lines that it answered with (C2SP tlog-cosignature, Ed25519); ``None`` when none of them is that key's.

    Raises ``Malformed`` for what is no note, key or signature line; ``BadSignature`` when the key's does not hold.
    """
    key = parse_key(witness)
    if key.algorithm != COSIGNATURE:
        raise Malformed("not a witness's key")
    text = parse_note(note).text
    parse_checkpoint(text)
    if not lines.endswith("\n"):
        raise Malformed("a signature line ends in a newline")
    for signature in map(parse_signature, lines[:-1].split("\n")):
        if (signature.name, signature.key_id) != (key.name, key.key_id):
            continue
        time = int.from_bytes(signature.signature[:_TIME_BYTES], "big")
        message = f"cosignature/v1\ntime {time}\n{text}".encode()
        if time > _LATEST or not ed25519_verify(key.public, message, signature.signature[_TIME_BYTES:]):
            raise BadSignature(key)
        return time
    return None


def _line(text: str, name: str, seed: bytes) -> str:
    signature = key_id(name, ED25519, _public(seed)) + Ed25519PrivateKey.from_private_bytes(seed).sign(text.encode())
    return f"\u2014 {name} {base64.b64encode(signature).decode()}"


def _public(seed: bytes) -> bytes:
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
