"""The people and things that tests speak of: Alice asks, Bob is of the same tenant, Mallory of another."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.db.models import F
from django.test import Client

from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence, PolicyRevision, Provider, Service, Tenant
from elicitation.policy import identifiers
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.policy.webhooks import secret_bytes, sign
from elicitation.services import drafts, keys, parties

ALICE = {"iss": "https://id.example", "sub": "alice"}
BOB = {"iss": "https://id.example", "sub": "bob"}
ORIGIN = "https://consent.example.com"
PAY_URL = f"{ORIGIN}/start?flow=pay"

DESTINATION: dict[str, Any] = {
    "origin": ORIGIN,
    "provider": "example-pay",
    "tenants": ["acme"],
    "services": ["booking", "hotels"],
    "purposes": ["payment", "third_party_authorization"],
    "paths": ["/start"],
    "parameters": {"flow": "^[a-z]{1,16}$", "e": "elicitation_id"},
    "opaque": [],
    "binding": "subject",
    "sources": ["webhook", "reconcile"],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 300,
}

SCHEMA = {
    "type": "object",
    "properties": {"region": {"type": "string", "enum": ["eu", "us"]}},
    "required": ["region"],
}


@dataclass(slots=True)
class Desk:
    """One tenant with a service, a sibling service and a provider; another tenant with a service of its own."""

    acme: Tenant
    booking: Service
    hotels: Service
    pay: Provider
    pay_secret: str
    key: str
    sibling_key: str
    globex: Tenant
    mallory: Service
    mallory_key: str
    other_pay: Provider
    other_secret: str

    def call(self, path: str, body: Any = None, *, key: str | None = None, method: str = "POST", **extra: Any) -> Any:
        """The response to one call; ``body`` may be bytes, to be sent as they are."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {key or self.key}"}
        client = Client(raise_request_exception=False)
        if method == "GET":
            return client.get(f"/api/v1/{path}", headers=headers, **extra)
        return client.post(f"/api/v1/{path}", data, content_type="application/json", headers=headers, **extra)

    def admit(self, key: str | None = None, **changes: Any) -> Any:
        return self.call("elicitations", admission(**changes), key=key)

    def event(self, public_id: str, result_ref: str = "pi_1", *, slug: str = "", secret: str = "", **data: Any) -> Any:
        """A signed webhook of the provider."""
        body = json.dumps(
            {
                "type": "elicitation.completed",
                "data": {"elicitation_id": public_id, "result_ref": result_ref, "subject": ALICE} | data,
            }
        ).encode()
        return self.deliver(body, slug=slug, secret=secret)

    def deliver(
        self, body: bytes, *, slug: str = "", secret: str = "", headers: Mapping[str, str] | None = None
    ) -> Any:
        key = secret_bytes(secret or self.pay_secret)
        assert key is not None
        message, moment = f"msg_{uuid4().hex}", int(time.time())
        signed = {
            "webhook-id": message,
            "webhook-timestamp": str(moment),
            "webhook-signature": sign(message, moment, body, key),
        }
        return Client(raise_request_exception=False).post(
            f"/api/v1/providers/{slug or self.pay.slug}/events",
            body,
            content_type="application/json",
            headers={**signed, **(headers or {})},
        )


def open_desk(policy: Document | None = None) -> Desk:
    activate(policy)
    acme, globex = parties.open_tenant("acme", "Acme"), parties.open_tenant("globex", "Globex")
    booking = parties.open_service(acme, "booking", "Booking")
    hotels = parties.open_service(acme, "hotels", "Hotels")
    mallory = parties.open_service(globex, "booking", "Booking")
    pay, other = parties.open_provider(acme, "example-pay", "Pay"), parties.open_provider(globex, "globex-pay", "Pay")
    return Desk(
        acme=acme,
        booking=booking,
        hotels=hotels,
        pay=pay,
        pay_secret=keys.create_provider_key(pay),
        key=keys.create_service_key(booking, keys.OF_SERVICES),
        sibling_key=keys.create_service_key(hotels, keys.OF_SERVICES),
        globex=globex,
        mallory=mallory,
        mallory_key=keys.create_service_key(mallory, keys.OF_SERVICES),
        other_pay=other,
        other_secret=keys.create_provider_key(other),
    )


ROOMY = {"pending_per_subject": 1000, "asks_per_subject_hour": 100_000, "asks_per_service_hour": 100_000}


def document(*, limits: dict[str, int] | None = None, **destination: Any) -> Document:
    """The default document with the tests' destination, changed as given, and limits that no test meets by chance."""
    return lay_over(DEFAULT_DOCUMENT, {"destinations": [DESTINATION | destination], "limits": ROOMY | (limits or {})})


def activate(wanted: Document | None = None) -> PolicyRevision:
    return drafts.activate_alone(wanted or document(), "test").row


def withdraw_destination() -> PolicyRevision:
    return activate(lay_over(document(), {"destinations": []}))


def operation(**changes: Any) -> dict[str, Any]:
    base = {"method": "tools/call", "target": "pay_surcharge", "arguments_digest": "sha256:" + "1" * 64}
    return base | changes


def admission(**changes: Any) -> dict[str, Any]:
    """The body of an admission by link for Alice's payment; ``form=True`` asks by form instead."""
    form = changes.pop("form", False)
    request: dict[str, Any] = (
        {"mode": "form", "message": "Pick a region", "requestedSchema": SCHEMA}
        if form
        else {"mode": "url", "message": "Pay the surcharge", "url": PAY_URL}
    )
    body = {
        "wire": "2025-11-25",
        "delivery": "create",
        "client": {"name": "x-client", "version": "2.1", "capabilities": {"elicitation": {"form": {}, "url": {}}}},
        "subject": ALICE,
        "operation": operation(),
        "purpose": "choice" if form else "payment",
        "request": request,
    }
    return body | changes


def entry_of(public_id: str) -> Elicitation:
    raw = identifiers.parse(public_id)
    assert raw is not None
    return Elicitation.objects.get(uid=UUID(bytes=raw))


def age(public_id: str, seconds: float) -> None:
    """Make the entry, its deadlines and its evidence older, as if that time had passed."""
    by = timedelta(seconds=seconds)
    columns = (
        "deadline", "window_ends_at", "admitted_at", "consented_at", "completed_at", "applied_at", "lost_at",
        "looked_up_at", "next_lookup_at",
    )  # fmt: skip
    entry = entry_of(public_id)
    Elicitation.objects.filter(pk=entry.pk).update(**{name: F(name) - by for name in columns})
    Evidence.objects.filter(elicitation=entry).update(received_at=F("received_at") - by)


def ledger(public_id: str | None = None) -> list[LedgerEntry]:
    rows = LedgerEntry.objects.order_by("pk")
    return list(rows if public_id is None else rows.filter(elicitation_id=entry_of(public_id).uid))


def passages(public_id: str) -> list[tuple[str, str, str]]:
    """The ledger of one entry as (event, from, to)."""
    return [(row.event, row.state_from, row.state_to) for row in ledger(public_id)]


def snapshot(public_id: str) -> dict[str, Any]:
    """Everything stored about the entry, to compare before and after a refused event."""
    row = Elicitation.objects.filter(pk=entry_of(public_id).pk).values().get()
    evidence = list(Evidence.objects.filter(elicitation_id=row["id"]).order_by("pk").values())
    return {"entry": row, "evidence": evidence}
