"""What the tests of signals share: asking, being refused, one look with given thresholds, and what stands then."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from audit.models import Signal
from elicitation.policy.signal_rules import DEFAULT
from elicitation.services import clock, signalling
from tests import builders
from tests.builders import Desk

HOUR = timedelta(hours=1)
MICROSECOND = timedelta(microseconds=1)

CREDENTIAL_FORM = {
    "mode": "form",
    "message": "Sign in",
    "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}},
}
LINKS = {
    "suffix": "https://consent.example.com.evil.example/start?flow=pay",
    "userinfo": "https://consent.example.com@evil.example/start?flow=pay",
    "punycode": "https://xn--cnsent-k6a.example.com/start?flow=pay",
    "backslash": "https://evil.example\\@consent.example.com/start?flow=pay",
    "other script": "https://c\u043ensent.example.com/start?flow=pay",
    "number": "https://192.0.2.7/start?flow=pay",
    "dot": "https://consent.example.com./start?flow=pay",
    "escape": "https://consent%2eexample.com/start?flow=pay",
}


def refuse(desk: Desk, key: str | None = None, path: str = "elicitations", **changes: Any) -> None:
    said = desk.call(path, builders.admission(**changes), key=key)
    assert said.status_code == (200 if path == "decisions" else 422), said.content


def standing() -> list[tuple[str, str, str, int]]:
    """Every signal but that of the tests' own activation, which is done alone."""
    rows = Signal.objects.exclude(rule="activation_alone").order_by("rule", "tenant", "pk")
    return [(row.tenant, row.rule, row.about, row.count) for row in rows]


def judge(at: datetime | None = None, **thresholds: Any) -> list[tuple[str, str, str, int]]:
    """What stands after one look with the default thresholds, changed as given; sweeps are never late here."""
    signalling.judge(replace(DEFAULT, late_sweep_seconds=86_400, **thresholds), at or clock.now())
    return standing()


def resolve() -> None:
    Signal.objects.update(status=Signal.Status.RESOLVED)


def uid(public_id: str) -> str:
    return str(builders.entry_of(public_id).uid.hex)
