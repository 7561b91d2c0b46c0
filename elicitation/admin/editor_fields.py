"""The fields of the policy's editor: how a member of the document is typed, and what JSON the typed text stands for.

Names of fields are places of the document: ``/windows/max_seconds`` is typed in ``windows.max_seconds``. Reading keeps
what it cannot understand as text, so that the document's own validation names what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Final

from elicitation.policy.decision import Mode, Purpose, Wire
from elicitation.policy.document import Binding, EvidenceSource, Links
from elicitation.policy.routing import REASONS, URL_ONLY
from elicitation.templatetags.desk import words

#: What came with the form, or would come if it were sent as it stands.
Typed = Mapping[str, list[str]]


class Kind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    SWITCH = "switch"
    SELECT = "select"
    CHECKS = "checks"
    LINES = "lines"
    PAIRS = "pairs"


Choices = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """How a member is typed. An ``optional`` one is left out of the document while nothing is typed."""

    kind: Kind
    choices: Choices = ()
    help: str = ""
    optional: bool = False


_URL_MODE: Final = (("", "not served"), (Mode.URL, "by link"))
_MODES: Final = (("", "not served"), (Mode.FORM, "by form"), (Mode.URL, "by link"))

_WINDOW: Final = Shape(Kind.NUMBER, optional=True)
_PURPOSES: Final[dict[str, Shape]] = {
    f"purposes.{purpose}.mode": Shape(
        Kind.SELECT, _URL_MODE if purpose in URL_ONLY else _MODES, help=REASONS[purpose], optional=True
    )
    for purpose in Purpose
} | {f"purposes.{purpose}.window_seconds": _WINDOW for purpose in Purpose}

#: Members that are more than their JSON type says. ``*`` is the number of a destination.
_SHAPES: Final[dict[str, Shape]] = {
    **_PURPOSES,
    "wires": Shape(Kind.CHECKS, tuple((wire, wire) for wire in Wire)),
    "forms.links": Shape(Kind.SELECT, ((Links.DENY, "deny the form"), (Links.FLAG, "flag them"))),
    "forms.empty_confirmation": Shape(Kind.SWITCH, help="A form without fields counts as a confirmation."),
    "forms.multi_select": Shape(Kind.SWITCH, help="The protocol allows it; refusing it is operator policy."),
    "vocabulary.deny": Shape(Kind.LINES, help="One a line. * ends a word in any way, … stands for up to three words."),
    "vocabulary.allow": Shape(Kind.LINES, help="One a line: phrases that hold such a word and ask for no secret."),
    "signals.wrong_user.count": Shape(
        Kind.NUMBER, help="On one entry, on several of one person, or by a caller from another tenant."
    ),
    "signals.lost_rate.ratio": Shape(Kind.NUMBER, help="From 0 to 1: lost ones among those lost and those that came."),
    "signals.credential_forms.count": Shape(Kind.NUMBER, help="Of one service."),
    "signals.lookalike_origins.count": Shape(Kind.NUMBER, help="Of one service: not listed, or disguised."),
    "signals.bad_signatures.count": Shape(Kind.NUMBER, help="Sent to one provider's address, counted by the hour."),
    "signals.auto_answers.ratio": Shape(
        Kind.NUMBER, help="From 0 to 1: answers in less than a second among all answers of one client."
    ),
    "signals.late_sweep_seconds": Shape(Kind.NUMBER, help="After so long a silence of a scheduled task."),
    "legacy.flat_url_required_error": Shape(Kind.SWITCH, help="Admit the flat shape; it is reported all the same."),
    "destinations.*.origin": Shape(Kind.TEXT, help="https, host, and a port if it is not 443. Nothing more."),
    "destinations.*.tenants": Shape(Kind.LINES, help="Slugs, one a line."),
    "destinations.*.services": Shape(Kind.LINES, help="Slugs, one a line."),
    "destinations.*.purposes": Shape(Kind.CHECKS, tuple((purpose, words(purpose)) for purpose in Purpose)),
    "destinations.*.paths": Shape(Kind.LINES, help="One a line; / admits every path."),
    "destinations.*.parameters": Shape(
        Kind.PAIRS, help="One a line: name = ^pattern$, or name = elicitation_id where the desk writes its own id."
    ),
    "destinations.*.opaque": Shape(
        Kind.LINES, help="One a line: fragment, path:<n> or parameter:<name>, which no shape test looks at."
    ),
    "destinations.*.binding": Shape(
        Kind.SELECT,
        ((Binding.SUBJECT, "the evidence names the person"), (Binding.ASSERTED, "provider and id alone")),
        help="What ties the person to the completion.",
    ),
    "destinations.*.sources": Shape(
        Kind.CHECKS,
        (
            (EvidenceSource.WEBHOOK, "the provider's signed message"),
            (EvidenceSource.RECONCILE, "the provider, when asked"),
            (EvidenceSource.SERVER, "the service's own word"),
        ),
    ),
    "destinations.*.connect_page": Shape(Kind.SWITCH, help="This desk serves no connect page, so leave it off."),
    "destinations.*.reuse_results": Shape(Kind.SWITCH, help="The provider may report one result for several entries."),
    "destinations.*.usual_seconds": Shape(Kind.NUMBER, help="Seconds until a completion usually comes."),
}

#: What a new destination starts from.
BLANK: Final[dict[str, object]] = {
    "origin": "",
    "provider": "",
    "tenants": [],
    "services": [],
    "purposes": [],
    "paths": [],
    "parameters": {},
    "opaque": [],
    "binding": Binding.SUBJECT.value,
    "sources": [EvidenceSource.WEBHOOK.value],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 300,
}

_WHOLE: Final = re.compile(r"-?[0-9]{1,15}")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?")
_NUMBERED: Final = re.compile(r"^destinations\.[0-9]+\.")


def shape(name: str, sample: object) -> Shape:
    """The shape of a member by its name, else by the JSON type of ``sample``."""
    known = _SHAPES.get(_NUMBERED.sub("destinations.*.", name))
    if known is not None:
        return known
    match sample:
        case bool():
            return Shape(Kind.SWITCH)
        case int() | float():
            return Shape(Kind.NUMBER)
        case list():
            return Shape(Kind.LINES, help="One a line.")
        case _:
            return Shape(Kind.TEXT)


def write(how: Shape, value: object) -> list[str]:
    """What stands in the field for a JSON value."""
    match value:
        case None:
            return []
        case bool():
            return ["on"] if value else []
        case list() if how.kind is Kind.CHECKS:
            return [str(item) for item in value]
        case list():
            return ["\n".join(str(item) for item in value)]
        case Mapping():
            return ["\n".join(f"{name} = {pattern}" for name, pattern in value.items())]
        case float():
            return [f"{Decimal(str(value)).normalize():f}"]
        case _:
            return [str(value)]


def lines(text: str) -> list[tuple[int, str]]:
    """The lines of a field that hold something, with their numbers from 1."""
    numbered = enumerate(text.replace("\r\n", "\n").split("\n"), start=1)
    return [(number, line.strip()) for number, line in numbered if line.strip()]


def read(how: Shape, typed: list[str]) -> object:
    """The JSON value that is typed; ``None`` for an optional member that is to be left out."""
    text = typed[-1].strip() if typed else ""
    if how.optional and not text:
        return None
    match how.kind:
        case Kind.SWITCH:
            return bool(text)
        case Kind.NUMBER:
            return _number(text)
        case Kind.CHECKS:
            return list(typed)
        case Kind.LINES:
            return [line for _, line in lines(typed[-1] if typed else "")]
        case Kind.PAIRS:
            return dict(pairs(typed[-1] if typed else ""))
        case Kind.TEXT | Kind.SELECT:
            return text


def pairs(text: str) -> list[tuple[str, str]]:
    """``name = pattern`` in each line; a line without the sign has no pattern."""
    split = (line.partition("=") for _, line in lines(text))
    return [(name.strip(), pattern.strip()) for name, _, pattern in split]


def _number(text: str) -> object:
    if _WHOLE.fullmatch(text):
        return int(text)
    if _DECIMAL.fullmatch(text) and math.isfinite(float(text)):
        return float(text)
    return text
