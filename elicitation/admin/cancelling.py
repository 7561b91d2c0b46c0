"""An operator's cancel: a reason code for the ledger, a bounded note beside it, and what came of it."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db import transaction

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import State
from elicitation.policy.shapes import secret_shaped
from elicitation.services import actors, recovery
from elicitation.services.move import Contended, TransitionRefused
from elicitation.services.recovery import CancelReason
from elicitation.services.timeline import REASONS
from elicitation.templatetags.desk import elc

NOTE_LENGTH: Final = 200


class CancelForm(forms.Form):
    """``seen`` is the state that the person decided on. The note is for people: the ledger has no place for it."""

    use_required_attribute = False
    seen = forms.ChoiceField(choices=[(state, state) for state in State], widget=forms.HiddenInput)
    reason = forms.ChoiceField(
        choices=[("", "Choose one"), *((reason, words.capitalize()) for reason, words in REASONS.items())],
        error_messages={"required": "Choose a reason."},
    )
    note = forms.CharField(
        max_length=NOTE_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": NOTE_LENGTH}),
        help_text=f"At most {NOTE_LENGTH} characters, for other operators. Never a secret, never who the person is.",
    )

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
        if cleaned.get("reason") == CancelReason.OTHER and "note" in cleaned and not cleaned["note"]:
            self.add_error("note", "Say what the other reason is.")
        return cleaned


class NotCancelled(Exception):
    """Nothing was changed. ``str()`` says why, in one sentence."""


def cancel(entry: Elicitation, user_id: int, form: CancelForm) -> None:
    """End ``entry`` as the valid ``form`` says, through the registry, and keep the note on the operator's action.

    Raises ``NotCancelled`` when somebody or the deadline was first.
    """
    seen, reason = State(form.cleaned_data["seen"]), CancelReason(form.cleaned_data["reason"])
    note: str = form.cleaned_data["note"]
    with transaction.atomic():
        refusal = _end(entry, seen, user_id, reason)
        if refusal is None:
            LogEntry.objects.create(
                user_id=user_id,
                content_type=ContentType.objects.get_for_model(Elicitation),
                object_id=str(entry.pk),
                object_repr=elc(entry.uid),
                action_flag=CHANGE,
                change_message=f"Cancelled: {REASONS[reason]}." + (f" Note: {note}" if note else ""),
            )
    if refusal is not None:
        raise NotCancelled(refusal)


def _end(entry: Elicitation, seen: State, user_id: int, reason: CancelReason) -> str | None:
    """``None``, or why nothing was changed: a value, because what the registry noted of a refusal must stay."""
    try:
        recovery.cancel_by_operator(entry.uid, actors.operator(user_id), reason, seen)
    except TransitionRefused as refusal:
        if refusal.state is not seen:
            return "Somebody was first: the state has changed since this page was opened."
        return "It has ended already, so there is nothing to cancel."
    except Contended:
        return "It is changing all the time just now. Try again."
    return None
