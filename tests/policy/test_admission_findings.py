"""What a ruling finds and keeps: every finding, the first denial, no text and no value, whatever the request is."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, Mode, Outcome, Purpose, Wire
from tests.policy.asking import (
    BOTH_MODES,
    DOCUMENT,
    REPOSITORY_TOKEN,
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
