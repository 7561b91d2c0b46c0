"""Asking again: what an operation's last entry gives, and how a new entry follows an earlier one."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from elicitation.models import Elicitation, Service
from elicitation.policy import identifiers
from elicitation.policy.admission import Ruling
from elicitation.policy.decision import Decision, Mode, Outcome
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.document import Destination
from elicitation.policy.lifecycle import Event, State
from elicitation.services import actors, clock, parties, status
from elicitation.services.actors import Actor
from elicitation.services.evidence import receive
from elicitation.services.lookup import RELATED
from elicitation.services.move import Step, maybe_visited, move, settled
from elicitation.services.questions import Admitted, OperationConflict, Question, UnknownPredecessor


def is_reused(last: Elicitation, now: datetime, replay_seconds: int) -> bool:
    """Whether asking again gives this entry (design: asking again)."""
    state = State(last.state)
    if not state.terminal:
        return True
    if state is not State.COMPLETE:
        return False
    return last.applied_at is None or now < last.applied_at + timedelta(seconds=replay_seconds)


def asks_still(entry: Elicitation) -> bool:
    """Whether a repeated question may still be put to the person."""
    return State(entry.state) in (State.ADMITTED, State.CONSENT_PENDING)


def ask_again(last: Elicitation, minted: str, ruling: Ruling, now: datetime) -> Admitted:
    """The live entry with the request made anew; ``minted`` is the id that the ruling was made for.

    Where evidence waits, nothing is sent: nobody goes to pay twice.
    """
    if last.held_evidence:
        if State(last.state) is State.ADMITTED:
            move(last, actors.service(last.service), Step(event=Event.ASK_AGAIN), at=now)
        return Admitted(last, ruling.decision, None, False, now)
    request = dict(ruling.request or {})
    if "url" in request:
        request["url"] = str(request["url"]).replace(minted, identifiers.mint_text(last.uid.bytes))
    if last.wire_id is not None:
        request["elicitationId"] = last.wire_id
    return Admitted(last, ruling.decision, request, False, now)


def check_same_question(last: Elicitation, question: Question, ruling: Ruling) -> None:
    """Refuse another body for a live entry: purpose, wire, delivery, mode and destination are compared.

    A URL made afresh for each call is the same question. Raises ``OperationConflict``.
    """
    if State(last.state).terminal:
        return
    destination = ruling.destination
    pairs = {
        "/purpose": (last.purpose, question.purpose),
        "/wire": (last.wire, question.wire),
        "/delivery": (last.delivery, question.delivery),
        "/request/mode": (last.mode, ruling.mode),
        "/request/url": ((last.origin, last.path_prefix), target(destination, ruling.path_index)),
    }
    for place, (before, after) in pairs.items():
        if before != after:
            raise OperationConflict(place)


def target(destination: Destination | None, path_index: int | None) -> tuple[str, str]:
    """Origin and path prefix, as an entry keeps them; empty for a form."""
    if destination is None:
        return "", ""
    return destination.origin, "" if path_index is None else destination.paths[path_index]


def predecessor_of(service: Service, question: Question, last: Elicitation | None) -> Elicitation | None:
    """The entry that a new one follows: the operation's own last one if it ended undecided, or one that the caller
    names, which must be the service's own, the same person's, and ended undecided. Raises ``UnknownPredecessor``."""
    own = last if last is not None and ended_undecided(last) else None
    if question.predecessor is None:
        return own
    named = Elicitation.objects.select_related("subject").filter(uid=question.predecessor, service=service).first()
    if named is None or not parties.is_subject(named.subject, service.tenant, question.iss, question.sub):
        raise UnknownPredecessor
    if not ended_undecided(named) or (own is not None and own.pk != named.pk):
        raise UnknownPredecessor
    return named


def ended_undecided(entry: Elicitation) -> bool:
    return State(entry.state) in (State.CANCELLED, State.EXPIRED)


@dataclass(frozen=True, slots=True)
class AskFirst:
    """Before its question is asked again, the provider of ``entry`` has to say what became of it."""

    entry: Elicitation


def needs_word(predecessor: Elicitation) -> Elicitation | None:
    """The entry whose provider is asked before the question of ``predecessor`` is put again: the last of those before
    it whose link may have been visited."""
    entry: Elicitation | None = predecessor
    while entry is not None and not maybe_visited(entry):
        entry = entry.predecessor if entry.after_visit else None
    return entry if entry is not None and status.can_be_asked(entry.provider) else None


def ask_provider(predecessor: Elicitation, by: Actor) -> bool:
    """Ask the provider, keep what it says, and return whether the work is under way, so that nobody does it twice.

    Work that was done is kept as late evidence. To be called outside of any transaction. Raises ``Contended``.
    """
    said = status.ask(Elicitation.objects.select_related(*RELATED).get(pk=predecessor.pk))

    def keep() -> None:
        entry = Elicitation.objects.select_related(*RELATED).get(pk=predecessor.pk)
        if ended_undecided(entry) or not State(entry.state).terminal:  # else somebody was first
            status.note(entry, by, said, clock.now())

    if said.claim is not None and predecessor.provider is not None:
        receive(predecessor.provider, predecessor.uid, said.claim, EvidenceSource.RECONCILE)
    settled(keep)
    return said.outcome is status.LookupOutcome.STILL_PENDING


def admission_of(entry: Elicitation) -> Decision:
    """The decision that once admitted ``entry``."""
    return Decision(
        outcome=Outcome.ADMIT,
        requested_mode=Mode(entry.mode),
        negotiated=True,
        reason=entry.purpose,
        policy_revision=entry.revision.number,
        policy_digest=entry.revision.digest,
    )
