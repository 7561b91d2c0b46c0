"""What an operator does to one entry: asked for on a page of its own, done through the registry, told honestly."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Final

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from elicitation.admin.acting_forms import EvidenceForm, ProposalForm, ReasonForm, SeenForm
from elicitation.admin.acting_words import EVENTS, Verb, Words, words_of
from elicitation.admin.entry import Page
from elicitation.models import Elicitation
from elicitation.policy.lifecycle import Allowed, State, step
from elicitation.services import actors, honouring, operators
from elicitation.services.honouring import NotHonoured
from elicitation.services.move import Contended, TransitionRefused, facts
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.status import LookupOutcome
from elicitation.services.timeline import CLOSE_REASONS, REASONS, RETRIED
from elicitation.templatetags.desk import elc

#: The state's one next step, as far as it is done here. What is kept or unresolved comes before it.
_MAIN: Final = {State.ADMITTED: Verb.CANCEL, State.CONSENT_PENDING: Verb.LOST, State.RETRY_REQUIRED: Verb.RETRY}


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that is possible now. ``main``: it is the one next step."""

    verb: Verb
    words: Words
    main: bool


def offers(page: Page, user_id: int) -> list[Offer]:
    """What this person can do to the entry as it stands, the main thing first."""
    entry, allowed = page.entry, _allowed(page, user_id)
    main = _main(page, allowed)
    made = (Offer(verb, words_of(verb, entry), verb is main) for verb in allowed)
    return sorted(made, key=lambda offer: not offer.main)


def _main(page: Page, allowed: list[Verb]) -> Verb | None:
    if page.honouring.waiting is not None:
        return Verb.APPROVE if Verb.APPROVE in allowed else None  # it is somebody else's turn
    if page.state in _MAIN:
        return _MAIN[page.state]
    return next((verb for verb in (Verb.PROPOSE, Verb.CLOSE) if verb in allowed), None)


def _allowed(page: Page, user_id: int) -> list[Verb]:
    entry, honour, known = page.entry, page.honouring, facts(page.entry)
    allowed = [verb for verb, event in EVENTS.items() if isinstance(step(page.state, event, known), Allowed)]
    if Verb.CLOSE in allowed and not (entry.late_evidence or entry.unresolved):
        allowed.remove(Verb.CLOSE)
    if honour.waiting is not None:
        others = honour.waiting.proposed_by_id != user_id
        allowed += [Verb.APPROVE, Verb.WITHDRAW] if others else [Verb.WITHDRAW]
    elif honour.evidence and honour.obstacle is None:
        allowed.append(Verb.PROPOSE)
    return [verb for verb in Verb if verb in allowed]


def form(verb: Verb, page: Page, data: Any = None) -> SeenForm:
    """What the page of ``verb`` asks for, empty or filled with what was sent."""
    known: dict[str, Any] = {"seen": page.state}
    if page.honouring.waiting is not None:
        known["proposal"] = page.honouring.waiting.uid
    match verb:
        case Verb.APPROVE | Verb.WITHDRAW:
            return ProposalForm(page.entry, data, initial=known)
        case Verb.PROPOSE:
            return EvidenceForm(page.honouring.evidence, data, initial=known)
        case Verb.CLOSE | Verb.CANCEL:
            return ReasonForm(words_of(verb, page.entry).reasons or {}, data, initial=known)
        case Verb.RETRY | Verb.LOST:
            return SeenForm(data, initial=known)


class NotDone(Exception):
    """Nothing was changed. ``str()`` says why, in one sentence."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: ``told`` for the person, ``kept`` beside the entry; ``good`` unless it is still open."""

    told: str
    kept: str
    good: bool = True


def act(verb: Verb, entry: Elicitation, user_id: int, filled: SeenForm) -> Done:
    """Do what the valid form ``filled`` says, through the registry, and keep it with its note as the operator's action.

    Raises ``NotDone`` when somebody or the deadline was first.
    """
    note: str = filled.cleaned_data.get("note", "")
    # A retry may ask the provider, and nobody is asked while a transaction is open; it takes no note.
    with nullcontext() if verb is Verb.RETRY else transaction.atomic():
        done = _attempt(verb, entry, user_id, filled)
        if isinstance(done, Done):
            LogEntry.objects.create(
                user_id=user_id,
                content_type=ContentType.objects.get_for_model(Elicitation),
                object_id=str(entry.pk),
                object_repr=elc(entry.uid),
                action_flag=CHANGE,
                change_message=done.kept + (f" Note: {note}" if note else ""),
            )
    if isinstance(done, str):
        raise NotDone(done)
    return done


def _attempt(verb: Verb, entry: Elicitation, user_id: int, filled: SeenForm) -> Done | str:
    """What was done, or why nothing was: a value, because what the registry noted of a refusal must stay."""
    seen = State(filled.cleaned_data["seen"])
    try:
        return _do(verb, entry, user_id, filled.cleaned_data, seen)
    except NotHonoured as refusal:
        return str(refusal)
    except TransitionRefused as refusal:
        if refusal.state is not seen:
            return "Somebody was first: the state has changed since this page was opened."
        return words_of(verb, entry).otherwise
    except Contended:
        return "It is changing all the time just now. Try again."


def _do(verb: Verb, entry: Elicitation, user_id: int, given: dict[str, Any], seen: State) -> Done:
    by, name = actors.operator(user_id), elc(entry.uid)
    match verb:
        case Verb.CANCEL:
            why = CancelReason(given["reason"])
            operators.cancel(entry.uid, by, why, seen)
            return Done(f"Cancelled {name}; the ledger has the reason.", f"Cancelled: {REASONS[why]}.")
        case Verb.CLOSE:
            what = CloseReason(given["reason"])
            late = operators.close(entry.uid, by, what, seen).late
            open_till_now = "late evidence" if late else "unresolved outcome"
            return Done(
                f"The {open_till_now} is closed; the ledger has the reason.",
                f"Closed the {open_till_now}: {CLOSE_REASONS[what]}.",
            )
        case Verb.LOST:
            operators.mark_lost(entry.uid, by, seen)
            return Done(
                "Marked as lost: it is neither done nor failed, and a retry is needed.",
                "Marked the confirmation as lost.",
            )
        case Verb.RETRY:
            found = operators.retry(entry.uid, by, seen).outcome
            if found is LookupOutcome.COMPLETED:
                return Done(f"Confirmed: {RETRIED[found]}.", f"Retried: {RETRIED[found]}.")
            return Done(f"Still not confirmed: {RETRIED[found]}.", f"Retried: {RETRIED[found]}.", good=False)
        case Verb.PROPOSE:
            honouring.propose(entry.uid, given["evidence"], user_id, seen)
            return Done(
                "Proposed: it waits for a second operator, for 24 hours or until something happens to the entry.",
                "Proposed to honour the confirmation.",
            )
        case Verb.APPROVE:
            honouring.approve(given["proposal"], user_id)
            return Done(
                "Honoured: the entry is complete, and the waiting operation can take its result.",
                "Approved the proposal: the confirmation is honoured.",
            )
        case Verb.WITHDRAW:
            honouring.withdraw(given["proposal"], user_id)
            return Done("The proposal is withdrawn; nothing else has changed.", "Withdrew the proposal to honour it.")
