"""Webhook signatures: Standard Webhooks held against the scheme's own package, Stripe's against its description."""

import base64
import hashlib
import hmac
from datetime import UTC, datetime

import pytest
import standardwebhooks
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.webhooks import (
    Reason,
    Rejected,
    Scheme,
    Verified,
    secret_bytes,
    sign,
    signing_key,
    verify,
    verify_as,
    verify_stripe,
)

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


def theirs_accepts(sent: dict[str, str], body: str, key: bytes) -> bool:
    """What the scheme's package says of it, at this moment; anything that it raises is a refusal."""
    try:
        standardwebhooks.Webhook(base64.b64encode(key).decode()).verify(body, sent)
    except Exception:
        return False
    return True


@settings(max_examples=150)
@given(
    late=st.sampled_from([-301, -299, 0, 299, 301]) | st.integers(-1000, 1000),
    signer=st.sampled_from([KEY, OTHER]),
    changed=st.sampled_from(["", "id", "timestamp", "body", "signature", "missing"]),
    more=st.sampled_from(["", " v1,AAAA", " v2,AAAA", " v1a,AAAA"]),
)
def test_the_package_and_the_desk_agree_on_what_is_authentic(late: int, signer: bytes, changed: str, more: str) -> None:
    now = int(datetime.now(UTC).timestamp())
    late += 2 if late > 0 else -2 if late < 0 else 0  # the package reads its own clock, a moment later
    if abs(late) in range(298, 304):
        late += 6 if late > 0 else -6
    stamp, body = str(now + late), '{"a":1}'
    signature = sign("msg_1", now + late, body.encode(), signer) + more
    sent = {"webhook-id": "msg_1", "webhook-timestamp": stamp, "webhook-signature": signature}
    match changed:
        case "id":
            sent["webhook-id"] = "msg_2"
        case "timestamp":
            sent["webhook-timestamp"] = str(now + late + 1)
        case "body":
            body += " "
        case "signature":
            sent["webhook-signature"] = sign("msg_1", now + late, b"other", signer)
        case "missing":
            del sent["webhook-signature"]
    ours = verify(sent, body.encode(), {"k1": KEY}, now)
    assert isinstance(ours, Verified) == theirs_accepts(sent, body, KEY)


STRIPE_SECRET = "whsec_" + "q7" * 16
OTHER_SECRET = "whsec_" + "z3" * 16
STRIPE_KEY, OTHER_STRIPE_KEY = STRIPE_SECRET.encode(), OTHER_SECRET.encode()
EVENT = b'{"id": "evt_1", "type": "payment_intent.succeeded"}'


def hexed(stamp: str, body: bytes, secret: str) -> str:
    """Stripe's description, word for word: the time, a dot, the body; the secret's own text is the key."""
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()


GOOD = hexed(str(NOW), EVENT, STRIPE_SECRET)


def stripe_headers(value: str) -> dict[str, str]:
    return {"stripe-signature": value}


@pytest.mark.parametrize(
    "value",
    [
        f"t={NOW},v1={GOOD}",
        f"v1={GOOD},t={NOW}",
        f"t={NOW},v1={GOOD},v0={'0' * 64}",
        f"t={NOW},v1={'0' * 64},v1={GOOD}",
        f"t={NOW},v1=nonsense,v1={GOOD}",
        f"t={NOW},v1={hexed(str(NOW), EVENT, OTHER_SECRET)},v1={GOOD}",
        f"t={NOW},v1={GOOD},x",
        f"t={NOW - 300},v1={hexed(str(NOW - 300), EVENT, STRIPE_SECRET)}",
        f"t={NOW + 300},v1={hexed(str(NOW + 300), EVENT, STRIPE_SECRET)}",
    ],
)
def test_what_stripe_signed_with_a_live_secret_is_authentic(value: str) -> None:
    verdict = verify_stripe(stripe_headers(value), EVENT, {"k1": STRIPE_KEY}, NOW)
    assert isinstance(verdict, Verified)
    assert (verdict.kid, verdict.message_id) == ("k1", "")


def test_the_digits_of_the_time_are_signed_as_they_stand() -> None:
    padded = f"0{NOW}"
    value = f"t={padded},v1={hexed(padded, EVENT, STRIPE_SECRET)}"
    assert verify_stripe(stripe_headers(value), EVENT, {"k1": STRIPE_KEY}, NOW) == Verified("k1", "", NOW)


@pytest.mark.parametrize("ring", [("old", "new"), ("new", "old")])
def test_either_of_two_secrets_is_good_in_a_rotation_and_the_one_that_signed_is_named(
    ring: tuple[str, str],
) -> None:
    known = {"old": OTHER_STRIPE_KEY, "new": STRIPE_KEY}
    keys = {kid: known[kid] for kid in ring}
    for kid, secret in (("old", OTHER_SECRET), ("new", STRIPE_SECRET)):
        value = f"t={NOW},v1={hexed(str(NOW), EVENT, secret)}"
        assert verify_stripe(stripe_headers(value), EVENT, keys, NOW) == Verified(kid, "", NOW)
    both = f"t={NOW},v1={hexed(str(NOW), EVENT, OTHER_SECRET)},v1={GOOD}"
    assert verify_stripe(stripe_headers(both), EVENT, keys, NOW) == Verified(ring[0], "", NOW)


OLD, AHEAD = str(NOW - 360), str(NOW + 360)
STRANGE: dict[str, tuple[str | None, Reason]] = {
    "absent": (None, Reason.HEADER_MISSING),
    "empty": ("", Reason.HEADER_MISSING),
    "only spaces": (" ", Reason.HEADER_MALFORMED),
    "not ASCII": ("sha256=\xe9", Reason.HEADER_MALFORMED),
    "a signature that is not ASCII": (f"t={NOW},v1={'é' * 64}", Reason.HEADER_MALFORMED),
    "t is not a number": (f"t=NaN,v1={GOOD}", Reason.HEADER_MALFORMED),
    "t is empty": (f"t=,v1={GOOD}", Reason.HEADER_MALFORMED),
    "t is negative": (f"t=-{NOW},v1={GOOD}", Reason.HEADER_MALFORMED),
    "t is a fraction": (f"t={NOW}.0,v1={GOOD}", Reason.HEADER_MALFORMED),
    "t has spaces": (f"t= {NOW},v1={GOOD}", Reason.HEADER_MALFORMED),
    "t in other digits": ("t=" + "٣" * 10 + f",v1={GOOD}", Reason.HEADER_MALFORMED),
    "t is huge": (f"t={'9' * 5000},v1={GOOD}", Reason.HEADER_MALFORMED),
    "t is large": (f"t={'9' * 15},v1={GOOD}", Reason.TOO_NEW),
    "no t": (f"v1={GOOD}", Reason.HEADER_MALFORMED),
    "t twice": (f"t={NOW},t={NOW},v1={GOOD}", Reason.HEADER_MALFORMED),
    "only v0": (f"t={NOW},v0={GOOD}", Reason.HEADER_MALFORMED),
    "only v2": (f"t={NOW},v2={GOOD}", Reason.HEADER_MALFORMED),
    "in base 64": (
        f"t={NOW},v1={base64.b64encode(bytes.fromhex(GOOD)).decode()}",
        Reason.HEADER_MALFORMED,
    ),
    "in upper case": (f"t={NOW},v1={GOOD.upper()}", Reason.HEADER_MALFORMED),
    "a byte too long": (f"t={NOW},v1={GOOD}00", Reason.HEADER_MALFORMED),
    "another secret": (f"t={NOW},v1={hexed(str(NOW), EVENT, OTHER_SECRET)}", Reason.NO_MATCH),
    "without the prefix": (
        f"t={NOW},v1={hexed(str(NOW), EVENT, STRIPE_SECRET.removeprefix('whsec_'))}",
        Reason.NO_MATCH,
    ),
    "another time": (f"t={NOW + 1},v1={GOOD}", Reason.NO_MATCH),
    "six minutes old": (f"t={OLD},v1={hexed(OLD, EVENT, STRIPE_SECRET)}", Reason.TOO_OLD),
    "six minutes ahead": (f"t={AHEAD},v1={hexed(AHEAD, EVENT, STRIPE_SECRET)}", Reason.TOO_NEW),
    "beyond the bound": (f"t={NOW}," + "v1=aa," * 40 + f"v1={GOOD}", Reason.HEADER_MALFORMED),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_stripe_header_is_rejected_for_what_it_is(name: str) -> None:
    value, reason = STRANGE[name]
    sent = {} if value is None else stripe_headers(value)
    assert verify_stripe(sent, EVENT, {"k1": STRIPE_KEY}, NOW) == Rejected(reason)


def test_a_body_that_was_written_anew_is_not_what_stripe_signed() -> None:
    for body in (EVENT + b" ", EVENT.replace(b": ", b":"), EVENT.replace(b'"evt_1"', b'"\\u0065vt_1"')):
        assert verify_stripe(stripe_headers(f"t={NOW},v1={GOOD}"), body, {"k1": STRIPE_KEY}, NOW) == Rejected(
            Reason.NO_MATCH
        )


def test_without_a_key_nothing_is_accepted_not_even_what_nobody_signed() -> None:
    value = f"t={NOW},v1={hmac.new(bytes(32), f'{NOW}.'.encode() + EVENT, hashlib.sha256).hexdigest()}"
    for scheme in Scheme:
        verdict = verify_as(scheme, stripe_headers(value) | headers(), EVENT, {}, NOW)
        assert verdict == Rejected(Reason.NO_KEY)


@pytest.mark.parametrize(
    "sent",
    [{}, stripe_headers(f"t={NOW},v1={GOOD}"), headers(), stripe_headers("x"), headers(id=""), headers(id="a b")],
)
def test_whether_headers_are_malformed_does_not_depend_on_how_a_provider_signs(sent: dict[str, str]) -> None:
    malformed = set()
    for scheme in Scheme:
        verdict = verify_as(scheme, sent, b"other", {"k1": KEY}, NOW)
        assert isinstance(verdict, Rejected)
        malformed.add(verdict.reason in (Reason.HEADER_MISSING, Reason.HEADER_MALFORMED))
    assert len(malformed) == 1


def test_a_signature_of_one_scheme_is_worth_nothing_in_the_other() -> None:
    assert isinstance(verify_as(Scheme.STANDARD, headers(), BODY, {"k1": KEY}, NOW), Verified)
    assert verify_as(Scheme.STRIPE, headers(), BODY, {"k1": KEY}, NOW) == Rejected(Reason.NO_MATCH)
    sent = stripe_headers(f"t={NOW},v1={GOOD}")
    assert isinstance(verify_as(Scheme.STRIPE, sent, EVENT, {"k1": STRIPE_KEY}, NOW), Verified)
    assert verify_as(Scheme.STANDARD, sent, EVENT, {"k1": STRIPE_KEY}, NOW) == Rejected(Reason.NO_MATCH)


@settings(max_examples=150)
@given(st.text(max_size=80) | st.from_regex(r"(t|v0|v1)=[0-9a-f]{0,70}(,(t|v0|v1)=[0-9a-f]{0,70})*"), st.binary())
def test_no_stripe_header_makes_the_verification_fail(value: str, body: bytes) -> None:
    assert isinstance(verify_stripe(stripe_headers(value), body, {"k1": STRIPE_KEY}, NOW), Rejected)


@pytest.mark.parametrize(
    ("scheme", "text", "key"),
    [
        (Scheme.STANDARD, "whsec_" + base64.b64encode(KEY).decode(), KEY),
        (Scheme.STRIPE, STRIPE_SECRET, STRIPE_KEY),
        (Scheme.STRIPE, STRIPE_SECRET.removeprefix("whsec_"), None),
        (Scheme.STRIPE, "whsec_", None),
        (Scheme.STRIPE, "whsec_é", None),
        (Scheme.STRIPE, "whsec_a b", None),
        (Scheme.STRIPE, "whsec_" + "a" * 251, None),
    ],
)
def test_a_secret_is_used_as_its_scheme_uses_it(scheme: Scheme, text: str, key: bytes | None) -> None:
    assert signing_key(scheme, text) == key
