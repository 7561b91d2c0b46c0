"""One elicitation in words: where it stands, the four facts, what else is known, and what operators did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from elicitation.models import Elicitation, Evidence
from elicitation.policy.decision import Mode
from elicitation.policy.lifecycle import State
from elicitation.services.explaining import explain
from elicitation.services.move import overdue, state_at
from elicitation.services.operators import CancelReason
from elicitation.services.registry import PROBABLY_NOT_SHOWN_MS
from elicitation.services.timeline import REASONS, TimelineLine, timeline, took

_CONSENT: Final = {
    "answer": "the client reported the person's answer",
    "connect_page": "the person signed in on the desk's page and agreed",
    "user_report": "the person, signed in, reported that the work is done",
    "evidence_only": "nobody reported an answer: the confirmation stands for it",
}
_COMPLETION: Final = {
    "webhook": "a signed message of the provider",
    "server": "the service's own word, as its destination allows",
    "reconcile": "the provider, when it was asked",
    "operator": "operators, from the confirmation at hand",
}
_ENDED_BY: Final = {
    "client": "The person closed the question, says the client",
    "user": "The person cancelled it on the desk's page",
    "service": "The service gave it up",
    "operator": "An operator ended it",
    "provider": "The provider reported that the work failed",
    "policy": "The policy in force no longer admits it",
    "closed": "Its tenant, service or provider was closed",
}
_ANSWER: Final = {"accept": "accepted", "decline": "declined", "cancel": "closed without deciding"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact with its time, and the source or meaning of it; ``at`` is ``None`` while it is not so."""

    name: str
    at: datetime | None
    words: str


@dataclass(frozen=True, slots=True)
class Page:
    """What the page of an entry shows. ``state`` is the state that a reader is told at ``now``."""

    entry: Elicitation
    now: datetime
    state: State
    explanation: str
    next_step: str
    ended: str
    left: timedelta | None
    unswept: bool
    facts: list[Fact]
    also: list[Fact]
    lines: list[TimelineLine]
    evidence: list[Evidence]
    notes: list[LogEntry]

    @property
    def live(self) -> bool:
        return not self.state.terminal


def page(entry: Elicitation, now: datetime) -> Page:
    state = state_at(entry, now)
    words = explain(entry, state)
    return Page(
        entry=entry,
        now=now,
        state=state,
        explanation=words.explanation,
        next_step=words.next_step,
        ended=_ended(entry),
        left=entry.deadline - now if entry.deadline and not state.terminal else None,
        unswept=overdue(entry, now),
        facts=_facts(entry, state),
        also=_also(entry),
        lines=timeline(entry),
        evidence=list(Evidence.objects.filter(elicitation=entry).select_related("provider").order_by("pk")),
        notes=list(notes_on(entry)),
    )


def notes_on(entry: Elicitation) -> list[LogEntry]:
    """What operators did and wrote, oldest first."""
    kind = ContentType.objects.get_for_model(Elicitation)
    mine = LogEntry.objects.filter(content_type=kind, object_id=str(entry.pk))
    return list(mine.select_related("user").order_by("action_time", "pk"))


def _ended(entry: Elicitation) -> str:
    if not entry.cancelled_by:
        return ""
    reason = f": {REASONS[CancelReason(entry.cancel_reason)]}" if entry.cancel_reason else ""
    return f"{_ENDED_BY[entry.cancelled_by]}{reason}."


def _facts(entry: Elicitation, state: State) -> list[Fact]:
    absent = "no" if state.terminal else "not yet"
    nowhere = "a form has no outside work" if entry.mode == Mode.FORM else absent
    undone = f"; reversed by the provider at {entry.reversed_at:%Y-%m-%d %H:%M:%S} UTC" if entry.reversed_at else ""
    return [
        Fact("Admitted", entry.admitted_at, f"by policy revision {entry.revision.number}"),
        Fact("Consented", entry.consented_at, _CONSENT.get(entry.consent_source, absent)),
        Fact("Completed", entry.completed_at, _COMPLETION.get(entry.completion_source, nowhere) + undone),
        Fact("Applied", entry.applied_at, "the waiting call took it" if entry.applied_at else _not_applied(state)),
    ]


def _not_applied(state: State) -> str:
    if state in (State.COMPLETE, State.ACCEPTED):
        return "the waiting call has not taken it yet"
    return "no" if state.terminal else "not yet"


def _also(entry: Elicitation) -> list[Fact]:
    """What is known beside the four facts; what is not known is left out."""
    answer = f"{_ANSWER.get(entry.answer_action, '')}, reported by the client"
    if entry.answer_latency_ms is not None:
        doubt = ": probably never shown" if entry.answer_latency_ms < PROBABLY_NOT_SHOWN_MS else ""
        answer += f" after {took(entry.answer_latency_ms)}{doubt}"
    if entry.content_stripped:
        answer += "; content that should not have been sent was dropped"
    times = "once" if entry.attempts == 1 else f"{entry.attempts} times"
    looked = f"; it was looked for {times}" if entry.attempts else ""
    known = [
        Fact("Delivered", entry.delivered_at, "reported by the service"),
        Fact("Shown", entry.shown_at, "reported by the service"),
        Fact("Answered", entry.answered_at, answer),
        Fact("Reported lost", entry.lost_at, f"the confirmation has not arrived{looked}"),
        Fact("Call ended", entry.origin_ended_at, "the waiting call gave up"),
    ]
    return [fact for fact in known if fact.at is not None]
