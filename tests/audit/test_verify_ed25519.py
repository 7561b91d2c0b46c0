"""The verifier's own Ed25519: RFC 8032's vectors, another implementation, and signatures that are made to deceive."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from audit.verify import ED25519, Malformed, VerifierKey, ed25519_verify, key_id, parse_key

VECTORS = json.loads((Path(__file__).parent / "vectors" / "rfc8032.json").read_text())["vectors"]
ORDER = 2**252 + 27742317777372353535851937790883648493
PRIME = 2**255 - 19
KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
PUBLIC = KEY.public_key().public_bytes_raw()
MESSAGE = b"a checkpoint"
SIGNATURE = KEY.sign(MESSAGE)

#: The encodings of the points whose order divides 8, those that are not canonical among them.
SMALL_ORDER = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000080",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
]


def others_verify(public: bytes, message: bytes, signature: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_the_published_signatures_hold_and_for_no_other_message(vector: dict[str, str]) -> None:
    public, message, signature = (bytes.fromhex(vector[name]) for name in ("public", "message", "signature"))
    assert ed25519_verify(public, message, signature)
    assert not ed25519_verify(public, message + b"\0", signature)


@given(st.binary(min_size=32, max_size=32), st.binary(max_size=300))
def test_what_others_sign_holds(seed: bytes, message: bytes) -> None:
    key = Ed25519PrivateKey.from_private_bytes(seed)
    assert ed25519_verify(key.public_key().public_bytes_raw(), message, key.sign(message))


@given(st.integers(0, 64 * 8 - 1))
def test_a_signature_with_any_bit_changed_is_refused(bit: int) -> None:
    changed = (int.from_bytes(SIGNATURE, "big") ^ 1 << bit).to_bytes(64, "big")
    assert not ed25519_verify(PUBLIC, MESSAGE, changed)


@given(st.integers(0, 32 * 8 - 1))
def test_another_key_is_judged_as_others_judge_it(bit: int) -> None:
    """Most of them are no points at all."""
    changed = (int.from_bytes(PUBLIC, "big") ^ 1 << bit).to_bytes(32, "big")
    try:
        holds = ed25519_verify(changed, MESSAGE, SIGNATURE)
    except Malformed:
        holds = False
    assert holds is others_verify(changed, MESSAGE, SIGNATURE) is False


@pytest.mark.parametrize("times", [1, 2, 7])
def test_a_second_spelling_of_a_signature_is_refused(times: int) -> None:
    """S + L verifies in the equation, so that one signature could be told in many ways."""
    s = int.from_bytes(SIGNATURE[32:], "little") + times * ORDER
    assert not ed25519_verify(PUBLIC, MESSAGE, SIGNATURE[:32] + s.to_bytes(32, "little"))


def verifier_key(public: bytes) -> VerifierKey:
    material = base64.b64encode(bytes([ED25519]) + public).decode()
    return parse_key(f"a+{key_id('a', ED25519, public).hex()}+{material}")


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_a_key_that_would_sign_anything_is_refused(point: str) -> None:
    """With a key of small order, R = S·B fits every message, or every eighth."""
    public = bytes.fromhex(point)
    with pytest.raises(Malformed):
        ed25519_verify(public, MESSAGE, public + bytes(32))
    with pytest.raises(Malformed):
        verifier_key(public)


def test_another_implementation_takes_the_key_that_would_sign_anything() -> None:
    """So the refusal above is ours, and not that of an equation that does not fit."""
    neutral = bytes.fromhex(SMALL_ORDER[0])
    assert others_verify(neutral, b"anything", neutral + bytes(32))


@pytest.mark.parametrize("point", SMALL_ORDER)
def test_a_first_half_of_small_order_is_refused(point: str) -> None:
    assert not ed25519_verify(PUBLIC, MESSAGE, bytes.fromhex(point) + SIGNATURE[32:])


def test_a_second_spelling_of_a_key_is_refused() -> None:
    """Of a few points the number is so small that it fits with the prime added, too."""
    spelled = 0
    for y in range(2, 19):
        for sign in (0, 1 << 255):
            try:
                verifier_key((y | sign).to_bytes(32, "little"))
            except Malformed:
                continue  # no point of the curve
            spelled += 1
            with pytest.raises(Malformed):
                verifier_key((y + PRIME | sign).to_bytes(32, "little"))
    assert spelled > 8


@pytest.mark.parametrize("public", [b"", PUBLIC[:31], PUBLIC + b"\0"])
def test_a_key_of_another_length_is_refused(public: bytes) -> None:
    with pytest.raises(Malformed):
        ed25519_verify(public, MESSAGE, SIGNATURE)


@pytest.mark.parametrize(
    "signature", [b"", SIGNATURE[:63], SIGNATURE + b"\0", b"\0" + SIGNATURE, bytes(64), b"\xff" * 64], ids=len
)
def test_what_has_another_length_or_is_no_number_is_refused(signature: bytes) -> None:
    assert not ed25519_verify(PUBLIC, MESSAGE, signature)
