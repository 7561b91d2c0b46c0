"""Signals on their way out: which channels there are, whose turn it is, and when a message is tried again or given up.

Sending itself is done elsewhere, outside of any transaction. At least once: a sender that dies after sending leaves its
message to be sent again under the same ``uid``.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from django.conf import settings
from django.db import transaction

from audit.models import Outgoing, Signal

Channel = Outgoing.Channel

#: How long to wait after the first try, the second, and so on. A message that fails once more is given up.
BACKOFF: Final = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
TRIES: Final = len(BACKOFF) + 1
#: For how long a message is its sender's alone: longer than any try takes.
LEASE: Final = timedelta(minutes=2)


class Problem(StrEnum):
    """Why a message did not arrive."""

    NOT_CONFIGURED = "not_configured"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    REDIRECT = "redirect"
    REFUSED = "refused"
    FAILED = "failed"
    MALFORMED = "malformed"
    AUTHENTICATION = "authentication"
    INTERRUPTED = "interrupted"
    INTERNAL = "internal"


def channels() -> list[Channel]:
    """The channels that are configured."""
    configured = {
        Channel.EMAIL: bool(settings.DESK_SIGNAL_EMAILS),
        Channel.WEBHOOK: bool(settings.DESK_SIGNAL_WEBHOOK_URL),
    }
    return [channel for channel in Channel if configured[channel]]


def announce(signal: Signal, at: datetime) -> None:
    """Put ``signal`` into the outbox of every channel. To be called in the transaction that opened it."""
    Outgoing.objects.bulk_create(
        Outgoing(signal=signal, channel=channel, made_at=at, due_at=at) for channel in channels()
    )


def claim(channel: Channel, at: datetime) -> Outgoing | None:
    """The message that has been due for longest, taken for ``LEASE`` and with this try counted; ``None`` for none.

    Rows that another sender holds are passed over. One whose last try was never heard of again is given up.
    """
    while True:
        with transaction.atomic():
            due = Outgoing.objects.filter(channel=channel, status=Outgoing.Status.WAITING, due_at__lte=at)
            row = due.select_for_update(skip_locked=True).order_by("due_at", "pk").first()
            if row is None:
                return None
            if row.attempts < TRIES:
                row.attempts, row.due_at = row.attempts + 1, at + LEASE
                Outgoing.objects.filter(pk=row.pk).update(attempts=row.attempts, due_at=row.due_at)
                return row
            _give_up(row, Problem.INTERRUPTED)


def sent(row: Outgoing, at: datetime) -> None:
    """Note that the message arrived."""
    arrived = Outgoing.objects.filter(pk=row.pk).exclude(status=Outgoing.Status.SENT)
    arrived.update(status=Outgoing.Status.SENT, sent_at=at, problem="")


def failed(row: Outgoing, problem: Problem, at: datetime) -> None:
    """Note that the try which ``row`` was claimed for failed: it is tried again later, or given up.

    Changes nothing when the lease had run out and somebody else has taken the message since.
    """
    if row.attempts >= TRIES:
        _give_up(row, problem)
        return
    mine = Outgoing.objects.filter(pk=row.pk, attempts=row.attempts, status=Outgoing.Status.WAITING)
    mine.update(problem=problem, due_at=at + BACKOFF[row.attempts - 1])


def revive(pk: int, at: datetime) -> bool:
    """Make a message that was given up due again, with all its tries. Returns whether it was given up before."""
    dead = Outgoing.objects.filter(pk=pk, status=Outgoing.Status.DEAD)
    return dead.update(status=Outgoing.Status.WAITING, attempts=0, problem="", due_at=at) == 1


def _give_up(row: Outgoing, problem: Problem) -> None:
    mine = Outgoing.objects.filter(pk=row.pk, attempts=row.attempts, status=Outgoing.Status.WAITING)
    mine.update(status=Outgoing.Status.DEAD, problem=problem)
