"""The policy document: strict to read, stable to write, and safe by default."""

import json
from typing import Any

import can_ada
import pytest

from elicitation.policy.decision import Purpose
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, DocumentError, lay_over, parse
from tests.policy.asking import DESTINATION, DOCUMENT


def changed(path: str, value: object) -> str:
    whole: Any = DOCUMENT.as_json()
    here = whole
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")[1:]]
    for step in steps:
        here = here[step]
    here[last] = value
    return json.dumps(whole)


@pytest.mark.parametrize("document", [DEFAULT_DOCUMENT, DOCUMENT], ids=["default", "with a destination"])
def test_a_document_reads_back_from_its_own_bytes(document: Document) -> None:
    again = parse(document.canonical().decode())
    assert again == document
    assert again.digest == document.digest
    assert again.canonical() == document.canonical()


def test_the_first_revision_admits_forms_and_leads_nowhere() -> None:
    assert DEFAULT_DOCUMENT.destinations == ()
    assert DEFAULT_DOCUMENT.window_for(Purpose.PAYMENT) == 3600
    assert DEFAULT_DOCUMENT.window_for(Purpose.CHOICE) == 900


def test_the_order_of_keys_does_not_change_the_digest() -> None:
    turned = dict(reversed(list(DOCUMENT.as_json().items())))
    assert parse(json.dumps(turned)).digest == DOCUMENT.digest


@pytest.mark.parametrize(
    ("path", "value", "at"),
    [
        ("/wires", [], "/wires"),
        ("/wires", ["2024-11-05"], "/wires/0"),
        ("/wires", "2025-11-25", "/wires"),
        ("/purposes/credential/mode", "form", "/purposes/credential/mode"),
        ("/purposes/external_transaction/mode", "form", "/purposes/external_transaction/mode"),
        ("/purposes/payment/window_seconds", 3601, "/purposes/payment/window_seconds"),
        ("/windows/default_seconds", True, "/windows/default_seconds"),
        ("/windows/default_seconds", 3601, "/windows/default_seconds"),
        ("/windows/retry_seconds", 0, "/windows/retry_seconds"),
        ("/limits/pending_per_subject", "5", "/limits/pending_per_subject"),
        ("/forms/links", "allow", "/forms/links"),
        ("/forms/multi_select", 1, "/forms/multi_select"),
        ("/forms/max_depth", 100, "/forms/max_depth"),
        ("/vocabulary/deny", ["password", "password"], "/vocabulary/deny"),
        ("/vocabulary/deny", ["--"], "/vocabulary/deny/0"),
        ("/vocabulary/allow", ["\ud800"], "/vocabulary/allow/0"),
        ("/urls/max_length", 10**6, "/urls/max_length"),
        ("/identifiers/min_length", 4, "/identifiers/min_length"),
        ("/legacy/flat_url_required_error", None, "/legacy/flat_url_required_error"),
        ("/signals/lost_rate/ratio", 1.5, "/signals/lost_rate/ratio"),
        ("/surprise", 1, ""),
        ("/urls/surprise", 1, "/urls"),
        ("/destinations/0/surprise", 1, "/destinations/0"),
        ("/destinations/0/origin", "https://consent.example.com/", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://*.example.com", "/destinations/0/origin"),
        ("/destinations/0/origin", "http://consent.example.com", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://user@consent.example.com", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://consent.example.com.", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://127.1", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://0x7f000001", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://xn--a.example.com", "/destinations/0/origin"),
        ("/destinations/0/origin", "https://consent.example.com:0443", "/destinations/0/origin"),
        ("/destinations/0/paths", [], "/destinations/0/paths"),
        ("/destinations/0/paths", ["start"], "/destinations/0/paths/0"),
        ("/destinations/0/paths", ["/a/../b"], "/destinations/0/paths/0"),
        ("/destinations/0/purposes", ["fun"], "/destinations/0/purposes/0"),
        ("/destinations/0/binding", "trust", "/destinations/0/binding"),
        ("/destinations/0/sources", ["rumour"], "/destinations/0/sources/0"),
        ("/destinations/0/parameters", {"flow": "^(a+)+$"}, "/destinations/0/parameters/#0"),
        ("/destinations/0/parameters", {"flow": "[a-z]+"}, "/destinations/0/parameters/#0"),
        ("/destinations/0/parameters", {"a": "elicitation_id", "b": "elicitation_id"}, "/destinations/0/parameters"),
        ("/destinations/0/opaque", ["anything"], "/destinations/0/opaque/0"),
        ("/destinations/0/opaque", ["path:0", "path:1"], "/destinations/0/opaque"),
        ("/destinations/0/opaque", ["parameter:absent"], "/destinations/0/opaque/0"),
        ("/destinations/0/opaque", ["parameter:e"], "/destinations/0/opaque/0"),
    ],
)
def test_what_is_wrong_is_refused_at_its_place(path: str, value: object, at: str) -> None:
    with pytest.raises(DocumentError) as refused:
        parse(changed(path, value))
    assert refused.value.at == at


@pytest.mark.parametrize("section", list(DEFAULT_DOCUMENT.as_json()))
def test_no_section_may_be_missing(section: str) -> None:
    whole = DOCUMENT.as_json()
    del whole[section]
    with pytest.raises(DocumentError, match="missing"):
        parse(json.dumps(whole))


@pytest.mark.parametrize(
    "text",
    ['{"wires": [], "wires": []}', "[", "NaN", '{"a": Infinity}', "[" * 100_000, "1" * 5000, '"' + "x" * 5_000_000],
    ids=["duplicate key", "cut off", "NaN", "infinity", "deep", "long number", "too long"],
)
def test_what_is_no_document_is_refused_without_a_traceback(text: str) -> None:
    with pytest.raises(DocumentError):
        parse(text)


def test_an_error_never_repeats_the_value() -> None:
    for path in ("/wires", "/forms/links", "/destinations/0/origin", "/destinations/0/binding"):
        with pytest.raises(DocumentError) as refused:
            parse(changed(path, "CANARY-9"))
        assert "CANARY" not in str(refused.value)


def test_an_origin_is_kept_normalised() -> None:
    read = lay_over(DEFAULT_DOCUMENT, {"destinations": [{**DESTINATION, "origin": "HTTPS://Consent.Example.COM:443"}]})
    assert read.destinations[0].origin == "https://consent.example.com"
    assert read.as_json()["destinations"] == [{**DESTINATION}]


@pytest.mark.parametrize(
    "origin",
    [
        "https://xn--bcher-kva.example",
        "https://xn--strae-oqa.example",
        "https://[2001:db8::1]:8443",
        "https://a--b.example",
    ],
)
def test_an_origin_is_one_that_a_browser_knows_by_the_same_name(origin: str) -> None:
    read = lay_over(DEFAULT_DOCUMENT, {"destinations": [{**DESTINATION, "origin": origin}]})
    assert read.destinations[0].origin == origin == can_ada.parse(origin).origin


def test_one_origin_cannot_stand_twice_for_one_service() -> None:
    with pytest.raises(DocumentError) as refused:
        lay_over(DEFAULT_DOCUMENT, {"destinations": [DESTINATION, {**DESTINATION, "paths": ["/other"]}]})
    assert refused.value.at == "/destinations/1"


def test_a_destination_is_found_for_its_own_tenants_services_only() -> None:
    origin = "https://consent.example.com"
    assert DOCUMENT.destination_for(origin, "acme", "booking") is DOCUMENT.destinations[0]
    assert DOCUMENT.destination_for(origin, "acme", "other") is None
    assert DOCUMENT.destination_for(origin, "mallory", "booking") is None
    assert DOCUMENT.destination_for("https://example.com", "acme", "booking") is None


def test_an_overlay_replaces_whole_sections() -> None:
    laid = lay_over(DOCUMENT, {"identifiers": {"min_length": 12}})
    assert laid.identifiers.min_length == 12
    assert laid.destinations == DOCUMENT.destinations
    with pytest.raises(DocumentError):
        lay_over(DOCUMENT, {"forms": {"max_fields": 1}})
