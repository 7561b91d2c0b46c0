"""What to tell about an entry, and its one next step: the state's words, or what matters more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.db.models import Q

from audit.models import LedgerEntry, Signal
from elicitation.models import Elicitation, Evidence, EvidenceStatus, RefusedAttempt
from elicitation.models.evidence import WAITING
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import EXPLANATIONS, UNRESOLVED, Event, State, Words

LATE_STEP: Final = (
    "Compare with the provider's own record; then have two operators honour it, or settle it and close it with a "
    "reason."
)
UNRESOLVED_STEP: Final = (
    "Look in the provider's own record whether the work was done, settle it, and close it with a reason."
)
WITHDRAWN_STEP: Final = "Put the destination back, or have two operators honour it. Do not have the work done again."
UNBOUND_STEP: Final = "Have the provider send it again with the person. Do not have the work done again."
EARLY_STEP: Final = "Report the answer; do not cancel."
CONFLICT_STEP: Final = (
    "Compare with the provider's own record: the work may have been done twice. Then resolve the signal."
)
_LATE: Final = f"A confirmation is kept that the entry could not use: money may have moved. {LATE_STEP}"
_UNRESOLVED: Final = (
    f"Its confirmation was lost, and the time for finding it is over: money may have moved. {UNRESOLVED_STEP}"
)
_WITHDRAWN: Final = f"A confirmation is held: the policy has withdrawn its destination. {WITHDRAWN_STEP}"
_UNBOUND: Final = f"A confirmation is held: nobody says whose it is. {UNBOUND_STEP}"
_EARLY: Final = f"A confirmation is held until the person's answer is reported. {EARLY_STEP}"
_STRANGER: Final = "Find out who did the work before the question is asked again."
_APPLIED: Final = "Nothing to do: the waiting call has taken the result."
_TAKEN_BACK: Final = "The outside service took its confirmation back."
_TAKEN_BACK_STEP: Final = "Undo what the call did with the result, or settle it with the provider."
_TAKEN_BACK_SETTLED: Final = "Nothing to do: an operator has resolved the signal about it."

#: Ledger entries of one elicitation that are read to count its refusals: an hour of repeats is one of them.
MOST_REFUSALS: Final = 100
_SETTLES: Final = Q(event=Event.CLOSE) | Q(event="signal_resolved", rule="signal.wrong_user_entry")


@dataclass(frozen=True, slots=True)
class Strangers:
    """How often word about the outside work was refused because it named another person. ``more``: at least so often.
    ``settled``: an operator has dealt with it since."""

    count: int
    more: bool
    settled: bool


def strangers(entry: Elicitation) -> Strangers:
    """What the ledger and the count that is still open say about words that named another person."""
    refused = Q(event__in=["refused", "refused_again"], outcome=EvidenceOutcome.WRONG_USER_DENIED)
    mine = LedgerEntry.objects.filter(refused | _SETTLES, tenant=entry.tenant.slug, elicitation_id=entry.uid)
    rows = list(mine.order_by("pk").values_list("event", "repeat_count")[:MOST_REFUSALS])
    written = sum(repeats or 1 for event, repeats in rows if event in ("refused", "refused_again"))
    if not written:
        return Strangers(0, more=False, settled=True)
    open_now = RefusedAttempt.objects.filter(elicitation=entry, outcome=EvidenceOutcome.WRONG_USER_DENIED)
    repeats = sum(count - 1 for count in open_now.values_list("count", flat=True)[:MOST_REFUSALS])
    settled = rows[-1][0] not in ("refused", "refused_again")
    return Strangers(written + repeats, more=len(rows) == MOST_REFUSALS, settled=settled)


def explain(entry: Elicitation, state: State) -> Words:
    """The words for ``entry`` in ``state``, the state that a reader is told (operator policy)."""
    words = EXPLANATIONS[state]
    if entry.late_evidence and state.terminal:
        return Words(words.explanation, _LATE)
    if entry.unresolved:
        return Words(words.explanation, _UNRESOLVED)
    if state is State.COMPLETE:
        return _complete(entry, words)
    if entry.held_evidence:
        return Words(words.explanation, _held(entry, state) or words.next_step)
    if entry.applied_at is not None:
        return Words(words.explanation, _APPLIED)
    if state in UNRESOLVED and not strangers(entry).settled:
        return Words(words.explanation, _STRANGER)
    return words


def _complete(entry: Elicitation, words: Words) -> Words:
    """What has happened since it was completed comes first."""
    signals = Signal.objects.filter(tenant=entry.tenant.slug, about=entry.uid.hex)
    mine = signals.filter(rule__in=["conflicting_result", "reversal"]).exclude(status=Signal.Status.RESOLVED)
    unresolved = set(mine.values_list("rule", flat=True))
    explanation = words.explanation if entry.reversed_at is None else _TAKEN_BACK
    if "conflicting_result" in unresolved:
        return Words(explanation, CONFLICT_STEP)
    if entry.reversed_at is not None:
        return Words(explanation, _TAKEN_BACK_STEP if "reversal" in unresolved else _TAKEN_BACK_SETTLED)
    return Words(explanation, words.next_step if entry.applied_at is None else _APPLIED)


def early_step(state: State) -> str:
    """What is to be done where a confirmation came before the person had agreed, and ``state`` is what is told."""
    return EXPLANATIONS[state].next_step if state is State.RETRY_REQUIRED else EARLY_STEP


def _held(entry: Elicitation, state: State) -> str:
    """Who or what the held evidence waits for; empty where the state's own words say it."""
    waiting = Evidence.objects.filter(elicitation=entry, status__in=WAITING)
    statuses = set(waiting.values_list("status", flat=True))
    if EvidenceStatus.HELD in statuses:
        return "" if state is State.RETRY_REQUIRED else _EARLY
    if EvidenceStatus.WITHDRAWN in statuses:
        return _WITHDRAWN
    return _UNBOUND if EvidenceStatus.UNBOUND in statuses else ""
