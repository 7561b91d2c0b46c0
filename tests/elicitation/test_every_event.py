"""The full product: every place of an entry, every event, every caller, before, at and after the deadline. The outcome,
the ledger, and that nothing else changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import product
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import DateTimeField, Value

from elicitation.models import HonourProposal, WebhookDelivery
from elicitation.policy.lifecycle import State
from elicitation.services import actors, clock, honouring, keys, operators, parties
from elicitation.services.honouring import NotHonoured
from elicitation.services.move import TransitionRefused
from elicitation.services.operators import CancelReason, CloseReason
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.life_table import (
    ANSWERS,
    EVENTS,
    OPERATORS,
    PROGRESS,
    PROVIDERS,
    SERVICES,
    expected,
)
from tests.elicitation.places import BECOMES, ENDED, reach
from tests.steps import act, say

pytestmark = pytest.mark.django_db

TIMES: Final = {"before": -1, "at": 0, "after": 1}  # microseconds from the deadline
#: What has no deadline is looked at once.
MOMENTS: Final = [*((place, when) for place in BECOMES for when in TIMES), *((place, "before") for place in ENDED)]
#: One place for each state, and for each kind of evidence that somebody else might set free.
WHERE_OTHERS_TRY: Final = {
    *State,
    "ADMITTED held",
    "ADMITTED url_required",
    "RETRY_REQUIRED withdrawn",
    "CANCELLED late",
}
CALLERS: Final = ("sibling service", "wrong tenant", "wrong user", "wrong provider")

COMPLETION: Final = {"completed_at", "completion_source", "result_ref", "result_digest", "consent_source"}
ANSWER: Final = {"answered_at", "answer_action", "content_stripped"}
WAITING: Final = {"held_evidence", "late_evidence"}
#: What changes whenever a state does.
MOVE: Final = WAITING | {"state", "version", "deadline", "unresolved", "next_lookup_at"}
#: The columns that an event may change beside those.
OWN: Final[dict[str, set[str]]] = {
    "accept": ANSWER | {"consented_at", "consent_source"},
    "decline": ANSWER,
    "dismiss": ANSWER | {"cancelled_by"},
    "delivered": {"delivered_at"},
    "shown": {"shown_at"},
    "call_ended": {"origin_ended_at"},
    "lost": {"lost_at"},
    "operator lost": {"lost_at"},
    "retry": {"attempts"},
    "operator retry": {"attempts"},
    "cancel": {"cancelled_by"},
    "operator cancel": {"cancelled_by", "cancel_reason"},
    "consume": {"applied_at"},
    "failed": {"cancelled_by"},
    "reversed": {"reversed_at"} | WAITING,
    "completion": WAITING,
    "completed": WAITING,
    "another": WAITING,
    "close": {"late_evidence", "unresolved"},
    "propose": set(),
    "approve": {"cancelled_by", "cancel_reason"},
    "approve alone": set(),
}
#: Where evidence may change although the entry goes on.
ABOUT_EVIDENCE: Final = {"completion", "completed", "another", "reversed"}
#: What others are told, where the reply is an outcome.
DENIED: Final = {"unknown", "unknown_ignored", "wrong_user_denied", "wrong_provider_denied"}
#: Outcomes that leave everything as it was.
NOTHING: Final = {
    "transition_refused", "entry_changed", "same_person", "repeated", "not_complete", "duplicate_ignored",
    "wrong_provider_denied",
}  # fmt: skip


@pytest.fixture
def desk(db: None) -> Desk:
    opened = builders.open_desk()
    builders.activate(builders.document(sources=["webhook", "server"]))
    return opened


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Stop the database's clock, and the provider's, at one moment."""

    def stop(moment: datetime) -> None:
        monkeypatch.setattr(clock, "now", lambda: moment)
        monkeypatch.setattr(clock, "statement", lambda: Value(moment, output_field=DateTimeField()))
        monkeypatch.setattr("tests.builders.time.time", moment.timestamp)

    return stop  # type: ignore[return-value]


def stop_near_the_deadline(at: Any, public_id: str, place: str, when: str) -> str:
    """Stop the clock around the entry's deadline, or now where it has none; the place where it then is."""
    deadline = builders.entry_of(public_id).deadline
    at((deadline or clock.now()) + timedelta(microseconds=TIMES[when]))
    return BECOMES[place] if when != "before" else place


@contextmanager
def undone() -> Iterator[None]:
    """So that the next event finds the entry as this one did."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def ask_the_service(desk: Desk, public_id: str, event: str, subject: Any = ALICE, key: str | None = None) -> Any:
    """The response to an event that a service reports."""
    verb, body = event, {"subject": subject}
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


def hear_the_provider(desk: Desk, public_id: str, event: str, subject: Any = ALICE, **signed: str) -> Any:
    """The response to an event that a provider signs: the destination's own, or ``slug`` with ``secret``."""
    kind, result = ("completed", "pi_2") if event == "another" else (event, "pi_1")
    return say(desk, kind, public_id, result, subject=subject, **signed)


def let_an_operator(public_id: str, event: str, people: list[int]) -> str:
    """What came of an operator's act; ``people`` are the one who proposed and another."""
    entry, by = builders.entry_of(public_id), actors.operator(people[1])
    match event:
        case "operator lost":
            return str(operators.mark_lost(entry.uid, by).change)
        case "operator retry":
            return str(operators.retry(entry.uid, by).outcome)
        case "operator cancel":
            return str(operators.cancel(entry.uid, by, CancelReason.USER_ABANDONED).change)
        case "close":
            return str(operators.close(entry.uid, by, CloseReason.REFUNDED).change)
        case "propose":
            kept = entry.evidence.order_by("pk").first()
            honouring.propose(entry.uid, kept.uid if kept else entry.uid, people[1])
            return "moved"
        case _:
            approver = people[0] if event == "approve alone" else people[1]
            return str(honouring.approve(HonourProposal.objects.get().uid, approver).change)


def outcome_of(desk: Desk, public_id: str, event: str, people: list[int]) -> str:
    """One event from the right caller, and what the caller or the trace of the delivery says of it."""
    if event in PROVIDERS:
        assert hear_the_provider(desk, public_id, event).status_code == 204
        return WebhookDelivery.objects.latest("pk").outcome
    if event in OPERATORS:
        try:
            return let_an_operator(public_id, event, people)
        except TransitionRefused:
            return "transition_refused"
        except NotHonoured as refusal:
            return str(refusal.obstacle)
    response = ask_the_service(desk, public_id, event)
    assert response.status_code in (200, 409)
    said: dict[str, str] = response.json()
    return said["outcome"] if response.status_code == 200 else said["code"].replace(".", "_")


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {name for name, value in after["entry"].items() if before["entry"][name] != value}


def may_change(event: str, outcome: str, moved: bool, completed: bool) -> set[str]:
    """The columns of the entry that may be others afterwards."""
    own = set() if outcome in NOTHING else OWN[event] | {"version", "next_lookup_at"}
    return own | (MOVE if moved else set()) | (COMPLETION if moved and completed else set())


@pytest.mark.parametrize(("place", "when"), MOMENTS)
def test_the_right_caller_gets_what_the_table_says(desk: Desk, at: Any, place: str, when: str) -> None:
    bystander = desk.admit(operation=builders.operation(question="bystander")).json()["id"]
    people = [User.objects.create_user(name).pk for name in ("olga", "oscar")]
    public_id = reach(desk, place)
    entry = builders.entry_of(public_id)
    if "proposed" in place:
        honouring.propose(entry.uid, entry.evidence.get().uid, people[0])
    present = stop_near_the_deadline(at, public_id, place, when)
    over = ["deadline"] if present != place else []
    before, entries, beside = builders.snapshot(public_id), builders.ledger(public_id), builders.snapshot(bystander)
    for event in EVENTS:
        if event.startswith("approve") and "proposed" not in place:
            continue
        wanted, target, written = expected(event, present)
        with undone():
            outcome = outcome_of(desk, public_id, event, people)
            now, told = builders.snapshot(public_id), builders.ledger(public_id)[len(entries) :]
            assert (event, outcome, now["entry"]["state"]) == (event, wanted, target)
            assert (event, [row.event for row in told]) == (event, over + written)
            if written and outcome not in ("moved", "repeated"):
                assert (event, told[-1].outcome) == (event, outcome)
            free = may_change(event, outcome, bool(over) or target != entry.state, target == State.COMPLETE)
            assert (event, changed(before, now) - free) == (event, set())
            if event not in ABOUT_EVIDENCE and not State(target).terminal:
                assert (event, now["evidence"]) == (event, before["evidence"])
            if outcome in NOTHING and not over:
                assert (event, now) == (event, before)
            assert builders.snapshot(bystander) == beside


@pytest.mark.parametrize(("place", "when"), [moment for moment in MOMENTS if moment[0] in WHERE_OTHERS_TRY])
def test_nobody_else_moves_anything(desk: Desk, at: Any, place: str, when: str) -> None:
    public_id = reach(desk, place)
    other = parties.open_provider(desk.acme, "second-pay", "Second")
    keys_of = {"sibling service": desk.sibling_key, "wrong tenant": desk.mallory_key}
    signed = {
        "wrong tenant": {"slug": desk.other_pay.slug, "secret": desk.other_secret},
        "wrong provider": {"slug": other.slug, "secret": keys.create_provider_key(other)},
    }
    passed = stop_near_the_deadline(at, public_id, place, when) != place
    for caller, event in product(CALLERS, (*SERVICES, *PROVIDERS)):
        subject = BOB if caller == "wrong user" else ALICE
        before = builders.snapshot(public_id)
        if event in PROVIDERS and caller != "sibling service":
            response = hear_the_provider(desk, public_id, event, subject, **signed.get(caller, {}))
            assert (response.status_code, response.content) == (204, b"")
        elif event in SERVICES and caller != "wrong provider":
            response = ask_the_service(desk, public_id, event, subject, keys_of.get(caller))
            if event in ("consume", "completion"):
                assert (response.status_code, response.json()["outcome"] in DENIED) == (200, True)
            else:
                assert (response.status_code, response.json()["code"]) == (404, "unknown")
        now = builders.snapshot(public_id)
        assert (caller, event, changed(before, now) - (MOVE if passed else set())) == (caller, event, set())
        assert passed or now["evidence"] == before["evidence"]


@pytest.mark.parametrize("ended", ["COMPLETE", "ACCEPTED"])
def test_a_consumed_result_stays_consumed(desk: Desk, ended: str) -> None:
    public_id = reach(desk, ended)
    assert act(desk, public_id, "consume", operation=builders.operation())["outcome"] == "applied"
    applied = builders.entry_of(public_id).applied_at
    for event in (*SERVICES, *PROVIDERS):
        (hear_the_provider if event in PROVIDERS else ask_the_service)(desk, public_id, event)
        entry = builders.entry_of(public_id)
        assert (entry.state, entry.applied_at) == (ended, applied)
