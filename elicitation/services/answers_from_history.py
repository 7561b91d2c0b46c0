"""What the entries about one elicitation say about the three questions that auditors ask, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from audit.models import LedgerEntry, Log
from elicitation.policy.decision import Mode
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.services.actors import ActorKind
from elicitation.services.timeline import took


class Short(StrEnum):
    """The answer in a word or two."""

    YES = "Yes"
    CLIENT_SAYS = "The client says so"
    DOUBTFUL = "Probably not"
    IMPLIED = "Nobody said so"
    ENDED = "Agreed, then ended"
    NO = "No"
    UNDECIDED = "Nobody decided"
    NOT_COUNTED = "Too late: the policy had changed"
    NOT_YET = "Not yet"
    NONE = "There is no result"
    ONCE = "Yes, once"
    MORE = "No: more than once"
    REVERSED = "Once, and taken back"
    UNKNOWN = "Not known"


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence and the ledger entries, by number, that it rests on; without any, it says what is not known."""

    text: str
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """``short`` is a :class:`Short` or the names of revisions."""

    question: str
    short: str
    said: tuple[Said, ...]


#: How the outside work was confirmed.
_CONFIRMED: Final = {
    "webhook": "The provider confirmed the outside work by a signed message.",
    "server": "The service itself confirmed the outside work, as its destination allows.",
    "reconcile": "The provider confirmed the outside work when it was asked.",
}
_UNUSABLE: Final = frozenset(
    {
        EvidenceOutcome.EXPIRED_DENIED,
        EvidenceOutcome.NOT_PENDING_DENIED,
        EvidenceOutcome.UNBOUND_HELD,
    }
)
_ENDS: Final = frozenset({Event.ANSWER_DECLINE, Event.ANSWER_CANCEL, Event.PAGE_DECLINE})
_COMPLETES: Final = frozenset({Event.EVIDENCE, Event.HONOUR_EVIDENCE})


class History:
    """The entries about one elicitation, oldest first."""

    def __init__(self, rows: Sequence[LedgerEntry], log: Log | None) -> None:
        self.rows = rows
        self.beginning_is_gone = bool(log and log.pruned) and not any(row.event == Event.ADMIT for row in rows)
        states = [row.state_to for row in rows if row.state_to and not row.event.startswith("refused")]
        self.state = State(states[-1]) if states else None
        self.form = any(row.mode == Mode.FORM for row in rows)

    def of(self, *events: Event) -> list[LedgerEntry]:
        return [row for row in self.rows if row.event in events]

    # Did a person approve this?

    def approved(self) -> Answer:
        said = [*self._answers(), *self._without_an_answer(), *self._honoured()]
        if self.beginning_is_gone:
            said.append(_GONE)
        return Answer("Did a person approve this?", self._approved_in_short(), tuple(said))

    def _approved_in_short(self) -> Short:
        consents = self.of(Event.ANSWER_ACCEPT, Event.PAGE_CONSENT)
        ended = self.of(Event.ANSWER_DECLINE, Event.ANSWER_CANCEL, Event.PAGE_DECLINE)
        if self.of(Event.POLICY_WITHDRAWN):
            return Short.NOT_COUNTED
        if consents and ended:
            return Short.ENDED
        if any(row.event == Event.PAGE_CONSENT for row in consents):
            return Short.YES
        if consents:
            quick = all(row.decided_by == "probably_not_shown" for row in consents)
            return Short.DOUBTFUL if quick else Short.CLIENT_SAYS
        if ended:
            quick = ended[-1].decided_by == "probably_not_shown"
            return Short.UNDECIDED if quick or ended[-1].event == Event.ANSWER_CANCEL else Short.NO
        if self._completion() is not None:
            return Short.IMPLIED
        if self.beginning_is_gone:
            return Short.UNKNOWN
        return Short.UNDECIDED if self.state is not None and self.state.terminal else Short.NOT_YET

    def _answers(self) -> Iterator[Said]:
        for row in self.rows:
            match row.event:
                case Event.PAGE_CONSENT:
                    yield Said("A person signed in on the desk's page and agreed.", (row.pk,))
                case Event.PAGE_DECLINE:
                    yield Said("A person signed in on the desk's page and said no.", (row.pk,))
                case Event.ANSWER_ACCEPT:
                    what = "submitted the form" if row.mode == Mode.FORM else "agreed to open the link"
                    yield _by_the_client(row, f"the person {what}")
                case Event.ANSWER_DECLINE:
                    yield _by_the_client(row, "the person said no")
                case Event.ANSWER_CANCEL:
                    yield _by_the_client(row, "the person closed the question without deciding")
                case Event.POLICY_WITHDRAWN:
                    yield _by_the_client(row, "the person agreed")
                    text = "It did not count: the policy then in force no longer admitted the question."
                    yield Said(text, (row.pk,))

    def _without_an_answer(self) -> Iterator[Said]:
        done = self._completion()
        if self.of(Event.ANSWER_ACCEPT, Event.PAGE_CONSENT, Event.POLICY_WITHDRAWN) or self.of(*_ENDS):
            return
        if done is not None:
            text = "No answer was reported. The confirmation of the outside work stands for it."
            yield Said(text, (done.pk,))
            return
        ends = {
            Event.DEADLINE: "Nobody answered in time. This is not a refusal.",
            Event.PROVIDER_FAILURE: "No answer was reported before the provider said that the work had failed.",
            Event.CLOSED: "No answer was reported before its tenant, service or provider was closed.",
        }
        for row in self.rows:
            if row.event == Event.CANCEL:
                yield Said(f"No answer was reported before {_who_cancelled(row)}.", (row.pk,))
            elif row.event in ends and row.state_to in (State.EXPIRED, State.CANCELLED):
                yield Said(ends[Event(row.event)], (row.pk,))
        if self.state is not None and not self.state.terminal:
            yield Said("No answer has been reported yet.")

    def _honoured(self) -> Iterator[Said]:
        honoured = self.of(Event.HONOUR_EVIDENCE)
        if not honoured:
            return
        proposed = [row.pk for row in self.rows if row.event == "honour_proposed" and row.pk < honoured[0].pk][-1:]
        ended = {State.DECLINED: " after a no", State.CANCELLED: " after it had been cancelled"}
        when = ended.get(State(honoured[0].state_from), "")
        text = (
            f"Two operators honoured a confirmation{when}: what counts as done rests on their decision, and not on an "
            "answer of the person."
        )
        yield Said(text, (*proposed, honoured[0].pk))

    # Under which policy?

    def policy(self) -> Answer:
        judged = (
            (Event.ADMIT, "The question was admitted under revision {}."),
            (Event.ANSWER_ACCEPT, "The answer was judged under revision {}."),
            (Event.POLICY_WITHDRAWN, "The answer was judged under revision {}, which no longer admits the question."),
            (Event.EVIDENCE, "A confirmation was judged under revision {}."),
            (Event.EVIDENCE_WITHDRAWN, "A confirmation was judged under revision {}, and was held."),
            (Event.HONOUR_EVIDENCE, "Revision {} was in force when operators honoured the confirmation."),
        )
        words = dict(judged)
        said, numbers = [], []
        for row in self.rows:
            if row.policy_revision is not None and row.event in words:
                said.append(Said(words[Event(row.event)].format(row.policy_revision), (row.pk,)))
                numbers.append(row.policy_revision)
        if not self.of(Event.ADMIT):
            admitted = [row for row in self.rows if row.admission_revision is not None][:1]
            if admitted:
                text = f"Later entries say that it was admitted under revision {admitted[0].admission_revision}."
                said.append(Said(text, (admitted[0].pk,)))
                numbers.append(int(admitted[0].admission_revision or 0))
        if self.beginning_is_gone:
            said.append(_GONE)
        digest = next((row for row in self.of(Event.ADMIT) if row.policy_digest), None)
        if digest is not None:
            said.append(Said(f"The document that admitted it has the digest {digest.policy_digest}.", (digest.pk,)))
        return Answer("Under which policy?", _revisions(numbers), tuple(said))

    # Was the result used once?

    def used(self) -> Answer:
        said = [*self._confirmations(), *self._uses(), *self._afterwards()]
        return Answer("Was the result used once?", self._used_in_short(), tuple(said))

    def _used_in_short(self) -> Short:
        taken = len(self.of(Event.CONSUME))
        if taken > 1:
            return Short.MORE
        if taken:
            return Short.REVERSED if self._taken_back() else Short.ONCE
        if self.state in (State.COMPLETE, State.ACCEPTED):
            return Short.NOT_YET
        if self.beginning_is_gone and self.state is None:
            return Short.UNKNOWN
        return Short.NONE if self.state is None or self.state.terminal else Short.NOT_YET

    def _confirmations(self) -> Iterator[Said]:
        if self.form:
            return
        for row in self.rows:
            match row.event:
                case Event.EVIDENCE if row.outcome == EvidenceOutcome.COMPLETED:
                    yield Said(_CONFIRMED[row.completion_source], (row.pk,))
                case Event.EVIDENCE | Event.EVIDENCE_WITHDRAWN:
                    yield Said("A confirmation came that could not be used then. It was held.", (row.pk,))
                case Event.HONOUR_EVIDENCE:
                    yield Said("Operators let a confirmation that had been kept complete it.", (row.pk,))
                case Event.LOST:
                    text = "reported as" if row.actor_kind != ActorKind.SCHEDULER else "suspected to be"
                    yield Said(f"The confirmation was {text} lost.", (row.pk,))
                case Event.PROVIDER_FAILURE:
                    yield Said("The provider said that the work had failed for good.", (row.pk,))
        if self._completion() is None and self.state is not None:
            known = "No confirmation was used" if self.state.terminal else "No confirmation has been used yet"
            yield Said(f"{known}. Whether the outside work was done, the ledger does not know.")

    def _uses(self) -> Iterator[Said]:
        what = "answer" if self.form else "result"
        taken = self.of(Event.CONSUME)
        for row in taken[:1]:
            yield Said(f"The waiting call took the {what}.", (row.pk,))
        if len(taken) > 1:
            text = f"It was taken {len(taken)} times, which the desk never lets happen: look into this."
            yield Said(text, tuple(row.pk for row in taken))
        if not taken and self.state in (State.COMPLETE, State.ACCEPTED):
            yield Said(f"The waiting call has not taken the {what} yet.")
        if taken and self.form:
            yield Said("What the form said, and what the service did with it, is not on the ledger.")
        elif taken:
            yield Said("What the service did with it, the ledger does not know.")

    def _afterwards(self) -> Iterator[Said]:
        for row in self._taken_back():
            yield Said("The provider took the result back.", (row.pk,))
        again = [row for row in self.rows if row.event == "refused"]
        for outcome, text in (
            (EvidenceOutcome.CONFLICT_DENIED, "Another confirmation contradicts what is recorded."),
            (EvidenceOutcome.RESULT_REUSED_DENIED, "Its provider named a result that another elicitation had used."),
            (EvidenceOutcome.WRONG_USER_DENIED, "A confirmation named another person and was refused."),
        ):
            rows = tuple(row.pk for row in again if row.outcome == outcome)
            if rows:
                yield Said(text, rows)
        late = tuple(row.pk for row in again if row.outcome in _UNUSABLE and row.related_id is not None)
        if late:
            yield Said("A confirmation came that it could not use: money may have moved.", late)
        for row in self.of(Event.CLOSE):
            yield Said("An operator settled outside of the desk what it had left open.", (row.pk,))
        lost = self.of(Event.DEADLINE)
        if self.state is State.EXPIRED and lost and lost[-1].state_from == State.RETRY_REQUIRED:
            yield Said("The confirmation was lost and was not found in time: the work may be done.", (lost[-1].pk,))

    def _completion(self) -> LedgerEntry | None:
        moved = (row for row in self.of(*_COMPLETES) if row.state_to == State.COMPLETE)
        return next((row for row in moved if row.state_from != State.COMPLETE), None)

    def _taken_back(self) -> list[LedgerEntry]:
        return [row for row in self.of(Event.REVERSAL) if row.state_to == State.COMPLETE and row.related_id is None]


_GONE: Final = Said(
    "The log's beginning was pruned, and with it the first entries about this: they are not known here."
)


def _by_the_client(row: LedgerEntry, what: str) -> Said:
    """An answer is the client's word; how long it took says something about it."""
    if row.latency_ms is None:
        rest = "It did not say how long that took, and the desk saw nobody."
    elif row.decided_by == "probably_not_shown":
        rest = f"That took {took(row.latency_ms)}, faster than a person reads: it was probably never shown to anybody."
    else:
        rest = f"That took {took(row.latency_ms)}. The desk itself saw nobody."
    return Said(f"The client says that {what}. {rest}", (row.pk,))


def _who_cancelled(row: LedgerEntry) -> str:
    if row.actor_kind == ActorKind.OPERATOR:
        return "an operator cancelled it"
    return (
        "the person cancelled it on the desk's page" if row.actor_kind == ActorKind.USER else "the service gave it up"
    )


def _revisions(numbers: Sequence[int]) -> str:
    known = list(dict.fromkeys(numbers))
    if not known:
        return Short.UNKNOWN
    if len(known) == 1:
        return f"Revision {known[0]}"
    return f"Revisions {', '.join(map(str, known[:-1]))} and {known[-1]}"
