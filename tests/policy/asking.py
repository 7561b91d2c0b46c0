"""Questions as the policy's tests ask them: one destination, one tenant, one service."""

from collections.abc import Mapping
from typing import Any

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Ask, Delivery, Purpose, Wire
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.policy.identifiers import mint_text

#: Written in two parts, so that no scanner takes them for real ones.
SERVICE_KEY = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
REPOSITORY_TOKEN = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"

DESK_ID = mint_text(bytes(range(16)))
BOTH_MODES: dict[str, dict[str, object]] = {"elicitation": {"form": {}, "url": {}}}
URL = "https://consent.example.com/start?flow=auth"
STRING: dict[str, object] = {"type": "string"}

DESTINATION = {
    "origin": "https://consent.example.com",
    "provider": "example-pay",
    "tenants": ["acme"],
    "services": ["booking"],
    "purposes": ["payment", "credential", "third_party_authorization"],
    "paths": ["/start", "/ui"],
    "parameters": {
        "flow": "^[a-z_]{1,16}$",
        "state": "^[!-~]{1,200}$",
        "next": "^[!-~]{1,200}$",
        "e": "elicitation_id",
    },
    "opaque": ["parameter:state"],
    "binding": "subject",
    "sources": ["webhook", "reconcile"],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 300,
}


def document(**sections: object) -> Document:
    """The default policy with one destination, and with whole sections replaced."""
    return lay_over(DEFAULT_DOCUMENT, {"destinations": [DESTINATION], **sections})


DOCUMENT = document()


def destination(**changes: object) -> Document:
    return document(destinations=[{**DESTINATION, **changes}])


def forms(**changes: object) -> Document:
    whole = DEFAULT_DOCUMENT.as_json()["forms"]
    assert isinstance(whole, dict)
    return document(forms={**whole, **changes})


def ask(request: Mapping[str, object], purpose: Purpose = Purpose.CHOICE, **changes: object) -> Ask:
    given: dict[str, object] = {
        "wire": Wire.V2025_11_25,
        "delivery": Delivery.CREATE,
        "purpose": purpose,
        "capabilities": BOTH_MODES,
        "request": request,
        "tenant": "acme",
        "service": "booking",
        "elicitation_id": DESK_ID,
        **changes,
    }
    return Ask(**given)  # type: ignore[arg-type]


def form_request(properties: object, message: object = "Please choose.", **root: object) -> dict[str, object]:
    return {"message": message, "requestedSchema": {"type": "object", "properties": properties, **root}}


def ask_form(
    properties: object, *, message: object = "Please choose.", under: Document = DOCUMENT, **root: object
) -> Ruling:
    return decide(ask(form_request(properties, message, **root)), under, 1)


def ask_url(url: object, *, under: Document = DOCUMENT, message: str = "Please pay.", **members: object) -> Ruling:
    request = {"mode": "url", "message": message, "url": url, **members}
    return decide(ask(request, Purpose.PAYMENT), under, 1)


def rules(ruling: Ruling) -> list[str]:
    return [str(finding.rule) for finding in ruling.decision.findings]


def first(ruling: Ruling) -> str:
    deciding = ruling.decision.deciding
    return str(deciding.rule) if deciding else "policy.admitted"


def placed(place: str, text: str) -> Ruling:
    """A form that carries one text in one place, and is harmless everywhere else."""
    fields: dict[str, dict[str, object]] = {
        "title": {**STRING, "title": text},
        "description": {**STRING, "description": text},
        "comment": {**STRING, "$comment": text},
        "choice": {**STRING, "enum": ["eu", text]},
        "name of a choice": {**STRING, "enum": ["eu", "us"], "enumNames": ["Europe", text]},
        "title of a choice": {**STRING, "oneOf": [{"const": "eu", "title": text}]},
        "value of a choice": {**STRING, "oneOf": [{"const": text, "title": "Europe"}]},
        "default": {**STRING, "default": text},
        "example": {**STRING, "examples": ["eu", text]},
    }
    field = fields.get(place, STRING)
    root: dict[str, Any] = {"title": text} if place == "title of the form" else {}
    root |= {"description": text} if place == "description of the form" else {}
    return ask_form(
        {text if place == "name" else "field": field},
        message=text if place == "message" else "Please fill this in.",
        **root,
    )
