"""A drill case as a frozen value, and the strict reading of a file of cases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from elicitation.policy.answers import Content
from elicitation.policy.canonical import CanonicalError, canonical
from elicitation.policy.decision import Delivery, Mode, Purpose, Wire
from elicitation.policy.document import DocumentError
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.reader import Section, choice

_MAX_CASES: Final = 10_000


class CaseError(ValueError):
    """The file of cases is malformed. ``at`` is a JSON pointer; ``problem`` never repeats the value."""

    def __init__(self, at: str, problem: str) -> None:
        super().__init__(f"{at or '/'}: {problem}")
        self.at = at
        self.problem = problem


class Kind(StrEnum):
    """Which part of the policy a case exercises."""

    ADMISSION = "admission"
    ANSWER = "answer"
    EVIDENCE = "evidence"
    RECOVERY = "recovery"
    ERROR = "error"


class Provider(StrEnum):
    """What the provider says when a retry asks it."""

    COMPLETED = "completed"
    PENDING = "pending"
    FAILED = "failed"
    UNKNOWN = "unknown"


EXPECTED: Final = frozenset({"ADMIT", "DENY", "IGNORE", *State})


@dataclass(frozen=True, slots=True)
class AdmissionInput:
    """A question, asked by the tenant ``drill`` and its service unless the case says otherwise."""

    wire: Wire
    delivery: Delivery
    purpose: Purpose
    capabilities: object
    request: Mapping[str, object]
    tenant: str
    service: str
    window_seconds: int | None


@dataclass(frozen=True, slots=True)
class AnswerInput:
    """An answer to an entry in ``state``; ``action`` is as the client spelled it."""

    state: State
    action: object
    content: Content
    delivery: Delivery
    elicitation_id: str


@dataclass(frozen=True, slots=True)
class EvidenceInput:
    """Evidence for an entry; times in seconds after the admission. ``same_user`` is ``None`` where no subject came."""

    known: bool
    state: State
    delivery: Delivery
    same_tenant: bool
    same_service: bool
    same_provider: bool
    same_user: bool | None
    same_result: bool
    result_used_elsewhere: bool
    seconds_after_admission: int
    elicitation_id: str


@dataclass(frozen=True, slots=True)
class RecoveryInput:
    """An event of recovery; ``provider`` is its word when a retry asks it."""

    state: State
    event: Event
    delivery: Delivery
    held: bool
    provider: Provider
    elicitation_id: str


@dataclass(frozen=True, slots=True)
class ErrorInput:
    """A URL-required error that a service is about to send."""

    wire: Wire
    purpose: Purpose
    capabilities: object
    error: object
    tenant: str
    service: str


Input = AdmissionInput | AnswerInput | EvidenceInput | RecoveryInput | ErrorInput


@dataclass(frozen=True, slots=True)
class Case:
    case_id: str
    mode: Mode
    expected: str
    input: Input


def read_cases(value: object) -> tuple[Case, ...]:
    """Read a list of cases; unknown members, wrong types and repeated case ids are :class:`CaseError`."""
    if not isinstance(value, list) or not 0 < len(value) <= _MAX_CASES:
        raise CaseError("", f"must be a list of 1 to {_MAX_CASES} cases")
    try:
        canonical(value)
        cases = tuple(_case(item, f"/{index}") for index, item in enumerate(value))
    except (DocumentError, CanonicalError) as error:
        raise CaseError(error.at, error.problem) from None
    seen: set[str] = set()
    for index, case in enumerate(cases):
        if case.case_id in seen:
            raise CaseError(f"/{index}/case_id", "repeats another case's id")
        seen.add(case.case_id)
    return cases


def _case(value: object, at: str) -> Case:
    section = Section(value, at)
    case_id = section.text("case_id", 100)
    mode = section.choice("mode", Mode, ", ".join(Mode))
    kind = section.choice("kind", Kind, ", ".join(Kind))
    expected = section.text("expected", 32)
    if expected not in EXPECTED:
        raise DocumentError(section.place("expected"), "must be ADMIT, DENY, IGNORE or a state")
    given = section.section("input")
    section.done()
    read = _input(kind, given)
    given.done()
    return Case(case_id, mode, expected, read)


def _input(kind: Kind, given: Section) -> Input:
    match kind:
        case Kind.ADMISSION:
            return _admission(given)
        case Kind.ANSWER:
            return AnswerInput(
                state=given.choice("state", State, ", ".join(State)),
                action=given.take("action"),
                content=_content(given),
                delivery=_delivery(given),
                elicitation_id=_id(given),
            )
        case Kind.EVIDENCE:
            return _evidence(given)
        case Kind.RECOVERY:
            provider = given.choice("provider", Provider, ", ".join(Provider)) if given.has("provider") else None
            return RecoveryInput(
                state=given.choice("state", State, ", ".join(State)),
                event=given.choice("event", Event, "the events of the transition table"),
                delivery=_delivery(given),
                held=_flag(given, "held", False),
                provider=provider or Provider.UNKNOWN,
                elicitation_id=_id(given),
            )
        case Kind.ERROR:
            return ErrorInput(
                wire=given.choice("wire", Wire, ", ".join(Wire)),
                purpose=given.choice("purpose", Purpose, ", ".join(Purpose)),
                capabilities=given.take("capabilities"),
                error=given.take("error"),
                tenant=_caller(given, "tenant"),
                service=_caller(given, "service"),
            )


def _admission(given: Section) -> AdmissionInput:
    request = given.take("request")
    if not isinstance(request, Mapping):
        raise DocumentError(given.place("request"), "must be an object")
    return AdmissionInput(
        wire=given.choice("wire", Wire, ", ".join(Wire)),
        delivery=_delivery(given),
        purpose=given.choice("purpose", Purpose, ", ".join(Purpose)),
        capabilities=given.take("capabilities"),
        request=request,
        tenant=_caller(given, "tenant"),
        service=_caller(given, "service"),
        window_seconds=given.integer("window_seconds", -(2**31), 2**31) if given.has("window_seconds") else None,
    )


def _evidence(given: Section) -> EvidenceInput:
    known = _flag(given, "known", True)
    return EvidenceInput(
        known=known,
        state=given.choice("state", State, ", ".join(State)) if known else State.ADMITTED,
        delivery=_delivery(given),
        same_tenant=_flag(given, "same_tenant", True),
        same_service=_flag(given, "same_service", True),
        same_provider=_flag(given, "same_provider", True),
        same_user=_flag(given, "same_user", True) if given.has("same_user") else None,
        same_result=_flag(given, "same_result", False),
        result_used_elsewhere=_flag(given, "result_used_elsewhere", False),
        seconds_after_admission=given.integer("seconds_after_admission", 0, 2**31) if known else 0,
        elicitation_id=_id(given),
    )


def _content(given: Section) -> Content:
    """A case may carry content, to show that it goes nowhere: only whether it is an object counts from here on."""
    if not given.has("content"):
        return Content.ABSENT
    return Content.PRESENT if isinstance(given.take("content"), Mapping) else Content.ABSENT


def _delivery(given: Section) -> Delivery:
    if not given.has("delivery"):
        return Delivery.CREATE
    return choice(given.text("delivery", 32), Delivery, given.place("delivery"), ", ".join(Delivery))


def _flag(given: Section, name: str, otherwise: bool) -> bool:
    return given.boolean(name) if given.has(name) else otherwise


def _caller(given: Section, name: str) -> str:
    return given.text(name, 64) if given.has(name) else "drill"


def _id(given: Section) -> str:
    return given.text("elicitation_id", 300) if given.has("elicitation_id") else ""
