"""What the page of an action asks for: the state that was seen, a reason for the ledger, a note for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django import forms

from elicitation.models import Elicitation, Evidence
from elicitation.policy.lifecycle import State
from elicitation.policy.shapes import secret_shaped

NOTE_LENGTH: Final = 200


class SeenForm(forms.Form):
    """``seen`` is the state that the person decided on."""

    use_required_attribute = False
    seen = forms.ChoiceField(choices=[(state, state) for state in State], widget=forms.HiddenInput)


class NoteForm(SeenForm):
    """A note for people: the ledger has no place for it."""

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


class ReasonForm(NoteForm):
    """A reason code for the ledger, and a note, which one of the reasons needs."""

    reason = forms.ChoiceField(error_messages={"required": "Choose a reason."})
    field_order = ("seen", "reason", "note")

    def __init__(self, reasons: Mapping[Any, str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        listed = [(str(reason), words[:1].upper() + words[1:]) for reason, words in reasons.items()]
        field = self.fields["reason"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "Choose one"), *listed]

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        if cleaned.get("reason") == "other" and "note" in cleaned and not cleaned["note"]:
            self.add_error("note", "Say what the other reason is.")
        return cleaned


class ProposalForm(NoteForm):
    """``proposal`` is the one that the person read, of this entry."""

    proposal = forms.UUIDField(widget=forms.HiddenInput)

    def __init__(self, entry: Elicitation, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entry = entry

    def clean_proposal(self) -> UUID:
        uid: UUID = self.cleaned_data["proposal"]
        if not self.entry.proposals.filter(uid=uid).exists():
            raise forms.ValidationError("This entry has no such proposal.")
        return uid


class _Picked(forms.ChoiceField):
    """One of what was on the page. It may be gone by now, which the registry says better than a form."""

    def to_python(self, value: Any) -> Any:
        try:
            return UUID(str(value))
        except ValueError:
            return None

    def validate(self, value: Any) -> None:
        if value is None:
            raise forms.ValidationError("Choose the confirmation that is to be honoured.")


class EvidenceForm(NoteForm):
    """Which confirmation is meant, and for the second operator: why."""

    evidence = _Picked(label="Which confirmation", widget=forms.RadioSelect)
    field_order = ("seen", "evidence", "note")

    def __init__(self, rows: Sequence[Evidence], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field, note = self.fields["evidence"], self.fields["note"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [(str(row.uid), _named(row)) for row in rows]
        if len(rows) == 1:
            field.widget = forms.HiddenInput()
            field.initial = str(rows[0].uid)
        note.required = True
        note.label = "Why"
        note.error_messages["required"] = "Say for the second operator why it is to be honoured."


def _named(row: Evidence) -> str:
    """One piece of evidence by when it came, never by its reference."""
    happened = f", of work done at {row.occurred_at:%Y-%m-%d %H:%M:%S} UTC" if row.occurred_at else ""
    whose = "names the person" if row.subject_given else "does not say whose it is"
    return f"Received at {row.received_at:%Y-%m-%d %H:%M:%S} UTC{happened}; {whose}"
