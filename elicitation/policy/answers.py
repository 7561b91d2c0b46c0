"""The client's answer: three actions, and whether content came along. The content itself never reaches the desk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import Mode
from elicitation.policy.lifecycle import Event
from elicitation.policy.place import shown_name
from elicitation.policy.values import broken_keyword


class Action(StrEnum):
    """The protocol's three actions, in that spelling (client/elicitation, Response Actions; R30)."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class Content(StrEnum):
    """What became of the answer's content: there and kept where it belongs, not there, or there and dropped."""

    PRESENT = "present"
    ABSENT = "absent"
    DROPPED = "dropped"


EVENTS: Final[dict[Action, Event]] = {
    Action.ACCEPT: Event.ANSWER_ACCEPT,
    Action.DECLINE: Event.ANSWER_DECLINE,
    Action.CANCEL: Event.ANSWER_CANCEL,
}


@dataclass(frozen=True, slots=True)
class AnswerRuling:
    """The verdict on an answer. ``denial`` is the rule that refuses it, with no change; ``flags`` are rules that
    were broken without consequence; ``content`` is what may be recorded."""

    action: Action
    content: Content
    denial: Rule | None = None
    flags: tuple[Rule, ...] = ()

    @property
    def event(self) -> Event:
        """The event that the transition table knows the answer by."""
        return EVENTS[self.action]


def read_action(value: object) -> Action | None:
    """The action, or ``None`` for :attr:`Rule.ANSWER_MALFORMED`: never read as a refusal (R30)."""
    return Action(value) if isinstance(value, str) and value in tuple(Action) else None


def judge(action: Action, content: Content, mode: Mode) -> AnswerRuling:
    """Judge an answer's shape (client/elicitation, Response Actions, R31 and R32; stripping is operator policy)."""
    match action:
        case Action.ACCEPT:
            if mode is Mode.FORM:
                missing = content is not Content.PRESENT
                return AnswerRuling(action, content, Rule.ANSWER_CONTENT_MISSING if missing else None)
            return _without_content(action, content, Rule.ANSWER_CONTENT_ON_URL)
        case Action.DECLINE | Action.CANCEL:
            return _without_content(action, content, Rule.ANSWER_CONTENT_STRIPPED)


def _without_content(action: Action, content: Content, flag: Rule) -> AnswerRuling:
    if content is Content.ABSENT:
        return AnswerRuling(action, content)
    return AnswerRuling(action, Content.DROPPED, flags=(flag,))


@dataclass(frozen=True, slots=True)
class ContentFault:
    """One thing wrong with accepted content: a JSON pointer and the schema's keyword, never the value. A name
    that the form does not have appears as an ordinal (``/#2``)."""

    at: str
    keyword: str


def check_content(schema: Mapping[str, object], content: object) -> tuple[ContentFault, ...]:
    """Hold accepted content against the admitted ``requestedSchema``, in the MCP server's process. Empty: it fits.
    Members that the form does not have are refused, whatever ``additionalProperties`` says. Source: R29, R31;
    3.0 is an integer, as in JSON Schema; absent optional members stay absent."""
    if not isinstance(content, Mapping):
        return (ContentFault("", "type"),)
    declared = schema.get("properties")
    fields = declared if isinstance(declared, Mapping) else {}
    required = schema.get("required")
    names = required if isinstance(required, (list, tuple)) else ()
    faults = [
        ContentFault(_pointer(name, index), "required")
        for index, name in enumerate(names)
        if isinstance(name, str) and name not in content
    ]
    for ordinal, (name, value) in enumerate(content.items()):
        if not isinstance(name, str) or name not in fields:
            faults.append(ContentFault(f"/#{ordinal}", "additionalProperties"))
            continue
        field = fields[name]
        keyword = broken_keyword(field, value) if isinstance(field, Mapping) else "type"
        if keyword is not None:
            faults.append(ContentFault(_pointer(name, ordinal), keyword))
    return tuple(faults)


def _pointer(name: str, ordinal: int) -> str:
    return "/" + shown_name(name, ordinal).replace("~", "~0").replace("/", "~1")
