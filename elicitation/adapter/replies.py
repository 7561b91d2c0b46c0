"""Reads the desk's replies into the adapter's values. A word that this version does not know is never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from elicitation.adapter.errors import DeskUnavailable
from elicitation.adapter.values import Consumed, ConsumeOutcome, Entry, Moved, MoveOutcome, Retried, RetryOutcome
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import State

Word = TypeVar("Word", bound=StrEnum)


def unreadable(name: str) -> DeskUnavailable:
    """The error for a reply that lacks ``name``, or that uses a word of a newer desk there."""
    return DeskUnavailable(f"The elicitation desk's reply cannot be read ({name}); nothing was done with it.")


def word(body: Mapping[str, object], name: str, kind: type[Word]) -> Word:
    try:
        return kind(text(body, name))
    except ValueError:
        raise unreadable(name) from None


def text(body: Mapping[str, object], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise unreadable(name)
    return value


def moment(body: Mapping[str, object], name: str) -> datetime | None:
    """A time with its zone (RFC 3339), or ``None`` where there is none that can be read."""
    value = body.get(name)
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def completions(body: Mapping[str, object]) -> tuple[list[str], int]:
    """One page of the feed: the ids of completed entries, and where the next page begins."""
    items, following = body.get("items"), body.get("next")
    if not isinstance(items, list) or not isinstance(following, int):
        raise unreadable("completions")
    return [text(item, "id") for item in items if isinstance(item, dict)], following


def entry(body: Mapping[str, object]) -> Entry:
    cancelled_by = body.get("cancelled_by")
    return Entry(
        id=text(body, "id"),
        state=word(body, "state", State),
        explanation=text(body, "explanation"),
        next_step=text(body, "next_step"),
        resumable=body.get("resumable") is True,
        cancelled_by=cancelled_by if isinstance(cancelled_by, str) else None,
    )


def moved(body: Mapping[str, object]) -> Moved:
    outcome, state = word(body, "outcome", MoveOutcome), word(body, "state", State)
    return Moved(outcome, state, text(body, "explanation"), text(body, "next_step"))


def retried(body: Mapping[str, object]) -> Retried:
    outcome: RetryOutcome | EvidenceOutcome
    try:
        outcome = RetryOutcome(text(body, "outcome"))
    except ValueError:
        outcome = word(body, "outcome", EvidenceOutcome)
    seconds = body.get("retry_after_seconds")
    return Retried(
        outcome,
        word(body, "state", State),
        text(body, "explanation"),
        text(body, "next_step"),
        seconds if isinstance(seconds, int) else None,
    )


def consumed(body: Mapping[str, object]) -> Consumed:
    reference = body.get("result_ref")
    return Consumed(
        word(body, "outcome", ConsumeOutcome),
        reference if isinstance(reference, str) else None,
        body.get("reversed") is True,
    )
