"""An auditor's three questions about each way in which an elicitation can go, answered from the ledger alone."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from audit.models import LedgerEntry, Log
from elicitation.models import Elicitation
from elicitation.policy.lifecycle import State
from elicitation.services import answering, exports
from elicitation.services.answering import Answers
from elicitation.services.answers_from_history import History
from elicitation.services.scoping import WHOLE_DESK
from tests import builders
from tests.builders import Desk
from tests.elicitation.ways import WAYS, applied
from tests.steps import act, apply, consent

pytestmark = pytest.mark.django_db


def asked_about(public_id: str) -> Answers:
    exports.seal_all()
    found = answering.answers(builders.entry_of(public_id).uid, WHOLE_DESK)
    assert found is not None
    return found


def told(found: Answers) -> str:
    return " ".join(said.text for answer in found.answers for said in answer.said)


@pytest.mark.parametrize(
    ("way", "state", "approved", "used", "sentences"), WAYS, ids=[way.__name__ for way, *_ in WAYS]
)
def test_each_way_is_answered_with_its_evidence(
    desk: Desk, way: Any, state: State, approved: str, used: str, sentences: list[str]
) -> None:
    public_id = desk.admit().json()["id"]
    way(desk, public_id)
    entry = builders.entry_of(public_id)
    assert entry.state == state
    found = asked_about(public_id)
    assert [answer.short for answer in (found.answers[0], found.answers[2])] == [approved, used]
    for sentence in sentences:
        assert sentence in told(found)
    assert_rests_on_the_ledger(found)


def assert_rests_on_the_ledger(found: Answers) -> None:
    """Every entry is an exhibit at its leaf, and every sentence names exhibits or says what is not known."""
    rows = {exhibit.row.pk for exhibit in found.exhibits}
    assert rows == set(LedgerEntry.objects.filter(elicitation_id=found.uid).values_list("pk", flat=True))
    assert all(exhibit.leaf is not None for exhibit in found.exhibits)
    assert found.unsealed == 0
    for answer in found.answers:
        assert answer.said or answer.short == "There is no result"
        for said in answer.said:
            assert set(said.rows) <= rows
            assert said.rows or any(word in said.text for word in ("not", "No ")), said.text


def test_every_state_that_an_elicitation_can_end_in_is_among_the_ways() -> None:
    forms = {State.ACCEPTED}
    assert {state for _, state, *_ in WAYS} | forms == set(State)


def test_a_form_is_approved_by_the_clients_word_and_its_answer_taken_once(desk: Desk) -> None:
    public_id = desk.admit(form=True).json()["id"]
    act(desk, public_id, "answer", action="accept", content="present", latency_ms=9000)
    before = asked_about(public_id)
    assert [answer.short for answer in before.answers[::2]] == ["The client says so", "Not yet"]
    assert "The client says that the person submitted the form." in told(before)
    assert "The waiting call has not taken the answer yet." in told(before)
    apply(desk, public_id)
    after = asked_about(public_id)
    assert after.answers[2].short == "Yes, once"
    assert "What the form said, and what the service did with it, is not on the ledger." in told(after)
    assert "confirm" not in told(after)


def test_where_no_answer_is_reported_the_confirmation_stands_for_it(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    desk.event(public_id)
    found = asked_about(public_id)
    assert found.answers[0].short == "Nobody said so"
    assert "No answer was reported. The confirmation of the outside work stands for it." in told(found)


def test_the_policy_of_each_step_is_named_and_a_change_between_them_shows(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    first = builders.entry_of(public_id).revision.number
    consent(desk, public_id)
    second = builders.activate(builders.document(usual_seconds=200)).number
    desk.event(public_id)
    policy = asked_about(public_id).answers[1]
    assert policy.short == f"Revisions {first} and {second}"
    texts = [said.text for said in policy.said]
    assert f"The question was admitted under revision {first}." in texts
    assert f"The answer was judged under revision {first}." in texts
    assert f"A confirmation was judged under revision {second}." in texts


def test_what_was_pruned_is_not_known_and_said_so(desk: Desk) -> None:
    """Here the entry's own admission is gone, and nothing else."""
    public_id = desk.admit().json()["id"]
    consent(desk, public_id)
    exports.seal_all()
    entry = builders.entry_of(public_id)
    kept = LedgerEntry.objects.filter(elicitation_id=entry.uid).exclude(event="admit")
    Log.objects.filter(tenant="acme").update(pruned=256)
    history = History(list(kept), Log.objects.get(tenant="acme"))
    assert any("pruned" in said.text for said in history.approved().said)
    policy = history.policy()
    assert any("pruned" in said.text for said in policy.said)
    assert f"Later entries say that it was admitted under revision {entry.revision.number}." in [
        said.text for said in policy.said
    ]


def test_the_answers_need_nothing_but_the_ledger(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    applied(desk, public_id)
    before, uid = asked_about(public_id), builders.entry_of(public_id).uid
    Elicitation.objects.filter(uid=uid).update(uid=uuid4())
    after = answering.answers(uid, WHOLE_DESK)
    assert after is not None
    assert after.answers == before.answers


def test_an_exhibit_says_its_leaf_and_whether_it_is_sealed_and_witnessed(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    exports.seal_all()
    log = Log.objects.get(tenant="acme")
    Log.objects.update(witnessed_size=log.size)
    consent(desk, public_id)
    found = answering.answers(builders.entry_of(public_id).uid, WHOLE_DESK)
    assert found is not None
    assert [(each.leaf, each.witnessed) for each in found.exhibits] == [(log.size - 1, True), (None, False)]
    assert found.unsealed == 1


def test_there_is_no_answer_about_what_the_ledger_does_not_know() -> None:
    assert answering.answers(uuid4(), WHOLE_DESK) is None
