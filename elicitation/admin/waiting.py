"""What waits for an operator, oldest first: why, and the one next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from elicitation.admin.entry import next_step
from elicitation.models import Elicitation
from elicitation.policy.lifecycle import LIVE, State
from elicitation.services import clock
from elicitation.services.move import state_at

SHOWN: Final = 20
#: The sweep runs every few seconds; an entry that is overdue for longer was missed.
MISSED_AFTER: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Waiting:
    entry: Elicitation
    state: State
    age: timedelta
    why: str
    next_step: str


def waiting() -> tuple[list[Waiting], bool]:
    """Up to ``SHOWN`` entries, and whether there are more."""
    now = clock.now()
    stuck = Q(state=State.RETRY_REQUIRED) | Q(late_evidence=True)
    missed = Q(state__in=sorted(LIVE), deadline__lte=now - MISSED_AFTER)
    rows = (
        Elicitation.objects.filter(stuck | missed)
        .select_related("service__tenant", "provider")
        .order_by("pk")[: SHOWN + 1]
    )
    found = [_waiting(entry, now) for entry in rows]
    return found[:SHOWN], len(found) > SHOWN


def _waiting(entry: Elicitation, now: datetime) -> Waiting:
    state = state_at(entry, now)
    step = next_step(entry, state)
    if entry.late_evidence:
        why = "A confirmation came after it had ended."
    elif entry.deadline is not None and entry.deadline <= now - MISSED_AFTER:
        why = "Its time is up, and the sweep has not ended it."
        step = "Look whether the schedule runs: /readyz says so."
    else:
        why = "Its confirmation was lost, or is held."
    return Waiting(entry, state, now - entry.admitted_at, why, step)
