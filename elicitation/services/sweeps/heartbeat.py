"""The heartbeats of sweeps, which ``/readyz`` and the signals read."""

from __future__ import annotations

from elicitation.models import Heartbeat
from elicitation.services import clock


def beat(name: str, count: int) -> None:
    """Note that the sweep ran to its end, and how much it did."""
    Heartbeat.objects.update_or_create(name=name, defaults={"at": clock.now(), "count": count})
