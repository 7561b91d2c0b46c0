"""What is typed in the editor: made from a document, read back as one, and the first thing that is wrong with it.

A page holds up to ``SHOWN`` destinations; those before and after it are taken from the document that was read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from elicitation.admin import policy_words
from elicitation.admin.editor_fields import BLANK, Kind, Typed, lines, pairs, read, shape, write
from elicitation.drill.cases import CaseError
from elicitation.policy.decision import Purpose
from elicitation.policy.document import Document, DocumentError, parse
from elicitation.services import drafts

SHOWN: Final = 40
#: Field names beside those of the document.
FIRST: Final = "first"
CASES: Final = "cases"
_NUMBER: Final = re.compile(r"destinations\.([0-9]{1,6})\.(.+)")
_MOST: Final = 1000
_SENT_WHEN_TICKED: Final = (Kind.SWITCH, Kind.CHECKS)


@dataclass(frozen=True, slots=True)
class Problem:
    """The first thing that is wrong. ``name`` is the field where it was typed, empty when it is on no field here."""

    name: str
    place: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A document with its cases, or the problem."""

    document: Document | None
    cases: str
    problem: Problem | None


def members(stored: Document) -> Iterator[tuple[str, object]]:
    """Every field of the document but the destinations', with a sample of its value, in the document's order."""
    for name, value in stored.as_json().items():
        if name == "purposes":
            rules: Mapping[str, Mapping[str, object]] = {str(key): rule for key, rule in _mapping(value).items()}
            for purpose in Purpose:
                rule = rules.get(purpose, {})
                yield f"purposes.{purpose}.mode", rule.get("mode")
                yield f"purposes.{purpose}.window_seconds", rule.get("window_seconds")
        elif name != "destinations":
            yield from _flat(name, value)


def _mapping(value: object) -> Mapping[str, Mapping[str, object]]:
    assert isinstance(value, Mapping)
    return value


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for member, inner in value.items():
            yield from _flat(f"{name}.{member}", inner)
    else:
        yield name, value


def from_document(stored: Document, cases: str, first: int = 0) -> dict[str, list[str]]:
    """What stands in the fields when the editor is opened at the destination ``first``."""
    typed = {name: write(shape(name, value), value) for name, value in members(stored)}
    for number, destination in enumerate(stored.destinations[first : first + SHOWN], start=first):
        typed |= _destination(number, destination.as_json())
    pretty = json.dumps(json.loads(cases), indent=2, ensure_ascii=False)
    return typed | {FIRST: [str(first)], CASES: [pretty]}


def _destination(number: int, value: Mapping[str, object]) -> dict[str, list[str]]:
    named = ((f"destinations.{number}.{member}", inner) for member, inner in value.items())
    return {name: write(shape(name, inner), inner) for name, inner in named}


def first_of(typed: Typed) -> int:
    text = (typed.get(FIRST) or [""])[-1]
    return min(int(text), _MOST) if text.isascii() and text.isdigit() and len(text) < 7 else 0


def numbers(typed: Typed) -> list[int]:
    """The numbers of the destinations that are typed, in order."""
    found = (_NUMBER.fullmatch(name) for name in typed)
    return sorted({int(match[1]) for match in found if match is not None})


def renumbered(typed: Typed, without: int | None = None) -> dict[str, list[str]]:
    """``typed`` with the destinations counted from the first of the page, less the one numbered ``without``."""
    kept = [number for number in numbers(typed) if number != without]
    new = {old: first_of(typed) + place for place, old in enumerate(kept)}
    result: dict[str, list[str]] = {}
    for name, values in typed.items():
        match = _NUMBER.fullmatch(name)
        if match is None:
            result[name] = values
        elif int(match[1]) in new:
            result[f"destinations.{new[int(match[1])]}.{match[2]}"] = values
    return result


def with_another(typed: Typed) -> dict[str, list[str]]:
    """``typed`` with one more destination, after the others of the page."""
    result = renumbered(typed)
    return result | _destination(first_of(typed) + len(numbers(result)), BLANK)


def assemble(typed: Typed, stored: Document) -> dict[str, object]:
    """The JSON that is typed. A purpose without a mode is left out, as any optional member with nothing in it."""
    whole: dict[str, object] = {"purposes": {}}
    for name, sample in members(stored):
        value = read(shape(name, sample), typed.get(name, []))
        if value is not None:
            _put(whole, name.split("."), value)
    purposes = _mapping(whole["purposes"])
    whole["purposes"] = {purpose: rule for purpose, rule in purposes.items() if "mode" in rule}
    here = [assembled(typed, number) for number in numbers(typed)]
    first, others = first_of(typed), [destination.as_json() for destination in stored.destinations]
    whole["destinations"] = others[:first] + here + others[first + SHOWN :]
    return whole


def _put(whole: dict[str, object], steps: list[str], value: object) -> None:
    for step in steps[:-1]:
        inner = whole.setdefault(step, {})
        assert isinstance(inner, dict)
        whole = inner
    whole[steps[-1]] = value


def assembled(typed: Typed, number: int) -> dict[str, object]:
    """The JSON of one destination as it is typed."""
    named = ((member, f"destinations.{number}.{member}", sample) for member, sample in BLANK.items())
    return {member: read(shape(name, sample), typed.get(name, [])) for member, name, sample in named}


def judge(typed: Typed, stored: Document) -> Judged:
    """Validate what is typed, as strictly as a file. ``typed`` is :func:`renumbered`."""
    lost = next(_lost(typed, stored), None)
    if lost is not None:
        return Judged(None, "", Problem(lost, "The form", "It did not arrive whole. Open the page anew."))
    whole = assemble(typed, stored)
    cases_text = (typed.get(CASES) or [""])[-1]
    try:
        _no_name_twice(typed)
        document = parse(json.dumps(whole, ensure_ascii=True))
    except DocumentError as error:
        return Judged(None, "", problem(error.at, error.problem, typed, whole))
    try:
        return Judged(document, drafts.checked_cases(cases_text), None)
    except CaseError as error:
        at = f"At {error.at}: " if error.at else ""
        return Judged(document, "", Problem(CASES, policy_words.name(CASES), f"{at}{error.problem}."))


def _lost(typed: Typed, stored: Document) -> Iterator[str]:
    """Fields that a browser always sends and that did not come: read as empty they would empty the policy."""
    fields = [name for name, sample in members(stored) if shape(name, sample).kind not in _SENT_WHEN_TICKED]
    for number in numbers(typed):
        named = ((f"destinations.{number}.{member}", sample) for member, sample in BLANK.items())
        fields += [name for name, sample in named if shape(name, sample).kind not in _SENT_WHEN_TICKED]
    yield from (name for name in [*fields, CASES] if name not in typed)


def _no_name_twice(typed: Typed) -> None:
    """A parameter that is typed twice would silently be the last one."""
    for number in numbers(typed):
        text = (typed.get(f"destinations.{number}.parameters") or [""])[-1]
        seen: set[str] = set()
        for ordinal, (name, _) in enumerate(pairs(text)):
            if name in seen:
                raise DocumentError(f"/destinations/{number}/parameters/#{ordinal}", "lists something twice")
            seen.add(name)


def problem(at: str, sentence: str, typed: Typed, whole: Mapping[str, object]) -> Problem:
    """A document's error at the field that its pointer names, with the line where a field has several."""
    steps = at.removeprefix("/").split("/") if at else []
    names = set(typed) | set(_all_names(whole, typed))
    said = f"{sentence[:1].upper()}{sentence[1:]}."
    for kept in range(len(steps), 0, -1):
        name = ".".join(steps[:kept])
        if name in names:
            return Problem(name, _where(steps[:kept]), _line(name, steps[kept:], typed) + said)
    whole_destination = f"{'.'.join(steps[:2])}.origin"
    return Problem(whole_destination if whole_destination in names else "", _where(steps), said)


def _all_names(whole: Mapping[str, object], typed: Typed) -> Iterator[str]:
    """Fields of which nothing is sent while they are empty, such as boxes that are not ticked."""
    for name, value in whole.items():
        if name != "destinations":
            yield from (each for each, _ in _flat(name, value))
    yield from (f"destinations.{number}.{member}" for number in numbers(typed) for member in BLANK)


def _line(name: str, rest: list[str], typed: Typed) -> str:
    how = shape(name, [])
    ordinal = rest[0].removeprefix("#") if rest else ""
    if how.kind not in (Kind.LINES, Kind.PAIRS) or not ordinal.isdigit():
        return ""
    held = lines((typed.get(name) or [""])[-1])
    return f"Line {held[int(ordinal)][0]}: " if int(ordinal) < len(held) else ""


def _where(steps: list[str]) -> str:
    """The place in words, without anything that was typed."""
    return (
        " › ".join(f"number {int(step) + 1}" if step.isdigit() else policy_words.name(step) for step in steps)
        or "The document"
    )
