"""Signals: one open row for a rule and what it is about, which counts; opening it sends it out, people review it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import F, Max

from audit import outbox, vocabulary
from audit.ledger import NotAdmissible
from audit.models import Signal

#: How often a signal is looked for that others open and resolve at the same time.
_TRIES: Final = 5


class About(NamedTuple):
    """Whose log a signal belongs to, and the opaque id of what it is about."""

    tenant: str
    about: str


@dataclass(frozen=True, slots=True)
class Observed:
    """What a rule found in its window: how many events there were, the first and the last of them."""

    count: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Seen:
    """How a signal stood when a person decided on it."""

    status: Signal.Status
    count: int


class Reviewed(StrEnum):
    """What came of a review. In all cases but ``DONE`` nothing was changed."""

    DONE = "done"
    OVERTAKEN = "overtaken"
    COUNTED = "counted"


def raise_signal(rule: str, tenant: str, about: str, at: datetime) -> None:
    """Open the signal, or count one more event. To be called in the transaction of what it tells of.

    Raises ``NotAdmissible`` for a rule that is not in the vocabulary.
    """
    with transaction.atomic():
        signal, opened = _stand(rule, About(tenant, about), Observed(1, at, at), at)
        if not opened:
            Signal.objects.filter(pk=signal.pk).update(count=F("count") + 1, last_at=at)


def observe(rule: str, about: About, found: Observed, at: datetime) -> bool:
    """Open the signal with what a rule found in its window, or let it show the highest count of any window so far, so
    that looking twice at the same events counts them once. Returns whether it was opened.

    Raises ``NotAdmissible`` for a rule that is not in the vocabulary.
    """
    with transaction.atomic():
        signal, opened = _stand(rule, about, found, at)
        if not opened:
            mine = Signal.objects.filter(pk=signal.pk)
            mine.filter(count__lt=found.count).update(count=found.count)
            mine.filter(last_at__lt=found.last_at).update(last_at=found.last_at)
    return opened


def observe_again(rule: str, about: About, event_at: datetime, at: datetime) -> bool:
    """Open the signal with one event, or count it when it is later than the last: an event that lasts is seen by many
    looks and counts once. Returns whether the signal was opened.

    Raises ``NotAdmissible`` for a rule that is not in the vocabulary.
    """
    with transaction.atomic():
        signal, opened = _stand(rule, about, Observed(1, event_at, event_at), at)
        if not opened:
            earlier = Signal.objects.filter(pk=signal.pk, last_at__lt=event_at)
            earlier.update(count=F("count") + 1, last_at=event_at)
    return opened


def told_until(rule: str, since: datetime) -> Mapping[About, datetime]:
    """The last event that resolved signals of ``rule`` told of, where it is at or after ``since``: people have dealt
    with those events, so that only later ones may open the signal anew."""
    resolved = Signal.objects.filter(rule=rule, status=Signal.Status.RESOLVED, last_at__gte=since)
    rows = resolved.values_list("tenant", "about").annotate(until=Max("last_at")).order_by()
    return {About(tenant, about): until for tenant, about, until in rows}


def acknowledge(pk: int) -> Reviewed:
    """Note that somebody looks at the open signal ``pk``, which goes on counting; ``OVERTAKEN`` when it is not open any
    more. To be called in the transaction that writes it down."""
    still = Signal.objects.filter(pk=pk, status=Signal.Status.OPEN)
    return Reviewed.DONE if still.update(status=Signal.Status.ACKNOWLEDGED) == 1 else Reviewed.OVERTAKEN


def resolve(pk: int, seen: Seen) -> Reviewed:
    """Close the signal ``pk``, as it was ``seen``: the next event opens another one. ``OVERTAKEN`` when somebody has
    reviewed it since, ``COUNTED`` when more has happened. To be called in the transaction that writes it down."""
    still = Signal.objects.filter(pk=pk, status=seen.status).exclude(status=Signal.Status.RESOLVED)
    if still.filter(count=seen.count).update(status=Signal.Status.RESOLVED) == 1:
        return Reviewed.DONE
    return Reviewed.COUNTED if still.exists() else Reviewed.OVERTAKEN


def _stand(rule: str, about: About, found: Observed, at: datetime) -> tuple[Signal, bool]:
    """The open signal, and whether it was opened just now. It is held until the transaction ends, so that nobody
    resolves it before the event is counted."""
    if rule not in vocabulary.SIGNALS:
        raise NotAdmissible("signal")
    unresolved = Signal.objects.select_for_update().exclude(status=Signal.Status.RESOLVED)
    first = {"count": found.count, "first_at": found.first_at, "last_at": found.last_at}
    for left in reversed(range(_TRIES)):
        try:
            signal, opened = unresolved.get_or_create(**about._asdict(), rule=rule, defaults=first)
            break
        except IntegrityError:  # somebody else opened it, and it was resolved before it could be read
            if not left:
                raise
    if opened:
        outbox.announce(signal, at)
    return signal, opened
