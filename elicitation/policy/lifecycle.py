"""The life of an elicitation as one table: states, events, arrows, and the few lines that read them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from elicitation.policy.decision import Delivery, Mode


class State(StrEnum):
    """Where an elicitation stands. Consent, completion and use are facts of their own, never merged in here."""

    ADMITTED = "ADMITTED"
    CONSENT_PENDING = "CONSENT_PENDING"
    RETRY_REQUIRED = "RETRY_REQUIRED"
    COMPLETE = "COMPLETE"
    ACCEPTED = "ACCEPTED"
    DECLINED = "DECLINED"
    CANCELLED = "CANCELLED"
    EXPIRED = "EXPIRED"

    @property
    def terminal(self) -> bool:
        return self not in LIVE


LIVE: Final = frozenset({State.ADMITTED, State.CONSENT_PENDING, State.RETRY_REQUIRED})
UNRESOLVED: Final = frozenset({State.EXPIRED, State.CANCELLED, State.DECLINED})
ALL: Final = frozenset(State)


class Event(StrEnum):
    """What can happen to an elicitation. The ledger uses the same words."""

    ADMIT = "admit"
    ASK_AGAIN = "ask_again"
    DELIVERED = "delivered"
    SHOWN = "shown"
    CALL_ENDED = "call_ended"
    ANSWER_ACCEPT = "answer_accept"
    ANSWER_DECLINE = "answer_decline"
    ANSWER_CANCEL = "answer_cancel"
    POLICY_WITHDRAWN = "policy_withdrawn"
    PAGE_CONSENT = "page_consent"
    PAGE_DECLINE = "page_decline"
    EVIDENCE = "evidence"
    EVIDENCE_WITHDRAWN = "evidence_withdrawn"
    LOST = "lost"
    RETRY = "retry"
    PROVIDER_FAILURE = "provider_failure"
    CANCEL = "cancel"
    CLOSED = "closed"
    DEADLINE = "deadline"
    HONOUR_EVIDENCE = "honour_evidence"
    CLOSE = "close"
    REVERSAL = "reversal"
    CONSUME = "consume"


class When(StrEnum):
    """A condition on an arrow: plain facts about the entry, true or false before the event is judged."""

    FORM = "form"
    URL = "url"
    PUSHED = "pushed"
    URL_REQUIRED = "url_required"
    HELD = "held evidence"
    NOT_HELD = "no held evidence"
    LATE = "late evidence"


@dataclass(frozen=True, slots=True)
class Facts:
    """What the table needs to know beside the state. ``held``: evidence is stored that waits; ``late``: evidence is
    open that the entry could not use."""

    mode: Mode
    delivery: Delivery
    held: bool = False
    late: bool = False

    def true(self) -> frozenset[When]:
        facts = {
            When.FORM if self.mode is Mode.FORM else When.URL,
            When.URL_REQUIRED if self.delivery is Delivery.URL_REQUIRED else When.PUSHED,
            When.HELD if self.held else When.NOT_HELD,
        }
        return frozenset(facts | {When.LATE} if self.late else facts)


@dataclass(frozen=True, slots=True)
class Arrow:
    """One row of the table. ``target`` is ``None`` where the state stays as it is."""

    event: Event
    sources: frozenset[State]
    target: State | None
    when: frozenset[When] = frozenset()


def _arrow(event: Event, sources: frozenset[State] | State, target: State | None, *when: When) -> Arrow:
    if isinstance(sources, State):
        sources = frozenset({sources})
    return Arrow(event, sources, target, frozenset(when))


_PENDING: Final = frozenset({State.CONSENT_PENDING, State.RETRY_REQUIRED})
_A, _C, _R = State.ADMITTED, State.CONSENT_PENDING, State.RETRY_REQUIRED

#: Anything that is not here is refused with the present state.
TABLE: Final[tuple[Arrow, ...]] = (
    _arrow(Event.ANSWER_ACCEPT, _A, State.ACCEPTED, When.FORM),
    _arrow(Event.ANSWER_ACCEPT, _A, _C, When.URL),
    _arrow(Event.ANSWER_ACCEPT, _PENDING, None, When.URL),
    _arrow(Event.ANSWER_DECLINE, _A, State.DECLINED),
    _arrow(Event.ANSWER_CANCEL, frozenset({_A, _C}), State.CANCELLED),
    _arrow(Event.POLICY_WITHDRAWN, _A, State.CANCELLED),
    _arrow(Event.PAGE_CONSENT, frozenset({_A, _C}), _C, When.URL),
    _arrow(Event.PAGE_CONSENT, _R, None, When.URL),
    _arrow(Event.PAGE_DECLINE, frozenset({_A, _C}), State.DECLINED, When.URL),
    _arrow(Event.EVIDENCE, _PENDING, State.COMPLETE, When.URL),
    _arrow(Event.EVIDENCE, _A, State.COMPLETE, When.URL, When.URL_REQUIRED),
    _arrow(Event.EVIDENCE, _A, None, When.URL, When.PUSHED),
    _arrow(Event.EVIDENCE_WITHDRAWN, _PENDING, _R, When.URL),
    _arrow(Event.EVIDENCE_WITHDRAWN, _A, _R, When.URL, When.URL_REQUIRED),
    _arrow(Event.LOST, _A, _R, When.URL, When.HELD),
    _arrow(Event.LOST, _A, _R, When.URL, When.NOT_HELD, When.URL_REQUIRED),
    _arrow(Event.LOST, _C, _R, When.URL),
    _arrow(Event.ASK_AGAIN, _A, _R, When.URL, When.HELD),
    _arrow(Event.RETRY, _R, None, When.URL),
    _arrow(Event.PROVIDER_FAILURE, _PENDING, State.CANCELLED, When.URL),
    _arrow(Event.PROVIDER_FAILURE, _A, State.CANCELLED, When.URL, When.URL_REQUIRED),
    _arrow(Event.CANCEL, LIVE, State.CANCELLED),
    _arrow(Event.CLOSED, LIVE, State.CANCELLED),
    _arrow(Event.DEADLINE, _A, _R, When.URL, When.HELD),
    _arrow(Event.DEADLINE, _A, State.EXPIRED, When.NOT_HELD),
    _arrow(Event.DEADLINE, _PENDING, State.EXPIRED, When.URL),
    _arrow(Event.HONOUR_EVIDENCE, _R, State.COMPLETE, When.URL, When.HELD),
    _arrow(Event.HONOUR_EVIDENCE, UNRESOLVED, State.COMPLETE, When.URL, When.LATE),
    _arrow(Event.CLOSE, UNRESOLVED, None, When.URL),
    _arrow(Event.REVERSAL, ALL, None, When.URL),
    _arrow(Event.DELIVERED, ALL, None),
    _arrow(Event.SHOWN, ALL, None),
    _arrow(Event.CALL_ENDED, ALL, None),
    _arrow(Event.CONSUME, State.COMPLETE, None, When.URL),
    _arrow(Event.CONSUME, State.ACCEPTED, None, When.FORM),
)


@dataclass(frozen=True, slots=True)
class Allowed:
    """The event is in the table; ``to`` is the state afterwards, which may be the present one."""

    to: State


@dataclass(frozen=True, slots=True)
class Refused:
    """The event is not in the table for this state; nothing may change."""

    state: State


def step(state: State, event: Event, facts: Facts) -> Allowed | Refused:
    """What ``event`` does to an entry in ``state``. The only reading of :data:`TABLE`."""
    true = facts.true()
    for arrow in TABLE:
        if arrow.event is event and state in arrow.sources and arrow.when <= true:
            return Allowed(arrow.target or state)
    return Refused(state)


@dataclass(frozen=True, slots=True)
class Words:
    """What support tells the user, and the one next step for an operator (operator policy)."""

    explanation: str
    next_step: str


EXPLANATIONS: Final[dict[State, Words]] = {
    State.ADMITTED: Words(
        "The question was allowed; no answer has been reported yet.",
        "Wait for the answer. If the person says that they never saw the question, cancel it, so that it can be asked"
        " again.",
    ),
    State.CONSENT_PENDING: Words(
        "You agreed to open the link; the outside work is not confirmed.",
        "Wait for the provider's confirmation. If the person says that the work is done, report the confirmation as"
        " lost.",
    ),
    State.RETRY_REQUIRED: Words(
        "The outside work may be done, but its confirmation was lost: retry, do not repeat the work.",
        "Retry, or have the provider send its confirmation again. Do not ask the person to do the work twice.",
    ),
    State.COMPLETE: Words(
        "The outside service confirmed the work.",
        "The waiting call consumes the result. If it never does, look at why the call ended.",
    ),
    State.ACCEPTED: Words(
        "You submitted the form.",
        "Nothing to do: the service has the answer; it consumes the entry.",
    ),
    State.DECLINED: Words(
        "You said no.",
        "Nothing to do. A person's no is final for this question.",
    ),
    State.CANCELLED: Words(
        "It ended without a decision, or somebody abandoned it.",
        "Nothing to do. The service may ask again under a new id.",
    ),
    State.EXPIRED: Words(
        "Nobody answered or confirmed in time. This is not a refusal.",
        "Nothing to do. The service may ask again under a new id.",
    ),
}


def diagram() -> str:
    """The table as a Mermaid state diagram: arrows that move a state, one line for each pair of states."""
    labels: dict[tuple[str, str], list[str]] = {("[*]", State.ADMITTED): [Event.ADMIT]}
    for state in State:
        for arrow in TABLE:
            if state in arrow.sources and arrow.target not in (None, state):
                named = labels.setdefault((state, str(arrow.target)), [])
                if arrow.event not in named:
                    named.append(arrow.event)
    for state in State:
        if state.terminal:
            labels[(state, "[*]")] = []
    lines = ["stateDiagram-v2"]
    for (source, target), events in labels.items():
        lines.append(f"    {source} --> {target}" + (f": {', '.join(events)}" if events else ""))
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(diagram())
