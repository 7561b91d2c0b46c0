"""The review of a signal: what is offered and asked for, done on the record, told honestly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from django import forms
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from audit.models import Signal
from audit.signals import Reviewed, Seen
from elicitation.admin.acting_forms import NoteForm, ReasonForm
from elicitation.models import Elicitation
from elicitation.services import actors, reviewing, signal_words
from elicitation.services.reviewing import RESOLVE_REASONS, ResolveReason

_Status: Final = Signal.Status


class Verb(StrEnum):
    """What can be done, as the addresses say it; the main thing first."""

    RESOLVE = "resolve"
    ACKNOWLEDGE = "acknowledge"


@dataclass(frozen=True, slots=True)
class Words:
    """How a page offers it: the button on the signal's page, then a page of its own."""

    offer: str
    title: str
    heading: str
    meaning: str
    submit: str


WORDS: Final[dict[Verb, Words]] = {
    Verb.RESOLVE: Words(
        offer="Resolve it, with a reason",
        title="Resolve",
        heading="Resolve this signal?",
        meaning="Do so when nothing is left to do about what it tells of. It is kept as it is; when the same happens"
        " again, a new signal is opened and sent out. This cannot be undone.",
        submit="Resolve this signal",
    ),
    Verb.ACKNOWLEDGE: Words(
        offer="Acknowledge it",
        title="Acknowledge",
        heading="Acknowledge this signal?",
        meaning="It tells the others that you look at it. It goes on counting, and waits until somebody resolves it.",
        submit="Acknowledge this signal",
    ),
}

_ALLOWED: Final[dict[Signal.Status, list[Verb]]] = {
    _Status.OPEN: [Verb.RESOLVE, Verb.ACKNOWLEDGE],
    _Status.ACKNOWLEDGED: [Verb.RESOLVE],
    _Status.RESOLVED: [],
}


def offered(signal: Signal) -> list[Verb]:
    """What can be done about the signal as it stands, the main thing first."""
    return _ALLOWED[_Status(signal.status)]


def otherwise(signal: Signal) -> str:
    """Why something is not offered."""
    return f"It is {signal.get_status_display()} already."


def _listed(verb: Verb) -> list[tuple[str, str]]:
    """The states on which a person can decide to do ``verb``."""
    return [(status, status) for status, verbs in _ALLOWED.items() if verb in verbs]


class AcknowledgeForm(NoteForm):
    seen = forms.ChoiceField(choices=_listed(Verb.ACKNOWLEDGE), widget=forms.HiddenInput)


class ResolveForm(ReasonForm):
    """``count`` is the number of events that the person decided on."""

    seen = forms.ChoiceField(choices=_listed(Verb.RESOLVE), widget=forms.HiddenInput)
    count = forms.IntegerField(min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)


def form(verb: Verb, signal: Signal, data: Any = None, *, kept: dict[str, Any] | None = None) -> NoteForm:
    """What the page of ``verb`` asks for: filled with what was sent, or with what is ``kept`` for another try."""
    known = (kept or {}) | {"seen": signal.status, "count": signal.count}
    match verb:
        case Verb.RESOLVE:
            return ResolveForm(RESOLVE_REASONS, data, initial=known)
        case Verb.ACKNOWLEDGE:
            return AcknowledgeForm(data, initial=known)


class NotDone(Exception):
    """Nothing was changed. ``str()`` says why, in one sentence."""


def act(verb: Verb, signal: Signal, user_id: int, filled: NoteForm) -> str:
    """Do what the valid form ``filled`` says, and keep it with its note as the operator's action.

    Returns what was done, in words. Raises ``NotDone`` when somebody was first, or more has happened since the page was
    opened.
    """
    given = filled.cleaned_data
    with transaction.atomic():
        outcome, told, kept = _do(verb, signal, actors.operator(user_id), given)
        match outcome:
            case Reviewed.DONE:
                LogEntry.objects.create(
                    user_id=user_id,
                    content_type=ContentType.objects.get_for_model(Signal),
                    object_id=str(signal.pk),
                    object_repr=signal_words.WORDS[signal.rule].title,
                    action_flag=CHANGE,
                    change_message=kept + (f" Note: {given['note']}" if given["note"] else ""),
                )
                return told
            case Reviewed.OVERTAKEN:
                raise NotDone("Somebody was first.")
            case Reviewed.COUNTED:
                raise NotDone("It has happened again since this page was opened.")


def _do(verb: Verb, signal: Signal, by: actors.Actor, given: dict[str, Any]) -> tuple[Reviewed, str, str]:
    """What came of it; and if it was done, the words for the person and those that are kept."""
    match verb:
        case Verb.RESOLVE:
            why, seen = ResolveReason(given["reason"]), Seen(_Status(given["seen"]), given["count"])
            told = "Resolved; the ledger has the reason. When it happens again, a new signal is opened."
            return reviewing.resolve(signal, by, why, seen), told, f"Resolved: {RESOLVE_REASONS[why]}."
        case Verb.ACKNOWLEDGE:
            told = "Acknowledged: it goes on counting, and waits to be resolved."
            return reviewing.acknowledge(signal, by), told, "Acknowledged."


def notes_on(signal: Signal) -> list[LogEntry]:
    """What operators did and wrote, oldest first."""
    kind = ContentType.objects.get_for_model(Signal)
    mine = LogEntry.objects.filter(content_type=kind, object_id=str(signal.pk))
    return list(mine.select_related("user").order_by("action_time", "pk"))


def unresolved(entry: Elicitation) -> list[tuple[Signal, str]]:
    """The signals about ``entry`` that wait for somebody, each with its title."""
    mine = Signal.objects.filter(tenant=entry.tenant.slug, about=entry.uid.hex).exclude(status=_Status.RESOLVED)
    return [(signal, signal_words.WORDS[signal.rule].title) for signal in mine.order_by("pk")]
