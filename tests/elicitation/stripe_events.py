"""Stripe as the outside service: its events and signatures, made here as its documentation describes them."""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any
from uuid import uuid4

from django.test import Client

from elicitation.models import KeyUse, Provider
from elicitation.services import keys, parties
from tests import builders
from tests.builders import Desk

SECRET = "whsec_" + "Kq7" * 11
INTENT = "pi_3QexampleRef"


def speaks_stripe(desk: Desk) -> None:
    """Make the desk's provider one that signs as Stripe does; nobody is named, so its destination binds by id."""
    set_up(desk.pay)
    builders.activate(builders.document(binding="asserted"))


def set_up(provider: Provider) -> None:
    parties.change_provider(provider, scheme="stripe")
    keys.import_provider_key(provider, SECRET, KeyUse.WEBHOOK)


def event(type_: str, about: dict[str, Any], **changes: Any) -> bytes:
    """The bytes of an event, with members that nobody here reads."""
    whole = {
        "id": f"evt_{uuid4().hex}",
        "object": "event",
        "api_version": "2025-01-27.acacia",
        "created": int(time.time()),
        "data": {"object": about, "previous_attributes": {}},
        "livemode": True,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": type_,
    }
    return json.dumps(whole | changes).encode()


def session(public_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": "cs_live_exampleSession",
        "object": "checkout.session",
        "amount_total": 4000,
        "customer_details": {"email": "alice@example.com"},
        "mode": "payment",
        "payment_status": "paid",
        "payment_intent": INTENT,
        "client_reference_id": None,
        "metadata": {"elicitation_id": public_id},
    } | changes


def intent(public_id: str, **changes: Any) -> dict[str, Any]:
    return {"id": INTENT, "object": "payment_intent", "metadata": {"elicitation_id": public_id}} | changes


def charge(public_id: str, **changes: Any) -> dict[str, Any]:
    about = {"id": "ch_3Qexample", "object": "charge", "payment_intent": INTENT, "refunded": True}
    return about | {"metadata": {"elicitation_id": public_id}} | changes


def signature(body: bytes, secret: str = SECRET, at: int | None = None) -> str:
    stamp = str(int(time.time()) if at is None else at)
    return f"t={stamp},v1={hmac.new(secret.encode(), stamp.encode() + b'.' + body, hashlib.sha256).hexdigest()}"


def send(desk: Desk, body: bytes, sent: str | None = None, *, slug: str = "") -> Any:
    """Deliver ``body``, signed unless ``sent`` says otherwise (``""``: without the header)."""
    value = signature(body) if sent is None else sent
    return Client(raise_request_exception=False).post(
        f"/api/v1/providers/{slug or desk.pay.slug}/events",
        body,
        content_type="application/json",
        headers={"stripe-signature": value} if value else {},
    )
