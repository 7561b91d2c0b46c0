"""What an operator does to one entry: asked for on a page of its own, done through the registry, told honestly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django import forms
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import Allowed, Event, State, step
from elicitation.policy.shapes import secret_shaped
from elicitation.services import actors, operators
from elicitation.services.move import Contended, TransitionRefused, facts
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.recovery import RetryOutcome
from elicitation.services.timeline import CLOSE_REASONS, REASONS, RETRIED
from elicitation.templatetags.desk import elc

NOTE_LENGTH: Final = 200


class Verb(StrEnum):
    """What can be done, as the addresses say it."""

    CLOSE = "close"
    RETRY = "retry"
    LOST = "lost"
    CANCEL = "cancel"


@dataclass(frozen=True, slots=True)
class Words:
    """How a page offers an action: its button on the entry's page, then its own page. ``reasons`` are asked for one."""

    offer: str
    title: str
    before: str
    after: str
    meaning: str
    submit: str
    otherwise: str
    reasons: Mapping[Any, str] | None = None


WORDS: Final[dict[Verb, Words]] = {
    Verb.CLOSE: Words(
        offer="Close late evidence, with a reason",
        title="Close late evidence",
        before="Close the late evidence of",
        after="?",
        meaning="Say what became of it outside of the desk. The state stays as it is; the entry leaves the list of what"
        " waits, and the same operation may be asked again.",
        submit="Close the late evidence",
        otherwise="No late evidence is open, so there is nothing to close.",
        reasons=CLOSE_REASONS,
    ),
    Verb.RETRY: Words(
        offer="Retry",
        title="Retry",
        before="Look again for the confirmation of",
        after="?",
        meaning="The desk judges again what it holds, by the policy in force now. The person is asked nothing, and the"
        " outside work is not done again.",
        submit="Retry",
        otherwise="It is not waiting for a retry, so there is nothing to look for.",
    ),
    Verb.LOST: Words(
        offer="Mark the confirmation as lost",
        title="Mark as lost",
        before="Mark the confirmation of",
        after="as lost?",
        meaning="Do so when the person says that the outside work is done and no confirmation has arrived. It counts as"
        " neither success nor failure: a retry is then needed, and nobody is sent to do the work again.",
        submit="Mark the confirmation as lost",
        otherwise="It is not waiting for a confirmation, so none can be lost.",
    ),
    Verb.CANCEL: Words(
        offer="Cancel it, with a reason",
        title="Cancel",
        before="Cancel",
        after="?",
        meaning="The person can no longer act on it, and the service may ask again under a new id. This cannot be"
        " undone.",
        submit="Cancel this elicitation",
        otherwise="It has ended, so there is nothing to cancel.",
        reasons=REASONS,
    ),
}
_EVENTS: Final = {
    Verb.CLOSE: Event.CLOSE,
    Verb.RETRY: Event.RETRY,
    Verb.LOST: Event.LOST,
    Verb.CANCEL: Event.CANCEL,
}
#: The state's one next step, as far as it is done here. Late evidence comes before it.
_MAIN: Final = {State.ADMITTED: Verb.CANCEL, State.CONSENT_PENDING: Verb.LOST, State.RETRY_REQUIRED: Verb.RETRY}


@dataclass(frozen=True, slots=True)
class Offer:
    """An action that the present state allows. ``main``: it is the one next step."""

    verb: Verb
    words: Words
    main: bool


def offers(entry: Elicitation, state: State) -> list[Offer]:
    """What the table allows for ``entry`` in ``state``, the main one first."""
    known = facts(entry)
    allowed = [verb for verb in Verb if isinstance(step(state, _EVENTS[verb], known), Allowed)]
    if not entry.late_evidence and Verb.CLOSE in allowed:
        allowed.remove(Verb.CLOSE)
    main = Verb.CLOSE if Verb.CLOSE in allowed else _MAIN.get(state)
    return sorted((Offer(verb, WORDS[verb], verb is main) for verb in allowed), key=lambda offer: not offer.main)


class SeenForm(forms.Form):
    """``seen`` is the state that the person decided on."""

    use_required_attribute = False
    seen = forms.ChoiceField(choices=[(state, state) for state in State], widget=forms.HiddenInput)


class ReasonForm(SeenForm):
    """A reason code for the ledger, and a note for people: the ledger has no place for it."""

    reason = forms.ChoiceField(error_messages={"required": "Choose a reason."})
    note = forms.CharField(
        max_length=NOTE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": NOTE_LENGTH}),
        help_text=f"At most {NOTE_LENGTH} characters, for other operators. Never a secret, never who the person is.",
    )

    def __init__(self, reasons: Mapping[Any, str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        listed = [(str(reason), words[:1].upper() + words[1:]) for reason, words in reasons.items()]
        field = self.fields["reason"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Choose one"), *listed]

    def clean_note(self) -> str:
        note: str = self.cleaned_data["note"]
        shape = secret_shaped(note)
        if shape is None:
            return note
        self.data = dict(self.data.items()) | {"note": ""}  # not even back to the page
        raise forms.ValidationError(
            f"The note was thrown away: it holds what looks like a secret or an address ({shape.replace('_', ' ')})."
        )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        if cleaned.get("reason") == "other" and "note" in cleaned and not cleaned["note"]:
            self.add_error("note", "Say what the other reason is.")
        return cleaned


def form(verb: Verb, *args: Any, **kwargs: Any) -> SeenForm:
    """What the page of ``verb`` asks for."""
    reasons = WORDS[verb].reasons
    return SeenForm(*args, **kwargs) if reasons is None else ReasonForm(reasons, *args, **kwargs)


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
    with transaction.atomic():
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
        return _do(verb, entry, user_id, filled, seen)
    except TransitionRefused as refusal:
        if refusal.state is not seen:
            return "Somebody was first: the state has changed since this page was opened."
        return WORDS[verb].otherwise
    except Contended:
        return "It is changing all the time just now. Try again."


def _do(verb: Verb, entry: Elicitation, user_id: int, filled: SeenForm, seen: State) -> Done:
    by, name = actors.operator(user_id), elc(entry.uid)
    match verb:
        case Verb.CANCEL:
            why = CancelReason(filled.cleaned_data["reason"])
            operators.cancel(entry.uid, by, why, seen)
            return Done(f"Cancelled {name}; the ledger has the reason.", f"Cancelled: {REASONS[why]}.")
        case Verb.CLOSE:
            what = CloseReason(filled.cleaned_data["reason"])
            operators.close_late(entry.uid, by, what, seen)
            return Done(
                "The late evidence is closed; the ledger has the reason.",
                f"Closed the late evidence: {CLOSE_REASONS[what]}.",
            )
        case Verb.LOST:
            operators.mark_lost(entry.uid, by, seen)
            return Done(
                "Marked as lost: it is neither done nor failed, and a retry is needed.",
                "Marked the confirmation as lost.",
            )
        case Verb.RETRY:
            found = operators.retry(entry.uid, by, seen).outcome
            if found is RetryOutcome.COMPLETED:
                return Done(f"Confirmed: {RETRIED[found]}.", f"Retried: {RETRIED[found]}.")
            return Done(f"Still not confirmed: {RETRIED[found]}.", f"Retried: {RETRIED[found]}.", good=False)
