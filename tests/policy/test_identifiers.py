"""Correlation ids: the desk's own spelling, and the classes of what others offer."""

import base64
import uuid

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.decision import IdClass
from elicitation.policy.identifiers import classify, mint_text, parse
from tests.policy.asking import JWT, SERVICE_KEY


@settings(max_examples=200)
@given(st.binary(min_size=16, max_size=16))
def test_an_id_of_the_desk_reads_back(raw: bytes) -> None:
    text = mint_text(raw)
    assert len(text) == 30
    assert parse(text) == raw
    assert classify(text, 20) is IdClass.MINTED


@settings(max_examples=200)
@given(st.text(max_size=40) | st.from_regex(r"elc_[a-z2-7]{26}", fullmatch=True))
def test_only_the_canonical_spelling_is_an_id_of_the_desk(text: str) -> None:
    raw = parse(text)
    assert raw is None or mint_text(raw) == text


@pytest.mark.parametrize(
    "text", ["", "elc_", "elc_" + "a" * 25, "ELC_" + "a" * 26, "elc_" + "A" * 26, "elc_" + "a" * 25 + "b"]
)
def test_another_spelling_of_an_id_is_refused(text: str) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", IdClass.MISSING),
        ("7", IdClass.TOO_SHORT),
        ("k3X9q", IdClass.TOO_SHORT),
        ("elc_4e7f3b45", IdClass.TOO_SHORT),
        ("surcharge-1042", IdClass.SEQUENTIAL),
        ("surcharge-payment-for-booking-1042", IdClass.SEQUENTIAL),
        ("20260101000000000001", IdClass.SEQUENTIAL),
        ("0" * 32, IdClass.SEQUENTIAL),
        ("sess9:github", IdClass.STRUCTURED),
        ("booking-of-alice-for-monday", IdClass.STRUCTURED),
        ("c232ab00-9414-11ec-b3c8-9f68deced846", IdClass.STRUCTURED),
        ("a1" * 150, IdClass.STRUCTURED),
        ("٣" * 24, IdClass.STRUCTURED),
        ("ab1ab1ab1ab1ab1ab1ab1ab1", IdClass.STRUCTURED),
        ("alice@example.com-1", IdClass.PERSONAL),
        ("+4930123456789", IdClass.PERSONAL),
        (base64.b64encode(b"alice@example.com").decode(), IdClass.PERSONAL),
        (base64.urlsafe_b64encode(b"alice@example.com").decode().rstrip("="), IdClass.PERSONAL),
        (JWT, IdClass.TOKEN),
        (SERVICE_KEY, IdClass.TOKEN),
        ("6fa459ea-ee8a-4ca4-894e-db77e160355e", IdClass.UUID4),
        ("V1StGXR8_Z5jdHi6B-myT", IdClass.OPAQUE),
        ("9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d", IdClass.OPAQUE),
        ("pay_8f14e45fceea167a5a36dedd4bea2543", IdClass.OPAQUE),
    ],
)
def test_an_id_is_classed_by_its_shape(text: str, expected: IdClass) -> None:
    assert classify(text, 20) is expected


def test_a_policy_may_admit_shorter_ids() -> None:
    assert classify("elc_4e7f3b45", 12) is IdClass.OPAQUE
    assert classify("surcharge-1042", 12) is IdClass.SEQUENTIAL


def test_a_long_word_before_a_short_number_is_not_random() -> None:
    assert classify("surcharge_payment_a1b2c3", 20) is IdClass.TOO_SHORT


@settings(max_examples=150)
@given(st.uuids(version=4))
def test_a_random_uuid_is_admitted_in_either_spelling(value: uuid.UUID) -> None:
    assert classify(str(value), 20) is IdClass.UUID4
    assert classify(value.hex, 20) in (IdClass.OPAQUE, IdClass.STRUCTURED)


@given(st.text(max_size=200), st.integers(8, 64))
def test_no_text_makes_the_classes_fail(text: str, min_length: int) -> None:
    assert classify(text, min_length) in IdClass
