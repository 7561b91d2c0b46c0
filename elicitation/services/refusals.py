"""Refused attempts on the ledger with bounded noise: the first of a kind, then a count that is one closing entry."""

from __future__ import annotations

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
    attempt, first = RefusedAttempt.objects.get_or_create(
        elicitation=entry, outcome=outcome, caller=by.caller, defaults={"since": at}
    )
    if not first and at < attempt.since + QUIET and not always:
        RefusedAttempt.objects.filter(pk=attempt.pk).update(count=F("count") + 1)
        return
    if not first and not always:
        _close(attempt, entry, at)
        RefusedAttempt.objects.filter(pk=attempt.pk).update(since=at, count=1)
    shown = actors.UNNAMED if unnamed else by
    append(
        at,
        about(entry, shown, "refused", outcome=outcome, state_from=entry.state, state_to=entry.state, **columns),
    )


def close_quiet(at: datetime, limit: int) -> int:
    """Write the closing entries of hours that are over. Returns how many rows were closed."""
    over = RefusedAttempt.objects.filter(since__lte=at - QUIET).order_by("pk")[:limit]
    closed = 0
    for attempt in over:
        with transaction.atomic():
            mine = RefusedAttempt.objects.select_for_update().filter(pk=attempt.pk, since=attempt.since).first()
            if mine is None:
                continue  # another sweep closed it, or the refusal happened again
            entry = Elicitation.objects.select_related(*RELATED).get(pk=mine.elicitation_id)
            _close(mine, entry, at)
            mine.delete()
            closed += 1
    return closed


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
