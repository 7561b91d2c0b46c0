"""The everyday events of an entry: progress, the answer, and handing the result to the call that waits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from elicitation.models import Elicitation, Service
from elicitation.policy.answers import Action, Content, judge
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.recheck import withdrawn
from elicitation.policy.rules import Rule
from elicitation.services import actors, lookup, proof, refusals, revisions, sealing, status
from elicitation.services.lookup import Person, Unknown
from elicitation.services.move import Refusal, Step, TransitionRefused, move, settled, standing
from elicitation.services.questions import Operation, operation_digests

#: Faster than a person reads: the client probably never showed the question (operator policy).
PROBABLY_NOT_SHOWN_MS: Final = 1000


class Progress(StrEnum):
    DELIVERED = "delivered"
    SHOWN = "shown"
    CALL_ENDED = "call_ended"


class Change(StrEnum):
    """Whether an event changed anything. The same event with the same content again is not an error."""

    MOVED = "moved"
    REPEATED = "repeated"


class ContentMissing(Refusal):
    """A form was accepted without a content object; the state is unchanged."""

    def __init__(self, rule: Rule) -> None:
        super().__init__(rule)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Changed:
    entry: Elicitation
    change: Change
    now: datetime


_PROGRESS: Final = {
    Progress.DELIVERED: (Event.DELIVERED, "delivered_at"),
    Progress.SHOWN: (Event.SHOWN, "shown_at"),
    Progress.CALL_ENDED: (Event.CALL_ENDED, "origin_ended_at"),
}


def progress(service: Service, uid: UUID, person: Person, what: Progress) -> Changed:
    """Record that the question was delivered or shown, or that the call gave up; the first time counts.

    Raises ``Unknown``, ``Contended``.
    """
    event, column = _PROGRESS[what]

    def attempt() -> Changed:
        entry, now = lookup.present(service, uid, person)
        if getattr(entry, column) is not None:
            return Changed(entry, Change.REPEATED, now)
        changes: dict[str, Any] = {column: now}
        if what is Progress.SHOWN and entry.delivery == Delivery.URL_REQUIRED and not State(entry.state).terminal:
            # That delivery reports no answer, so the outside work may begin now.
            changes["next_lookup_at"] = status.first_lookup(entry, revisions.active().document, now)
        move(entry, actors.service(service), Step(event=event, changes=changes), at=now)
        return Changed(entry, Change.MOVED, now)

    return settled(attempt)


def answer(
    service: Service, uid: UUID, person: Person, action: Action, content: Content, latency_ms: int | None
) -> Changed:
    """Record the client's answer. Consent is not completion; content on a decline or cancel was stripped.

    Raises ``Unknown``, ``ContentMissing``, ``TransitionRefused``, ``Contended``.
    """
    by = actors.client()

    def attempt() -> Changed | Refusal:
        entry, now = lookup.present(service, uid, person)
        judged = judge(action, content, Mode(entry.mode))
        if judged.denial is not None:
            refusals.note(entry, actors.service(service), "content_missing", now, rule=judged.denial)
            return ContentMissing(judged.denial)
        if _is_repeated(entry, action) and not entry.held_evidence:
            return Changed(entry, Change.REPEATED, now)
        changes: dict[str, Any] = {
            "answered_at": entry.answered_at or now,
            "answer_action": action,
            "answer_latency_ms": latency_ms,
            "content_stripped": bool(judged.flags),
        }
        record = {
            "latency_ms": latency_ms,
            "decided_by": "probably_not_shown"
            if latency_ms is not None and latency_ms < PROBABLY_NOT_SHOWN_MS
            else "client_asserted",
        }
        try:
            match action:
                case Action.ACCEPT:
                    _accept(entry, changes, record, now)
                case Action.DECLINE:
                    move(entry, by, Step(event=Event.ANSWER_DECLINE, changes=changes, record=record), at=now)
                case Action.CANCEL:
                    changes["cancelled_by"] = "client"
                    move(entry, by, Step(event=Event.ANSWER_CANCEL, changes=changes, record=record), at=now)
        except TransitionRefused as refusal:
            refusals.note(entry, actors.service(service), "transition_refused", now)
            return refusal
        return Changed(entry, Change.MOVED, now)

    return settled(attempt)


def _is_repeated(entry: Elicitation, action: Action) -> bool:
    return entry.answer_action == action


def _accept(entry: Elicitation, changes: dict[str, Any], record: dict[str, Any], now: datetime) -> None:
    policy = revisions.active()
    if State(entry.state) is State.ADMITTED:
        rule = withdrawn(standing(entry), policy.document)
        if rule is not None:
            revoked = Step(
                event=Event.POLICY_WITHDRAWN,
                changes={**changes, "cancelled_by": "policy"},
                record={**record, "rule": rule, "rule_source": "operator", "policy_revision": policy.number},
            )
            move(entry, actors.POLICY, revoked, at=now)
            return
        if entry.mode == Mode.URL:
            changes["next_lookup_at"] = status.first_lookup(entry, policy.document, now)
    changes |= {"consented_at": entry.consented_at or now, "consent_source": entry.consent_source or "answer"}
    record = {**record, "consent_source": "answer", "policy_revision": policy.number}
    accepted = Step(event=Event.ANSWER_ACCEPT, changes=changes, record=record)
    after = State.CONSENT_PENDING if State(entry.state) is State.ADMITTED else State(entry.state)
    held, outcome = proof.waiting(entry, after, now) if entry.held_evidence else (None, None)
    if held is None:
        move(entry, actors.client(), accepted, at=now)
        if outcome is not None:  # evidence waits, and does not pass
            refusals.note(entry, actors.client(), outcome, now)
    else:
        proof.use(entry, actors.client(), held, now, before=accepted)


class ConsumeOutcome(StrEnum):
    APPLIED = "applied"
    ALREADY_APPLIED = "already_applied"
    NOT_COMPLETE = "not_complete"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Consumed:
    """``result_ref`` is ``None`` for a form, and whenever nothing was handed over."""

    outcome: ConsumeOutcome
    result_ref: str | None = None
    reversed: bool = False


def consume(service: Service, uid: UUID, person: Person, operation: Operation) -> Consumed:
    """Hand the result to the operation that waits for it: applied once, the same reference for each retry of it."""

    def attempt() -> Consumed:
        try:
            entry, now = lookup.present(service, uid, person)
        except Unknown:
            return Consumed(ConsumeOutcome.UNKNOWN)
        if entry.operation_digest not in operation_digests(service, person.iss, person.sub, operation):
            return Consumed(ConsumeOutcome.CONFLICT)
        if entry.applied_at is not None:
            return _handed_over(entry, ConsumeOutcome.ALREADY_APPLIED)
        try:
            handing = Step(event=Event.CONSUME, changes={"applied_at": now}, record={"outcome": "applied"})
            move(entry, actors.service(service), handing, at=now)
        except TransitionRefused:
            return Consumed(ConsumeOutcome.NOT_COMPLETE)
        return _handed_over(entry, ConsumeOutcome.APPLIED)

    return settled(attempt)


def _handed_over(entry: Elicitation, outcome: ConsumeOutcome) -> Consumed:
    reference = sealing.unseal(entry.result_ref, proof.seal_purpose(entry)) if entry.result_ref else None
    return Consumed(outcome, reference, entry.reversed_at is not None)
