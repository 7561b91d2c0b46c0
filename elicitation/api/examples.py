"""One body for each call whose shape is not plain from its schema, as it can be sent."""

from __future__ import annotations

from typing import Any, Final

_SUBJECT: Final = {"iss": "https://id.example", "sub": "u-4711"}
_OPERATION: Final = {
    "method": "tools/call",
    "target": "pay_surcharge",
    "arguments_digest": "sha256:93156e25d62dc7396df74dfa83dbc2eb9f6dcc0e3917254a3cb3690ff91dce48",
}

ADMISSION: Final[dict[str, Any]] = {
    "wire": "2025-11-25",
    "delivery": "create",
    "client": {"name": "x-client", "version": "2.1", "capabilities": {"elicitation": {"form": {}, "url": {}}}},
    "subject": _SUBJECT,
    "operation": _OPERATION,
    "purpose": "payment",
    "request": {"mode": "url", "message": "Pay the surcharge.", "url": "https://consent.example.com/start?flow=pay"},
}
ANSWER: Final[dict[str, Any]] = {"subject": _SUBJECT, "action": "accept", "content": "absent", "latency_ms": 9000}
CONSUMPTION: Final[dict[str, Any]] = {"subject": _SUBJECT, "operation": _OPERATION}
EXPORT: Final[dict[str, Any]] = {"format": "jsonl", "from": "2026-01-01T00:00:00Z", "to": None, "event": "consume"}
STRIPE_EVENT: Final[dict[str, Any]] = {
    "id": "evt_1QexampleEvent",
    "object": "event",
    "type": "checkout.session.completed",
    "created": 1769860800,
    "data": {
        "object": {
            "id": "cs_live_exampleSession",
            "object": "checkout.session",
            "mode": "payment",
            "payment_status": "paid",
            "payment_intent": "pi_3QexampleRef",
            "client_reference_id": None,
            "metadata": {"elicitation_id": "elc_aaaaaaaaaaaaaaaaaaaaaaaaaa"},
        }
    },
}
PROVIDER_EVENT: Final[dict[str, Any]] = {
    "type": "elicitation.completed",
    "timestamp": "2026-01-31T12:00:03Z",
    "data": {
        "elicitation_id": "elc_aaaaaaaaaaaaaaaaaaaaaaaaaa",
        "result_ref": "pi_3QexampleRef",
        "occurred_at": "2026-01-31T12:00:00Z",
        "subject": _SUBJECT,
    },
}
