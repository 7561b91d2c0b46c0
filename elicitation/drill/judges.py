"""From a case's input to the action that the policy and the transition table take on it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from elicitation.drill.cases import (
    AdmissionInput,
    AnswerInput,
    Case,
    ErrorInput,
    EvidenceInput,
    Provider,
    RecoveryInput,
)
from elicitation.policy import admission, answers, evidence, lifecycle
from elicitation.policy.decision import Ask, Decision, IdClass, Mode
from elicitation.policy.document import Document
from elicitation.policy.evidence import Evidence, EvidenceOutcome, Reach, ResultMatch, SubjectMatch
from elicitation.policy.identifiers import classify, mint_text
from elicitation.policy.lifecycle import Allowed, Event, Facts, State
from elicitation.policy.url_required import ErrorAsk, judge_error

ADMIT, DENY, IGNORE = "ADMIT", "DENY", "IGNORE"

#: Any instant does: only differences count.
_ADMITTED_AT: Final = datetime(2026, 1, 1, tzinfo=UTC)
#: The id that the desk would have minted; the drill has no randomness.
_DESK_ID: Final = mint_text(bytes(range(16)))


def actual_action(case: Case, document: Document, revision: int) -> tuple[str, IdClass]:
    """What happens in the case, as ``ADMIT``, ``DENY``, ``IGNORE`` or a state, and the class of its id."""
    given = case.input
    match given:
        case AdmissionInput():
            return _admission(given, document, revision)
        case AnswerInput():
            return _answer(given, case.mode), _class(given.elicitation_id, document)
        case EvidenceInput():
            return _completion(given, case.mode, document), _class(given.elicitation_id, document)
        case RecoveryInput():
            return _recovery(given, case.mode, document), _class(given.elicitation_id, document)
        case ErrorInput():
            return _error(given, document, revision)


def _class(elicitation_id: str, document: Document) -> IdClass:
    return classify(elicitation_id, document.identifiers.min_length)


def _verdict(decision: Decision) -> str:
    return ADMIT if decision.admitted else DENY


def _admission(given: AdmissionInput, document: Document, revision: int) -> tuple[str, IdClass]:
    ask = Ask(
        wire=given.wire,
        delivery=given.delivery,
        purpose=given.purpose,
        capabilities=given.capabilities,
        request=given.request,
        tenant=given.tenant,
        service=given.service,
        elicitation_id=_DESK_ID,
        window_seconds=given.window_seconds,
    )
    ruling = admission.decide(ask, document, revision)
    return _verdict(ruling.decision), ruling.id_class


def _error(given: ErrorInput, document: Document, revision: int) -> tuple[str, IdClass]:
    ask = ErrorAsk(given.wire, given.purpose, given.capabilities, given.error, given.tenant, given.service)
    ruling = judge_error(ask, document, revision)
    return _verdict(ruling.decision), ruling.traits.id_class


def _answer(given: AnswerInput, mode: Mode) -> str:
    action = answers.read_action(given.action)
    if action is None:
        return DENY
    ruling = answers.judge(action, given.content, mode)
    if ruling.denial is not None:
        return DENY
    return _stepped(given.state, ruling.event, Facts(mode, given.delivery))


def _stepped(state: State, event: Event, facts: Facts) -> str:
    step = lifecycle.step(state, event, facts)
    return step.to if isinstance(step, Allowed) else DENY


def _completion(given: EvidenceInput, mode: Mode, document: Document) -> str:
    if evidence.out_of_reach(_reach(given)) is not None:
        # Foreign, sibling and absent are told apart in the owner's log alone; the caller hears one word.
        return _told(EvidenceOutcome.UNKNOWN_IGNORED)
    subject = {None: SubjectMatch.ABSENT, True: SubjectMatch.SAME, False: SubjectMatch.DIFFERENT}[given.same_user]
    result = ResultMatch.REUSED if given.result_used_elsewhere else ResultMatch.NEW
    if given.state is State.COMPLETE:
        result = ResultMatch.SAME if given.same_result else ResultMatch.OTHER
    return _applied(
        Evidence(
            state=given.state,
            mode=mode,
            delivery=given.delivery,
            from_destination=given.same_provider,
            subject=subject,
            result=result,
            occurred_at=None,
            window_ends_at=_ADMITTED_AT + timedelta(seconds=document.windows.default_seconds),
            now=_ADMITTED_AT + timedelta(seconds=given.seconds_after_admission),
        )
    )


def _reach(given: EvidenceInput) -> Reach:
    if not given.known:
        return Reach.ABSENT
    if not given.same_tenant:
        return Reach.WRONG_TENANT
    return Reach.OWN if given.same_service else Reach.SIBLING_SERVICE


def _told(outcome: EvidenceOutcome) -> str:
    return IGNORE if outcome.endswith("_ignored") else DENY


def _applied(found: Evidence) -> str:
    """Judge evidence and make its move; then the same evidence again, which must complete nothing twice."""
    outcome = evidence.check(found)
    facts = Facts(found.mode, found.delivery)
    match outcome:
        case EvidenceOutcome.COMPLETED:
            state = _stepped(found.state, Event.EVIDENCE, facts)
        case EvidenceOutcome.HELD | EvidenceOutcome.UNBOUND_HELD:
            return found.state
        case EvidenceOutcome.POLICY_WITHDRAWN_HELD:
            return _stepped(found.state, Event.EVIDENCE_WITHDRAWN, facts)
        case _:
            return _told(outcome)
    if state != State.COMPLETE:
        return state
    return state if _second(found) is EvidenceOutcome.DUPLICATE_IGNORED else DENY


def _second(found: Evidence) -> EvidenceOutcome:
    return evidence.check(
        Evidence(
            state=State.COMPLETE,
            mode=found.mode,
            delivery=found.delivery,
            from_destination=found.from_destination,
            subject=found.subject,
            result=ResultMatch.SAME,
            occurred_at=found.occurred_at,
            window_ends_at=found.window_ends_at,
            now=found.now,
        )
    )


def _recovery(given: RecoveryInput, mode: Mode, document: Document) -> str:
    facts = Facts(mode, given.delivery, given.held)
    state = _stepped(given.state, given.event, facts)
    if given.event is not Event.RETRY or state == DENY:
        return state
    match given.provider:
        case Provider.COMPLETED:
            return _applied(_found_on_retry(given, mode, document))
        case Provider.FAILED:
            return _stepped(given.state, Event.PROVIDER_FAILURE, facts)
        case Provider.PENDING | Provider.UNKNOWN:
            return state


def _found_on_retry(given: RecoveryInput, mode: Mode, document: Document) -> Evidence:
    """What an authenticated look-up brings: the destination's own word about this id, after the window."""
    ends = _ADMITTED_AT + timedelta(seconds=document.windows.default_seconds)
    return Evidence(
        state=given.state,
        mode=mode,
        delivery=given.delivery,
        from_destination=True,
        subject=SubjectMatch.ABSENT_BOUND,
        result=ResultMatch.NEW,
        occurred_at=None,
        window_ends_at=ends,
        now=ends + timedelta(seconds=1),
    )
