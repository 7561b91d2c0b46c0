"""Reads a client's raw answer: three actions in one spelling, and where content is allowed (2025-11-25, R30, R31)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from elicitation.adapter.errors import MalformedAnswer
from elicitation.policy.answers import Action, Content, read_action
from elicitation.policy.decision import Mode


@dataclass(frozen=True, slots=True)
class ClientAnswer:
    """An answer that the protocol knows. ``values`` is there exactly when ``content`` is present."""

    action: Action
    content: Content
    latency_ms: int
    values: Mapping[str, object] | None = field(default=None, repr=False)


def read_answer(mode: Mode, raw: Mapping[str, object], latency_ms: int) -> ClientAnswer:
    """The answer to a question of ``mode``. Content where none belongs is dropped here and never looked at.

    Raises :class:`MalformedAnswer` for another action, or for a form's content that is no object. An unknown action
    is not repeated in the error: it may be anything.
    """
    action = read_action(raw.get("action"))
    if action is None:
        raise MalformedAnswer("its action is none of accept, decline, cancel")
    content = raw.get("content")
    if content is None:
        return ClientAnswer(action, Content.ABSENT, latency_ms)
    if mode is Mode.URL or action is not Action.ACCEPT:
        return ClientAnswer(action, Content.DROPPED, latency_ms)
    if not isinstance(content, dict):
        raise MalformedAnswer("its content is not an object")
    return ClientAnswer(action, Content.PRESENT, latency_ms, content)
