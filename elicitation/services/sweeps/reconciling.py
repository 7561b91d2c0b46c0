"""The sweep that looks for completions that never arrived."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from elicitation.models import Elicitation
from elicitation.policy.decision import Delivery
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, status
from elicitation.services.judging import carry_out, examine
from elicitation.services.lookup import RELATED
from elicitation.services.move import Step, expire_if_due, move, settled
from elicitation.services.status import Heard, Inquiry, LookupOutcome
from elicitation.services.sweeps.heartbeat import beat

#: Providers that are asked at once; each is given a few seconds.
AT_ONCE: Final = 8
#: A pass takes up no new batch after this long, in seconds.
PASS_SECONDS: Final = 10.0
#: Taken up by one worker; should that die, another takes it up after this long.
LEASE: Final = timedelta(seconds=60)

logger = logging.getLogger(__name__)


def reconcile() -> int:
    """Ask the providers about entries whose usual time is over, whose confirmation was lost, or which ended after a
    visit.

    1. Claim a batch of due entries: each gets a later due time, so that no other worker takes it, and a dead one's
       come up again.
    2. Ask the providers, several at once, in no transaction.
    3. Apply each answer in a transaction of its own: what was done outside completes the entry or is kept as late
       evidence, a failure ends it; where nobody can be asked, a loss is suspected.
    4. A row that fails is logged by its number, and stays due for later; it never stops the others.

    Returns how many entries were looked at. Touches nothing that is not due.
    """
    began, looked_at = time.monotonic(), 0
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="reconcile") as pool:
        while time.monotonic() - began < PASS_SECONDS:
            batch = _claim()
            inquiries = [(entry, status.inquire(entry)) for entry in batch]
            answers = [
                (entry, found, pool.submit(found.make) if isinstance(found, Inquiry) else None)
                for entry, found in inquiries
            ]
            for entry, found, answer in answers:
                try:
                    said = found if isinstance(found, Heard) else None
                    if isinstance(found, Inquiry) and answer is not None:
                        said = status.heard(found, answer.result())
                    if said is not None:
                        _apply(entry.pk, said)
                except Exception:
                    logger.exception("an entry could not be reconciled", extra={"elicitation": entry.pk})
            looked_at += len(batch)
            if len(batch) < AT_ONCE:
                break
    beat("reconcile", looked_at)
    return looked_at


def _claim() -> list[Elicitation]:
    now = clock.now()
    with transaction.atomic():
        due = Elicitation.objects.filter(next_lookup_at__lte=now).order_by("next_lookup_at")
        batch = list(due.select_for_update(skip_locked=True, of=("self",)).select_related(*RELATED)[:AT_ONCE])
        # When to ask is no event: the version stays.
        Elicitation.objects.filter(pk__in=[entry.pk for entry in batch]).update(next_lookup_at=now + LEASE)
    return batch


def _apply(pk: int, said: Heard) -> None:
    def attempt() -> None:
        entry, now = Elicitation.objects.select_related(*RELATED).get(pk=pk), clock.now()
        expire_if_due(entry, actors.SCHEDULER, now)
        _apply_once(entry, said, now)

    settled(attempt)


def _apply_once(entry: Elicitation, said: Heard, now: datetime) -> None:
    if State(entry.state) in (State.COMPLETE, State.ACCEPTED):
        return  # somebody was first
    before = entry.lookup_outcome
    if said.asked:
        status.note(entry, actors.SCHEDULER, said, now)
    if said.claim is not None:
        assert entry.provider is not None
        judged = examine(entry, entry.provider, said.claim, EvidenceSource.RECONCILE, now)
        carry_out(entry, actors.provider(entry.provider), judged, now)
        return
    live = not State(entry.state).terminal
    if said.outcome is LookupOutcome.FAILED and live:
        assert entry.provider is not None
        failure = Step(event=Event.PROVIDER_FAILURE, changes={"cancelled_by": "provider"}, record={"outcome": "failed"})
        move(entry, actors.provider(entry.provider), failure, at=now)
    elif _is_suspected(entry, said, before):
        move(entry, actors.SCHEDULER, Step(event=Event.LOST, changes={"lost_at": entry.lost_at or now}), at=now)
    elif not said.asked:
        _put_off(entry, said, now)


def _is_suspected(entry: Elicitation, said: Heard, before: str) -> bool:
    """Whether the confirmation has probably been lost: the usual time is over, and nobody can say what became of the
    work, or nobody answers for the second time. A provider that answers knows better than the clock."""
    silent = said.outcome is LookupOutcome.UNREACHABLE and before == LookupOutcome.UNREACHABLE
    if said.outcome is not LookupOutcome.NO_LOOKUP and not silent:
        return False
    if State(entry.state) is State.CONSENT_PENDING:
        return True
    visited = entry.delivery == Delivery.URL_REQUIRED and entry.shown_at is not None
    return State(entry.state) is State.ADMITTED and visited


def _put_off(entry: Elicitation, said: Heard, now: datetime) -> None:
    """Nobody was asked anew, so there is nothing to keep but the time of the next try."""
    later = status.next_lookup(entry, said.outcome, now)
    Elicitation.objects.filter(pk=entry.pk, version=entry.version).update(next_lookup_at=later)
