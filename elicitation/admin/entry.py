"""One elicitation in words: where it stands, the four facts, what else is known, and what operators did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType

from elicitation.models import Elicitation, Evidence, EvidenceStatus, HonourProposal
from elicitation.policy.decision import Mode
from elicitation.policy.lifecycle import State
from elicitation.services.explaining import explain, strangers
from elicitation.services.move import overdue, state_at
from elicitation.services.operators import CancelReason
from elicitation.services.proposals import SENTENCES, Prospect, Stands, prospect
from elicitation.services.registry import PROBABLY_NOT_SHOWN_MS
from elicitation.services.timeline import PROVIDER_SAID, REASONS, TimelineLine, timeline, took

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
#: What became of a piece of evidence.
EVIDENCE: Final[dict[EvidenceStatus, str]] = {
    EvidenceStatus.HELD: "Held until consent",
    EvidenceStatus.UNBOUND: "Held: nobody says whose it is",
    EvidenceStatus.WITHDRAWN: "Held: the policy has withdrawn the destination",
    EvidenceStatus.LATE: "Late: the entry could not use it",
    EvidenceStatus.CONFLICT: "Contradicts the recorded result",
    EvidenceStatus.REVERSED: "Taken back by the provider",
    EvidenceStatus.CLOSED: "Settled by an operator",
    EvidenceStatus.USED: "Completed the elicitation",
}
#: Where a proposal to honour evidence stands.
PROPOSAL: Final[dict[Stands, str]] = {
    Stands.WAITS: "Waits for a second operator",
    Stands.LAPSED: "Void: nobody approved it within 24 hours",
    Stands.OVERTAKEN: "Void: something happened to the entry",
    Stands.REPLACED: "Void: another proposal took its place",
    Stands.WITHDRAWN: "Withdrawn",
    Stands.APPROVED: "Approved",
}
SECOND: Final = (
    "An operator other than the one who proposed it compares the confirmation with the provider's own record, and "
    "approves the proposal or withdraws it."
)
#: The sweep runs every few seconds; an entry that is overdue for longer was missed.
MISSED_AFTER: Final = timedelta(minutes=1)
MISSED_STEP: Final = "Look whether the schedule runs: /readyz says so."
_SUCCESSORS: Final = 20
_ANSWER: Final = {"accept": "accepted", "decline": "declined", "cancel": "closed without deciding"}


@dataclass(frozen=True, slots=True)
class Fact:
    """One fact with its time, and the source or meaning of it; ``at`` is ``None`` while it is not so."""

    name: str
    at: datetime | None
    words: str


@dataclass(frozen=True, slots=True)
class Proposed:
    """A proposal to honour ``evidence``, and where it stands, in words."""

    proposal: HonourProposal
    evidence: Evidence
    words: str
    waits: bool


@dataclass(frozen=True, slots=True)
class Page:
    """What the page of an entry shows. ``state`` is the state that a reader is told at ``now``."""

    entry: Elicitation
    now: datetime
    state: State
    explanation: str
    next_step: str
    ended: str
    open_still: list[tuple[str, str]]
    left: timedelta | None
    unswept: bool
    facts: list[Fact]
    also: list[Fact]
    lines: list[TimelineLine]
    evidence: list[tuple[Evidence, str]]
    refused: str
    honouring: Prospect
    proposals: list[Proposed]
    successors: list[Elicitation]
    notes: list[LogEntry]

    @property
    def live(self) -> bool:
        return not self.state.terminal

    @property
    def waiting(self) -> Proposed | None:
        """The proposal that a second operator can approve now."""
        return next((item for item in self.proposals if item.waits), None)


def page(entry: Elicitation, now: datetime) -> Page:
    state, honour = state_at(entry, now), prospect(entry, now)
    words = explain(entry, state)
    rows = Evidence.objects.filter(elicitation=entry).select_related("provider").order_by("pk")
    return Page(
        entry=entry,
        now=now,
        state=state,
        explanation=words.explanation,
        next_step=_next_step(entry, now, honour) or words.next_step,
        ended=_ended(entry, state),
        open_still=_open_still(entry, honour),
        left=entry.deadline - now if entry.deadline and not state.terminal else None,
        unswept=overdue(entry, now),
        facts=_facts(entry, state),
        also=_also(entry),
        lines=timeline(entry),
        evidence=[(row, EVIDENCE[EvidenceStatus(row.status)]) for row in rows],
        refused=_refused(entry),
        honouring=honour,
        proposals=[
            Proposed(row, row.evidence, PROPOSAL[stands], stands is Stands.WAITS) for row, stands in honour.proposals
        ],
        successors=list(entry.successors.order_by("pk")[:_SUCCESSORS]),
        notes=list(notes_on(entry)),
    )


def _next_step(entry: Elicitation, now: datetime, honour: Prospect) -> str:
    """What comes before the words of the state, the same that the queues say."""
    if honour.waiting is not None:
        return SECOND
    return MISSED_STEP if overdue(entry, now - MISSED_AFTER) else ""


def _refused(entry: Elicitation) -> str:
    """How often word about the outside work named another person; empty when it never did."""
    found = strangers(entry)
    if not found.count:
        return ""
    times = "once" if found.count == 1 else f"{'at least ' if found.more else ''}{found.count} times"
    return f"Word about the outside work was refused {times}, because it named another person than the one asked."


def _open_still(entry: Elicitation, honour: Prospect) -> list[tuple[str, str]]:
    """What a person should not overlook, each under its name."""
    said = []
    if entry.late_evidence:
        said.append(("Late evidence", "A confirmation is kept that the entry could not use."))
    if entry.unresolved:
        said.append(("Unresolved", "Its confirmation was lost and was not found in time. The work may be done."))
    if honour.waiting is not None:
        name, ends = honour.waiting.proposed_by.get_username(), honour.waiting.expires_at
        said.append(
            (
                "Proposal",
                f"{name} proposes to honour a confirmation. It waits for a second operator, until "
                f"{ends:%Y-%m-%d %H:%M:%S} UTC or until something happens to the entry.",
            )
        )
    elif honour.evidence and honour.obstacle is not None:
        said.append(("Not honoured", SENTENCES[honour.obstacle]))
    ended, done = entry.origin_ended_at, entry.completed_at
    if ended is not None and done is not None and ended < done and entry.applied_at is None:
        text = "It had ended before the confirmation came, and nobody has taken the result: the same operation can."
        said.append(("Waiting call", text))
    if entry.reversed_at is not None:
        said.append(("Taken back", f"The provider took the result back at {entry.reversed_at:%Y-%m-%d %H:%M:%S} UTC."))
    return said


def notes_on(entry: Elicitation) -> list[LogEntry]:
    """What operators did and wrote, oldest first."""
    kind = ContentType.objects.get_for_model(Elicitation)
    mine = LogEntry.objects.filter(content_type=kind, object_id=str(entry.pk))
    return list(mine.select_related("user").order_by("action_time", "pk"))


def _ended(entry: Elicitation, state: State) -> str:
    if state is not State.CANCELLED or not entry.cancelled_by:
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
        Fact("Counted as lost", entry.lost_at, f"no usable confirmation had arrived by then{looked}"),
        Fact("Provider asked", entry.looked_up_at, PROVIDER_SAID.get(entry.lookup_outcome, "")),
        Fact("Next look-up", entry.next_lookup_at, "the desk asks the provider, at this time or soon after it"),
        Fact("Call ended", entry.origin_ended_at, "the waiting call gave up"),
    ]
    return [fact for fact in known if fact.at is not None]
