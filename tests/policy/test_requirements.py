"""Every requirement of the protocol that a rule serves, each with requests that show the rule at work.

The numbers are those of the rule catalogue (:attr:`RuleEntry.requirements`).
"""

from collections.abc import Callable
from typing import Any

import pytest

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.answers import Action, Content, judge, read_action
from elicitation.policy.decision import Delivery, Mode, Purpose, Wire
from elicitation.policy.document import Document, lay_over
from elicitation.policy.identifiers import mint_text
from elicitation.policy.limits import Asked, exceeded
from elicitation.policy.rules import CATALOGUE, Rule
from elicitation.policy.url_required import ErrorAsk, ErrorRuling, judge_error
from tests.policy.asking import BOTH_MODES, DOCUMENT, URL, ask, ask_form, ask_url, form_request, forms

FORM = form_request({"region": {"type": "string", "enum": ["eu", "us"]}})
LINK: dict[str, object] = {"mode": "url", "message": "Please pay.", "url": URL}
RANDOM_ID = "pay_8f14e45fceea167a5a36dedd4bea2543"
ENTRY: dict[str, object] = {**LINK, "elicitationId": RANDOM_ID}
FLAT = {"code": -32042, "message": "Please", "data": {"url": URL, "elicitationId": RANDOM_ID}}
HOST = "https://consent.example.com"

Run = Callable[[], list[Rule]]


def found(ruling: Ruling | ErrorRuling) -> list[Rule]:
    return [finding.rule for finding in ruling.decision.findings]


def asked(request: dict[str, object], purpose: Purpose = Purpose.CHOICE, **changes: object) -> Run:
    return lambda: found(decide(ask(request, purpose, **changes), DOCUMENT, 1))


def field(value: object, under: Document = DOCUMENT) -> Run:
    return lambda: found(ask_form({"field": value}, under=under))


def root(**members: object) -> Run:
    return asked({"message": "Pick.", "requestedSchema": {"type": "object", "properties": {}, **members}})


def url(raw: object, **members: object) -> Run:
    return lambda: found(ask_url(raw, **members))  # type: ignore[arg-type]


def error(body: object, wire: Wire = Wire.V2025_11_25, under: Document = DOCUMENT) -> Run:
    return lambda: found(judge_error(ErrorAsk(wire, Purpose.PAYMENT, BOTH_MODES, body, "acme", "booking"), under, 1))


def listing(*entries: object, **changes: object) -> dict[str, object]:
    return {"code": -32042, "message": "Please", "data": {"elicitations": list(entries)}, **changes}


def answer(action: object, content: Content, mode: Mode) -> Run:
    def run() -> list[Rule]:
        read = read_action(action)
        if read is None:
            return [Rule.ANSWER_MALFORMED]
        ruling = judge(read, content, mode)
        return [*([ruling.denial] if ruling.denial else []), *ruling.flags]

    return run


def without(request: dict[str, object], name: str) -> dict[str, object]:
    return {key: value for key, value in request.items() if key != name}


NEW: dict[str, Any] = {"wire": Wire.V2026_07_28, "delivery": Delivery.INPUT_REQUIRED}
STRING = {"type": "string"}
DEEP: dict[str, object] = {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {"a": {}}}}}}}}}}

#: For each rule that serves a requirement, requests under which it must be found.
SHOWN: dict[Rule, list[Run]] = {
    Rule.WIRE_NOT_SERVED: [lambda: found(decide(ask(FORM), lay_over(DOCUMENT, {"wires": ["2026-07-28"]}), 1))],
    Rule.DELIVERY_NOT_IN_WIRE: [
        asked(FORM, wire=Wire.V2026_07_28),
        asked(LINK, Purpose.PAYMENT, wire=Wire.V2026_07_28, delivery=Delivery.URL_REQUIRED),
        asked(FORM, delivery=Delivery.INPUT_REQUIRED),
    ],
    Rule.DELIVERY_NEEDS_URL: [asked(FORM, delivery=Delivery.URL_REQUIRED)],
    Rule.CAPABILITY_MISSING: [asked(FORM, capabilities={}), asked(FORM, capabilities={}, **NEW)],
    Rule.CAPABILITY_MALFORMED: [
        asked(FORM, capabilities={"elicitation": True}),
        asked(FORM, capabilities={"elicitation": {"form": []}}),
    ],
    Rule.CAPABILITY_MODE_UNDECLARED: [
        asked(LINK, Purpose.PAYMENT, capabilities={"elicitation": {}}),
        asked(LINK, Purpose.PAYMENT, capabilities={"elicitation": {"form": {}}}, **NEW),
        asked(FORM, capabilities={"elicitation": {"url": {}}}),
    ],
    Rule.REQUEST_MALFORMED: [asked({**FORM, "_meta": {"a": float("nan")}})],
    Rule.REQUEST_TOO_LARGE: [asked({**FORM, "_meta": {"a": "x" * 50_000}})],
    Rule.REQUEST_TOO_DEEP: [asked({**FORM, "_meta": DEEP})],
    Rule.REQUEST_MEMBER_UNKNOWN: [
        asked(without(LINK, "mode")),
        asked({**LINK, "requestedSchema": {}}, Purpose.PAYMENT),
        asked({**FORM, "url": URL}),
    ],
    Rule.REQUEST_MODE_MALFORMED: [asked({**FORM, "mode": "URL"}), asked({**FORM, "mode": None})],
    Rule.REQUEST_MESSAGE_MISSING: [
        asked(without(FORM, "message")),
        asked(without(LINK, "message"), Purpose.PAYMENT),
        asked({**FORM, "message": " "}),
    ],
    Rule.ROUTE_SENSITIVE_IN_FORM: [
        asked({**FORM, "mode": "form"}, Purpose.CREDENTIAL),
        asked({**FORM, "mode": "form"}, Purpose.PAYMENT),
        asked({**FORM, "mode": "form"}, Purpose.THIRD_PARTY_AUTHORIZATION),
    ],
    Rule.LIMIT_PENDING_PER_SUBJECT: [lambda: [exceeded(Asked(10**6, 0, 0), DOCUMENT.limits) or Rule.ADMITTED]],
    Rule.LIMIT_ASKS_PER_SUBJECT: [lambda: [exceeded(Asked(0, 10**9, 0), DOCUMENT.limits) or Rule.ADMITTED]],
    Rule.LIMIT_ASKS_PER_SERVICE: [lambda: [exceeded(Asked(0, 0, 10**9), DOCUMENT.limits) or Rule.ADMITTED]],
    Rule.FORM_SCHEMA_MISSING: [asked({"message": "Pick."})],
    Rule.FORM_SCHEMA_MALFORMED: [root(type="array"), root(properties=[]), field("string")],
    Rule.FORM_NESTED: [field({"type": "object"}), field({"type": "array", "items": {"type": "object"}})],
    Rule.FORM_ARRAY: [field({"type": "array", "items": STRING})],
    Rule.FORM_TYPE_UNKNOWN: [field({"type": "file"}), field({})],
    Rule.FORM_NULLABLE: [field({"type": ["string", "null"]}), field({"anyOf": [STRING, {"type": "null"}]})],
    Rule.FORM_UNION: [field({"oneOf": [STRING, {"type": "integer"}]})],
    Rule.FORM_KEYWORD_LOGIC: [root(allOf=[]), root(**{"$ref": "https://example.com"}), field({**STRING, "not": {}})],
    Rule.FORM_KEYWORD_UNKNOWN: [field({**STRING, "const": "a"}), field({**STRING, "enum": ["a"], "maxLength": 3})],
    Rule.FORM_KEYWORD_VALUE: [field({**STRING, "minLength": "1"}), root(required="region")],
    Rule.FORM_FORMAT: [field({**STRING, "format": "hostname"})],
    Rule.FORM_PATTERN_NOT_IN_WIRE: [asked(form_request({"field": {**STRING, "pattern": "^a$"}}), **NEW)],
    Rule.FORM_PATTERN_UNSUPPORTED: [field({**STRING, "pattern": "^(a+)+$"})],
    Rule.FORM_CHOICES_MALFORMED: [field({**STRING, "enum": [1]}), field({**STRING, "oneOf": [{"const": "a"}]})],
    Rule.FORM_LINK: [field({**STRING, "title": "See https://evil.example/"})],
    Rule.FORM_LINK_FLAGGED: [field({**STRING, "title": "See https://evil.example/"}, forms(links="flag"))],
    Rule.FORM_CREDENTIAL_NAME: [lambda: found(ask_form({"apiKey": STRING}))],
    Rule.FORM_CREDENTIAL_TEXT: [field({**STRING, "title": "Your password"}), field({**STRING, "enum": ["PIN"]})],
    Rule.FORM_CREDENTIAL_MESSAGE: [asked({**FORM, "message": "Type your card number."})],
    Rule.FORM_CREDENTIAL_FORMAT: [field({**STRING, "format": "password"}), field({**STRING, "writeOnly": True})],
    Rule.FORM_CREDENTIAL_VALUE: [field({**STRING, "default": "4242 4242 4242 4242"})],
    Rule.URL_MISSING: [url(None), url("")],
    Rule.URL_FORBIDDEN_CHARACTER: [url(f"{HOST}/a b"), url(f"{HOST}\\@evil.example/")],
    Rule.URL_MALFORMED: [url("https:consent.example.com"), url("start")],
    Rule.URL_NOT_CANONICAL: [url(f"{HOST}:0443/start"), url(f"{HOST}/start/{{x}}")],
    Rule.URL_SCHEME: [url("http://consent.example.com/start"), url("javascript:alert(1)")],
    Rule.URL_USERINFO: [url("https://consent.example.com@evil.example/"), url("https://@consent.example.com/start")],
    Rule.URL_PUNYCODE: [url("https://xn--p1ai/")],
    Rule.URL_PARAMETER_SECRET: [url(f"{URL}&api_token=x")],
    Rule.URL_PARAMETER_BOUND: [url(f"{URL}&e=7")],
    Rule.URL_VALUE_SECRET: [url(f"{HOST}/start/alice%40example.com"), url(f"{HOST}/start?next=4242424242424242")],
    Rule.ID_MISSING: [error(listing(without(ENTRY, "elicitationId")))],
    Rule.ID_MALFORMED: [url(URL, elicitationId=7)],
    Rule.ID_NOT_IN_WIRE: [asked(ENTRY, Purpose.PAYMENT, **NEW)],
    Rule.ID_TOO_SHORT: [url(URL, elicitationId="k3X9q")],
    Rule.ID_STRUCTURED: [url(URL, elicitationId="booking-of-alice-for-monday")],
    Rule.ID_SEQUENTIAL: [url(URL, elicitationId="surcharge-1042")],
    Rule.ID_PERSONAL: [url(URL, elicitationId="alice@example.com-1")],
    Rule.ID_TOKEN: [url(URL, elicitationId="sk-" + "abcdefgh12345678")],
    Rule.ID_FOREIGN: [url(URL, elicitationId=mint_text(bytes(16)))],
    Rule.ID_REPEATED: [error(listing(ENTRY, ENTRY))],
    Rule.ANSWER_MALFORMED: [answer("Accept", Content.ABSENT, Mode.FORM), answer(None, Content.ABSENT, Mode.URL)],
    Rule.ANSWER_CONTENT_MISSING: [answer("accept", Content.ABSENT, Mode.FORM)],
    Rule.ANSWER_CONTENT_ON_URL: [answer("accept", Content.PRESENT, Mode.URL)],
    Rule.ANSWER_CONTENT_STRIPPED: [answer(one, Content.PRESENT, Mode.FORM) for one in (Action.DECLINE, Action.CANCEL)],
    Rule.ERROR_MALFORMED: [error("-32042"), error(listing(ENTRY, message=None)), error(listing("x"))],
    Rule.ERROR_CODE: [error(listing(ENTRY, code=-32603)), error(listing(ENTRY, code="-32042"))],
    Rule.ERROR_NOT_IN_WIRE: [error(listing(ENTRY), Wire.V2026_07_28)],
    Rule.ERROR_LIST_MISSING: [error(listing()), error({"code": -32042, "message": "x", "data": {}})],
    Rule.ERROR_ENTRY_MODE: [error(listing({**ENTRY, "mode": "form"})), error(listing(without(ENTRY, "mode")))],
    Rule.ERROR_FLAT: [error(FLAT)],
    Rule.ERROR_FLAT_FLAGGED: [error(FLAT, under=lay_over(DOCUMENT, {"legacy": {"flat_url_required_error": True}}))],
}

#: The requirements that the policy serves, in the protocol's order. A new one in the catalogue must be written here.
REQUIREMENTS = [
    *["R1", "R2", "R3", "R4", "R5", "R6", "R10", "R11", "R12", "R13", "R15", "R16", "R17", "R19", "R20", "R21", "R27"],
    *["R30", "R31", "R32", "R34", "R41", "R42", "R43", "R44", "R46", "R47", "R52", "R53", "R54", "R55", "R56", "R60"],
    *["R61", "R66", "R79"],
]


def number(requirement: str) -> int:
    return int(requirement[1:])


@pytest.mark.parametrize("requirement", REQUIREMENTS)
def test_a_requirement_is_held_by_each_of_its_rules(requirement: str) -> None:
    holding = [about.rule for about in CATALOGUE if requirement in about.requirements]
    assert holding
    for rule in holding:
        for run in SHOWN[rule]:
            assert rule in run()


def test_the_tables_name_every_requirement_of_the_catalogue_and_no_other() -> None:
    named = {requirement for about in CATALOGUE for requirement in about.requirements}
    assert sorted(named, key=number) == REQUIREMENTS
    assert set(SHOWN) == {about.rule for about in CATALOGUE if about.requirements}


def test_what_the_rules_are_shown_on_is_otherwise_admitted() -> None:
    for request, purpose in ((FORM, Purpose.CHOICE), (LINK, Purpose.PAYMENT), (ENTRY, Purpose.PAYMENT)):
        assert asked(request, purpose)() == []
    assert error(listing(ENTRY))() == []
