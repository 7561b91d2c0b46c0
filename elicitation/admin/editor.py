"""The editor of a draft: every section as fields, boxes to try what is typed, and saving past nobody's other edit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.contrib.auth.models import User
from django.http import QueryDict

from elicitation.admin import policy_words, trying
from elicitation.admin.editor_fields import BLANK, Kind, Shape, Typed, lines, read, shape
from elicitation.admin.editor_typed import (
    CASES,
    FIRST,
    SHOWN,
    Judged,
    Problem,
    assembled,
    first_of,
    from_document,
    judge,
    members,
    numbers,
    renumbered,
    with_another,
)
from elicitation.models import PolicyDraft, Provider
from elicitation.policy.decision import Purpose, Wire
from elicitation.policy.document import Document, parse
from elicitation.services import drafts
from elicitation.services.drafts import NotPossible
from elicitation.templatetags.desk import span, words

VERSION: Final = "version"
#: What is edited most comes first; what is not named here follows.
_ORDER: Final = ("vocabulary", "windows", "limits", "forms", "urls", "identifiers", "wires", "signals", "legacy")
_INTROS: Final = {
    "vocabulary": "A backstop beside the purpose: whole words of names, titles, choices and messages of a form.",
    "windows": "In seconds.",
    "limits": "People who are asked too often say yes to everything.",
    "forms": "Beyond these bounds a form is refused.",
    "wires": "The revisions of the protocol that this desk serves.",
    "signals": "What is worth a person's attention: from so many events within so many seconds on.",
}


@dataclass(frozen=True, slots=True)
class Field:
    """One field as the page shows it. ``group`` is the heading above it, where a section has parts."""

    name: str
    label: str
    how: Shape
    typed: list[str]
    choices: tuple[tuple[str, str], ...] = ()
    error: str = ""
    group: str = ""

    @property
    def value(self) -> str:
        return self.typed[-1] if self.typed else ""

    @property
    def kind(self) -> Kind:
        return self.how.kind

    @property
    def rows(self) -> int:
        """Lines to show: enough for what is typed, within reason."""
        return min(max(3, len(lines(self.value)) + 1), 14)

    @property
    def help(self) -> str:
        if self.kind is Kind.LINES and self.name.startswith("vocabulary."):
            return f"{len(lines(self.value))} now. {self.how.help}"
        seconds = read(self.how, self.typed) if self.name.endswith("seconds") else None
        if isinstance(seconds, int) and 60 <= seconds < 10**9:
            return f"{span(timedelta(seconds=seconds))}. {self.how.help}"
        return self.how.help


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    title: str
    intro: str
    fields: list[Field]


@dataclass(frozen=True, slots=True)
class PurposeRow:
    title: str
    mode: Field
    window: Field


@dataclass(frozen=True, slots=True)
class DestinationForm:
    """``title`` is the origin; ``detail`` tells apart those of the same origin."""

    number: int
    title: str
    detail: str
    fields: list[Field]
    open: bool


@dataclass(slots=True)
class Editor:
    """The page: ``typed`` over the draft as it is stored. ``refusal`` says why nothing was saved by somebody's fault
    but the document's; ``theirs`` is then how what is typed differs from what was saved meanwhile.
    ``added`` is the number of a destination that was just asked for."""

    draft: PolicyDraft
    stored: Document
    typed: Typed
    judged: Judged | None = None
    refusal: str = ""
    theirs: list[policy_words.Line] = field(default_factory=list)
    saved: bool = False
    added: int | None = None

    @property
    def problem(self) -> Problem | None:
        return self.judged.problem if self.judged else None

    @property
    def checked(self) -> bool:
        return self.judged is not None and self.judged.problem is None

    @property
    def sections(self) -> list[Section]:
        found: dict[str, list[Field]] = {}
        for name, sample in members(self.stored):
            section = name.partition(".")[0]
            if section != "purposes":
                found.setdefault(section, []).append(self._field(name, sample))
        ordered = [name for name in _ORDER if name in found] + [name for name in found if name not in _ORDER]
        return [Section(name, policy_words.name(name), _INTROS.get(name, ""), found[name]) for name in ordered]

    @property
    def purposes(self) -> list[PurposeRow]:
        return [
            PurposeRow(
                words(purpose),
                self._field(f"purposes.{purpose}.mode", ""),
                self._field(f"purposes.{purpose}.window_seconds", 0),
            )
            for purpose in Purpose
        ]

    @property
    def destinations(self) -> list[DestinationForm]:
        return list(self._destinations())

    def _destinations(self) -> Iterator[DestinationForm]:
        listed = numbers(self.typed)
        stored = [destination.as_json() for destination in self.stored.destinations]
        providers = tuple(Provider.objects.filter(closed_at=None).order_by("slug").values_list("slug", "slug"))
        for number in listed:
            fields = [self._field(f"destinations.{number}.{member}", sample) for member, sample in BLANK.items()]
            at = [*BLANK].index("provider")
            fields[at] = self._choosing(fields[at], providers)
            # Open while there is work on it: wrong, new or changed.
            worked_on = any(each.error for each in fields) or assembled(self.typed, number) not in stored
            opened = worked_on or len(listed) == 1
            tenants = ", ".join(text for _, text in lines(fields[[*BLANK].index("tenants")].value))
            detail = ", for ".join(part for part in (fields[at].value, tenants) if part)
            yield DestinationForm(number, fields[0].value, detail, fields, opened)

    def _choosing(self, provider: Field, providers: tuple[tuple[str, str], ...]) -> Field:
        """Among the open providers, and the one that is typed, whatever became of it."""
        known = provider.value in ("", *(slug for slug, _ in providers))
        kept = () if known else ((provider.value, f"{provider.value} (not open)"),)
        how = Shape(Kind.SELECT, help="Open providers of this desk.")
        return Field(
            provider.name,
            provider.label,
            how,
            provider.typed,
            (("", "choose one"), *providers, *kept),
            provider.error,
        )

    def _field(self, name: str, sample: object) -> Field:
        how, steps = shape(name, sample), name.split(".")
        grouped = len(steps) == 3 and steps[0] not in ("destinations", "purposes")
        error = self.problem.sentence if self.problem and self.problem.name == name else ""
        return Field(
            name=name,
            label=policy_words.name(steps[-1]),
            how=how,
            typed=self.typed.get(name, []),
            choices=how.choices,
            error=error,
            group=policy_words.name(steps[1]) if grouped else "",
        )

    @property
    def cases(self) -> str:
        return (self.typed.get(CASES) or [""])[-1]

    @property
    def first(self) -> int:
        return first_of(self.typed)

    @property
    def total(self) -> int:
        """Destinations there are, with those of other pages."""
        others = len(self.stored.destinations)
        outside = min(self.first, others) + max(0, others - self.first - SHOWN)
        return outside + len(numbers(self.typed))

    @property
    def pages(self) -> list[tuple[int, int]]:
        """The first and last number of each page of destinations, where there is more than one."""
        count = len(self.stored.destinations)
        return [(at, min(at + SHOWN, count)) for at in range(0, count, SHOWN)] if count > SHOWN else []

    @property
    def boxes(self) -> trying.Boxes:
        document = self.stored if self.judged is None else self.judged.document
        return trying.boxes(self.typed, document, self.draft.base.number + 1)

    @property
    def try_purposes(self) -> tuple[tuple[str, str], ...]:
        return trying.PURPOSES

    @property
    def try_wires(self) -> list[str]:
        return [str(wire) for wire in Wire]


def opened(draft: PolicyDraft, first: int) -> Editor:
    """The editor as it is opened, at the page of the destination ``first``."""
    stored = parse(draft.document)
    count = len(stored.destinations)
    within = min(first, max(0, count - 1)) // SHOWN * SHOWN
    typed = from_document(stored, draft.cases, within) | {VERSION: [str(draft.version)]}
    return Editor(draft, stored, typed)


def sent(draft: PolicyDraft, post: QueryDict, by: User) -> Editor:
    """What came of a form that was sent: a destination more or less, a check of what is typed, or its saving."""
    stored = parse(draft.document)
    typed = renumbered({name: [str(value) for value in values] for name, values in post.lists()}, _removed(post))
    if "add" in post:
        more = with_another(typed)
        return Editor(draft, stored, more, added=numbers(more)[-1])
    if "remove" in post:
        return Editor(draft, stored, typed)
    editor = Editor(draft, stored, typed, judge(typed, stored))
    if "save" in post and editor.checked:
        _save(editor, by)
    return editor


def _removed(post: QueryDict) -> int | None:
    text = post.get("remove", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def _save(editor: Editor, by: User) -> None:
    judged, draft = editor.judged, editor.draft
    assert judged is not None
    assert judged.document is not None
    read_version, now_version = (editor.typed.get(VERSION) or [""])[-1], draft.version
    draft.version = int(read_version) if read_version.isascii() and read_version.isdigit() else now_version + 1
    try:
        drafts.edit(draft, judged.document, judged.cases, by)
    except NotPossible as refusal:
        draft.refresh_from_db()
        editor.refusal = str(refusal)
        editor.theirs = policy_words.changes(parse(draft.document), judged.document, draft.cases, judged.cases)
        editor.typed = {**editor.typed, VERSION: [str(draft.version)]}
    else:
        editor.saved = True


__all__ = ["FIRST", "Editor", "opened", "sent"]
