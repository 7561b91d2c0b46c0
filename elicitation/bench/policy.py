"""``policy``: what a decision takes, beside what any reader of the same URL or form takes to read it at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Final

from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.policy.admission import decide
from elicitation.policy.decision import Ask, Delivery, Purpose, Wire
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.policy.identifiers import mint_text
from elicitation.policy.place import REQUEST, Findings
from elicitation.policy.urls import Caller, inspect

#: A measurement lasts about as many seconds, in batches of so many calls.
LONG_ENOUGH: Final = 0.3
BATCH: Final = 100

URL: Final = "https://consent.example.com/start?flow=auth"
DESTINATION: Final = {
    "origin": "https://consent.example.com",
    "provider": "example-pay",
    "tenants": ["acme"],
    "services": ["booking"],
    "purposes": ["payment"],
    "paths": ["/start"],
    "parameters": {"flow": "^[a-z_]{1,16}$", "e": "elicitation_id"},
    "opaque": [],
    "binding": "subject",
    "sources": ["webhook"],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 300,
}
SCHEMA: Final = {
    "type": "object",
    "properties": {
        "region": {
            "type": "string",
            "title": "Region",
            "description": "Where the service runs",
            "enum": ["eu-west", "us-east", "asia-south"],
        },
        "size": {"type": "integer", "title": "Size", "minimum": 1, "maximum": 64, "default": 4},
        "contact": {"type": "string", "format": "email", "title": "E-mail", "maxLength": 80},
        "notify": {"type": "boolean", "title": "Tell me when it is done", "default": True},
    },
    "required": ["region", "size"],
}


@contextmanager
def policy() -> Iterator[Sequence[Comparison]]:
    """The URL rule and the whole decision on a URL that is admitted, and the decision on a form of four fields."""
    whatwg, httpx, jsonschema = (_peer(name) for name in ("can_ada", "httpx", "jsonschema"))
    document = lay_over(DEFAULT_DOCUMENT, {"destinations": [DESTINATION]})
    caller, place = Caller("acme", "booking"), REQUEST.key("url")
    url = _ask(Purpose.PAYMENT, {"mode": "url", "message": "Please pay.", "url": URL})
    form = _ask(Purpose.CHOICE, {"message": "Where shall it run?", "requestedSchema": SCHEMA})
    _must_admit(document, url, form)
    validator = jsonschema.Draft202012Validator
    meta_schema = validator(validator.META_SCHEMA)
    yield [
        Comparison(
            "url",
            "WHATWG parse",
            _per_call(lambda: inspect(URL, place, caller, document, Findings())),
            _per_call(lambda: _read(whatwg)),
            2.0,
        ),
        Comparison(
            "url, whole request",
            "httpx.URL",
            _per_call(lambda: decide(url, document, 1)),
            _per_call(lambda: httpx.URL(URL)),
            2.0,
        ),
        Comparison(
            "form",
            "jsonschema",
            _per_call(lambda: decide(form, document, 1)),
            _per_call(lambda: meta_schema.is_valid(SCHEMA)),
            0.3,
        ),
    ]


def _peer(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError:
        raise CannotMeasure(f"`bench policy` needs {name}, which is installed for development.") from None


def _read(whatwg: ModuleType) -> object:
    """A parse of which every part is read that the URL rule judges."""
    read = whatwg.parse(URL)
    parameters = whatwg.URLSearchParams(read.search)
    parts = read.href, read.protocol, read.host, read.origin, read.pathname, read.search, read.hash
    return parts, {name: parameters[name] for name in parameters.keys()}  # noqa: SIM118 - it is no mapping


def _ask(purpose: Purpose, request: dict[str, object]) -> Ask:
    return Ask(
        wire=Wire.V2025_11_25,
        delivery=Delivery.CREATE,
        purpose=purpose,
        capabilities={"elicitation": {"form": {}, "url": {}}},
        request=request,
        tenant="acme",
        service="booking",
        elicitation_id=mint_text(bytes(16)),
    )


def _must_admit(document: Document, *asks: Ask) -> None:
    """A denial is another amount of work than the one that is to be measured."""
    if not all(decide(ask, document, 1).decision.admitted for ask in asks):
        raise CannotMeasure("The policy denies what `bench policy` measures.")


def _per_call(call: Callable[[], object]) -> Callable[[], float]:
    """Seconds that one call takes, over as many calls as fill the time."""

    def measure() -> float:
        calls, spent, began = 0, 0.0, time.perf_counter()
        while spent < LONG_ENOUGH:
            for _ in range(BATCH):
                call()
            calls += BATCH
            spent = time.perf_counter() - began
        return spent / calls

    return measure
