"""The replies of the API, typed. Clients must ignore members that they do not know; members here never disappear."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.http import HttpResponse
from msgspec import Struct

from elicitation.models import Elicitation
from elicitation.policy import identifiers
from elicitation.policy.lifecycle import State
from elicitation.services.explaining import explain
from elicitation.services.move import maybe_visited, state_at
from elicitation.services.questions import Admitted


class Reply(Struct, frozen=True, kw_only=True):
    """Encoded as it is; times are RFC 3339, UTC."""

    def response(self, status: int = 200) -> HttpResponse:
        return HttpResponse(msgspec.json.encode(self), status=status, content_type="application/json")


class EntryReply(Reply, frozen=True, kw_only=True):
    """One entry as its service sees it: the four facts apart, and never the result's reference."""

    id: str
    wire_id: str | None
    state: State
    mode: str
    wire: str
    delivery: str
    purpose: str
    admitted_at: datetime
    consented_at: datetime | None
    consent_source: str | None
    completed_at: datetime | None
    completion_source: str | None
    reversed_at: datetime | None
    applied_at: datetime | None
    delivered_at: datetime | None
    shown_at: datetime | None
    answered_at: datetime | None
    origin_ended_at: datetime | None
    expires_at: datetime | None
    attempts: int
    resumable: bool
    evidence_waiting: bool
    maybe_visited: bool
    cancelled_by: str | None
    predecessor: str | None
    explanation: str
    next_step: str
    outcome: str | None = None


class AdmissionReply(Reply, frozen=True, kw_only=True):
    """``request`` holds the exact ``params`` to send, or null where nothing may be sent any more."""

    id: str
    wire_id: str | None
    state: State
    mode: str
    wire: str
    delivery: str
    decision: dict[str, Any]
    expires_at: datetime | None
    request: dict[str, Any] | None
    error: dict[str, Any] | None
    predecessor: str | None
    after_visit: bool
    explanation: str
    next_step: str


class DecisionReply(Reply, frozen=True, kw_only=True):
    """``error`` is the exact -32042 object to send, where one was checked and admitted."""

    decision: dict[str, Any]
    decision_id: str
    error: dict[str, Any] | None = None


class RuleReply(Struct, frozen=True, kw_only=True):
    rule: str
    title: str
    sources: list[str]
    section: str
    requirements: list[str]
    advice: str
    denies: bool


class RulesReply(Reply, frozen=True, kw_only=True):
    items: list[RuleReply]


class OutcomeReply(Reply, frozen=True, kw_only=True):
    """``outcome`` of lost and cancel: ``moved``, ``repeated``. Of retry: ``completed``, ``no_lookup``, or the outcome
    of the check that held evidence does not pass. Of completion: ``completed``, ``held``, ``unbound_held``,
    ``policy_withdrawn_held``, ``duplicate_ignored``, ``unknown_ignored``, ``wrong_provider_denied``,
    ``wrong_user_denied``, ``conflict_denied``, ``result_reused_denied``, ``expired_denied``, ``not_pending_denied``."""

    outcome: str
    state: State | None
    explanation: str
    next_step: str
    evidence_waiting: bool = False
    retry_after_seconds: int | None = None


class ConsumeReply(Reply, frozen=True, kw_only=True):
    """``applied`` the first time, ``already_applied`` with the same reference each time after, ``not_complete`` while
    there is no result, ``conflict`` for another operation, ``unknown`` for whoever may not know the entry. A form has
    no reference. ``reversed``: the provider took the work back."""

    outcome: str
    result_ref: str | None
    reversed: bool


class ListReply(Reply, frozen=True, kw_only=True):
    items: list[EntryReply]
    next: str | None


class FeedItem(Struct, frozen=True, kw_only=True):
    cursor: int
    id: str
    wire_id: str | None
    completed_at: datetime | None


class FeedReply(Reply, frozen=True, kw_only=True):
    """``next`` is what to ask with as ``after``; it stays the same while there is nothing new."""

    items: list[FeedItem]
    next: int


def feed_reply(rows: Sequence[Elicitation], after: int) -> FeedReply:
    items = [
        FeedItem(cursor=row.feed_index, id=shown_id(row), wire_id=row.wire_id, completed_at=row.completed_at)
        for row in rows
        if row.feed_index is not None
    ]
    return FeedReply(items=items, next=items[-1].cursor if items else after)


def shown_id(entry: Elicitation) -> str:
    return identifiers.mint_text(entry.uid.bytes)


def entry_reply(entry: Elicitation, now: datetime, outcome: str | None = None) -> EntryReply:
    state = state_at(entry, now)
    words = explain(entry, state)
    return EntryReply(
        id=shown_id(entry),
        wire_id=entry.wire_id,
        state=state,
        mode=entry.mode,
        wire=entry.wire,
        delivery=entry.delivery,
        purpose=entry.purpose,
        admitted_at=entry.admitted_at,
        consented_at=entry.consented_at,
        consent_source=entry.consent_source or None,
        completed_at=entry.completed_at,
        completion_source=entry.completion_source or None,
        reversed_at=entry.reversed_at,
        applied_at=entry.applied_at,
        delivered_at=entry.delivered_at,
        shown_at=entry.shown_at,
        answered_at=entry.answered_at,
        origin_ended_at=entry.origin_ended_at,
        expires_at=_expires_at(entry, state),
        attempts=entry.attempts,
        resumable=state in (State.CANCELLED, State.EXPIRED) and not entry.late_evidence,
        evidence_waiting=entry.late_evidence or entry.held_evidence,
        maybe_visited=maybe_visited(entry),
        cancelled_by=entry.cancelled_by or None,
        predecessor=shown_id(entry.predecessor) if entry.predecessor else None,
        explanation=words.explanation,
        next_step=words.next_step,
        outcome=outcome,
    )


def admission_reply(admitted: Admitted, error: dict[str, Any] | None) -> AdmissionReply:
    entry = admitted.entry
    state = state_at(entry, admitted.now)
    words = explain(entry, state)
    return AdmissionReply(
        id=shown_id(entry),
        wire_id=entry.wire_id,
        state=state,
        mode=entry.mode,
        wire=entry.wire,
        delivery=entry.delivery,
        decision=admitted.decision.as_json(),
        expires_at=_expires_at(entry, state),
        request=admitted.request,
        error=error,
        predecessor=shown_id(entry.predecessor) if entry.predecessor else None,
        after_visit=entry.after_visit,
        explanation=words.explanation,
        next_step=words.next_step,
    )


def outcome_reply(
    outcome: str, entry: Elicitation | None, now: datetime, retry_after_seconds: int | None = None
) -> OutcomeReply:
    """``entry`` is ``None`` for whoever may not know it: then there is no state to tell."""
    if entry is None:
        return OutcomeReply(
            outcome=outcome,
            state=None,
            explanation="There is no such elicitation for this caller.",
            next_step="Check the id and the key that is used.",
        )
    state = state_at(entry, now)
    words = explain(entry, state)
    return OutcomeReply(
        outcome=outcome,
        state=state,
        explanation=words.explanation,
        next_step=words.next_step,
        evidence_waiting=entry.late_evidence or entry.held_evidence,
        retry_after_seconds=retry_after_seconds,
    )


def _expires_at(entry: Elicitation, state: State) -> datetime | None:
    """Known for a state that the row is in; a deadline that has passed starts no new one until it is written."""
    return entry.deadline if state == entry.state else None
