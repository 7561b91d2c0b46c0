"""What an event says: one word for both schemes, and a place for what is wrong with it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy import provider_events
from elicitation.policy.provider_events import Fault, Kind, Malformed, Named, StripeType, Word, standard, stripe

OURS = "elc_" + "a" * 26
AT = 1_770_000_000
WHEN = datetime.fromtimestamp(AT, UTC)
SESSION: dict[str, Any] = {
    "id": "cs_test_a1Znb7gdtlLEPzSi8qMIJzvsSPpIBMKFWovXx0h0O43WS411PpICgCqKjw",
    "object": "checkout.session",
    "mode": "payment",
    "payment_status": "paid",
    "payment_intent": "pi_3QexampleRef",
    "setup_intent": None,
    "subscription": None,
    "client_reference_id": None,
    "metadata": {"elicitation_id": OURS, "order": "7"},
}
INTENT: dict[str, Any] = {"id": "pi_3QexampleRef", "object": "payment_intent", "metadata": {"elicitation_id": OURS}}
CHARGE: dict[str, Any] = {
    "id": "ch_3QexampleRef",
    "object": "charge",
    "refunded": True,
    "payment_intent": "pi_3QexampleRef",
    "metadata": {"elicitation_id": OURS},
}
NOT_OURS = Word(Kind.NOT_OURS)


def completed(reference: str = "pi_3QexampleRef") -> Word:
    return Word(Kind.COMPLETED, OURS, reference, WHEN)


@pytest.mark.parametrize(
    ("type_", "about", "word"),
    [
        ("checkout.session.completed", SESSION, completed()),
        ("checkout.session.completed", SESSION | {"payment_status": "unpaid"}, NOT_OURS),
        ("checkout.session.async_payment_succeeded", SESSION, completed()),
        ("checkout.session.async_payment_failed", SESSION, Word(Kind.FAILED, OURS, "", WHEN)),
        (
            "checkout.session.expired",
            SESSION | {"payment_intent": None, "payment_status": "unpaid"},
            Word(Kind.FAILED, OURS, "", WHEN),
        ),
        ("payment_intent.succeeded", INTENT, completed()),
        ("payment_intent.canceled", INTENT, Word(Kind.FAILED, OURS, "", WHEN)),
        ("payment_intent.payment_failed", INTENT, NOT_OURS),
        ("payment_intent.processing", INTENT, NOT_OURS),
        ("charge.refunded", CHARGE, Word(Kind.REVERSED, OURS, "pi_3QexampleRef", WHEN)),
        ("charge.refunded", CHARGE | {"refunded": False}, NOT_OURS),
        ("charge.refunded", CHARGE | {"payment_intent": None}, NOT_OURS),
        ("charge.succeeded", CHARGE, NOT_OURS),
        ("invoice.paid", {"anything": [1]}, NOT_OURS),
    ],
)
def test_a_stripe_event_says_one_thing(type_: str, about: dict[str, Any], word: Word) -> None:
    assert stripe(type_, AT, about) == word


def test_a_session_and_its_intent_name_the_same_result() -> None:
    assert stripe("checkout.session.completed", AT, SESSION) == stripe("payment_intent.succeeded", AT, INTENT)


@pytest.mark.parametrize(
    ("changes", "reference"),
    [
        ({"mode": "setup", "payment_intent": None, "setup_intent": "seti_1Example"}, "seti_1Example"),
        ({"mode": "subscription", "payment_intent": None, "subscription": "sub_1Example"}, "sub_1Example"),
        ({"payment_intent": None}, SESSION["id"]),
    ],
)
def test_the_result_of_a_session_is_what_its_mode_makes(changes: dict[str, Any], reference: str) -> None:
    session = SESSION | {"payment_status": "no_payment_required"} | changes
    assert stripe("checkout.session.completed", AT, session) == completed(reference)


@pytest.mark.parametrize(
    "about",
    [
        {"metadata": {}},
        {"metadata": None},
        {"metadata": []},
        {"metadata": {"order": OURS}},
        {"metadata": {"elicitation_id": ""}},
        {"metadata": {"elicitation_id": "cart-7"}},
        {"metadata": {"elicitation_id": 7}},
        {"metadata": {"elicitation_id": "elc_" + "a" * 100}},
    ],
)
@pytest.mark.parametrize("type_", StripeType)
def test_an_event_without_our_id_is_not_ours_however_it_looks(type_: str, about: dict[str, Any]) -> None:
    assert stripe(type_, AT, about) == NOT_OURS


def test_a_sessions_reference_is_not_believed_because_the_payer_may_have_written_it() -> None:
    session = SESSION | {"client_reference_id": "elc_" + "b" * 26}
    assert stripe("checkout.session.completed", AT, session).elicitation_id == OURS
    assert stripe("checkout.session.completed", AT, session | {"metadata": {}}) == NOT_OURS


@pytest.mark.parametrize(
    ("type_", "about", "fault", "at"),
    [
        ("checkout.session.completed", SESSION | {"payment_status": None}, Fault.MISSING, "payment_status"),
        ("checkout.session.completed", SESSION | {"payment_status": "soon"}, Fault.INVALID, "payment_status"),
        ("checkout.session.completed", SESSION | {"payment_status": True}, Fault.INVALID, "payment_status"),
        ("checkout.session.completed", SESSION | {"mode": None}, Fault.MISSING, "mode"),
        ("checkout.session.completed", SESSION | {"mode": "gift"}, Fault.INVALID, "mode"),
        ("checkout.session.completed", SESSION | {"payment_intent": {"id": "pi_1"}}, Fault.INVALID, "payment_intent"),
        (
            "checkout.session.completed",
            SESSION | {"payment_intent": "pi_1_secret_2"},
            Fault.INVALID,
            "payment_intent",
        ),
        ("checkout.session.completed", SESSION | {"payment_intent": None, "id": None}, Fault.MISSING, "id"),
        ("payment_intent.succeeded", INTENT | {"id": "https://a.example"}, Fault.INVALID, "id"),
        ("payment_intent.succeeded", INTENT | {"id": "pi_" + "9" * 300}, Fault.INVALID, "id"),
        ("payment_intent.succeeded", {"metadata": {"elicitation_id": OURS}}, Fault.MISSING, "id"),
        ("charge.refunded", CHARGE | {"refunded": None}, Fault.MISSING, "refunded"),
        ("charge.refunded", CHARGE | {"refunded": "true"}, Fault.INVALID, "refunded"),
        ("charge.refunded", CHARGE | {"payment_intent": 7}, Fault.INVALID, "payment_intent"),
    ],
)
def test_a_stripe_event_that_claims_to_be_ours_and_is_malformed_is_refused_by_place(
    type_: str, about: dict[str, Any], fault: Fault, at: str
) -> None:
    with pytest.raises(Malformed) as refused:
        stripe(type_, AT, about)
    assert (refused.value.fault, refused.value.at) == (fault, f"/data/object/{at}")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=10)
    | st.sampled_from([OURS, "paid", "payment", "pi_1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)


@settings(max_examples=200)
@given(
    st.sampled_from(StripeType),
    st.fixed_dictionaries(
        {"metadata": st.fixed_dictionaries({}, optional={"elicitation_id": VALUES}) | VALUES},
        optional=dict.fromkeys({*SESSION, *CHARGE} - {"metadata"}, VALUES),
    ),
)
def test_whatever_stripes_object_holds_it_is_a_word_or_malformed(type_: StripeType, about: dict[str, Any]) -> None:
    try:
        word = stripe(type_, AT, about)
    except Malformed as malformed:
        said = malformed.at.startswith("/data/object/")
    else:
        said = word == NOT_OURS or bool(word.elicitation_id and bool(word.result_ref) == (word.kind is not Kind.FAILED))
    assert said


@pytest.mark.parametrize(
    ("type_", "kind"),
    [
        ("elicitation.completed", Kind.COMPLETED),
        ("elicitation.failed", Kind.FAILED),
        ("elicitation.reversed", Kind.REVERSED),
        ("invoice.paid", Kind.NOT_OURS),
        ("elicitation", Kind.NOT_OURS),
    ],
)
def test_the_type_says_what_an_event_of_the_desks_own_form_is(type_: str, kind: Kind) -> None:
    assert provider_events.standard_kind(type_) is kind


@pytest.mark.parametrize("type_", ["elicitation.", "elicitation.not_ours", "elicitation.opened", "elicitation.FAILED"])
def test_a_type_that_would_be_ours_and_is_not_known_is_refused(type_: str) -> None:
    with pytest.raises(Malformed) as refused:
        provider_events.standard_kind(type_)
    assert (refused.value.fault, refused.value.at) == (Fault.UNKNOWN_TYPE, "/type")


def test_the_desks_own_form_says_who_and_when() -> None:
    alice = Named("https://id.example", "alice")
    assert standard(Kind.COMPLETED, OURS, "pi_1", WHEN, alice) == Word(Kind.COMPLETED, OURS, "pi_1", WHEN, alice)
    assert standard(Kind.REVERSED, OURS, "pi_1") == Word(Kind.REVERSED, OURS, "pi_1")
    assert standard(Kind.FAILED, OURS, "pi_1") == Word(Kind.FAILED, OURS)


@pytest.mark.parametrize("kind", [Kind.COMPLETED, Kind.REVERSED])
def test_a_completion_or_reversal_without_a_result_or_with_a_secret_is_refused(kind: Kind) -> None:
    for reference, fault in ((None, Fault.MISSING), ("sk_live_" + "a1" * 12, Fault.SECRET)):
        with pytest.raises(Malformed) as refused:
            standard(kind, OURS, reference)
        assert (refused.value.fault, refused.value.at) == (fault, "/data/result_ref")
