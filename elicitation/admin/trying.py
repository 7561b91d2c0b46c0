"""The "try it" boxes: what a URL, a form or an id would get under a document, and why. Nothing of it is kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from django.utils.safestring import SafeString

from elicitation.admin import rules
from elicitation.models import Provider
from elicitation.policy import identifiers
from elicitation.policy.admission import Ruling, decide
from elicitation.policy.decision import Ask, Delivery, IdClass, Purpose, Wire
from elicitation.policy.document import Document, DocumentError
from elicitation.policy.reader import load
from elicitation.policy.routing import URL_ONLY
from elicitation.policy.rules import Rule, entry
from elicitation.templatetags.desk import visible, words

#: Stands where the desk's own id of an entry would.
SAMPLE_ID: Final = identifiers.mint_text(b"only for trying!")
_CAPABILITIES: Final[dict[str, object]] = {"elicitation": {"form": {}, "url": {}}}
_MESSAGE: Final = "Continue on the next page."
_LONGEST: Final = 100_000

_CLASSES: Final[dict[IdClass, str]] = {
    IdClass.MINTED: "the desk's own spelling: it is taken for the entry to which the desk gave it",
    IdClass.UUID4: "a random UUID",
    IdClass.OPAQUE: "opaque and long enough",
    IdClass.TOO_SHORT: "too short, or too little of it is random",
    IdClass.STRUCTURED: "made of parts that say something",
    IdClass.SEQUENTIAL: "counted up, so that the next one can be guessed",
    IdClass.PERSONAL: "a person's address or number",
    IdClass.TOKEN: "shaped like a token",
    IdClass.MISSING: "empty",
}

#: Each box's button, and what to do when it is pressed over an empty box.
_NEEDED: Final = {
    "url": ("Try the link", "Fill in the URL, and above it the tenant and the service that would send it."),
    "schema": ("Try the form", "Fill in the schema, as the service would send it; {} is the least."),
    "id": ("Try the id", "Fill in the id, as the service would send it."),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding as the page shows it. ``at`` is empty for an id, which is judged alone."""

    title: str
    rule: SafeString
    source: str
    at: str
    advice: str
    denies: bool


@dataclass(frozen=True, slots=True)
class Verdict:
    """``request`` is what would be sent, ``said`` a sentence beside the verdict."""

    admitted: bool
    findings: list[Finding] = field(default_factory=list)
    said: str = ""
    request: str = ""


@dataclass(frozen=True, slots=True)
class Box:
    """A box with what is typed in it, by name, and what came of it: a verdict, or why there is none."""

    typed: Mapping[str, str]
    verdict: Verdict | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Boxes:
    url: Box
    form: Box
    id: Box


def boxes(typed: Mapping[str, list[str]], document: Document | None, revision: int) -> Boxes:
    """Every box in which something is typed, judged under ``document``; ``None`` while that is not valid."""
    plain = {
        name.removeprefix("try."): values[-1][:_LONGEST]
        for name, values in typed.items()
        if name.startswith("try.") and values
    }
    pressed = (typed.get("try") or [""])[-1]
    return Boxes(
        url=_box(plain, "url", pressed, document, lambda to: _url(plain, to, revision)),
        form=_box(plain, "schema", pressed, document, lambda to: _form(plain, to, revision)),
        id=_box(plain, "id", pressed, document, lambda to: _id(plain["id"].strip(), to)),
    )


def _box(
    plain: Mapping[str, str], name: str, pressed: str, document: Document | None, judge: Callable[[Document], Verdict]
) -> Box:
    if not plain.get(name, "").strip():
        button, needed = _NEEDED[name]
        return Box(plain, problem=needed if pressed == button else "")
    if document is None:
        return Box(plain, problem="The policy as it is typed is not valid, so nothing can be judged by it yet.")
    try:
        return Box(plain, judge(document))
    except DocumentError as error:
        return Box(plain, problem=f"The schema: {error.problem}.")


def _url(plain: Mapping[str, str], document: Document, revision: int) -> Verdict:
    tenant = plain.get("tenant", "").strip()
    request = {"mode": "url", "message": _MESSAGE, "url": plain["url"].strip()}
    purpose = _purpose(plain.get("url_purpose", ""), Purpose.PAYMENT)
    verdict = _verdict(_decided(plain, request, purpose, tenant, document, revision))
    blank = " and ".join(label for label in ("Tenant", "Service") if not plain.get(label.lower(), "").strip())
    if not blank:
        return verdict
    left = f"{blank} {'is' if ' ' not in blank else 'are'} left blank, and a destination admits only those it names."
    return replace(verdict, said=left)


def _form(plain: Mapping[str, str], document: Document, revision: int) -> Verdict:
    message = plain.get("message", "")
    request = {"mode": "form", "message": message, "requestedSchema": load(plain["schema"])}
    purpose = _purpose(plain.get("form_purpose", ""), Purpose.CHOICE)
    return _verdict(_decided(plain, request, purpose, "", document, revision))


def _decided(
    plain: Mapping[str, str],
    request: Mapping[str, object],
    purpose: Purpose,
    tenant: str,
    document: Document,
    revision: int,
) -> Ruling:
    asked = plain.get("wire", "")
    wire = Wire(asked) if asked in tuple(Wire) else document.wires[0]
    ask = Ask(
        wire=wire,
        delivery=Delivery.CREATE if wire is Wire.V2025_11_25 else Delivery.INPUT_REQUIRED,
        purpose=purpose,
        capabilities=_CAPABILITIES,
        request=request,
        tenant=tenant,
        service=plain.get("service", "").strip(),
        elicitation_id=SAMPLE_ID,
        providers=_open_providers(tenant),
    )
    return decide(ask, document, revision)


def _open_providers(tenant: str) -> frozenset[str]:
    rows = Provider.objects.filter(tenant__slug=tenant, tenant__closed_at=None, closed_at=None)
    return frozenset(rows.values_list("slug", flat=True))


def _id(text: str, document: Document) -> Verdict:
    found = identifiers.classify(text, document.identifiers.min_length)
    refused = identifiers.REFUSED_BY.get(found)
    findings = [] if refused is None else [_finding(refused, "")]
    return Verdict(refused is None, findings, said=f"{words(found)}: {_CLASSES[found]}.")


def _verdict(ruling: Ruling) -> Verdict:
    findings = [_finding(each.rule, each.at or "/") for each in ruling.decision.findings]
    sent = json.dumps(ruling.request, indent=2, ensure_ascii=False) if ruling.request else ""
    return Verdict(ruling.decision.admitted, findings, request="\n".join(visible(line) for line in sent.split("\n")))


def _finding(rule: Rule, at: str) -> Finding:
    about = entry(rule)
    return Finding(about.title, rules.link(rule), rules.source_in_words(about), at, about.advice, about.denies)


def _purpose(typed: str, usual: Purpose) -> Purpose:
    return Purpose(typed) if typed in tuple(Purpose) else usual


#: Purposes as the boxes offer them, the usual ones for a link first.
PURPOSES: Final = tuple(
    (str(purpose), words(purpose)) for purpose in sorted(Purpose, key=lambda each: each not in URL_ONLY)
)
