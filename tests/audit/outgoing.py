"""What the tests of outgoing messages share."""

from __future__ import annotations

from datetime import timedelta

from audit.models import Outgoing
from audit.signals import raise_signal
from elicitation.services import clock


def opened(rule: str = "reversal", about: str = "0" * 32, tenant: str = "acme") -> None:
    raise_signal(rule, tenant, about, clock.now())


def rows() -> list[tuple[str, str, int, str]]:
    return [(row.channel, row.status, row.attempts, row.problem) for row in Outgoing.objects.order_by("pk")]


def make_due() -> None:
    Outgoing.objects.filter(status="waiting").update(due_at=clock.now() - timedelta(seconds=1))
