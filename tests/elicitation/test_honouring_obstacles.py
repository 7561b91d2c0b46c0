"""What is in the way of honouring: another entry of the operation, or a result that is used already."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from django.contrib.auth.models import User

from elicitation.models import Elicitation
from elicitation.policy.lifecycle import State
from elicitation.services import honouring
from elicitation.services.proposals import Obstacle
from tests import builders
from tests.builders import Desk
from tests.elicitation.honoured import assert_refused, evidence_of, late, propose
from tests.steps import act, ask, consent

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(db: None) -> int:
    return User.objects.create_superuser("olga").pk


@pytest.fixture
def oscar(db: None) -> int:
    return User.objects.create_superuser("oscar").pk


def newer(desk: Desk, state: State) -> tuple[str, str]:
    """An entry with late evidence, and the next one of its operation."""
    first = desk.admit().json()["id"]
    consent(desk, first)
    act(desk, first, "cancel")
    second = desk.admit().json()["id"]
    assert second != first
    desk.event(first, "pi_late")
    if state is not State.ADMITTED:
        consent(desk, second)
        desk.event(second, "pi_second")
    return first, second


@pytest.mark.parametrize("state", [State.ADMITTED, State.COMPLETE])
def test_nothing_is_honoured_while_the_operation_has_another_open_entry(desk: Desk, olga: int, state: State) -> None:
    first, _ = newer(desk, state)
    assert_refused(first, Obstacle.NEWER_ENTRY, lambda: propose(first, olga))


def test_nothing_is_honoured_once_the_operation_took_a_newer_result(desk: Desk, olga: int) -> None:
    first, second = newer(desk, State.COMPLETE)
    act(desk, second, "consume", operation=builders.operation())
    assert_refused(first, Obstacle.NEWER_ENTRY, lambda: propose(first, olga))


def test_a_newer_entry_that_ended_is_not_in_the_way(desk: Desk, olga: int, oscar: int) -> None:
    first, second = newer(desk, State.ADMITTED)
    builders.age(second, 3600)  # overdue, and not swept yet
    honouring.approve(propose(first, olga).uid, oscar)
    assert [builders.entry_of(one).state for one in (first, second)] == ["COMPLETE", "EXPIRED"]


def test_a_result_that_the_operation_took_before_it_asked_again_is_not_in_the_way(
    desk: Desk, olga: int, oscar: int
) -> None:
    first = desk.admit().json()["id"]
    consent(desk, first)
    desk.event(first, "pi_first")
    act(desk, first, "consume", operation=builders.operation())
    builders.age(first, 86_400)
    second = late(desk)
    assert second != first
    honouring.approve(propose(second, olga).uid, oscar)
    assert builders.entry_of(second).state == "COMPLETE"


def test_an_entry_that_came_between_proposal_and_approval_refuses_it(desk: Desk, olga: int, oscar: int) -> None:
    """Late evidence blocks asking again, so only what was admitted under another digest gets in between."""
    first, second = newer(desk, State.ADMITTED)
    wanted = builders.entry_of(second)
    Elicitation.objects.filter(pk=wanted.pk).update(operation_digest="x:" + "0" * 64, predecessor=None)
    proposal = propose(first, olga)
    Elicitation.objects.filter(pk=wanted.pk).update(operation_digest=wanted.operation_digest)
    assert_refused(first, Obstacle.NEWER_ENTRY, lambda: honouring.approve(proposal.uid, oscar))


def test_of_two_late_entries_of_one_operation_one_is_honoured(desk: Desk, olga: int, oscar: int) -> None:
    first, second = newer(desk, State.ADMITTED)
    act(desk, second, "cancel")
    desk.event(second, "pi_second")
    proposals = [propose(one, olga) for one in (first, second)]
    honouring.approve(proposals[0].uid, oscar)
    assert_refused(second, Obstacle.NEWER_ENTRY, lambda: honouring.approve(proposals[1].uid, oscar))
    act(desk, first, "consume", operation=builders.operation())
    honouring.withdraw(proposals[1].uid, olga)
    assert_refused(second, Obstacle.NEWER_ENTRY, lambda: propose(second, olga))


def test_a_newer_entry_under_a_rotated_key_is_found(desk: Desk, olga: int, settings: Any) -> None:
    first = desk.admit().json()["id"]
    consent(desk, first)
    act(desk, first, "cancel")
    second = desk.admit().json()["id"]
    act(desk, second, "cancel")
    fresh = base64.b64decode("A" * 43 + "=")
    settings.DESK_DIGEST_KEYS = {"new": fresh} | settings.DESK_DIGEST_KEYS
    third = desk.admit().json()["id"]
    digests = {one: builders.entry_of(one).operation_digest for one in (first, second, third)}
    assert digests[second] == digests[third]
    desk.event(first, "pi_late")
    assert_refused(first, Obstacle.NEWER_ENTRY, lambda: propose(first, olga))


def test_a_result_that_completed_another_entry_meanwhile_is_not_used_twice(desk: Desk, olga: int, oscar: int) -> None:
    public_id, other = late(desk), ask(desk, 2)
    proposal = propose(public_id, olga)
    consent(desk, other)
    desk.event(other, "pi_late")
    assert builders.entry_of(other).state == "COMPLETE"
    assert_refused(public_id, Obstacle.RESULT_REUSED, lambda: honouring.approve(proposal.uid, oscar))


def test_a_result_is_known_again_after_the_keys_were_rotated(desk: Desk, olga: int, settings: Any) -> None:
    public_id, other = late(desk), ask(desk, 2)
    fresh = base64.b64decode("A" * 43 + "=")
    settings.DESK_DIGEST_KEYS = {"new": fresh} | settings.DESK_DIGEST_KEYS
    consent(desk, other)
    desk.event(other, "pi_late")
    assert builders.entry_of(other).result_digest != evidence_of(public_id).result_digest
    assert_refused(public_id, Obstacle.RESULT_REUSED, lambda: propose(public_id, olga))
