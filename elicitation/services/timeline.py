"""What happened to an elicitation, from its ledger entries alone, each as one plain sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from audit.models import LedgerEntry
from elicitation.models import Elicitation
from elicitation.policy.decision import Mode
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.rules import Rule, entry
from elicitation.services.actors import ActorKind
from elicitation.services.named import by_whom, operator_names
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.proposals import Obstacle
from elicitation.services.retention import HOLD_REASONS, LIFT_REASONS, HoldReason, LiftReason
from elicitation.services.reviewing import RESOLVE_REASONS, ResolveReason
from elicitation.services.signal_words import WORDS

#: What a refusal on the ledger is about, where its row says no more.
REFUSED: Final[dict[str, str]] = {
    EvidenceOutcome.WRONG_TENANT_DENIED: "somebody of another tenant named this entry and learned nothing",
    EvidenceOutcome.WRONG_SERVICE_DENIED: "another service of this tenant named this entry and learned nothing",
    EvidenceOutcome.WRONG_PROVIDER_DENIED: "word about the outside work came from somebody who may not give it",
    EvidenceOutcome.WRONG_USER_DENIED: "word about the outside work names another person than the one who was asked",
    EvidenceOutcome.UNBOUND_HELD: "a confirmation does not say whose it is, so it was not used",
    EvidenceOutcome.DUPLICATE_IGNORED: "the provider said the same again, and it changed nothing",
    EvidenceOutcome.CONFLICT_DENIED: "what the provider says contradicts what it said before",
    EvidenceOutcome.RESULT_REUSED_DENIED: "the result has already completed another entry",
    EvidenceOutcome.EXPIRED_DENIED: "a confirmation was too late to be used",
    EvidenceOutcome.NOT_PENDING_DENIED: "word about the outside work came when none was awaited",
    EvidenceOutcome.POLICY_WITHDRAWN_HELD: "the policy no longer admitted the destination, so a confirmation was held",
    EvidenceOutcome.HELD: "the person had not agreed as the destination asks, so a confirmation was held",
    "content_missing": "the form was said to be accepted, but nothing was filled in",
    "transition_refused": "this cannot happen in the state that the entry was in",
    Obstacle.SAME_PERSON: "whoever proposes to honour a confirmation cannot approve it",
    Obstacle.ENTRY_CHANGED: "something had happened to it since the operator looked at it",
    Obstacle.NEWER_ENTRY: "the operation has another entry that lives or has a result, so this one is not honoured",
    Obstacle.PROPOSAL_EXPIRED: "the proposal to honour the confirmation was over",
}

#: The same where the row names the evidence that was kept.
_KEPT: Final[dict[str, str]] = {
    EvidenceOutcome.UNBOUND_HELD: "the same confirmation came again, and still does not say whose it is",
    EvidenceOutcome.CONFLICT_DENIED: "a confirmation contradicts the recorded result; it is kept for an operator",
    EvidenceOutcome.EXPIRED_DENIED: "a confirmation came too late, or for work done after the time was up; "
    "it is kept, because money may have moved",
    EvidenceOutcome.NOT_PENDING_DENIED: "a confirmation came when none was awaited; it is kept as late evidence",
    EvidenceOutcome.POLICY_WITHDRAWN_HELD: "the same confirmation came again and was held already; the policy no "
    "longer admitted its destination",
    EvidenceOutcome.HELD: "the same early confirmation came again and was held already",
}

#: What a retry found, of the provider or of the evidence that is held.
RETRIED: Final[dict[str, str]] = {
    "completed": "the confirmation was found, and it passes every check",
    "still_pending": "the provider says that the work is still pending",
    "failed": "the provider says that the work failed",
    "provider_unknown": "the provider does not know this entry",
    "unreachable": "the provider did not answer",
    "no_lookup": "no confirmation is held, and nobody may be asked (the provider has no look-up, or its destination "
    "does not list the source reconcile)",
    EvidenceOutcome.WRONG_PROVIDER_DENIED: "what is held came from somebody who may not confirm it",
    EvidenceOutcome.WRONG_USER_DENIED: "what is held names another person than the one who was asked",
    EvidenceOutcome.UNBOUND_HELD: "a confirmation is held, but it does not say whose it is",
    EvidenceOutcome.DUPLICATE_IGNORED: "what is held was used already",
    EvidenceOutcome.CONFLICT_DENIED: "what is held contradicts the recorded result",
    EvidenceOutcome.RESULT_REUSED_DENIED: "a confirmation is held, but its result has already completed another entry",
    EvidenceOutcome.EXPIRED_DENIED: "a confirmation is held, but for work done after the time was up",
    EvidenceOutcome.NOT_PENDING_DENIED: "a confirmation is held, but none is awaited",
    EvidenceOutcome.POLICY_WITHDRAWN_HELD: "a confirmation is held, but the policy no longer admits its destination",
    EvidenceOutcome.HELD: "a confirmation is held until the person signs in on the desk's page and agrees",
}

#: What the provider said when it was asked; whether its confirmation passes is another matter.
PROVIDER_SAID: Final[dict[str, str]] = RETRIED | {"completed": "the provider says that the work is done"}

_CONFIRMED_BY: Final = {
    "webhook": "The provider confirmed the work by a signed message.",
    "server": "The service itself confirmed the work, as its destination allows.",
    "reconcile": "The provider confirmed the work when it was asked.",
    "operator": "Operators confirmed the work from the evidence at hand.",
}

REASONS: Final[dict[CancelReason, str]] = {
    CancelReason.USER_ABANDONED: "the person gave up",
    CancelReason.PROVIDER_OUTAGE: "the provider is out of order",
    CancelReason.DUPLICATE_REQUEST: "the same question was asked twice",
    CancelReason.WRONG_DESTINATION: "it leads to the wrong destination",
    CancelReason.TEST_TRAFFIC: "it was a test",
    CancelReason.SECURITY: "a security concern",
    CancelReason.OTHER: "another reason, in the operator's note",
}

CLOSE_REASONS: Final[dict[CloseReason, str]] = {
    CloseReason.REFUNDED: "the work was taken back, such as money refunded",
    CloseReason.DUPLICATE: "it repeats work that is settled elsewhere",
    CloseReason.NOT_OURS: "it is not about this desk's question",
    CloseReason.OTHER: "another reason, in the operator's note",
}


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One thing that happened: when (UTC), in words, the ledger's event, and who did it."""

    at: datetime
    text: str
    event: str
    by: str


def timeline(entry: Elicitation) -> list[TimelineLine]:
    """The ledger's entries about ``entry``, oldest first."""
    rows = list(LedgerEntry.objects.filter(tenant=entry.tenant.slug, elicitation_id=entry.uid).order_by("pk"))
    names = operator_names(rows)
    return [TimelineLine(row.at, SENTENCES[row.event](row), row.event, by_whom(row, names)) for row in rows]


def took(latency_ms: int) -> str:
    """How long an answer took."""
    seconds = latency_ms / 1000
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def _answer(row: LedgerEntry) -> str:
    """In brackets: how long the answer took, and what that says about it."""
    doubt = ": probably never shown" if row.decided_by == "probably_not_shown" else ""
    return "" if row.latency_ms is None else f" (answer took {took(row.latency_ms)}{doubt})"


def _admit(row: LedgerEntry) -> str:
    follows = " It follows an earlier question that ended undecided." if row.related_id else ""
    return f"The policy admitted the question (revision {row.policy_revision}).{follows}"


def _accept(row: LedgerEntry) -> str:
    if row.mode == Mode.FORM:
        return f"The person submitted the form{_answer(row)}."
    if row.state_from != State.ADMITTED:
        return f"The person agreed to open the link, reported late{_answer(row)}: the consent is recorded."
    return f"The person agreed to open the link{_answer(row)}."


def _policy_withdrawn(row: LedgerEntry) -> str:
    because = f": {entry(Rule(row.rule)).title}" if row.rule else ""
    return f"The person agreed, but the policy in force no longer admits the question{because}. It was cancelled."


def _evidence(row: LedgerEntry) -> str:
    if row.outcome == EvidenceOutcome.COMPLETED:
        return _CONFIRMED_BY[row.completion_source]
    if row.outcome == EvidenceOutcome.POLICY_WITHDRAWN_HELD:
        return "A confirmation arrived before the answer, for a destination the policy had withdrawn. It was held."
    if row.outcome == EvidenceOutcome.UNBOUND_HELD:
        return "A confirmation arrived that does not say whose it is. It was held."
    if row.state_from != State.ADMITTED:
        return "A confirmation arrived before the person had agreed on the desk's page. It was held for that."
    return "A confirmation arrived before the person's consent. It was held for that."


def _lost(row: LedgerEntry) -> str:
    if row.actor_kind == ActorKind.SCHEDULER:
        return "Suspected lost: nothing usable came in the usual time. Nobody is sent to do the work again."
    return "The confirmation was reported as lost: the work may be done, and nobody is sent to do it again."


def _retry(row: LedgerEntry) -> str:
    return f"Retry {row.attempt}: {RETRIED[row.outcome]}."


def _reversal(row: LedgerEntry) -> str:
    if row.state_to == State.COMPLETE and row.related_id is not None:
        return "The provider took back a confirmation that contradicted the result, which stands."
    if row.state_to == State.COMPLETE:
        return "The provider took the result back afterwards."
    return "The provider took back a confirmation that had not been used. It will not be used any more."


def _close(row: LedgerEntry) -> str:
    what = f": {CLOSE_REASONS[CloseReason(row.reason_code)]}" if row.reason_code else ""
    open_till_now = "an outcome that nobody could find" if row.outcome == "unknown" else "the late evidence"
    return f"An operator closed {open_till_now}{what}."


def _lookup(row: LedgerEntry) -> str:
    return f"The provider was asked: {PROVIDER_SAID[row.outcome]}."


def _signal(row: LedgerEntry) -> str:
    title = WORDS[row.rule.removeprefix("signal.")].title
    if row.event == "signal_acknowledged":
        return f'An operator looks at the signal "{title}".'
    return f'An operator resolved the signal "{title}": {RESOLVE_REASONS[ResolveReason(row.reason_code)]}.'


def _cancel(row: LedgerEntry) -> str:
    if row.actor_kind == ActorKind.OPERATOR:
        return f"An operator cancelled it: {REASONS[CancelReason(row.reason_code)]}."
    if row.actor_kind == ActorKind.USER:
        return "The person cancelled it on the desk's page."
    return "The service gave the question up."


def _deadline(row: LedgerEntry) -> str:
    if row.state_to == State.RETRY_REQUIRED:
        return "The time was up while a confirmation was held: a retry is needed, and nobody is sent twice."
    if row.state_from in (State.CONSENT_PENDING, State.RETRY_REQUIRED):
        return "No confirmation that it could use came in time, so it expired. This is not a refusal."
    return "Nobody answered or confirmed in time, so it expired. This is not a refusal."


def _consume(row: LedgerEntry) -> str:
    what = "answer" if row.mode == Mode.FORM else "result"
    return f"The waiting call took the {what}: it is applied."


def _refused(row: LedgerEntry) -> str:
    if row.outcome == EvidenceOutcome.DUPLICATE_IGNORED:
        return f"{_upper(REFUSED[row.outcome])}."
    return f"Refused: {_why_refused(row)}."


def _why_refused(row: LedgerEntry) -> str:
    if row.related_id is None or row.outcome not in _KEPT:
        return REFUSED[row.outcome]
    if row.outcome == EvidenceOutcome.UNBOUND_HELD and row.state_to and State(row.state_to).terminal:
        return "a confirmation came after the end and does not say whose it is; it is kept for an operator"
    return _KEPT[row.outcome]


def _refused_again(row: LedgerEntry) -> str:
    times = "once more" if row.repeat_count == 1 else f"{row.repeat_count} more times"
    again = f"{times} within the hour: {REFUSED[row.outcome]}."
    return _upper(again) if row.outcome == EvidenceOutcome.DUPLICATE_IGNORED else f"Refused {again}"


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def _always(sentence: str) -> Callable[[LedgerEntry], str]:
    return lambda _: sentence


#: One sentence for every event of the table, and for what was refused. A test holds it against the enum.
SENTENCES: Final[dict[str, Callable[[LedgerEntry], str]]] = {
    Event.ADMIT: _admit,
    Event.ASK_AGAIN: _always(
        "The call asked again while a confirmation was held: a retry is needed, and nobody is sent twice."
    ),
    Event.DELIVERED: _always("The question was delivered to the client."),
    Event.SHOWN: _always("The client showed the question."),
    Event.CALL_ENDED: _always("The waiting call gave up."),
    Event.ANSWER_ACCEPT: _accept,
    Event.ANSWER_DECLINE: lambda row: f"The person said no{_answer(row)}.",
    Event.ANSWER_CANCEL: lambda row: f"The person closed the question without deciding{_answer(row)}.",
    Event.POLICY_WITHDRAWN: _policy_withdrawn,
    Event.PAGE_CONSENT: _always("The person signed in on the desk's page and agreed."),
    Event.PAGE_DECLINE: _always("The person signed in on the desk's page and said no."),
    Event.EVIDENCE: _evidence,
    Event.EVIDENCE_WITHDRAWN: _always(
        "A confirmation arrived for a destination the policy had withdrawn. It was held; each retry checks again."
    ),
    Event.LOST: _lost,
    Event.RETRY: _retry,
    Event.PROVIDER_FAILURE: _always("The provider reported that the work has failed for good."),
    Event.CANCEL: _cancel,
    Event.CLOSED: _always("It was cancelled, because its tenant, service or provider was closed."),
    Event.DEADLINE: _deadline,
    Event.HONOUR_EVIDENCE: _always("Two operators honoured the confirmation that had been kept."),
    Event.CLOSE: _close,
    Event.REVERSAL: _reversal,
    Event.CONSUME: _consume,
    "lookup": _lookup,
    "honour_proposed": _always("An operator proposed to honour a confirmation that had been kept."),
    "honour_withdrawn": _always("The proposal to honour the confirmation was withdrawn."),
    "signal_acknowledged": _signal,
    "signal_resolved": _signal,
    "refused": _refused,
    "refused_again": _refused_again,
    "looked_up": _always("Somebody at the desk looked it up."),
    "exported": _always("The ledger's entries about it were exported."),
    "evidence_packed": _always("An evidence pack about it was made."),
    "hold_placed": lambda row: f"It was put under a legal hold: {HOLD_REASONS[HoldReason(row.reason_code)]}.",
    "hold_lifted": lambda row: f"The legal hold was lifted: {LIFT_REASONS[LiftReason(row.reason_code)]}.",
}
