"""What to tell about an entry, and its one next step: the state's words, or what matters more."""

from __future__ import annotations

from typing import Final

from elicitation.models import Elicitation, Evidence, EvidenceStatus
from elicitation.policy.lifecycle import EXPLANATIONS, State, Words

LATE_STEP: Final = (
    "Compare with the provider's own record; then have two operators honour it, or settle it and close it with a "
    "reason."
)
UNRESOLVED_STEP: Final = (
    "Look in the provider's own record whether the work was done, settle it, and close it with a reason."
)
_LATE: Final = f"A confirmation is kept that the entry could not use: money may have moved. {LATE_STEP}"
_UNRESOLVED: Final = (
    f"Its confirmation was lost, and the time for finding it is over: money may have moved. {UNRESOLVED_STEP}"
)
_HELD: Final = (
    "A confirmation is held, because it does not say whose it is or its destination was withdrawn. Have the provider "
    "send it again with the person, or put the destination back; two operators may honour one whose destination was "
    "withdrawn. Do not ask the person to do the work again."
)
_APPLIED: Final = "Nothing to do: the waiting call has taken the result."


def _held_for_others(entry: Elicitation) -> bool:
    """Whether what waits needs somebody: neither the answer nor a retry would use it as it is."""
    waiting = Evidence.objects.filter(elicitation=entry)
    if waiting.filter(status=EvidenceStatus.HELD).exists():
        return False
    return waiting.filter(status__in=[EvidenceStatus.UNBOUND, EvidenceStatus.WITHDRAWN]).exists()


def explain(entry: Elicitation, state: State) -> Words:
    """The words for ``entry`` in ``state``, the state that a reader is told (operator policy)."""
    words = EXPLANATIONS[state]
    if entry.late_evidence and state.terminal:
        return Words(words.explanation, _LATE)
    if entry.unresolved:
        return Words(words.explanation, _UNRESOLVED)
    if entry.held_evidence and _held_for_others(entry):
        return Words(words.explanation, _HELD)
    if entry.applied_at is not None:
        return Words(words.explanation, _APPLIED)
    return words
