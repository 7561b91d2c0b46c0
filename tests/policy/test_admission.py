"""Admission: capability, route, ids and windows; and what holds for every request whatever it is."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, IdClass, Mode, Outcome, Purpose, Wire
from elicitation.policy.document import lay_over
from elicitation.policy.identifiers import mint_text
from elicitation.policy.rules import Rule, entry
from tests.policy.asking import (
    BOTH_MODES,
    DESK_ID,
    DOCUMENT,
    REPOSITORY_TOKEN,
    SERVICE_KEY,
    URL,
    ask,
    ask_form,
    ask_url,
    destination,
    first,
    form_request,
    forms,
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


def test_all_findings_are_kept_and_the_first_denial_decides() -> None:
    request = {"mode": "url", "url": "http://evil.example/?api_key=x", "elicitationId": "7"}
    ruling = decide(ask(request, Purpose.PAYMENT, capabilities={}, window_seconds=0), DOCUMENT, 1)
    assert rules(ruling) == [
        "capability.missing",
        "request.message_missing",
        "url.scheme",
        "url.parameter_secret",
        "id.too_short",
        "window.out_of_range",
    ]
    assert first(ruling) == "capability.missing"


def test_what_is_kept_of_a_request_holds_no_text_and_no_value() -> None:
    properties = {"region": {"type": "string", "title": "CANARY", "enum": ["CANARY"], "default": "CANARY"},
                  REPOSITORY_TOKEN: {"type": "boolean", "CANARY": 1}}  # fmt: skip
    kept = ask_form(properties, message="CANARY asks.").traits
    assert "CANARY" not in repr(kept)
    assert kept.property_names == ("region", "#1")
    assert kept.keywords == ("default", "enum", "properties", "title", "type")
    assert (kept.property_count, kept.choice_count, kept.text_bytes) == (2, 1, 12)
    link = ask_url("https://consent.example.com/start/CANARY?flow=auth&CANARY=1&alice%40example.com=2").traits
    assert link.parameter_names == ("flow", "CANARY", "#2")
    assert link.origin == "https://consent.example.com"
    assert link.path_index == 0
    assert ask_url("https://canary.example/start").traits.origin == ""


def test_the_names_that_are_kept_are_bounded() -> None:
    kept = ask_form({f"name{n}" + "x" * (n * 5): {"type": "boolean"} for n in range(30)}).traits
    assert len(kept.property_names) == 20
    assert max(len(name) for name in kept.property_names) <= 64
    assert kept.property_count == 30


def test_a_large_or_deep_request_is_not_looked_at() -> None:
    deep: object = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert rules(decide(ask({**FORM, "requestedSchema": deep}), DOCUMENT, 1)) == ["request.too_deep"]
    assert rules(decide(ask({**FORM, "_meta": {"a": "x" * 30_000}}), DOCUMENT, 1)) == ["request.too_large"]
    assert rules(decide(ask({**FORM, "_meta": {"a": list(range(20_000))}}), DOCUMENT, 1)) == ["request.too_large"]


def test_a_flood_of_flags_hides_no_denial() -> None:
    flags = {f"field{n}": {"type": "string", "title": f"See example.com/{n}"} for n in range(60)}
    under = forms(links="flag", max_fields=100)
    assert ask_form(flags, under=under).decision.admitted
    flooded = ask_form({**flags, "password": {"type": "string"}}, under=under)
    assert first(flooded) == "form.credential_name"
    assert len(flooded.decision.findings) <= 51


def test_a_missing_capability_decides_before_anything_is_read() -> None:
    ruling = decide(ask({**FORM, "_meta": {"a": "x" * 30_000}}, capabilities={}), DOCUMENT, 1)
    assert rules(ruling) == ["capability.missing", "request.too_large"]


@pytest.mark.parametrize("value", [math.nan, math.inf, "\ud800", 2**60, b"x", {1: 2}, {"\udfff": 1}])
def test_what_is_no_json_is_malformed(value: object) -> None:
    assert rules(decide(ask({**FORM, "_meta": {"a": value}}), DOCUMENT, 1)) == ["request.malformed"]


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["form", "url", URL, "string", "object"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "enum", "properties", "items", "oneOf", "const", "title", "a", "default"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
requests = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["form", "url", None, "URL", 1]),
        "message": anything,
        "url": anything,
        "elicitationId": anything,
        "requestedSchema": anything
        | st.fixed_dictionaries(
            {"type": st.just("object"), "properties": st.dictionaries(st.text(max_size=8), anything, max_size=3)},
            optional={"required": anything, "title": anything, "$defs": anything},
        ),
        "_meta": anything,
    },
)
capabilities = anything | st.just(BOTH_MODES) | st.fixed_dictionaries({"elicitation": anything})


@settings(max_examples=200, deadline=None)
@given(requests, st.sampled_from(Purpose), st.sampled_from(Wire), st.sampled_from(Delivery), capabilities)
def test_no_request_makes_the_decision_fail(
    request_: dict[str, object], purpose: Purpose, wire: Wire, delivery: Delivery, capability: object
) -> None:
    ruling = decide(ask(request_, purpose, wire=wire, delivery=delivery, capabilities=capability), DOCUMENT, 1)
    assert (ruling.request is None) is (ruling.decision.outcome is Outcome.DENY)
    json.dumps(ruling.decision.as_json()).encode()
    if ruling.mode is Mode.URL and ruling.decision.admitted:
        assert ruling.destination in DOCUMENT.destinations


@settings(max_examples=100)
@given(
    st.sampled_from(["message", "default", "title", "enum", "url", "path", "value", "id", "format", "type"]),
    st.booleans(),
)
def test_a_decision_never_carries_a_value_of_the_request(place: str, denied: bool) -> None:
    canary = "CANARY9"
    if place in ("url", "path", "value", "id"):
        raw = {"url": f"https://{canary}.example/", "path": f"https://consent.example.com/{canary}"}.get(
            place, f"https://consent.example.com/start?flow={canary}"
        )
        ruling = ask_url(raw, elicitationId=canary, under=destination(paths=["/"]))
    else:
        field = {"type": "string", **({} if place == "message" else {place: [canary] if place == "enum" else canary})}
        ruling = ask_form({"f": field}, message=canary, required=["absent"] if denied else [])
    assert canary.lower() not in json.dumps(ruling.decision.as_json()).lower()
    assert canary.lower() not in repr(ruling.traits).lower()


@settings(max_examples=100)
@given(
    st.permutations(["mode", "message", "url", "elicitationId", "surprise"]),
    st.sampled_from([URL, "http://example.com"]),
)
def test_the_order_of_keys_decides_nothing(order: list[str], url: str) -> None:
    request = {"mode": "url", "message": "Please pay.", "url": url, "elicitationId": "7", "surprise": 1}
    turned = {name: request[name] for name in order}
    one, other = decide(ask(request, Purpose.PAYMENT), DOCUMENT, 1), decide(ask(turned, Purpose.PAYMENT), DOCUMENT, 1)
    assert [(f.rule, f.at) for f in one.decision.findings] == [(f.rule, f.at) for f in other.decision.findings]
    assert one.traits == other.traits
