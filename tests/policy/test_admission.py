"""Admission: capability, route, ids and windows; and what holds for every request whatever it is."""

import pytest

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, IdClass, Mode, Purpose, Wire
from elicitation.policy.document import lay_over
from elicitation.policy.identifiers import mint_text
from elicitation.policy.rules import Rule, entry
from tests.policy.asking import (
    DESK_ID,
    DOCUMENT,
    SERVICE_KEY,
    URL,
    ask,
    ask_form,
    ask_url,
    first,
    form_request,
    rules,
)

FORM = form_request({"region": {"type": "string", "enum": ["eu", "us"]}})
LINK = {"mode": "url", "message": "Please pay.", "url": URL}
RANDOM_ID = "pay_8f14e45fceea167a5a36dedd4bea2543"


@pytest.mark.parametrize(
    ("capabilities", "form", "url"),
    [
        ({}, "capability.missing", "capability.missing"),
        ({"elicitation": {}}, None, "capability.mode_undeclared"),
        ({"elicitation": {"form": {}}}, None, "capability.mode_undeclared"),
        ({"elicitation": {"url": {}}}, "capability.mode_undeclared", None),
        ({"elicitation": {"form": {}, "url": {}}}, None, None),
        ({"elicitation": {"form": {"applyDefaults": True}}}, None, "capability.mode_undeclared"),
        ({"elicitation": True}, "capability.malformed", "capability.malformed"),
        ({"elicitation": []}, "capability.malformed", "capability.malformed"),
        ({"elicitation": None}, "capability.malformed", "capability.malformed"),
        ({"elicitation": {"url": None}}, "capability.malformed", "capability.malformed"),
        ({"elicitation": {"form": True, "url": {}}}, "capability.malformed", "capability.malformed"),
        ({"elicitation": {"URL": {}}}, "capability.mode_undeclared", "capability.mode_undeclared"),
        (None, "capability.malformed", "capability.malformed"),
        ("elicitation", "capability.malformed", "capability.malformed"),
        ([], "capability.malformed", "capability.malformed"),
    ],
    ids=str,
)
def test_a_mode_is_negotiated_only_as_it_was_declared(capabilities: object, form: str | None, url: str | None) -> None:
    for request, purpose, rule in ((FORM, Purpose.CHOICE, form), (LINK, Purpose.PAYMENT, url)):
        ruling = decide(ask(request, purpose, capabilities=capabilities), DOCUMENT, 1)
        assert rules(ruling) == ([rule] if rule else [])
        assert ruling.decision.negotiated is (rule is None)


def test_a_denial_offers_no_other_way() -> None:
    ruling = decide(ask(LINK, Purpose.PAYMENT, capabilities={"elicitation": {"form": {}}}), DOCUMENT, 7)
    assert ruling.decision.as_json() == {
        "outcome": "deny",
        "requestedMode": "url",
        "negotiated": False,
        "reason": "a payment",
        "fallback": "none",
        "rule": "capability.mode_undeclared",
        "source": "spec:2025-11-25, spec:2026-07-28 client/elicitation#capabilities",
        "at": "/client/capabilities/elicitation",
        "advice": entry(Rule.CAPABILITY_MODE_UNDECLARED).advice,
        "policyRevision": 7,
        "policyDigest": DOCUMENT.digest,
        "findings": [ruling.decision.findings[0].as_json()],
    }


@pytest.mark.parametrize("purpose", [Purpose.CREDENTIAL, Purpose.PAYMENT, Purpose.THIRD_PARTY_AUTHORIZATION])
def test_a_sensitive_purpose_is_never_a_form(purpose: Purpose) -> None:
    ruling = decide(ask({**FORM, "mode": "form"}, purpose), DOCUMENT, 1)
    assert rules(ruling) == ["route.sensitive_in_form"]
    assert ruling.mode is Mode.FORM


def test_the_operators_own_url_purpose_is_the_operators_rule() -> None:
    ruling = decide(ask({**FORM, "mode": "form"}, Purpose.EXTERNAL_TRANSACTION), DOCUMENT, 1)
    assert rules(ruling) == ["route.mode_contradicts_purpose"]


def test_a_choice_is_not_asked_on_an_outside_page() -> None:
    ruling = decide(ask(LINK, Purpose.CHOICE), DOCUMENT, 1)
    assert "route.mode_contradicts_purpose" in rules(ruling)


def test_a_mode_that_is_left_out_is_the_purposes() -> None:
    link = {"message": "Please pay.", "url": URL}
    ruling = decide(ask(link, Purpose.PAYMENT), DOCUMENT, 1)
    assert ruling.mode is Mode.URL
    assert ruling.request is not None
    assert ruling.request["mode"] == "url"
    assert ask_form({}).mode is Mode.FORM


@pytest.mark.parametrize(
    ("request_", "purpose", "rule"),
    [
        ({"message": "Hi.", "url": URL}, Purpose.CHOICE, "request.member_unknown"),
        ({**FORM, "mode": None}, Purpose.CHOICE, "request.mode_malformed"),
        ({**FORM, "mode": "URL"}, Purpose.CHOICE, "request.mode_malformed"),
        ({**FORM, "mode": "oauth"}, Purpose.CHOICE, "request.mode_malformed"),
        ({**FORM, "url": URL}, Purpose.CHOICE, "request.member_unknown"),
        ({**LINK, "requestedSchema": {}}, Purpose.PAYMENT, "request.member_unknown"),
        ({**FORM, "surprise": 1}, Purpose.CHOICE, "request.member_unknown"),
        ({**FORM, "_meta": 1}, Purpose.CHOICE, "request.malformed"),
        ({**FORM, "message": ""}, Purpose.CHOICE, "request.message_missing"),
        ({**FORM, "message": None}, Purpose.CHOICE, "request.message_missing"),
        ({"mode": "url", "url": URL}, Purpose.PAYMENT, "request.message_missing"),
        ({**FORM, "message": "x" * 1001}, Purpose.CHOICE, "request.message_too_long"),
        ({**LINK, "message": "x\u202e"}, Purpose.PAYMENT, "text.hidden_characters"),
    ],
)
def test_a_request_is_never_guessed_from_its_fields(request_: dict[str, object], purpose: Purpose, rule: str) -> None:
    assert first(decide(ask(request_, purpose), DOCUMENT, 1)) == rule


def test_meta_and_task_are_passed_on() -> None:
    meta = {"io.modelcontextprotocol/related-task": {"taskId": "t"}}
    ruling = decide(ask({**FORM, "_meta": meta, "task": {"ttl": 1}}), DOCUMENT, 1)
    assert ruling.request == {**FORM, "_meta": meta, "task": {"ttl": 1}, "mode": "form"}
    assert (
        first(decide(ask({**FORM, "task": {}}, wire=Wire.V2026_07_28, delivery=Delivery.INPUT_REQUIRED), DOCUMENT, 1))
        == "request.member_unknown"
    )


@pytest.mark.parametrize(
    ("wire", "delivery", "rule"),
    [
        (Wire.V2025_11_25, Delivery.CREATE, None),
        (Wire.V2025_11_25, Delivery.URL_REQUIRED, None),
        (Wire.V2025_11_25, Delivery.INPUT_REQUIRED, "delivery.not_in_wire"),
        (Wire.V2026_07_28, Delivery.CREATE, "delivery.not_in_wire"),
        (Wire.V2026_07_28, Delivery.URL_REQUIRED, "delivery.not_in_wire"),
        (Wire.V2026_07_28, Delivery.INPUT_REQUIRED, None),
    ],
)
def test_a_delivery_belongs_to_its_revision(wire: Wire, delivery: Delivery, rule: str | None) -> None:
    ruling = decide(ask(LINK, Purpose.PAYMENT, wire=wire, delivery=delivery), DOCUMENT, 1)
    assert rules(ruling) == ([rule] if rule else [])


def test_a_url_required_error_asks_for_no_form() -> None:
    assert rules(decide(ask(FORM, delivery=Delivery.URL_REQUIRED), DOCUMENT, 1)) == ["delivery.needs_url"]


def test_a_policy_serves_its_own_revisions_and_purposes_only() -> None:
    only = lay_over(DOCUMENT, {"wires": ["2026-07-28"], "purposes": {"payment": {"mode": "url"}}})
    assert rules(decide(ask(FORM), only, 1)) == ["wire.not_served", "route.purpose_not_served"]


@pytest.mark.parametrize(
    ("sent", "rule", "id_class"),
    [
        (RANDOM_ID, None, IdClass.OPAQUE),
        ("6fa459ea-ee8a-4ca4-894e-db77e160355e", None, IdClass.UUID4),
        ("surcharge-1042", "id.sequential", IdClass.SEQUENTIAL),
        ("7", "id.too_short", IdClass.TOO_SHORT),
        ("alice@example.com-1", "id.personal", IdClass.PERSONAL),
        ("sess9:github", "id.structured", IdClass.STRUCTURED),
        (SERVICE_KEY, "id.token", IdClass.TOKEN),
        ("", "id.malformed", IdClass.MISSING),
        (7, "id.malformed", IdClass.MISSING),
        (None, "id.malformed", IdClass.MISSING),
        (mint_text(bytes(16)), "id.foreign", IdClass.MINTED),
    ],
)
def test_a_servers_own_id_is_kept_only_when_it_is_opaque(sent: object, rule: str | None, id_class: IdClass) -> None:
    ruling = ask_url(URL, elicitationId=sent)
    assert rules(ruling) == ([rule] if rule else [])
    assert ruling.id_class is ruling.traits.id_class is id_class
    if rule is None:
        assert ruling.wire_id == sent
        assert ruling.request is not None
        assert ruling.request["elicitationId"] == sent
        assert str(ruling.request["url"]).endswith(f"e={DESK_ID}")
    else:
        assert ruling.wire_id is None


def test_without_an_id_the_desks_own_is_sent() -> None:
    for ruling in (ask_url(URL), ask_url(URL, elicitationId=DESK_ID)):
        assert ruling.request is not None
        assert ruling.request["elicitationId"] == DESK_ID
        assert ruling.wire_id is None
        assert ruling.id_class is IdClass.MINTED


def test_the_newer_revision_has_no_id_on_the_wire() -> None:
    ruling = decide(ask(LINK, Purpose.PAYMENT, wire=Wire.V2026_07_28, delivery=Delivery.INPUT_REQUIRED), DOCUMENT, 1)
    assert ruling.request is not None
    assert "elicitationId" not in ruling.request
    assert rules(
        decide(
            ask(
                {**LINK, "elicitationId": RANDOM_ID},
                Purpose.PAYMENT,
                wire=Wire.V2026_07_28,
                delivery=Delivery.INPUT_REQUIRED,
            ),
            DOCUMENT,
            1,
        )
    ) == ["id.not_in_wire"]


@pytest.mark.parametrize(
    ("purpose", "asked", "given_", "rule"),
    [
        (Purpose.PAYMENT, None, 3600, None),
        (Purpose.CREDENTIAL, None, 900, None),
        (Purpose.PAYMENT, 1, 1, None),
        (Purpose.PAYMENT, 3600, 3600, None),
        (Purpose.PAYMENT, 3601, 3600, "window.out_of_range"),
        (Purpose.CREDENTIAL, 0, 900, "window.out_of_range"),
        (Purpose.CREDENTIAL, -5, 900, "window.out_of_range"),
    ],
)
def test_a_window_is_the_callers_the_purposes_or_the_default(
    purpose: Purpose, asked: int | None, given_: int, rule: str | None
) -> None:
    ruling = decide(ask(LINK, purpose, window_seconds=asked), DOCUMENT, 1)
    assert ruling.window_seconds == given_
    assert rules(ruling) == ([rule] if rule else [])
