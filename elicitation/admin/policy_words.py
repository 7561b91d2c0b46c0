"""A policy document in a reader's words: the names of its places, its values, and what changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from elicitation.policy.difference import Kind, difference
from elicitation.policy.document import Document
from elicitation.templatetags.desk import foreign, span, visible, words

NAMES: Final = {
    "wires": "Protocol revisions",
    "urls": "URLs",
    "legacy": "Older ways",
    "cases": "The policy's own cases",
    "deny": "Words that ask for a credential",
    "allow": "Phrases that do not",
    "default_seconds": "Time to answer and act",
    "max_seconds": "Longest such time",
    "retry_seconds": "Time to find proof",
    "replay_seconds": "Time to read a result again",
    "window_seconds": "Time to answer and act",
    "pending_per_subject": "Open questions for one person",
    "asks_per_subject_hour": "Questions to one person in an hour",
    "asks_per_service_hour": "Questions by one service in an hour",
    "max_fields": "Fields",
    "max_choices": "Choices of a field",
    "max_text": "Characters of a text",
    "max_message": "Characters of the message",
    "max_bytes": "Bytes of the request",
    "max_depth": "Depth of nesting",
    "multi_select": "Several choices at once",
    "empty_confirmation": "A form without fields",
    "links": "Links in a form's text",
    "max_length": "Characters of a URL",
    "min_length": "Characters of a service's own id",
    "flat_url_required_error": "The flat shape of the -32042 error",
    "wrong_user": "Completed by somebody else",
    "lost_rate": "Lost confirmations",
    "credential_forms": "Refused forms that ask for a credential",
    "lookalike_origins": "Refused links to hosts that are not listed",
    "bad_signatures": "Messages that a provider did not sign",
    "auto_answers": "Answers faster than a person reads",
    "late_sweep_seconds": "A scheduled task is late after",
    "count": "This many events",
    "ratio": "This share of the events",
    "minimum": "Among at least this many",
    "seconds": "Within these seconds",
    "paths": "Path prefixes",
    "opaque": "Opaque places",
    "sources": "Sources of evidence",
    "reuse_results": "One result for several entries",
    "usual_seconds": "Usual time",
    "connect_page": "Connect page",
}
MOST_WORDS: Final = 200


def name(member: str) -> str:
    """What a member of the document is called."""
    return NAMES.get(member) or words(member)


def place(pointer: str) -> SafeString:
    """A JSON pointer as words: ``/purposes/payment/mode`` is *Purposes › Payment › Mode*."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.removeprefix("/").split("/")]
    return format_html_join(" › ", "{}", ((_step(steps, at),) for at in range(len(steps))))


def _step(steps: list[str], at: int) -> SafeString | str:
    step = steps[at]
    if at > 0 and (steps[at - 1] in ("destinations", "cases", "parameters") or steps[0] == "cases"):
        return format_html("<code>{}</code>", foreign(step))
    return f"number {int(step) + 1}" if step.isascii() and step.isdigit() else name(step)


def value(what: object, member: str = "") -> SafeString | str:
    """A JSON value as a reader takes it in."""
    match what:
        case None:
            return "–"
        case bool():
            return "yes" if what else "no"
        case int() if member.endswith("seconds"):
            return f"{what} s ({span(timedelta(seconds=what))})" if what >= 60 else f"{what} s"
        case int() | float():
            return str(what)
        case list():
            return format_html_join(", ", "{}", ((value(item),) for item in what)) or "none"
        case Mapping() if what:
            chosen = member == "parameters"  # names of somebody's choice
            pairs = ((foreign(key) if chosen else name(key), value(inner, key)) for key, inner in what.items())
            return format_html('<dl class="pairs inner">{}</dl>', format_html_join("", "<dt>{}</dt><dd>{}</dd>", pairs))
        case Mapping():
            return "none"
        case _:
            return foreign(what)


def _case_value(what: object) -> SafeString:
    """A case, or a part of one, as its authors write it."""
    text = json.dumps(what, indent=2, ensure_ascii=False)
    return format_html('<pre class="inner">{}</pre>', "\n".join(visible(line) for line in text.split("\n")))


@dataclass(slots=True)
class Line:
    """One place with what went and what came there; words of a list are gathered."""

    place: SafeString
    gone: list[SafeString | str] = field(default_factory=list)
    new: list[SafeString | str] = field(default_factory=list)

    def _listed(self, items: list[SafeString | str]) -> SafeString:
        shown = format_html_join(", ", "{}", ((item,) for item in items[:MOST_WORDS]))
        more = len(items) - MOST_WORDS
        return format_html("{} and {} more", shown, more) if more > 0 else shown

    @property
    def before(self) -> SafeString:
        return self._listed(self.gone)

    @property
    def after(self) -> SafeString:
        return self._listed(self.new)


def changes(before: Document, after: Document, cases_before: str = "[]", cases_after: str = "[]") -> list[Line]:
    """Every change between two documents and their cases, in the order of the document."""
    lines: dict[str, Line] = {}
    for change in difference(_keyed(before, cases_before), _keyed(after, cases_after)):
        line = lines.setdefault(change.at, Line(place(change.at)))
        if change.kind is not Kind.ADDED:
            line.gone.append(_value_at(change.at, change.before))
        if change.kind is not Kind.REMOVED:
            line.new.append(_value_at(change.at, change.after))
    return list(lines.values())


def _value_at(at: str, what: object) -> SafeString | str:
    return _case_value(what) if at.startswith("/cases/") else value(what, at.rpartition("/")[2])


def _keyed(document: Document, cases: str) -> dict[str, object]:
    """The document with destinations by origin and cases by their id, so that a removed one does not shift the rest."""
    whole = document.as_json()
    labels = (destination.origin for destination in document.destinations)
    whole["destinations"] = _by(labels, (destination.as_json() for destination in document.destinations))
    listed = json.loads(cases)
    whole["cases"] = _by((str(case["case_id"]) for case in listed), listed)
    return whole


def _by(labels: Iterable[str], items: Iterable[object]) -> dict[str, object]:
    found: dict[str, object] = {}
    for label, item in zip(labels, items, strict=True):
        repeated = sum(key == label or key.startswith(f"{label} (") for key in found)
        found[f"{label} ({repeated + 1})" if repeated else label] = item
    return found
