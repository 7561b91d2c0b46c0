"""The transition table over everything that can be asked of it."""

from itertools import product

import pytest

from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.lifecycle import EXPLANATIONS, LIVE, TABLE, Allowed, Event, Facts, Refused, State, step

S, E = State, Event
FACTS = [Facts(*each) for each in product(Mode, Delivery, (False, True), (False, True))]
EVERYTHING = list(product(State, Event, FACTS))


def expected(state: State, event: Event, facts: Facts) -> State | None:
    """The design's table, written a second time as rules; ``None`` is a refusal."""
    url, live = facts.mode is Mode.URL, state in LIVE
    unpushed = facts.delivery is Delivery.URL_REQUIRED
    pending = state in (S.CONSENT_PENDING, S.RETRY_REQUIRED)
    asked = state is S.ADMITTED
    outside = url and (pending or (asked and unpushed))
    verdicts: dict[Event, State | None] = {
        E.ADMIT: None,
        E.ASK_AGAIN: S.RETRY_REQUIRED if asked and url and facts.held else None,
        E.DELIVERED: state,
        E.SHOWN: state,
        E.CALL_ENDED: state,
        E.ANSWER_ACCEPT: (S.CONSENT_PENDING if url else S.ACCEPTED) if asked else state if pending and url else None,
        E.ANSWER_DECLINE: S.DECLINED if asked else None,
        E.ANSWER_CANCEL: S.CANCELLED if asked or state is S.CONSENT_PENDING else None,
        E.POLICY_WITHDRAWN: S.CANCELLED if asked else None,
        E.PAGE_CONSENT: None
        if not (url and live)
        else S.RETRY_REQUIRED
        if state is S.RETRY_REQUIRED
        else S.CONSENT_PENDING,
        E.PAGE_DECLINE: S.DECLINED if url and (asked or state is S.CONSENT_PENDING) else None,
        E.EVIDENCE: S.COMPLETE if outside else state if url and asked else None,
        E.EVIDENCE_WITHDRAWN: S.RETRY_REQUIRED if outside else None,
        E.LOST: S.RETRY_REQUIRED
        if url and (state is S.CONSENT_PENDING or (asked and (facts.held or unpushed)))
        else None,
        E.RETRY: state if url and state is S.RETRY_REQUIRED else None,
        E.PROVIDER_FAILURE: S.CANCELLED if outside else None,
        E.CANCEL: S.CANCELLED if live else None,
        E.CLOSED: S.CANCELLED if live else None,
        E.DEADLINE: _deadline(state, facts),
        E.HONOUR_EVIDENCE: S.COMPLETE
        if url
        and (facts.held if state is S.RETRY_REQUIRED else facts.late and state in (S.EXPIRED, S.CANCELLED, S.DECLINED))
        else None,
        E.CLOSE: state if url and state in (S.EXPIRED, S.CANCELLED, S.DECLINED) else None,
        E.REVERSAL: state if url else None,
        E.CONSUME: state if state is (S.COMPLETE if url else S.ACCEPTED) else None,
    }
    return verdicts[event]


def _deadline(state: State, facts: Facts) -> State | None:
    url = facts.mode is Mode.URL
    if state is S.ADMITTED:
        if facts.held:
            return S.RETRY_REQUIRED if url else None
        return S.EXPIRED
    return S.EXPIRED if url and state in LIVE else None


def test_every_state_event_and_fact_has_the_designs_verdict() -> None:
    wrong = []
    for state, event, facts in EVERYTHING:
        target = expected(state, event, facts)
        verdict = Refused(state) if target is None else Allowed(target)
        if step(state, event, facts) != verdict:
            wrong.append((state, event, facts, verdict))
    assert wrong == []


@pytest.mark.parametrize("state", [state for state in State if state.terminal])
def test_nothing_leads_out_of_a_terminal_state_but_honoured_evidence(state: State) -> None:
    for event, facts in product(Event, FACTS):
        verdict = step(state, event, facts)
        if isinstance(verdict, Allowed) and verdict.to is not state:
            assert event is Event.HONOUR_EVIDENCE
            assert verdict.to is State.COMPLETE


def test_an_acceptance_of_a_link_is_never_its_completion() -> None:
    for state, facts in product(State, FACTS):
        verdict = step(state, Event.ANSWER_ACCEPT, facts)
        assert not isinstance(verdict, Allowed) or verdict.to is not State.COMPLETE


def test_at_most_one_arrow_fits() -> None:
    for state, event, facts in EVERYTHING:
        fitting = [
            arrow for arrow in TABLE if arrow.event is event and state in arrow.sources and arrow.when <= facts.true()
        ]
        assert len(fitting) <= 1


def test_every_arrow_can_be_taken() -> None:
    for arrow in TABLE:
        assert any(arrow.when <= facts.true() for facts in FACTS)


def test_every_state_has_its_words() -> None:
    assert set(EXPLANATIONS) == set(State)
