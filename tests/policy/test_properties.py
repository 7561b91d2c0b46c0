"""What holds for every input: a URL has one meaning, a form is the protocol's, nothing raises, no value is repeated.

A run of ``pytest tests/policy --hypothesis-profile=long`` generates 500,000 URLs and 100,000 schemas.
"""

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, urlsplit

import can_ada
import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Delivery, Purpose, Wire
from tests.policy.asking import DESK_ID, ask, ask_form, ask_url, document, forms
from tests.policy.generators import ANY_PATH, ORIGINS, schemas, shuffled, urls

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROTOCOL = {
    wire: jsonschema.Draft202012Validator(json.loads((FIXTURES / f"requested_schema.{wire}.json").read_text("utf-8")))
    for wire in Wire
}
DELIVERY = {Wire.V2025_11_25: Delivery.CREATE, Wire.V2026_07_28: Delivery.INPUT_REQUIRED}
SEVERAL = forms(multi_select=True)
Record = Callable[[str, object], None]

URLS, LONG_URLS = 10_000, 500_000
SCHEMAS, LONG_SCHEMAS = 3_000, 100_000


def read_alike(raw: str, ruling: Ruling) -> None:
    """Python and a browser-grade parser agree on every part of what is sent, and its origin is a listed one."""
    assert ruling.request is not None
    sent = str(ruling.request["url"])
    browser, python = can_ada.parse(sent), urlsplit(sent)
    assert browser.href == sent == python.geturl()
    assert browser.origin == f"{python.scheme}://{python.netloc}"
    assert browser.origin in ORIGINS
    assert browser.hostname == (f"[{python.hostname}]" if ":" in str(python.hostname) else python.hostname)
    assert browser.port == ("" if python.port is None else str(python.port))
    assert (browser.username, browser.password, python.username, python.password) == ("", "", None, None)
    assert browser.pathname == python.path
    assert browser.search.removeprefix("?") == python.query
    assert browser.hash.removeprefix("#") == python.fragment
    pairs = parse_qsl(python.query, keep_blank_values=True, strict_parsing=False)
    parameters = can_ada.URLSearchParams(python.query)
    assert [name for name, _ in pairs] == list(parameters.keys())
    assert [value for _, value in pairs] == list(parameters.values())
    # Nothing but the case of the origin, its port and the empty path may differ from what was asked.
    assert can_ada.parse(raw).href == sent.replace(f"?e={DESK_ID}", "").replace(f"&e={DESK_ID}", "")


def test_an_admitted_url_means_one_thing_and_leads_to_a_listed_origin(long_run: bool, record_property: Record) -> None:
    count = LONG_URLS if long_run else URLS
    admitted = 0
    for raw in urls(Random(20261130), count):
        ruling = ask_url(raw, under=ANY_PATH)
        if ruling.request is not None:
            admitted += 1
            read_alike(raw, ruling)
    assert count // 10 < admitted < count * 9 // 10
    record_property("generated urls", count)
    record_property("generated urls that were admitted", admitted)


def test_an_admitted_form_is_one_of_the_protocols(long_run: bool, record_property: Record) -> None:
    count = LONG_SCHEMAS if long_run else SCHEMAS
    admitted = 0
    for number, schema in enumerate(schemas(Random(20260728), count)):
        wire = Wire.V2025_11_25 if number % 2 else Wire.V2026_07_28
        request = {"message": "Please choose.", "requestedSchema": schema}
        ruling = decide(ask(request, wire=wire, delivery=DELIVERY[wire]), SEVERAL, 1)
        if ruling.request is None:
            continue
        admitted += 1
        sent = ruling.request["requestedSchema"]
        assert sent == schema
        PROTOCOL[wire].validate(sent)
        if number % 50 == 0:
            jsonschema.Draft202012Validator.check_schema({**sent, "$defs": {}})
        for field in sent["properties"].values():
            if "default" in field:
                jsonschema.Draft202012Validator(field).validate(field["default"])
    assert count // 10 < admitted < count * 9 // 10
    record_property("generated schemas", count)
    record_property("generated schemas that were admitted", admitted)


def told(ruling: Ruling) -> object:
    # A name that is not shown stands as its ordinal, which is the caller's order and nothing else.
    findings = [(finding.rule, re.sub(r"#\d+", "#", finding.at)) for finding in ruling.decision.findings]
    return ruling.decision.outcome, findings, ruling.mode, ruling.id_class


def test_a_form_gets_one_decision_in_any_order_of_its_keys(long_run: bool) -> None:
    chance = Random(7)
    for schema in schemas(Random(11), (LONG_SCHEMAS if long_run else SCHEMAS) // 5):
        request = {"message": "Please choose.", "mode": "form", "requestedSchema": schema}
        turned = shuffled(chance, request)
        assert isinstance(turned, dict)
        assert told(decide(ask(request), SEVERAL, 1)) == told(decide(ask(turned), SEVERAL, 1))


def test_a_url_request_gets_one_decision_in_any_order_of_its_keys(long_run: bool) -> None:
    chance = Random(13)
    for raw in urls(Random(17), (LONG_URLS if long_run else URLS) // 20):
        request = {"mode": "url", "message": "Please pay.", "url": raw, "elicitationId": "7", "_meta": {"a": 1, "b": 2}}
        turned = shuffled(chance, request)
        assert isinstance(turned, dict)
        one, other = (
            decide(ask(request, Purpose.PAYMENT), ANY_PATH, 1),
            decide(ask(turned, Purpose.PAYMENT), ANY_PATH, 1),
        )
        assert told(one) == told(other)
        assert one.traits == other.traits


CANARY = "qzv7kqzv7k"


def marked(value: object) -> object:
    """The same JSON value with every text replaced by one that holds the canary; the names stay."""
    if isinstance(value, dict):
        return {name: item if name == "type" else marked(item) for name, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return f"{value} {CANARY}" if isinstance(value, str) else value


def test_no_value_of_a_form_is_in_its_decision(long_run: bool) -> None:
    for schema in schemas(Random(19), (LONG_SCHEMAS if long_run else SCHEMAS) // 5):
        request = {"message": f"Choose {CANARY}", "requestedSchema": marked(schema), "_meta": {"a": CANARY}}
        ruling = decide(ask(request), SEVERAL, 1)
        assert CANARY not in json.dumps(ruling.decision.as_json())
        assert CANARY not in repr(ruling.traits)
        assert CANARY not in repr(ruling.decision)


def test_no_part_of_a_denied_url_is_in_its_decision(long_run: bool) -> None:
    chance = Random(23)
    for raw in urls(Random(29), (LONG_URLS if long_run else URLS) // 20):
        at = chance.randrange(len(raw) + 1)
        ruling = ask_url(raw[:at] + CANARY + raw[at:], under=ANY_PATH, elicitationId=CANARY)
        assert CANARY not in json.dumps(ruling.decision.as_json())
        assert CANARY not in repr(ruling.decision)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(["mode", "message", "url", "elicitationId", "requestedSchema"]), json_values))
def test_no_request_raises(request_: dict[str, object]) -> None:
    for purpose in (Purpose.CHOICE, Purpose.PAYMENT):
        json.dumps(decide(ask(request_, purpose), SEVERAL, 1).decision.as_json()).encode()


@given(st.text(max_size=80))
def test_no_text_raises_wherever_it_stands(text: str) -> None:
    field = {"type": "string", "title": text, "pattern": text, "format": text, "default": text, "enum": [text]}
    ask_form({text: field}, message=text)
    ask_url(text)
    ask_url(f"https://consent.example.com/{text}", elicitationId=text)
    ask_url(f"https://{text}/start?{text}#{text}")


@pytest.mark.parametrize("size", [1_000, 7_000])
@pytest.mark.parametrize(
    "piece", ["a", "a1", "A", "-", "1 ", "p-", "=", "é", "密", "\u0301", "x@", "a.", "Ab0", "…", "tok en "]
)
def test_no_text_of_one_piece_takes_long(piece: str, size: int) -> None:
    """Nothing in the policy grows faster than its input; the bound is wide, as machines differ."""
    text = piece * (size // len(piece))
    began = time.perf_counter()
    ask_form({"note": {"type": "string", "title": text}}, message=text)
    ask_url(f"https://consent.example.com/start?state={text}")
    assert time.perf_counter() - began < 2


def test_a_policy_without_destinations_admits_no_url() -> None:
    closed = document(destinations=[])
    for raw in urls(Random(31), 2_000):
        assert not ask_url(raw, under=closed).decision.admitted
