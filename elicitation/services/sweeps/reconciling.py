"""The sweep that looks for completions that never arrived."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from elicitation.models import Elicitation
from elicitation.policy.decision import Delivery
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, refusals, status
from elicitation.services.judging import carry_out, examine
from elicitation.services.lookup import RELATED, is_persons
from elicitation.services.move import Step, expire_if_due, move, settled
from elicitation.services.outcomes import failure
from elicitation.services.status import Heard, LookupOutcome
from elicitation.services.sweeps.heartbeat import beat

#: Providers that are asked at once; each is given a few seconds.
AT_ONCE: Final = 8
#: Of one provider in a batch: one that is slow must not hold up the others.
OF_ONE_PROVIDER: Final = 3
#: Due entries among which a batch is chosen.
SEEN: Final = 500
#: A pass takes up no new batch after this long, in seconds.
PASS_SECONDS: Final = 5.0
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
            waiting = [(entry, _asked(entry, pool)) for entry in batch]
            for entry, answer in waiting:
                if answer is not None:
                    _heard(entry, answer)
            looked_at += len(batch)
            if not batch:
                break
    beat("reconcile", looked_at)
    return looked_at


def _asked(entry: Elicitation, pool: ThreadPoolExecutor) -> Callable[[], Heard] | None:
    """What gives the provider's word about ``entry``, asked for already; ``None`` for a row that fails."""
    try:
        found = status.inquire(entry)
    except Exception:
        logger.exception("an entry could not be asked about", extra={"elicitation": entry.pk})
        return None
    if isinstance(found, Heard):
        return lambda: found
    answer = pool.submit(found.make)
    return lambda: status.heard(found, answer.result())


def _heard(entry: Elicitation, answer: Callable[[], Heard]) -> None:
    try:
        _apply(entry.pk, answer())
    except Exception:
        logger.exception("an entry could not be reconciled", extra={"elicitation": entry.pk})


def _claim() -> list[Elicitation]:
    now = clock.now()
    with transaction.atomic():
        due = Elicitation.objects.filter(next_lookup_at__lte=now).order_by("next_lookup_at")
        chosen = _fairly(due.values_list("pk", "provider")[:SEEN])
        free = due.filter(pk__in=chosen).select_for_update(skip_locked=True, of=("self",))
        batch = list(free.select_related(*RELATED))
        # When to ask is no event: the version stays.
        Elicitation.objects.filter(pk__in=[entry.pk for entry in batch]).update(next_lookup_at=now + LEASE)
    return batch


def _fairly(due: Iterable[tuple[int, int | None]]) -> list[int]:
    """The first of the ``due`` rows, but not more than a few of each provider."""
    chosen: list[int] = []
    taken: Counter[int | None] = Counter()
    for pk, provider in due:
        if taken[provider] < OF_ONE_PROVIDER and len(chosen) < AT_ONCE:
            taken[provider] += 1
            chosen.append(pk)
    return chosen


def _apply(pk: int, said: Heard) -> None:
    def attempt() -> None:
        entry, now = Elicitation.objects.select_related(*RELATED).get(pk=pk), clock.now()
        expire_if_due(entry, actors.SCHEDULER, now)
        _apply_once(entry, said, now)

    settled(attempt)


def _apply_once(entry: Elicitation, said: Heard, now: datetime) -> None:
    if State(entry.state) is State.COMPLETE:
        Elicitation.objects.filter(pk=entry.pk).update(next_lookup_at=None)
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
        by = actors.provider(entry.provider)
        if said.person is not None and not is_persons(entry, said.person):
            refusals.note(entry, by, EvidenceOutcome.WRONG_USER_DENIED, now)
        else:
            move(entry, by, failure(), at=now)
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
