"""What is decided on a row that somebody else has changed meanwhile accuses nobody: it is decided again."""

from __future__ import annotations

import pytest

from elicitation.policy.evidence import ResultMatch
from elicitation.services import proof
from tests import builders
from tests.builders import Desk

pytestmark = pytest.mark.django_db


def test_an_entry_that_was_completed_meanwhile_is_not_taken_for_another_that_used_the_result(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    read_before = builders.entry_of(public_id)
    assert desk.event(public_id, "pi_1").status_code == 204
    assert builders.entry_of(public_id).state == "COMPLETE"
    known = proof.result_digests(read_before, "pi_1")
    assert proof.result_match(read_before, known) is ResultMatch.NEW


def test_another_entry_that_used_the_result_is_found(desk: Desk) -> None:
    first, second = (
        desk.admit(delivery="url_required", operation=builders.operation(question=name)).json()["id"]
        for name in ("one", "two")
    )
    assert desk.event(first, "pi_1").status_code == 204
    other = builders.entry_of(second)
    assert proof.result_match(other, proof.result_digests(other, "pi_1")) is ResultMatch.REUSED
