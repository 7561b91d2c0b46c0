"""Limits on asking: open questions and questions of the last hour, for a person and for a service."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db.models import F

from elicitation.models import Decision, Elicitation
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.racing import at_once

pytestmark = pytest.mark.django_db


def ask(desk: Desk, number: int, **changes: Any) -> Any:
    return desk.admit(operation=builders.operation(question=str(number)), **changes)


def limited(**limits: int) -> None:
    builders.activate(builders.document(limits=limits))


def refused(response, rule: str) -> None:
    assert (response.status_code, response.json()["code"], response["Retry-After"]) == (429, rule, "60")
    assert response.json()["at"] == "/subject"


def test_a_person_has_only_so_many_open_questions(desk: Desk) -> None:
    limited(pending_per_subject=2)
    first, second = ask(desk, 1), ask(desk, 2)
    assert (first.status_code, second.status_code) == (201, 201)
    before = Elicitation.objects.count()
    refused(ask(desk, 3), "limit.pending_per_subject")
    assert Elicitation.objects.count() == before
    assert ask(desk, 3, subject=BOB).status_code == 201
    desk.call(f"elicitations/{first.json()['id']}/cancel", {"subject": ALICE})
    assert ask(desk, 3).status_code == 201


def test_an_overdue_question_is_open_no_more_although_no_sweep_has_run(desk: Desk) -> None:
    limited(pending_per_subject=1)
    builders.age(ask(desk, 1).json()["id"], 3600)
    assert ask(desk, 2).status_code == 201


def test_asking_again_for_a_live_entry_is_no_new_question(desk: Desk) -> None:
    limited(pending_per_subject=1, asks_per_subject_hour=1, asks_per_service_hour=1)
    assert ask(desk, 1).status_code == 201
    for _ in range(3):
        assert ask(desk, 1).status_code == 200


def test_a_person_is_asked_only_so_often_in_an_hour(desk: Desk) -> None:
    limited(asks_per_subject_hour=2)
    for number in range(2):
        public_id = ask(desk, number).json()["id"]
        desk.call(f"elicitations/{public_id}/cancel", {"subject": ALICE})
    refused(ask(desk, 3), "limit.asks_per_subject")
    Elicitation.objects.update(admitted_at=F("admitted_at") - timedelta(hours=1))
    assert ask(desk, 3).status_code == 201


def test_a_service_asks_only_so_often_in_an_hour(desk: Desk) -> None:
    limited(asks_per_service_hour=2)
    assert [ask(desk, n, subject=who).status_code for n, who in enumerate([ALICE, BOB])] == [201, 201]
    refused(ask(desk, 3), "limit.asks_per_service")
    assert ask(desk, 3, key=desk.sibling_key).status_code == 201


def test_a_refused_question_counts_for_nothing_and_is_on_the_record(desk: Desk) -> None:
    limited(asks_per_subject_hour=1)
    for _ in range(3):
        desk.admit(purpose="choice")
    assert ask(desk, 1).status_code == 201
    refused(ask(desk, 2), "limit.asks_per_subject")
    assert Decision.objects.latest("pk").rule == "limit.asks_per_subject"
    last = builders.ledger()[-1]
    assert (last.event, last.outcome, last.rule, last.rule_source) == (
        "admit",
        "deny",
        "limit.asks_per_subject",
        "operator",
    )


@pytest.mark.django_db(transaction=True)
def test_two_questions_at_once_cannot_both_be_the_last(desk: Desk) -> None:
    limited(pending_per_subject=3)
    responses = at_once([partial(ask, desk, number) for number in range(12)], 12)
    assert Counter(response.status_code for response in responses) == {201: 3, 429: 9}
