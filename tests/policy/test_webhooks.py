"""Webhook signatures, held against the scheme's own package."""

import base64
from datetime import UTC, datetime

import pytest
import standardwebhooks
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.webhooks import Reason, Rejected, Verified, secret_bytes, sign, verify

KEY = bytes(range(32))
OTHER = bytes(range(1, 33))
NOW = 1_770_000_000
BODY = b'{"type":"elicitation.completed"}'


def headers(**changes: str) -> dict[str, str]:
    signed = {"webhook-id": "msg_1", "webhook-timestamp": str(NOW), "webhook-signature": sign("msg_1", NOW, BODY, KEY)}
    return signed | {f"webhook-{name}": value for name, value in changes.items()}


@settings(max_examples=100)
@given(st.text("abcXYZ019_-", min_size=1, max_size=20), st.binary(min_size=1, max_size=40), st.text(max_size=50))
def test_a_signature_is_that_of_the_schemes_own_package(message_id: str, key: bytes, text: str) -> None:
    theirs = standardwebhooks.Webhook(base64.b64encode(key).decode())
    stamp = datetime.fromtimestamp(NOW, UTC)
    signature = sign(message_id, NOW, text.encode(), key)
    assert signature == theirs.sign(message_id, stamp, text)
    sent = {"webhook-id": message_id, "webhook-timestamp": str(NOW), "webhook-signature": signature}
    assert verify(sent, text.encode(), {"k1": key}, NOW) == Verified("k1", message_id, NOW)


def test_the_key_that_signed_is_named_during_a_rotation() -> None:
    assert verify(headers(), BODY, {"old": OTHER, "new": KEY}, NOW) == Verified("new", "msg_1", NOW)
    both = f"{sign('msg_1', NOW, BODY, bytes(32))} {sign('msg_1', NOW, BODY, KEY)}"
    assert verify(headers(signature=both), BODY, {"new": KEY}, NOW) == Verified("new", "msg_1", NOW)


@pytest.mark.parametrize(
    ("changes", "body", "now", "reason"),
    [
        ({}, BODY + b" ", NOW, Reason.NO_MATCH),
        ({"id": "msg_2"}, BODY, NOW, Reason.NO_MATCH),
        ({"timestamp": str(NOW + 1)}, BODY, NOW, Reason.NO_MATCH),
        ({"timestamp": "0" + str(NOW)}, BODY, NOW, Reason.NO_MATCH),
        ({}, BODY, NOW + 301, Reason.TOO_OLD),
        ({}, BODY, NOW - 301, Reason.TOO_NEW),
        ({"id": ""}, BODY, NOW, Reason.HEADER_MISSING),
        ({"id": "a.b"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"id": "a b"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"timestamp": "now"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"timestamp": "-1"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"timestamp": "٣"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"timestamp": "9" * 400}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"signature": "v1"}, BODY, NOW, Reason.NO_MATCH),
        ({"signature": "v1,%%%"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"signature": "v2,AAAA"}, BODY, NOW, Reason.HEADER_MALFORMED),
        ({"signature": "v1,é"}, BODY, NOW, Reason.HEADER_MALFORMED),
    ],
    ids=str,
)
def test_a_delivery_that_is_not_authentic_is_rejected(
    changes: dict[str, str], body: bytes, now: int, reason: Reason
) -> None:
    assert verify(headers(**changes), body, {"k1": KEY}, now) == Rejected(reason)


@pytest.mark.parametrize("now", [NOW - 300, NOW, NOW + 300])
def test_the_tolerance_includes_its_ends(now: int) -> None:
    assert isinstance(verify(headers(), BODY, {"k1": KEY}, now), Verified)


def test_a_provider_without_a_key_accepts_nothing() -> None:
    assert verify(headers(), BODY, {}, NOW) == Rejected(Reason.NO_KEY)


def test_an_absent_header_is_missing() -> None:
    assert verify({}, BODY, {"k1": KEY}, NOW) == Rejected(Reason.HEADER_MISSING)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(["webhook-id", "webhook-timestamp", "webhook-signature"]), st.text(max_size=30)),
    st.binary(),
)
def test_no_header_makes_the_verification_fail(sent: dict[str, str], body: bytes) -> None:
    assert isinstance(verify(sent, body, {"k1": KEY}, NOW), Rejected)
    assert isinstance(verify({**headers(), **sent}, body, {"k1": KEY}, NOW), (Rejected, Verified))


@pytest.mark.parametrize(
    ("text", "raw"),
    [
        ("whsec_" + base64.b64encode(KEY).decode(), KEY),
        (base64.b64encode(KEY).decode(), KEY),
        ("whsec_", None),
        ("whsec_%%%", None),
        ("whsec_é", None),
        ("", None),
    ],
)
def test_a_secret_is_read_or_refused(text: str, raw: bytes | None) -> None:
    assert secret_bytes(text) == raw
