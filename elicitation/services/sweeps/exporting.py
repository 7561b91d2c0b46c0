"""The sweep that makes exports and lets go of those that were kept long enough."""

from __future__ import annotations

from typing import Final

from django.conf import settings

from elicitation.services import exports
from elicitation.services.sweeps.heartbeat import beat

#: Seconds of one pass: without workers, the other sweeps wait for it.
_ALONE: Final = 2.0
_WORKER: Final = 20.0


def export() -> int:
    """Go on with one export for a slice of time. Returns how many entries it wrote and how many files it removed."""
    seconds = _ALONE if settings.CELERY_TASK_ALWAYS_EAGER else _WORKER
    done = exports.let_go() + exports.carry_on(seconds)
    beat("export", done)
    return done
