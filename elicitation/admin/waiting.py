"""What waits for somebody, by the queue it waits in, oldest first: why, on whom, and the one next step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db.models import Exists, F, OuterRef, QuerySet
from django.urls import reverse

from audit.models import Outgoing, Signal
from elicitation.admin.entry import MISSED_AFTER, MISSED_STEP, SECOND
from elicitation.models import Elicitation, Evidence, EvidenceStatus, HonourProposal, LookupKind, Tenant
from elicitation.policy.lifecycle import EXPLANATIONS, LIVE, State
from elicitation.services import clock
from elicitation.services.explaining import (
    CONFLICT_STEP,
    LATE_STEP,
    UNBOUND_STEP,
    UNRESOLVED_STEP,
    WITHDRAWN_STEP,
    early_step,
)
from elicitation.services.move import state_at
from elicitation.services.scoping import Scope
from elicitation.services.timeline import PROVIDER_SAID
from elicitation.templatetags.desk import span

SHOWN: Final = 20
#: Of what people make by hand (proposals, open signals), so many are looked at.
_BY_HAND: Final = 1_000
#: Signals and messages are counted so far.
_COUNTED: Final = 100


class Queue(StrEnum):
    """What an entry can wait in. Where it waits in several, the first one counts."""

    PROPOSAL = "proposal"
    LATE = "late"
    MISSED = "missed"
    WITHDRAWN = "withdrawn"
    UNBOUND = "unbound"
    EARLY = "early"
    LOST = "lost"
    UNRESOLVED = "unresolved"
    CONFLICT = "conflict"


NAMES: Final[dict[Queue, str]] = {
    Queue.PROPOSAL: "Waits for a second operator",
    Queue.LATE: "Late evidence",
    Queue.MISSED: "Overdue, not swept",
    Queue.WITHDRAWN: "Held, destination withdrawn",
    Queue.UNBOUND: "Held, nobody says whose",
    Queue.EARLY: "Held before consent",
    Queue.LOST: "Confirmation lost",
    Queue.UNRESOLVED: "Unresolved after expiry",
    Queue.CONFLICT: "Conflicting evidence",
}


@dataclass(frozen=True, slots=True)
class Waiting:
    """One row: ``whom`` it waits on, and what that somebody does next."""

    entry: Elicitation
    state: State
    age: timedelta
    why: str
    whom: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Tab:
    """One queue to choose: how many wait in it, as far as that was counted."""

    queue: Queue
    name: str
    size: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Board:
    """Up to ``SHOWN`` rows of the ``chosen`` queue, or of all that need somebody; ``more``: there are more."""

    rows: list[Waiting]
    more: bool
    tabs: list[Tab]
    chosen: Queue | None


def board(scope: Scope, asked: str = "") -> Board:
    """What waits now within ``scope``. ``asked`` names a queue; anything else asks for what needs somebody in any."""
    now = clock.now()
    chosen = Queue(asked) if asked in set(Queue) else None
    found = {queue: _oldest(queue, scope, now) for queue in Queue}
    picked = [(chosen, entry) for entry in found[chosen]] if chosen else _merged(found)
    proposals = _proposals(entry for queue, entry in picked if queue is Queue.PROPOSAL)
    rows = [_waiting(entry, queue, now, proposals.get(entry.pk)) for queue, entry in picked[:SHOWN]]
    tabs = [Tab(queue, NAMES[queue], _size(found[queue]), queue is chosen) for queue in Queue if found[queue]]
    return Board(rows, len(picked) > SHOWN, tabs, chosen)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something beside the entries that waits for an operator; ``size`` says how many, as far as that was counted."""

    name: str
    size: str
    address: str
    waits: bool


def notices(scope: Scope, may: Callable[[str], bool]) -> list[Notice]:
    """Signals and messages within ``scope`` that wait; ``may`` says whether the person has a permission."""
    found = []
    if may("audit.view_signal"):
        left = scope.rows(Signal).exclude(status=Signal.Status.RESOLVED)
        link = reverse("admin:audit_signal_changelist")
        acknowledged = _notice("Acknowledged signals", left, link, Signal.Status.ACKNOWLEDGED)
        found.append(_notice("Open signals", left, link, Signal.Status.OPEN))
        found += [acknowledged] if acknowledged.waits else []
    if may("audit.view_outgoing"):
        link = reverse("admin:audit_outgoing_changelist")
        found.append(_notice("Messages not delivered", scope.rows(Outgoing), link, Outgoing.Status.DEAD))
    return found


def _notice(name: str, rows: QuerySet[Any], link: str, status: str) -> Notice:
    """Counted up to ``_COUNTED`` rows and no further."""
    count = len(rows.filter(status=status).values_list("pk", flat=True)[:_COUNTED])
    return Notice(name, f"{count} or more" if count == _COUNTED else str(count), f"{link}?status={status}", count > 0)


def in_queue(queue: Queue, entries: QuerySet[Elicitation], scope: Scope, now: datetime) -> QuerySet[Elicitation]:
    """Those of ``entries``, rows of ``scope``, that wait in ``queue``, by an index that holds little else."""
    match queue:
        case Queue.PROPOSAL:
            proposals = scope.rows(HonourProposal).filter(status=HonourProposal.Status.OPEN, expires_at__gt=now)
            valid = proposals.filter(version=F("elicitation__version")).order_by("pk")
            return entries.filter(pk__in=list(valid.values_list("elicitation_id", flat=True)[:_BY_HAND]))
        case Queue.LATE:
            return entries.filter(late_evidence=True)
        case Queue.MISSED:
            return entries.filter(state__in=sorted(LIVE), deadline__lte=now - MISSED_AFTER)
        case Queue.WITHDRAWN:
            return _held(entries, EvidenceStatus.WITHDRAWN)
        case Queue.UNBOUND:
            return _held(entries, EvidenceStatus.UNBOUND)
        case Queue.EARLY:
            return _held(entries, EvidenceStatus.HELD)
        case Queue.LOST:
            # Each tenant's entries of a state stand together in an index; of all tenants' they do not.
            tenants = list(scope.rows(Tenant).values_list("pk", flat=True))
            return entries.filter(tenant__in=tenants, state=State.RETRY_REQUIRED, held_evidence=False)
        case Queue.UNRESOLVED:
            return entries.filter(unresolved=True)
        case Queue.CONFLICT:
            signals = scope.rows(Signal).filter(rule="conflicting_result").exclude(status=Signal.Status.RESOLVED)
            about = signals.order_by("pk").values_list("about", flat=True)[:_BY_HAND]
            return entries.filter(uid__in=[UUID(uid) for uid in about])


def _held(entries: QuerySet[Elicitation], status: EvidenceStatus) -> QuerySet[Elicitation]:
    """Where one piece only waits for the person to agree, the others do not count: it is used when they do."""
    rows = Evidence.objects.filter(elicitation=OuterRef("pk"))
    held, early = Exists(rows.filter(status=status)), Exists(rows.filter(status=EvidenceStatus.HELD))
    mine = entries.filter(held, held_evidence=True)
    return mine if status is EvidenceStatus.HELD else mine.exclude(early)


def _oldest(queue: Queue, scope: Scope, now: datetime) -> list[Elicitation]:
    """One more than is shown. By the time of admission where the index is not in the order of rows: then nothing
    tempts the database to read all rows from the first one on."""
    order = ("admitted_at", "pk") if queue in (Queue.LOST, Queue.MISSED) else ("pk",)
    entries = scope.rows(Elicitation).select_related("service__tenant", "provider")
    rows = in_queue(queue, entries, scope, now)
    return list(rows.order_by(*order)[: SHOWN + 1])


def _merged(found: dict[Queue, list[Elicitation]]) -> list[tuple[Queue, Elicitation]]:
    """Each entry once, oldest first, less what only waits for the person's own answer."""
    first: dict[int, tuple[Queue, Elicitation]] = {}
    for queue in Queue:
        for entry in found[queue]:
            if queue is not Queue.EARLY or State(entry.state) is not State.ADMITTED:
                first.setdefault(entry.pk, (queue, entry))
    return sorted(first.values(), key=lambda pair: (pair[1].admitted_at, pair[1].pk))


def _proposals(entries: Iterable[Elicitation]) -> dict[int, HonourProposal]:
    asked = [entry.pk for entry in entries]
    rows = HonourProposal.objects.filter(elicitation__in=asked, status=HonourProposal.Status.OPEN)
    return {row.elicitation_id: row for row in rows.select_related("proposed_by")} if asked else {}


def _size(entries: list[Elicitation]) -> str:
    return f"more than {SHOWN}" if len(entries) > SHOWN else str(len(entries))


def _waiting(entry: Elicitation, queue: Queue, now: datetime, proposal: HonourProposal | None) -> Waiting:
    state = state_at(entry, now)
    why, whom, step = _words(entry, queue, state, now, proposal)
    return Waiting(entry, state, now - entry.admitted_at, why, whom, step)


def _words(
    entry: Elicitation, queue: Queue, state: State, now: datetime, proposal: HonourProposal | None
) -> tuple[str, str, str]:
    """Why it waits, on whom, and the one next step."""
    provider = f"provider {entry.provider.slug}" if entry.provider else "the provider"
    retry = EXPLANATIONS[State.RETRY_REQUIRED].next_step
    match queue:
        case Queue.PROPOSAL:
            name = proposal.proposed_by.get_username() if proposal else "An operator"
            left = f" It lapses in {span(proposal.expires_at - now)}." if proposal else ""
            return f"{name} proposes to honour its confirmation.{left}", "a second operator", SECOND
        case Queue.LATE:
            why = "A confirmation is kept that the entry could not use: money may have moved."
            return why, "an operator", LATE_STEP
        case Queue.MISSED:
            return "Its time is up, and the sweep has not ended it.", "the schedule", MISSED_STEP
        case Queue.WITHDRAWN:
            why = "A confirmation is held: the policy has withdrawn its destination."
            return why, "the policy's editors", WITHDRAWN_STEP
        case Queue.UNBOUND:
            return "A confirmation is held: nobody says whose it is.", provider, UNBOUND_STEP
        case Queue.EARLY:
            why = "A confirmation is held that came before the person had agreed."
            return why, "the person", early_step(state)
        case Queue.LOST:
            return _lost(entry, now), provider, retry
        case Queue.UNRESOLVED:
            why = "Its confirmation was lost, and was not found in time: money may have moved."
            return why, "an operator", UNRESOLVED_STEP
        case Queue.CONFLICT:
            return "A confirmation contradicts the recorded result.", "an operator", CONFLICT_STEP


def _lost(entry: Elicitation, now: datetime) -> str:
    """Since when, and what the provider said last."""
    said = ["Its confirmation is missing."]
    if entry.lost_at is not None:
        said = [f"Its confirmation has counted as lost for {span(now - entry.lost_at)}."]
    if entry.looked_up_at is not None and entry.lookup_outcome:
        asked = span(now - entry.looked_up_at)
        said.append(f"The provider was asked {asked} ago: {PROVIDER_SAID[entry.lookup_outcome]}.")
    elif entry.provider is not None and entry.provider.lookup == LookupKind.NONE:
        said.append("The provider cannot be asked.")
    if entry.next_lookup_at is not None:
        said.append(f"It is asked next in {span(entry.next_lookup_at - now)}.")
    return " ".join(said)
