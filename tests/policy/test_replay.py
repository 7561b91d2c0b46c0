"""A replay says what the draft would have said, or that it cannot know: held against the real decision."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Ask, Delivery, Purpose, Wire
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.policy.replay import Recorded, ReplayOutcome, replay
from tests.policy.asking import BOTH_MODES, DESK_ID, DESTINATION, DOCUMENT, SERVICE_KEY, document

OTHER = {**DESTINATION, "origin": "https://pay.example.org", "paths": ["/"], "purposes": ["payment"]}


def section(name: str, **changes: object) -> dict[str, Any]:
    whole = DEFAULT_DOCUMENT.as_json()[name]
    assert isinstance(whole, dict)
    return {name: {**whole, **changes}}


DOCUMENTS: dict[str, Document] = {
    "as it is": DOCUMENT,
    "default": DEFAULT_DOCUMENT,
    "another origin too": document(destinations=[DESTINATION, OTHER]),
    "another origin alone": document(destinations=[OTHER]),
    "narrower path": document(destinations=[{**DESTINATION, "paths": ["/start/now", "/ui"]}]),
    "wider path": document(destinations=[{**DESTINATION, "paths": ["/"]}]),
    "other path": document(destinations=[{**DESTINATION, "paths": ["/begin"]}]),
    "fewer parameters": document(
        destinations=[{**DESTINATION, "parameters": {"flow": "^[a-z_]{1,16}$"}, "opaque": []}]
    ),
    "stricter parameter": document(
        destinations=[{**DESTINATION, "parameters": {**DESTINATION["parameters"], "flow": "^auth$"}}]  # type: ignore[dict-item]
    ),
    "fewer purposes": document(destinations=[{**DESTINATION, "purposes": ["payment"]}]),
    "one wire": document(wires=["2025-11-25"]),
    "no choices": document(purposes={"payment": {"mode": "url"}}),
    "choices by form only": document(**section("purposes", profile={"mode": "url"})),
    "few fields": document(**section("forms", max_fields=1)),
    "few choices": document(**section("forms", max_choices=2)),
    "short texts": document(**section("forms", max_text=10)),
    "short messages": document(**section("forms", max_message=12)),
    "lists": document(**section("forms", multi_select=True)),
    "no empty forms": document(**section("forms", empty_confirmation=False)),
    "links flagged": document(**section("forms", links="flag")),
    "shallow": document(**section("forms", max_depth=4)),
    "small": document(**section("forms", max_bytes=300)),
    "words": document(vocabulary={"deny": ["region", "flow"], "allow": []}),
    "no words": document(vocabulary={"deny": ["zzz"], "allow": []}),
    "short links": document(**section("urls", max_length=70)),
    "long ids": document(**section("identifiers", min_length=40)),
    "short windows": document(**section("windows", max_seconds=900), purposes={"choice": {"mode": "form"}}),
}


def requests(chance: random.Random) -> dict[str, Any]:
    names = ["region", "password", "count", "ok", "tags", "credit_card", SERVICE_KEY]
    field = chance.choice(
        [
            {"type": "string", "enum": ["a", "b", "c"][: chance.randint(1, 3)]},
            {"type": "string", "title": chance.choice(["Region", "Your password", "see https://x.example/a"])},
            {"type": "integer", "minimum": 1},
            {"type": "boolean"},
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
            {"type": "object", "properties": {}},
            {"type": ["string", "null"]},
        ]
    )
    form = {
        "message": chance.choice(
            ["Hi.", "Please choose a region for us", "Type your password", "go to https://x.example"]
        ),
        "requestedSchema": {
            "type": "object",
            "properties": dict.fromkeys(chance.sample(names, chance.randint(0, 3)), field),
        },
    }
    base = chance.choice(
        [
            "https://consent.example.com",
            "https://pay.example.org",
            "https://consent.example.com.evil.example",
            "http://x",
        ]
    )
    path = chance.choice(["/start", "/start/now", "/ui", "/begin", "/", "/other", "/start/..;/a", "/start/a;otp=1"])
    query = chance.choice(
        ["", "?flow=auth", "?flow=other", "?flow=auth&state=abc", "?api_token=x", "?x=1", "?e=elc_1", "?state=%00"]
    )
    link = {"mode": "url", "message": form["message"], "url": base + path + query}
    if chance.random() < 0.2:
        link["elicitationId"] = chance.choice(["7", "3f0c9a52-6d0e-4c55-9a51-0f4d0a3a7c11", "q8Zk2Lw9Xv4Tn7Rb1Ys5"])
    aside = {"_meta": {"note": SERVICE_KEY}} if chance.random() < 0.1 else {}
    return {**chance.choice([form, link, {**form, "mode": "form"}, {"mode": "url", "message": ""}, {}]), **aside}


def asked(chance: random.Random) -> Ask:
    wire = chance.choice([Wire.V2025_11_25] * 4 + [Wire.V2026_07_28])
    delivery = Delivery.INPUT_REQUIRED if wire is Wire.V2026_07_28 else Delivery.CREATE
    return Ask(
        wire=wire,
        delivery=delivery,
        purpose=chance.choice([Purpose.CHOICE, Purpose.PAYMENT, Purpose.CREDENTIAL, Purpose.PROFILE]),
        capabilities=chance.choice([BOTH_MODES] * 5 + [{"elicitation": {}}, {}]),
        request=requests(chance),
        tenant="acme",
        service="booking",
        elicitation_id=DESK_ID,
        window_seconds=chance.choice([None, None, None, 600, 1800, 10**6]),
    )


def recorded(ask: Ask, ruling: Ruling, under: Document) -> Recorded:
    traits = ruling.traits
    destination = under.destination_for(traits.origin, ask.tenant, ask.service)
    prefix = "" if destination is None or traits.path_index is None else destination.paths[traits.path_index]
    return Recorded(
        wire=ask.wire,
        purpose=ask.purpose,
        mode=ruling.mode,
        mode_asked=ask.request.get("mode") in ("form", "url"),
        tenant=ask.tenant,
        service=ask.service,
        origin=traits.origin,
        path_prefix=prefix,
        parameter_names=traits.parameter_names,
        property_names=traits.property_names,
        keywords=traits.keywords,
        property_count=traits.property_count,
        choice_count=traits.choice_count,
        text_bytes=traits.text_bytes,
        schema_bytes=traits.schema_bytes,
        url_length=traits.url_length,
        id_class=ruling.id_class,
        asked_window=ask.window_seconds,
        rules=tuple(finding.rule for finding in ruling.decision.findings),
    )


@pytest.mark.parametrize("before", DOCUMENTS)
def test_a_replay_never_contradicts_the_real_decision(before: str) -> None:
    chance = random.Random(before)
    seen: Counter[str] = Counter()
    for _ in range(300):
        ask = asked(chance)
        record = recorded(ask, decide(ask, DOCUMENTS[before], 1), DOCUMENTS[before])
        name = chance.choice(list(DOCUMENTS))
        real = decide(ask, DOCUMENTS[name], 2).decision
        verdict = replay(record, DOCUMENTS[before], DOCUMENTS[name])
        seen[verdict.outcome] += 1
        if verdict.outcome is not ReplayOutcome.NOT_REPLAYABLE:
            found = [str(finding.rule) for finding in real.findings]
            assert verdict.outcome == str(real.outcome), (name, ask, verdict, record.rules, found)
    assert seen[ReplayOutcome.NOT_REPLAYABLE] < sum(seen.values()) / 3, seen


@pytest.mark.parametrize("name", DOCUMENTS)
def test_under_the_same_document_everything_is_replayable_and_the_same(name: str) -> None:
    chance = random.Random(name)
    for _ in range(200):
        ask = asked(chance)
        real = decide(ask, DOCUMENTS[name], 1)
        verdict = replay(recorded(ask, real, DOCUMENTS[name]), DOCUMENTS[name], lay_over(DOCUMENTS[name], {}))
        assert str(verdict.outcome) == str(real.decision.outcome), (ask, verdict, real.decision.findings)


def test_a_secret_beside_the_question_stays_one_under_every_draft() -> None:
    given = asked(random.Random(0))
    request = {"mode": "url", "message": "Hi.", "url": "https://consent.example.com/start", "_meta": {"a": SERVICE_KEY}}
    ask = replace(given, request=request, purpose=Purpose.PAYMENT, capabilities=BOTH_MODES, window_seconds=None)
    record = recorded(ask, decide(ask, DOCUMENT, 1), DOCUMENT)
    for draft in ("as it is", "words", "another origin too", "short texts"):
        assert replay(record, DOCUMENT, DOCUMENTS[draft]).outcome is ReplayOutcome.DENY
