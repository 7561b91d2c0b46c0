"""What waits for an operator, oldest first: why, and the one next step."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.db.models import Q

from elicitation.models import Elicitation, Evidence, EvidenceStatus
from elicitation.policy.lifecycle import LIVE, State
from elicitation.services import clock
from elicitation.services.explaining import explain
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
    held = Q(state=State.CONSENT_PENDING, held_evidence=True)
    missed = Q(state__in=sorted(LIVE), deadline__lte=now - MISSED_AFTER)
    rows = (
        Elicitation.objects.filter(stuck | held | missed)
        .select_related("service__tenant", "provider")
        .order_by("pk")[: SHOWN + 1]
    )
    found = list(rows)
    early = _held_early(found)
    return [_waiting(entry, now, entry.pk in early) for entry in found[:SHOWN]], len(found) > SHOWN


def _held_early(entries: list[Elicitation]) -> set[int]:
    """Entries with held evidence that names the person and waits only for the person's own yes."""
    asked = [entry.pk for entry in entries if entry.held_evidence]
    rows = Evidence.objects.filter(elicitation__in=asked, status=EvidenceStatus.HELD)
    return set(rows.values_list("elicitation_id", flat=True)) if asked else set()


def _waiting(entry: Elicitation, now: datetime, early: bool) -> Waiting:
    state = state_at(entry, now)
    step = explain(entry, state).next_step
    if entry.late_evidence:
        why = "A confirmation is kept that the entry could not use."
    elif entry.deadline is not None and entry.deadline <= now - MISSED_AFTER:
        why = "Its time is up, and the sweep has not ended it."
        step = "Look whether the schedule runs: /readyz says so."
    elif entry.held_evidence and early:
        why = "A confirmation is held that came before the person had agreed."
    elif entry.held_evidence:
        why = "A confirmation is held: nobody says whose it is, or its destination was withdrawn."
    elif entry.lost_at is not None:
        why = "Its confirmation was reported as lost."
    else:
        why = "Its confirmation is missing."
    return Waiting(entry, state, now - entry.admitted_at, why, step)
