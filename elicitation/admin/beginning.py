"""New drafts: from the revision in force, from an older one, from another draft, or from a file."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib.auth.models import User

from elicitation.drill.runner import CaseError
from elicitation.models import PolicyDraft
from elicitation.policy.document import Document, DocumentError, parse
from elicitation.services import drafts, revisions

ACTIVE: Final = "active"
DOCUMENT: Final = "document"
_MOST_BYTES: Final = 4_000_000


class BeginForm(forms.Form):
    """A title, and what to begin with. Errors name a place in the file, never what stands there."""

    use_required_attribute = False
    title = forms.CharField(
        max_length=drafts.TITLE_LENGTH,
        help_text="What it is for, in a few words. It becomes the revision's note.",
        error_messages={"required": "Say what the draft is for."},
    )
    start = forms.ChoiceField(
        label="Begin with",
        choices=[(ACTIVE, "the revision in force, to edit it here"), (DOCUMENT, "a document of your own")],
        widget=forms.RadioSelect,
        initial=ACTIVE,
    )
    file = forms.FileField(label="The document as a file", required=False, allow_empty_file=True)
    pasted = forms.CharField(
        label="or pasted",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 8, "spellcheck": "false"}),
        help_text="JSON, as the download of a revision or draft has it. A long one goes by file.",
    )
    cases = forms.FileField(
        label="Its own cases",
        required=False,
        allow_empty_file=True,
        help_text="A JSON file; without one the cases in force are kept.",
    )

    def clean_file(self) -> str:
        return _text(self.cleaned_data["file"])

    def clean_cases(self) -> str:
        text = _text(self.cleaned_data["cases"])
        if not text:
            return ""
        try:
            return drafts.checked_cases(text)
        except CaseError as problem:
            raise forms.ValidationError(_said(problem.at, problem.problem)) from None

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        if cleaned.get("start") != DOCUMENT or "file" not in cleaned or "pasted" not in cleaned:
            return cleaned
        name = "file" if cleaned["file"] else "pasted"
        if not cleaned[name].strip():
            self.add_error("file", "Choose a file, or paste the document.")
            return cleaned
        if cleaned["file"] and cleaned["pasted"].strip():
            self.add_error("file", "Choose a file or paste the document, not both.")
            return cleaned
        try:
            cleaned["document"] = parse(cleaned[name].removeprefix("\ufeff"))
        except DocumentError as problem:
            self.add_error(name, _said(problem.at, problem.problem))
        return cleaned


def _said(at: str, problem: str) -> str:
    where = f"At {at}: " if at else ""
    sentence = problem if where else f"{problem[:1].upper()}{problem[1:]}"
    return f"{where}{sentence}."


def _text(file: Any) -> str:
    """The text of an uploaded file, empty when there is none."""
    if file is None:
        return ""
    if file.size > _MOST_BYTES:
        raise forms.ValidationError("The file is longer than any policy.")
    try:
        return str(file.read(), "utf-8-sig")
    except UnicodeDecodeError:
        raise forms.ValidationError("The file is not text in UTF-8.") from None


def begin(form: BeginForm, by: User) -> PolicyDraft:
    """A draft as the valid ``form`` says, on the revision in force."""
    present = revisions.active()
    document: Document = form.cleaned_data.get("document") or present.document
    cases = form.cleaned_data["cases"] or present.row.cases
    return drafts.begin(form.cleaned_data["title"], present, document, cases, by)


def carry_over(draft: PolicyDraft, by: User) -> PolicyDraft:
    """The content of ``draft`` as a new draft on the revision in force. Raises ``DocumentError``."""
    return drafts.begin(draft.title, revisions.active(), parse(draft.document), draft.cases, by)
