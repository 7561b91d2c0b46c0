"""The full product: every state, every event, every caller, before, at and after the deadline. The outcome, the
ledger, and that nothing else changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import pytest
from django.db.models import DateTimeField, Value

from elicitation.models import Provider
from elicitation.policy.lifecycle import LIVE, State
from elicitation.services import clock, keys, parties
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.test_asking_again import act, apply, complete, consent
from tests.elicitation.test_provider_outcomes import say

pytestmark = pytest.mark.django_db

TIMES: Final = {"before": -1, "at": 0, "after": 1}  # microseconds from the deadline
ANSWERS: Final = {"accept": "accept", "decline": "decline", "dismiss": "cancel"}
PROGRESS: Final = ("delivered", "shown", "call_ended")
PROVIDERS_WORDS: Final = ("completed", "failed", "reversed")
EVENTS: Final = (*ANSWERS, *PROGRESS, "lost", "retry", "cancel", "consume", "completion", *PROVIDERS_WORDS)
CALLERS: Final = ("right", "sibling service", "wrong tenant", "wrong user", "wrong provider")
_A, _C, _R = State.ADMITTED, State.CONSENT_PENDING, State.RETRY_REQUIRED

#: (event, state) to (status or outcome, state afterwards); what is not here is refused and leaves the state.
MOVES: Final[dict[tuple[str, State], tuple[object, State]]] = {
    ("accept", _A): (200, _C),
    ("accept", _C): (200, _C),
    ("accept", _R): (200, _R),
    ("accept", State.COMPLETE): (200, State.COMPLETE),
    ("accept", State.ACCEPTED): (200, State.ACCEPTED),
    ("decline", _A): (200, State.DECLINED),
    ("decline", State.DECLINED): (200, State.DECLINED),
    ("dismiss", _A): (200, State.CANCELLED),
    ("dismiss", _C): (200, State.CANCELLED),
    ("lost", _C): (200, _R),
    ("lost", _R): (200, _R),
    ("retry", _R): ("no_lookup", _R),
    ("retry", State.COMPLETE): ("completed", State.COMPLETE),
    ("cancel", _A): (200, State.CANCELLED),
    ("cancel", _C): (200, State.CANCELLED),
    ("cancel", _R): (200, State.CANCELLED),
    ("cancel", State.CANCELLED): (200, State.CANCELLED),
    ("consume", State.COMPLETE): ("applied", State.COMPLETE),
    ("consume", State.ACCEPTED): ("applied", State.ACCEPTED),
    ("completed", _A): ("held", _A),
    ("completed", _C): ("completed", State.COMPLETE),
    ("completed", _R): ("completed", State.COMPLETE),
    ("completed", State.COMPLETE): ("duplicate_ignored", State.COMPLETE),
    ("completed", State.DECLINED): ("not_pending_denied", State.DECLINED),
    ("completed", State.CANCELLED): ("not_pending_denied", State.CANCELLED),
    ("completed", State.EXPIRED): ("expired_denied", State.EXPIRED),
    ("failed", _C): ("failed", State.CANCELLED),
    ("failed", _R): ("failed", State.CANCELLED),
    # Also before its completion: what was taken back completes nothing.
    **{("reversed", state): ("reversed", state) for state in State if state is not State.ACCEPTED},
}


@pytest.fixture
def desk(db: None) -> Desk:
    opened = builders.open_desk()
    builders.activate(builders.document(sources=["webhook", "server"]))
    return opened


def reach(desk: Desk, state: State) -> str:
    """An entry of Alice's in ``state``, by the events that lead there."""
    public_id: str = desk.admit(form=state is State.ACCEPTED).json()["id"]
    match state:
        case State.ADMITTED:
            pass
        case State.ACCEPTED:
            body = {"subject": ALICE, "action": "accept", "content": "present"}
            desk.call(f"elicitations/{public_id}/answer", body)
        case State.CONSENT_PENDING:
            consent(desk, public_id)
        case State.RETRY_REQUIRED:
            consent(desk, public_id)
            act(desk, public_id, "lost")
        case State.COMPLETE:
            complete(desk, public_id)
        case State.DECLINED:
            body = {"subject": ALICE, "action": "decline", "content": "absent"}
            desk.call(f"elicitations/{public_id}/answer", body)
        case State.CANCELLED:
            act(desk, public_id, "cancel")
        case State.EXPIRED:
            builders.age(public_id, 3600)
            act(desk, desk.admit().json()["id"], "cancel")  # asking again expires it first
    assert builders.entry_of(public_id).state == state
    return public_id


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stop the database's clock, and the provider's, at one moment."""

    def stop(moment: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)
        monkeypatch.setattr(clock, "statement", lambda: Value(moment, output_field=DateTimeField()))
        monkeypatch.setattr("tests.builders.time.time", moment.timestamp)

    return stop  # type: ignore[return-value]


def send(desk: Desk, public_id: str, event: str, caller: str) -> Any:
    """The response to one event, as this caller would send it."""
    who = BOB if caller == "wrong user" else ALICE
    if event in PROVIDERS_WORDS:
        sender = {"wrong tenant": (desk.other_pay.slug, desk.other_secret)}
        if caller == "wrong provider":
            other = parties.open_provider(desk.acme, "second-pay", "Second")
            sender[caller] = (other.slug, keys.create_provider_key(other))
        slug, secret = sender.get(caller, (desk.pay.slug, desk.pay_secret))
        return say(desk, event, public_id, subject=who, slug=slug, secret=secret)
    key = {"sibling service": desk.sibling_key, "wrong tenant": desk.mallory_key}.get(caller, desk.key)
    body: dict[str, Any] = {"subject": who}
    verb = event
    if event in ANSWERS:
        form = builders.entry_of(public_id).mode == "form"
        verb, body = "answer", body | {"action": ANSWERS[event], "content": "present" if form else "absent"}
    elif event in PROGRESS:
        verb, body = "progress", body | {"event": event}
    elif event == "consume":
        body["operation"] = builders.operation()
    elif event == "completion":
        body["result_ref"] = "pi_1"
    return desk.call(f"elicitations/{public_id}/{verb}", body, key=key)


def applies(event: str, caller: str) -> bool:
    provider = event in PROVIDERS_WORDS
    return not (provider and caller == "sibling service") and not (not provider and caller == "wrong provider")


@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("event", EVENTS)
def test_the_right_caller_gets_what_the_table_says(desk: Desk, at: Any, event: str, state: State, when: str) -> None:
    public_id = reach(desk, state)
    effective = stop_near_the_deadline(at, public_id, state, when)
    before, entries = builders.snapshot(public_id), len(builders.ledger(public_id))
    response = send(desk, public_id, event, "right")
    known = "completed" if event == "completion" else event  # the same evidence by another way
    expected, after = MOVES.get((known, effective), (None, effective))
    if event == "accept" and state in (_C, _R):
        expected = 200  # it was given before: a repeat, whatever became of the entry since
    assert response.status_code < 500
    assert builders.entry_of(public_id).state == after
    written = builders.ledger(public_id)[entries:]
    if event in PROGRESS:
        assert (response.status_code, [row.event for row in written][-1]) == (200, event)
    elif event in PROVIDERS_WORDS or event in ("retry", "consume", "completion"):
        outcomes = [row.outcome for row in written]
        if expected is not None and not (event == "retry" and effective is State.COMPLETE):
            assert expected in outcomes
        if expected is None and event != "consume":
            assert outcomes[-1].endswith(("_denied", "_refused"))
    else:
        assert response.status_code == (expected or 409)
    if expected is None and effective is state:
        assert builders.snapshot(public_id)["entry"] == before["entry"] or event in PROGRESS
    chain = [(row.state_from, row.state_to) for row in builders.ledger(public_id) if row.state_from != row.state_to]
    assert [step[0] for step in chain[1:]] == [step[1] for step in chain[:-1]]
    assert chain[-1][1] == after


@pytest.mark.parametrize("when", TIMES)
@pytest.mark.parametrize("state", list(State))
@pytest.mark.parametrize("caller", CALLERS[1:])
def test_nobody_else_moves_anything(desk: Desk, at: Any, caller: str, state: State, when: str) -> None:
    public_id = reach(desk, state)
    effective = stop_near_the_deadline(at, public_id, state, when)
    for event in EVENTS:
        if not applies(event, caller):
            continue
        before = builders.snapshot(public_id)
        response = send(desk, public_id, event, caller)
        if event in PROVIDERS_WORDS:
            assert (response.status_code, response.content) == (204, b"")
        elif event in ("consume", "completion"):
            assert response.status_code == 200
            assert response.json()["outcome"] in (
                "unknown",
                "unknown_ignored",
                "wrong_user_denied",
                "wrong_provider_denied",
            )
        else:
            assert (response.status_code, response.json()["code"]) == (404, "unknown")
        now = builders.snapshot(public_id)
        moved = {name for name, value in now["entry"].items() if value != before["entry"][name]}
        expiry = {"state", "version", "deadline", "next_lookup_at", "unresolved"} if effective is not state else set()
        assert moved <= expiry, (event, moved)
        assert now["evidence"] == before["evidence"]
        if caller == "wrong provider":
            Provider.objects.filter(slug="second-pay").update(slug=f"gone-{event}")


def stop_near_the_deadline(at: Any, public_id: str, state: State, when: str) -> State:
    """Stop the clock around the entry's deadline, or around now where it has none; the state that then holds."""
    deadline = builders.entry_of(public_id).deadline
    at((deadline or clock.now()) + timedelta(microseconds=TIMES[when]))
    return State.EXPIRED if state in LIVE and when != "before" else state


def test_a_consumed_result_stays_consumed(desk: Desk) -> None:
    public_id = reach(desk, State.COMPLETE)
    apply(desk, public_id)
    for event in EVENTS:
        send(desk, public_id, event, "right")
        entry = builders.entry_of(public_id)
        assert (entry.state, entry.applied_at is not None) == ("COMPLETE", True)
