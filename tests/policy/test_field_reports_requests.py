"""Field reports on capabilities, modes, ids and changed policies: each named row as a test of its whole kind."""

import base64
import itertools
import json
import uuid

import pytest

from elicitation.policy.admission import decide
from elicitation.policy.capability import read
from elicitation.policy.decision import Delivery, IdClass, Mode, Purpose, Wire
from elicitation.policy.identifiers import classify, mint_text
from elicitation.policy.recheck import Standing, withdrawn
from elicitation.policy.rules import Rule
from tests.policy.asking import (
    BOTH_MODES,
    DOCUMENT,
    SERVICE_KEY,
    URL,
    ask,
    ask_url,
    destination,
    document,
    first,
    rules,
)

FORM: dict[str, object] = {
    "message": "Pick one.",
    "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}},
}
LINK: dict[str, object] = {"mode": "url", "message": "Please pay.", "url": URL}

STANDING = Standing(Wire.V2025_11_25, Mode.URL, Purpose.PAYMENT, "https://consent.example.com", "/start", "example-pay",
                    "acme", "booking")  # fmt: skip


@pytest.mark.parametrize(
    ("tightened", "rule"),
    [
        (document(destinations=[]), Rule.URL_ORIGIN_NOT_LISTED),
        (destination(tenants=["other"]), Rule.URL_ORIGIN_NOT_LISTED),
        (destination(services=["other"]), Rule.URL_ORIGIN_NOT_LISTED),
        (destination(paths=["/ui"]), Rule.URL_PATH_NOT_LISTED),
        (destination(purposes=["credential"]), Rule.DESTINATION_PURPOSE),
        (document(wires=["2026-07-28"]), Rule.WIRE_NOT_SERVED),
        (document(purposes={"credential": {"mode": "url"}}), Rule.ROUTE_PURPOSE_NOT_SERVED),
    ],
)
def test_b20_what_a_tighter_policy_denies_anew_it_also_withdraws(tightened: object, rule: Rule) -> None:
    assert withdrawn(STANDING, DOCUMENT) is None
    assert withdrawn(STANDING, tightened) is rule  # type: ignore[arg-type]
    assert not ask_url(URL, under=tightened).decision.admitted  # type: ignore[arg-type]


def test_b20_an_origin_that_went_to_another_provider_no_longer_stands() -> None:
    assert withdrawn(STANDING, destination(provider="other-pay")) is Rule.URL_ORIGIN_NOT_LISTED


def test_b20_an_origin_that_comes_back_before_the_completion_stands_again() -> None:
    removed, restored = document(destinations=[]), destination()
    assert withdrawn(STANDING, removed) is Rule.URL_ORIGIN_NOT_LISTED
    assert withdrawn(STANDING, restored) is None


def test_b20_a_decision_names_the_revision_under_which_it_was_made() -> None:
    for revision in (7, 8):
        assert decide(ask(LINK, Purpose.PAYMENT), DOCUMENT, revision).decision.policy_revision == revision


ODD: list[object] = [True, False, None, 0, 1, 1.5, "", "form", [], ["form"], [{}]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
def test_b25_a_declaration_that_is_no_object_is_malformed_and_negotiates_nothing(odd: object) -> None:
    declarations = [
        odd,
        {"elicitation": odd},
        {"elicitation": {"form": odd}},
        {"elicitation": {"form": {}, "url": odd}},
    ]
    for declared, (request, purpose) in itertools.product(
        declarations, ((FORM, Purpose.CHOICE), (LINK, Purpose.PAYMENT))
    ):
        ruling = decide(ask(request, purpose, capabilities=declared), DOCUMENT, 1)
        assert rules(ruling) == ["capability.malformed"]
        assert not ruling.decision.negotiated


@pytest.mark.parametrize(
    ("declared", "form", "url"),
    [
        ({"elicitation": {}}, True, False),
        ({"elicitation": {"form": {}}}, True, False),
        ({"elicitation": {"url": {}}}, False, True),
        ({"elicitation": {"form": {}, "url": {}}}, True, True),
        ({"elicitation": {"URL": {}}}, False, False),
        ({"elicitation": {"Form": {}}}, False, False),
        ({"elicitation": {"forms": {}}}, False, False),
        ({"elicitation": {"form": {"new": 1}, "other": 5}}, True, False),
        ({"sampling": {}}, False, False),
        ({"Elicitation": {"form": {}}}, False, False),
        ({}, False, False),
    ],
    ids=str,
)
def test_b25_exactly_the_declared_modes_are_negotiated(declared: object, form: bool, url: bool) -> None:
    for mode, negotiated in ((Mode.FORM, form), (Mode.URL, url)):
        assert read(declared).negotiated(mode) is negotiated
    assert decide(ask(FORM, capabilities=declared), DOCUMENT, 1).decision.admitted is form
    assert decide(ask(LINK, Purpose.PAYMENT, capabilities=declared), DOCUMENT, 1).decision.admitted is url


@pytest.mark.parametrize("wire", Wire)
def test_b25_each_request_is_judged_by_its_own_declaration(wire: Wire) -> None:
    delivery = Delivery.CREATE if wire is Wire.V2025_11_25 else Delivery.INPUT_REQUIRED
    for declared, admitted in ((BOTH_MODES, True), ({"elicitation": {}}, False), (BOTH_MODES, True), ({}, False)):
        ruling = decide(ask(LINK, Purpose.PAYMENT, wire=wire, delivery=delivery, capabilities=declared), DOCUMENT, 1)
        assert ruling.decision.admitted is admitted


def test_b25_a_denial_suggests_no_form_in_place_of_a_url() -> None:
    ruling = decide(ask(LINK, Purpose.PAYMENT, capabilities={"elicitation": {"form": {}}}), DOCUMENT, 1)
    shown = ruling.decision.as_json()
    assert shown["fallback"] == "none"
    assert shown["requestedMode"] == "url"
    assert "form" not in str(shown["advice"])


def without(request: dict[str, object], *names: str) -> dict[str, object]:
    return {name: value for name, value in request.items() if name not in names}


@pytest.mark.parametrize("mode", [None, "URL", "Form", "oauth", "", " url", "url ", 1, True, [], {}, ["url"]], ids=repr)
@pytest.mark.parametrize(("request_", "purpose"), [(FORM, Purpose.CHOICE), (LINK, Purpose.PAYMENT)])
def test_b56_a_mode_in_any_other_spelling_is_malformed(
    request_: dict[str, object], purpose: Purpose, mode: object
) -> None:
    assert rules(decide(ask({**request_, "mode": mode}, purpose), DOCUMENT, 1)) == ["request.mode_malformed"]


def test_b56_without_a_mode_a_schema_is_a_form() -> None:
    ruling = decide(ask(FORM), DOCUMENT, 1)
    assert ruling.mode is Mode.FORM
    assert rules(ruling) == []


@pytest.mark.parametrize("purpose", [Purpose.CHOICE, Purpose.CONFIRMATION, Purpose.PARAMETER, Purpose.PROFILE])
def test_b56_without_a_mode_a_url_is_not_guessed_from_its_field(purpose: Purpose) -> None:
    ruling = decide(ask(without(LINK, "mode"), purpose), DOCUMENT, 1)
    assert ruling.mode is Mode.FORM
    assert rules(ruling) == ["request.member_unknown", "form.schema_missing"]


@pytest.mark.parametrize(
    ("request_", "purpose", "rule"),
    [
        ({**FORM, "mode": "form", "url": URL}, Purpose.CHOICE, "request.member_unknown"),
        ({**FORM, "mode": "form", "elicitationId": "x"}, Purpose.CHOICE, "request.member_unknown"),
        ({**LINK, "requestedSchema": FORM["requestedSchema"]}, Purpose.PAYMENT, "request.member_unknown"),
        ({**LINK, "requestedSchema": None}, Purpose.PAYMENT, "request.member_unknown"),
        (without({**FORM, "mode": "form"}, "requestedSchema"), Purpose.CHOICE, "form.schema_missing"),
        (without(LINK, "url"), Purpose.PAYMENT, "url.missing"),
        (without(LINK, "message"), Purpose.PAYMENT, "request.message_missing"),
        (without(FORM, "message"), Purpose.CHOICE, "request.message_missing"),
        ({**FORM, "mode": "url"}, Purpose.CHOICE, "request.member_unknown"),
        ({**LINK, "mode": "form"}, Purpose.PAYMENT, "request.member_unknown"),
        ({**LINK, "elicitationId": None}, Purpose.PAYMENT, "id.malformed"),
        ({**LINK, "elicitationId": 5}, Purpose.PAYMENT, "id.malformed"),
    ],
    ids=str,
)
def test_b56_a_request_that_contradicts_itself_is_denied_for_one_reason(
    request_: dict[str, object], purpose: Purpose, rule: str
) -> None:
    ruling = decide(ask(request_, purpose), DOCUMENT, 1)
    assert first(ruling) == rule
    assert ruling.request is None


def test_b56_a_url_request_that_goes_out_never_lacks_its_id() -> None:
    ruling = decide(ask(LINK, Purpose.PAYMENT), DOCUMENT, 1)
    assert ruling.request is not None
    assert ruling.request["elicitationId"]


def _base64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


JWT = f"{_base64(json.dumps({'alg': 'HS256'}))}.{_base64(json.dumps({'sub': 'alice'}))}.c2lnbmF0dXJl"

CLASSES: dict[IdClass, list[str]] = {
    IdClass.TOO_SHORT: ["7", "ab", "k3X9q", "elc_4e7f3b45", "x9f3k2m8q1", "req_9f3k2m8q1z7"],
    IdClass.SEQUENTIAL: ["surcharge-1042", "1000001", "order-2026-000184", "booking_17",
                         "00000000000000000000000000000042", "0" * 32, "invoice.2026.11.30.17",
                         "20261130160731000001", "n1-2-3-4-5-6-7-8-9-10"],
    IdClass.STRUCTURED: ["sess9:github", "acme/booking/alice", "booking-of-alice-for-monday", "a b c", "a1" * 150,
                         str(uuid.UUID(int=(1 << 76) | (1 << 63) | 0xC232AB0094149F68DECED846)), "٣" * 24, "é" * 24,
                         "ab1ab1ab1ab1ab1ab1ab1ab1", "session_of_the_customer", "{9f3k2m8q1z7x5c4v6b}"],
    IdClass.PERSONAL: ["alice@example.com-1", "alice@example.com", "x-alice@example.com", "+4930123456789",
                       _base64("alice@example.com"), _base64("bob.builder@example.org"), "mailto:alice@example.com"],
    IdClass.TOKEN: [JWT, SERVICE_KEY, "sk-" + "abcdefgh12345678", "AKIA" + "ABCDEFGHIJKLMNOP"],
    IdClass.UUID4: [str(uuid.UUID(bytes=bytes(range(17, 33)), version=4)), "6FA459EA-EE8A-4CA4-894E-DB77E160355E"],
    IdClass.OPAQUE: ["V1StGXR8_Z5jdHi6B-myT", "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d",
                     "pay_8f14e45fceea167a5a36dedd4bea2543", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "x9f3k2m8q1z7c5v4b6n0"],
    IdClass.MINTED: [mint_text(bytes(16)), mint_text(bytes(range(1, 17)))],
}  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "text"),
    [(expected, text) for expected, texts in CLASSES.items() for text in texts],
    ids=lambda value: str(value)[:40],
)
def test_b59_an_id_is_denied_or_admitted_by_its_class(expected: IdClass, text: str) -> None:
    assert classify(text, 20) is expected
    ruling = ask_url(URL, elicitationId=text)
    assert ruling.id_class is ruling.traits.id_class is expected
    admitted = expected in (IdClass.OPAQUE, IdClass.UUID4)
    assert ruling.decision.admitted is admitted
    assert ruling.wire_id == (text if admitted else None)
    if len(text) > 3:
        assert text not in json.dumps(ruling.decision.as_json(), ensure_ascii=False)


def test_b59_a_counted_id_is_refused_with_a_helpful_text() -> None:
    shown = ask_url(URL, elicitationId="surcharge-1042").decision.as_json()
    assert shown["rule"] == "id.sequential"
    assert "mint" in str(shown["advice"])


@pytest.mark.parametrize("number", [0, 1, 9, 10, 99, 1042, 65535, 10**9, 10**20])
@pytest.mark.parametrize("prefix", ["", "surcharge-", "order_", "elc_", "booking.", "n", "INV-2026-"])
def test_b59_no_prefix_makes_a_counter_opaque(prefix: str, number: int) -> None:
    assert classify(f"{prefix}{number}", 20) in (IdClass.SEQUENTIAL, IdClass.TOO_SHORT)
    assert classify(f"{prefix}{number:032d}", 20) is IdClass.SEQUENTIAL


@pytest.mark.parametrize("version", [1, 2, 3, 5, 6, 7, 8])
def test_b59_a_uuid_that_tells_its_time_or_its_name_is_structured(version: int) -> None:
    value = uuid.UUID("6fa459ea-ee8a-4ca4-894e-db77e160355e").hex
    text = str(uuid.UUID(value[:12] + str(version) + value[13:]))
    assert classify(text, 20) is IdClass.STRUCTURED
