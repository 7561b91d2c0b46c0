"""Asking a provider what became of an elicitation: once at a time, behind a circuit breaker, and noted on the entry.

The asking itself holds no transaction: read what is needed, ask, then record.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.db.models import F

from audit.ledger import append
from elicitation import providers
from elicitation.models import Elicitation, LookupKind, Provider
from elicitation.policy import identifiers
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.document import Document
from elicitation.policy.recheck import standing_destination
from elicitation.providers import Answer, Status
from elicitation.services import clock, keys, revisions
from elicitation.services.actors import Actor
from elicitation.services.judging import Claim
from elicitation.services.lookup import Person
from elicitation.services.move import Contended, about, remark, standing

#: An answer about one entry holds for this long: whoever asks again sooner is told the same.
FRESH: Final = timedelta(seconds=5)
#: So many look-ups in a row that fail, and nobody asks the provider for ``PAUSE``; then one asks, and the rest wait.
FAILURES: Final = 5
PAUSE: Final = timedelta(seconds=60)
#: How many threads of a web process may wait for providers; the others must stay free.
ASKING_AT_ONCE: Final = 2
#: How long one more waits for a place, in seconds.
PATIENCE: Final = 5.0
#: Between two look-ups of the reconciler, a share of the entry's age within these bounds.
SHARE: Final = 4
SOONEST, LATEST = timedelta(seconds=15), timedelta(hours=1)
#: How long after its window an entry that ended is still asked about.
GIVEN_UP_AFTER: Final = timedelta(days=3)

logger = logging.getLogger(__name__)

_places = threading.BoundedSemaphore(ASKING_AT_ONCE)


class LookupOutcome(StrEnum):
    """What asking the provider came to."""

    COMPLETED = "completed"
    STILL_PENDING = "still_pending"
    FAILED = "failed"
    PROVIDER_UNKNOWN = "provider_unknown"
    UNREACHABLE = "unreachable"
    NO_LOOKUP = "no_lookup"


_OUTCOMES: Final = {
    Status.COMPLETED: LookupOutcome.COMPLETED,
    Status.PENDING: LookupOutcome.STILL_PENDING,
    Status.FAILED: LookupOutcome.FAILED,
    Status.UNKNOWN: LookupOutcome.PROVIDER_UNKNOWN,
    Status.UNREACHABLE: LookupOutcome.UNREACHABLE,
}
_REPEATABLE: Final = frozenset({LookupOutcome.STILL_PENDING, LookupOutcome.PROVIDER_UNKNOWN, LookupOutcome.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Heard:
    """What the provider said. ``claim`` is there with ``COMPLETED`` alone, ``person`` where it names one; ``asked`` is
    false where nobody was asked anew."""

    outcome: LookupOutcome
    claim: Claim | None = None
    person: Person | None = None
    asked: bool = True


@dataclass(frozen=True, slots=True)
class Inquiry:
    """Everything that one look-up needs, read from the database: it may be made in any thread."""

    provider: Provider
    key: str
    elicitation_id: str

    def make(self) -> Answer:
        return providers.ask(self.provider.lookup, self.provider.status_url, self.key, self.elicitation_id)


NO_LOOKUP: Final = Heard(LookupOutcome.NO_LOOKUP, asked=False)
_LEFT_ALONE: Final = Heard(LookupOutcome.UNREACHABLE, asked=False)


def can_be_asked(provider: Provider | None) -> bool:
    """Whether the desk knows how to ask the provider at all."""
    return provider is not None and provider.lookup != LookupKind.NONE


def ask(entry: Elicitation) -> Heard:
    """Ask the provider of ``entry`` now. To be called outside of any transaction; takes a few seconds at most.

    Raises ``Contended`` when too many are asking: that says nothing about the work.
    """
    if not can_be_asked(entry.provider):
        return NO_LOOKUP
    if not _places.acquire(timeout=PATIENCE):
        raise Contended
    try:
        inquiry = inquire(entry)
        return inquiry if isinstance(inquiry, Heard) else heard(inquiry, inquiry.make())
    finally:
        _places.release()


def inquire(entry: Elicitation) -> Inquiry | Heard:
    """What has to be asked, or what is known without asking: nobody can be asked, somebody just did, or the provider
    is left alone for a while."""
    provider, now = entry.provider, clock.now()
    if provider is None or not can_be_asked(provider) or provider.closed_at or entry.tenant.closed_at:
        return NO_LOOKUP
    destination = standing_destination(standing(entry), revisions.active().document)
    if destination is not None and EvidenceSource.RECONCILE not in destination.sources:
        return NO_LOOKUP
    key = keys.lookup_key(provider)
    if key is None:
        return NO_LOOKUP
    if entry.looked_up_at is not None and now < entry.looked_up_at + FRESH and entry.lookup_outcome in _REPEATABLE:
        return Heard(LookupOutcome(entry.lookup_outcome), asked=False)
    if not _may_ask(provider, now):
        return _LEFT_ALONE
    return Inquiry(provider, key, identifiers.mint_text(entry.uid.bytes))


def heard(inquiry: Inquiry, answer: Answer) -> Heard:
    """The answer in the desk's words; the breaker learns from it."""
    mine = Provider.objects.filter(pk=inquiry.provider.pk)
    if answer.status is not Status.UNREACHABLE:
        mine.exclude(lookup_failures=0, lookup_paused_until=None, lookup_problem="").update(
            lookup_failures=0, lookup_paused_until=None, lookup_problem=""
        )
    else:
        said = {"provider": inquiry.provider.slug, "problem": answer.problem}
        logger.warning("a provider gave no answer", extra=said)
        mine.update(lookup_failures=F("lookup_failures") + 1, lookup_problem=answer.problem)
        mine.filter(lookup_failures__gte=FAILURES).update(lookup_paused_until=clock.now() + PAUSE)
    person = Person(*answer.subject) if answer.subject else None
    claim = Claim(answer.result_ref or "", answer.occurred_at, person) if answer.status is Status.COMPLETED else None
    return Heard(_OUTCOMES[answer.status], claim, person)


def _may_ask(provider: Provider, now: datetime) -> bool:
    """Whether the breaker lets a look-up through. After a pause one does, and holds the others off until it knows."""
    present = Provider.objects.get(pk=provider.pk)
    if present.lookup_paused_until is None:
        return True
    if now < present.lookup_paused_until:
        return False
    waiting = Provider.objects.filter(pk=provider.pk, lookup_paused_until=present.lookup_paused_until)
    return waiting.update(lookup_paused_until=now + PAUSE) == 1


def columns(entry: Elicitation, said: Heard, now: datetime) -> dict[str, Any]:
    """What an entry keeps of a look-up: when, what, and when the reconciler asks next."""
    kept: dict[str, Any] = {"next_lookup_at": next_lookup(entry, said.outcome, now)}
    if said.outcome is not LookupOutcome.NO_LOOKUP:
        kept["lookup_outcome"] = said.outcome
    return kept | {"looked_up_at": now} if said.asked else kept


def note(entry: Elicitation, by: Actor, said: Heard, now: datetime) -> None:
    """Keep what the provider said about ``entry``; the ledger gets it when it is not what was said before.

    To be called in a transaction. Raises ``Superseded``.
    """
    news = said.outcome is not LookupOutcome.NO_LOOKUP and said.outcome != entry.lookup_outcome
    remark(entry, **columns(entry, said, now))
    if news:
        append(now, about(entry, by, "lookup", outcome=said.outcome, state_from=entry.state, state_to=entry.state))


def first_lookup(entry: Elicitation, document: Document, since: datetime) -> datetime | None:
    """When work that began at ``since`` has usually been confirmed: after that the reconciler takes the entry up."""
    destination = standing_destination(standing(entry), document)
    return None if destination is None else since + timedelta(seconds=destination.usual_seconds)


def next_lookup(entry: Elicitation, outcome: LookupOutcome, now: datetime) -> datetime | None:
    """When the reconciler asks about ``entry`` again; ``None``: not before something happens to it."""
    later = now + min(max((now - entry.admitted_at) / SHARE, SOONEST), LATEST)
    match outcome:
        case LookupOutcome.NO_LOOKUP:
            return None
        case LookupOutcome.COMPLETED | LookupOutcome.FAILED:
            # What did not pass the checks may have been somebody else's work: a live entry still waits for its own.
            return later if entry.deadline is not None else None
        case LookupOutcome.PROVIDER_UNKNOWN if entry.deadline is None:
            # Nothing has been done so far; until the window ends somebody may still be on the page.
            return entry.window_ends_at + SOONEST if now < entry.window_ends_at else None
        case LookupOutcome.PROVIDER_UNKNOWN | LookupOutcome.STILL_PENDING | LookupOutcome.UNREACHABLE:
            ended_long_ago = entry.deadline is None and now > entry.window_ends_at + GIVEN_UP_AFTER
            return None if ended_long_ago else later
