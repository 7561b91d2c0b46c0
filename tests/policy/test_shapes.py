"""Shapes of secrets: what is recognised, and what must be let through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation.policy.shapes import reference_shaped_like_secret, secret_shaped
from tests.policy.asking import JWT, REPOSITORY_TOKEN, SERVICE_KEY

CARD = "4242 4242 4242 4242"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (JWT, "jwt"),
        ("Bearer abcdef123456", "authorization_header"),
        (SERVICE_KEY, "key"),
        ("sk-proj-abcdef1234", "key"),
        (REPOSITORY_TOKEN, "key"),
        ("AKIAIOSFODNN7EXAMPLE", "key"),
        ("pi_3QabcDEF_secret_4hGtY7", "key"),
        ("xoxb-1234-abcd", "key"),
        ("task_sk_live_abcd", "key"),
        (PEM, "pem"),
        ("https://user:pw@example.com/", "url_with_credentials"),
        (CARD, "card"),
        ("5555555555554444", "card"),
        ("alice@example.com", "email"),
        ("9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d", "random"),
        ("aB3dE5fG7hJ9kL1mN3pQ5rS7", "random"),
    ],
)
def test_a_secret_is_told_by_its_shape(text: str, shape: str) -> None:
    assert secret_shaped(text) == shape
    assert secret_shaped(f"see {text} there") == shape


@pytest.mark.parametrize(
    "text",
    [
        "",
        "auth",
        "token_exchange",
        "risk-adjusted",
        "task-list-1234",
        "6fa459ea-ee8a-4ca4-894e-db77e160355e",
        "a-very-long-name-with-many-words-in-it",
        "AVeryLongNameWrittenInCamelCaseByAPerson",
        "booking-2026-01-01-0001-room",
        "1234 5678 9012 3456",
        "0000000000000000",
        "2026-01-01T00:00:00Z",
    ],
)
def test_an_ordinary_text_has_no_secret_shape(text: str) -> None:
    assert secret_shaped(text) is None


@pytest.mark.parametrize(
    "text",
    ["pi_3QabcDEF1234567890abcdEF", "ch_3MmlLrLkdIwHu7ix0snN0B15", "evt_1NG8Du2eZvKYlo2CUI79vXWy", "pi_7", "B-1042",
     "6fa459ea-ee8a-4ca4-894e-db77e160355e", "cs_test_a1B2c3D4e5F6g7H8i9J0", "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d"],
)  # fmt: skip
def test_a_providers_reference_is_no_secret(text: str) -> None:
    assert not reference_shaped_like_secret(text)


@pytest.mark.parametrize(
    "text",
    ["", "x" * 256, "pi 7", "pi\n7", "pi\x007", "é", JWT, PEM, SERVICE_KEY, "4242424242424242",
     "pi_3QabcDEF_secret_4hGtY7",
     "alice@example.com", "https://u:p@example.com/7", REPOSITORY_TOKEN],
)  # fmt: skip
def test_a_reference_that_is_a_secret_or_no_word_is_refused(text: str) -> None:
    assert reference_shaped_like_secret(text)


@given(st.text(max_size=300))
def test_no_text_makes_the_shapes_fail(text: str) -> None:
    secret_shaped(text)
    reference_shaped_like_secret(text)
