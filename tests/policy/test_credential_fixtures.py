"""Two lists as fixtures: requests for a credential, all denied, and harmless ones, all admitted."""

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TypedDict

import pytest

from elicitation.policy.admission import decide
from elicitation.policy.decision import Delivery, Wire
from tests.policy.asking import DOCUMENT, ask, form_request, rules

FIXTURES = Path(__file__).parents[1] / "fixtures"
DENIED, HARMLESS = "credential_requests", "harmless_requests"
PLACES = {"name", "title", "description", "choice", "default", "format", "writeOnly", "message"}


class Entry(TypedDict):
    language: str
    kind: str
    place: str
    text: str
    holdout: bool


@cache
def entries(name: str) -> list[Entry]:
    read: list[Entry] = json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))
    return read


def tuned(name: str) -> list[Entry]:
    return [entry for entry in entries(name) if not entry["holdout"]]


def request_of(entry: Entry) -> dict[str, object]:
    """A form that is harmless but for the entry's text in the entry's place."""
    place, text = entry["place"], entry["text"]
    match place:
        case "name":
            return form_request({text: {"type": "string"}})
        case "message":
            return form_request({"field_1": {"type": "string"}}, text)
        case "choice":
            return form_request({"field_1": {"type": "string", "enum": [text, "Other"]}})
        case "writeOnly":
            return form_request({text: {"type": "string", "writeOnly": True}})
        case _:
            return form_request({"field_1": {"type": "string", place: text}})


def found(entry: Entry, wire: Wire = Wire.V2025_11_25) -> list[str]:
    delivery = Delivery.CREATE if wire is Wire.V2025_11_25 else Delivery.INPUT_REQUIRED
    return rules(decide(ask(request_of(entry), wire=wire, delivery=delivery), DOCUMENT, 1))


def right(name: str, entry: Entry) -> bool:
    """A request for a credential is denied as one, whatever else is wrong with it; a harmless one is admitted."""
    if name == DENIED:
        return any(rule.startswith("form.credential_") for rule in found(entry))
    return found(entry) == []


def stated_rate(name: str) -> float:
    text = (FIXTURES / "README.md").read_text(encoding="utf-8")
    rate = re.search(rf"^\| `{name}\.json` \|.*\| ([0-9.]+) % \|$", text, re.MULTILINE)
    assert rate is not None
    return float(rate[1])


@pytest.mark.parametrize("entry", tuned(DENIED), ids=lambda entry: f"{entry['language']}-{entry['text']}")
def test_a_request_for_a_credential_is_denied_on_both_revisions(entry: Entry) -> None:
    for wire in Wire:
        assert any(rule.startswith("form.credential_") for rule in found(entry, wire))


@pytest.mark.parametrize("entry", tuned(HARMLESS), ids=lambda entry: f"{entry['language']}-{entry['text']}")
def test_a_harmless_request_is_admitted_on_both_revisions(entry: Entry) -> None:
    for wire in Wire:
        assert found(entry, wire) == []


@pytest.mark.parametrize("name", [DENIED, HARMLESS])
def test_the_holdout_is_judged_at_least_as_well_as_the_readme_states(name: str) -> None:
    held = [entry for entry in entries(name) if entry["holdout"]]
    rate = 100 * sum(right(name, entry) for entry in held) / len(held)
    assert rate >= stated_rate(name)


@pytest.mark.parametrize("name", [DENIED, HARMLESS])
def test_a_list_is_long_spans_languages_and_holds_out_a_third_by_its_rule(name: str) -> None:
    listed = entries(name)
    assert len(tuned(name)) >= 300
    assert len({entry["language"] for entry in listed}) >= 12
    assert len({(entry["place"], entry["text"]) for entry in listed}) == len(listed)
    assert {entry["place"] for entry in listed} <= PLACES
    for entry in listed:
        digest = int(hashlib.sha256(entry["text"].encode()).hexdigest(), 16)
        assert entry["holdout"] is (digest % 3 == 0)
    assert 0.30 <= 1 - len(tuned(name)) / len(listed) <= 0.37
