"""The -32042 error and the -32021 error: their exact shape, and what is admitted before one is sent."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.decision import IdClass, Mode, Purpose, Wire
from elicitation.policy.document import Document, lay_over
from elicitation.policy.url_required import ErrorAsk, ErrorRuling, build_error, judge_error, missing_capability
from tests.policy.asking import BOTH_MODES, DESK_ID, DOCUMENT, URL, ask_url

RANDOM_ID = "pay_8f14e45fceea167a5a36dedd4bea2543"
ENTRY = {"mode": "url", "message": "Authorize first", "url": URL, "elicitationId": RANDOM_ID}
FLAT = {"code": -32042, "message": "Authorize first", "data": {"url": URL, "elicitationId": RANDOM_ID}}
TOLERANT = lay_over(DOCUMENT, {"legacy": {"flat_url_required_error": True}})


def judged(
    error: object, under: Document = DOCUMENT, wire: Wire = Wire.V2025_11_25, can: object = BOTH_MODES
) -> ErrorRuling:
    return judge_error(ErrorAsk(wire, Purpose.PAYMENT, can, error, "acme", "booking"), under, 3)


def listing(*entries: object, **changes: object) -> dict[str, object]:
    return {"code": -32042, "message": "Please", "data": {"elicitations": list(entries)}, **changes}


def rules(ruling: ErrorRuling) -> list[str]:
    return [str(finding.rule) for finding in ruling.decision.findings]


def test_the_error_has_the_protocols_exact_shape() -> None:
    request = ask_url(URL).request
    assert request is not None
    assert build_error([request]) == {
        "code": -32042,
        "message": "URL elicitation required",
        "data": {
            "elicitations": [
                {"mode": "url", "message": "Please pay.", "url": f"{URL}&e={DESK_ID}", "elicitationId": DESK_ID}
            ]
        },
    }
    with pytest.raises(ValueError, match="at least one"):
        build_error([])


def test_a_missing_capability_is_named_exactly() -> None:
    error = missing_capability(Mode.URL)
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"url": {}}}}


def test_a_list_of_admissible_elicitations_is_admitted() -> None:
    ruling = judged(listing(ENTRY, {**ENTRY, "elicitationId": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}))
    assert rules(ruling) == []
    assert ruling.error is not None
    assert len(ruling.rulings) == 2
    assert ruling.decision.policy_revision == 3
    assert ruling.traits.id_class is IdClass.OPAQUE


def test_an_error_that_the_desk_built_is_admitted_as_it_is() -> None:
    for asked in (ask_url(URL), ask_url(URL, elicitationId=RANDOM_ID)):
        assert asked.request is not None
        error = build_error([asked.request])
        ruling = judged(error)
        assert rules(ruling) == []
        assert ruling.error == error


@pytest.mark.parametrize(
    ("error", "rule"),
    [
        (listing(ENTRY, code=-32603), "error.code"),
        (listing(ENTRY, code="-32042"), "error.code"),
        (listing(ENTRY, code=True), "error.code"),
        (listing(ENTRY, message=None), "error.malformed"),
        (listing(), "error.list_missing"),
        ({"code": -32042, "message": "x", "data": {}}, "error.list_missing"),
        ({"code": -32042, "message": "x"}, "error.list_missing"),
        ({"code": -32042, "message": "x", "data": {"elicitations": {}}}, "error.list_missing"),
        ("-32042", "error.malformed"),
        (listing("x"), "error.malformed"),
        (listing({**ENTRY, "mode": "form"}), "error.entry_mode"),
        (listing({key: value for key, value in ENTRY.items() if key != "mode"}), "error.entry_mode"),
        (listing({key: value for key, value in ENTRY.items() if key != "elicitationId"}), "id.missing"),
        (listing({**ENTRY, "elicitationId": "surcharge-1042"}), "id.sequential"),
        (listing({**ENTRY, "url": "http://consent.example.com/start"}), "url.scheme"),
        (listing({**ENTRY, "message": ""}), "request.message_missing"),
        (listing({**ENTRY, "url": f"{URL}&e=7"}), "url.parameter_bound"),
        (listing(ENTRY, ENTRY), "id.repeated"),
        (listing(*[ENTRY] * 11), "request.too_large"),
        (FLAT, "error.flat"),
    ],
    ids=str,
)
def test_any_other_error_is_denied(error: object, rule: str) -> None:
    ruling = judged(error)
    assert not ruling.decision.admitted
    assert rules(ruling)[0] == rule
    assert ruling.error is None


def test_the_flat_shape_is_flagged_where_the_policy_admits_it() -> None:
    ruling = judged(FLAT, TOLERANT)
    assert rules(ruling) == ["error.flat_flagged"]
    assert ruling.decision.admitted
    assert ruling.error == build_error([ENTRY])
    assert rules(judged({**FLAT, "code": -32603}, TOLERANT)) == ["error.code", "error.flat_flagged"]


def test_the_newer_revision_has_no_such_error() -> None:
    assert rules(judged(listing(ENTRY), wire=Wire.V2026_07_28))[0] == "error.not_in_wire"


def test_a_client_without_url_mode_gets_no_such_error() -> None:
    ruling = judged(listing(ENTRY), can={"elicitation": {}})
    assert rules(ruling) == ["capability.mode_undeclared"]
    assert not ruling.decision.negotiated


def test_a_finding_names_its_elicitation() -> None:
    ruling = judged(listing(ENTRY, {**ENTRY, "elicitationId": "7"}))
    assert ruling.decision.findings[0].at == "/error/data/elicitations/1/elicitationId"


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(-32042),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["code", "message", "data", "elicitations", "url", "mode"]), inner, max_size=4
        )
    ),
    max_leaves=10,
)


@settings(max_examples=150)
@given(
    anything | anything.map(lambda one: listing(one)) | anything.map(lambda one: {**FLAT, "data": one}),
    st.sampled_from(Wire),
)
def test_no_error_makes_the_judgement_fail(error: object, wire: Wire) -> None:
    ruling = judged(error, TOLERANT, wire)
    assert (ruling.error is None) is not ruling.decision.admitted
    json.dumps(ruling.decision.as_json()).encode()
