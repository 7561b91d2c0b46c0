"""Refused attempts on the ledger with bounded noise: the first of a kind, then a count that is one closing entry."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import F

from audit.ledger import append
from audit.signals import raise_signal
from elicitation.models import Elicitation, RefusedAttempt
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.services import actors
from elicitation.services.actors import Actor
from elicitation.services.lookup import RELATED
from elicitation.services.move import about

#: Repeats by the same caller about the same thing within this time are counted, not written one by one.
QUIET: Final = timedelta(hours=1)
#: Refusals that somebody must look at from the first on, by the signal that they raise.
_SIGNALS: Final[dict[str, str]] = {
    EvidenceOutcome.CONFLICT_DENIED: "conflicting_result",
    EvidenceOutcome.RESULT_REUSED_DENIED: "reused_result",
}


logger = logging.getLogger(__name__)


def note(
    entry: Elicitation,
    by: Actor,
    outcome: str,
    at: datetime,
    *,
    unnamed: bool = False,
    always: bool = False,
    **columns: Any,
) -> None:
    """Record that ``by`` was refused with ``outcome``. ``unnamed``: the owner's log must not learn who it was.
    ``always``: something was stored, so this is no mere repeat.

    To be called in the transaction that decided it.
    """
    if outcome in _SIGNALS:
        raise_signal(_SIGNALS[outcome], entry.tenant.slug, entry.uid.hex, at)
    attempt, first = _counter(entry, by, outcome, at)
    if not first and not always:
        if at < attempt.since + QUIET:
            RefusedAttempt.objects.filter(pk=attempt.pk).update(count=F("count") + 1)
            return
        _close(attempt, entry, at)
        RefusedAttempt.objects.filter(pk=attempt.pk).update(since=at, count=1)
    shown = actors.UNNAMED if unnamed else by
    append(
        at,
        about(entry, shown, "refused", outcome=outcome, state_from=entry.state, state_to=entry.state, **columns),
    )


def _counter(entry: Elicitation, by: Actor, outcome: str, at: datetime) -> tuple[RefusedAttempt, bool]:
    """The row that counts this refusal, held until the transaction ends, and whether it is its first."""
    while True:
        attempt, first = RefusedAttempt.objects.get_or_create(
            elicitation=entry, outcome=outcome, caller=by.caller, defaults={"since": at}
        )
        held = attempt if first else RefusedAttempt.objects.select_for_update().filter(pk=attempt.pk).first()
        if held is not None:  # else a sweep has just closed it
            return held, first


def close_quiet(at: datetime, limit: int) -> int:
    """Write the closing entries of hours that are over. Returns how many rows were closed.

    A row that another sweep holds is left to it; one that fails is logged by its number and stops no other.
    """
    over = RefusedAttempt.objects.filter(since__lte=at - QUIET).order_by("since")[:limit]
    return sum(_closed(attempt, at) for attempt in over)


def _closed(attempt: RefusedAttempt, at: datetime) -> bool:
    try:
        with transaction.atomic():
            rows = RefusedAttempt.objects.select_for_update(skip_locked=True)
            mine = rows.filter(pk=attempt.pk, since=attempt.since).first()
            if mine is None:
                return False  # another sweep closed it, or the refusal happened again
            _close(mine, Elicitation.objects.select_related(*RELATED).get(pk=mine.elicitation_id), at)
            mine.delete()
            return True
    except Exception:
        logger.exception("the refusals of an hour could not be closed", extra={"elicitation": attempt.elicitation_id})
        return False


def _close(attempt: RefusedAttempt, entry: Elicitation, at: datetime) -> None:
    if attempt.count > 1:
        append(
            at,
            about(
                entry,
                actors.SCHEDULER,
                "refused_again",
                outcome=attempt.outcome,
                state_from=entry.state,
                state_to=entry.state,
                repeat_count=attempt.count - 1,
            ),
        )
