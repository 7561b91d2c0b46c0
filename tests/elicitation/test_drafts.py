"""The life of a policy revision: drafted, edited, approved by somebody else, activated, each attempt on the ledger."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User

from audit.models import LedgerEntry, Signal
from elicitation.models import PolicyDraft, PolicyRevision
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.services import drafts, revisions
from elicitation.services.drafts import NotPossible, Obstacle
from tests import builders
from tests.builders import Desk
from tests.racing import at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def editor() -> User:
    return User.objects.create_user("editor")


@pytest.fixture
def approver() -> User:
    return User.objects.create_user("approver")


def begin(by: User | None, document: Document | None = None, cases: str = "[]") -> PolicyDraft:
    return drafts.begin("A destination", revisions.active(), document or builders.document(), cases, by)


def events() -> list[tuple[str, str]]:
    rows = LedgerEntry.objects.filter(event__startswith="policy_", policy_revision__gt=1).order_by("pk")
    rows |= LedgerEntry.objects.filter(event__startswith="policy_", policy_revision=None)
    return [(row.event, row.outcome) for row in rows]


def refused(obstacle: Obstacle, attempt: Any, *arguments: Any, **options: Any) -> None:
    active, count = revisions.active().number, PolicyRevision.objects.count()
    with pytest.raises(NotPossible) as problem:
        attempt(*arguments, **options)
    assert problem.value.obstacle is obstacle
    assert events()[-1] == ("policy_refused", obstacle)
    assert (revisions.active().number, PolicyRevision.objects.count()) == (active, count)


def test_a_draft_comes_into_force_by_a_second_person(editor: User, approver: User) -> None:
    draft = begin(editor)
    drafts.approve(draft, draft.digest, approver)
    policy = drafts.activate(draft, draft.digest, approver)
    assert (policy.number, policy.document) == (2, builders.document())
    assert (policy.row.activated_by, policy.row.approved_by) == (approver, approver)
    assert PolicyRevision.objects.get(number=1).status == "superseded"
    assert [event for event, _ in events()] == ["policy_drafted", "policy_approved", "policy_activated"]
    draft.refresh_from_db()
    assert (draft.status, draft.revision) == ("activated", policy.row)
    assert not Signal.objects.exists()


def test_whoever_edited_can_neither_approve_nor_activate(editor: User, approver: User) -> None:
    draft = begin(editor)
    refused(Obstacle.SAME_PERSON, drafts.approve, draft, draft.digest, editor)
    drafts.edit(draft, builders.document(usual_seconds=60), "[]", approver)
    refused(Obstacle.SAME_PERSON, drafts.approve, draft, draft.digest, approver)
    third = User.objects.create_user("third")
    drafts.approve(draft, draft.digest, third)
    refused(Obstacle.SAME_PERSON, drafts.activate, draft, draft.digest, editor)
    assert drafts.activate(draft, draft.digest, third).number == 2


def test_nothing_is_activated_without_somebody_elses_approval(editor: User, approver: User) -> None:
    draft = begin(editor)
    refused(Obstacle.NOT_APPROVED, drafts.activate, draft, draft.digest, approver)


def test_an_approver_who_edits_afterwards_has_approved_nothing(editor: User, approver: User) -> None:
    draft = begin(editor)
    drafts.approve(draft, draft.digest, approver)
    document = builders.document(usual_seconds=60)
    drafts.edit(draft, document, "[]", approver)
    drafts.edit(draft, builders.document(), "[]", editor)
    third = User.objects.create_user("third")
    refused(Obstacle.NOT_APPROVED, drafts.activate, draft, draft.digest, third)


def test_an_edit_voids_the_approval_and_what_was_seen(editor: User, approver: User) -> None:
    draft = begin(editor)
    seen = draft.digest
    drafts.approve(draft, seen, approver)
    drafts.edit(draft, builders.document(usual_seconds=60), "[]", editor)
    refused(Obstacle.DRAFT_CHANGED, drafts.activate, draft, seen, approver)
    refused(Obstacle.DRAFT_CHANGED, drafts.approve, draft, seen, approver)
    refused(Obstacle.NOT_APPROVED, drafts.activate, draft, draft.digest, approver)


def test_a_red_drill_cannot_be_activated_also_alone(editor: User, approver: User) -> None:
    blind = lay_over(builders.document(), {"vocabulary": {"deny": ["nothing"], "allow": []}})
    draft = begin(editor, blind)
    drafts.approve(draft, draft.digest, approver)
    refused(Obstacle.RED_DRILL, drafts.activate, draft, draft.digest, approver)
    refused(Obstacle.RED_DRILL, drafts.activate, draft, draft.digest, None, alone="in a hurry")


OWN_CASE = (
    '[{"case_id": "own-wire", "mode": "form", "kind": "admission", "expected": "%s", "input": {"wire": "2025-11-25", '
    '"delivery": "create", "capabilities": {"elicitation": {}}, "purpose": "choice", "request": {"message": "Pick", '
    '"requestedSchema": {"type": "object", "properties": {"a": {"type": "boolean"}}}}}}]'
)


@pytest.mark.parametrize(("expected", "green"), [("ADMIT", True), ("DENY", False)])
def test_a_policys_own_cases_must_match_too(approver: User, editor: User, expected: str, green: bool) -> None:
    draft = begin(editor, cases=drafts.checked_cases(OWN_CASE % expected))
    drafts.approve(draft, draft.digest, approver)
    if green:
        assert "own-wire" in drafts.activate(draft, draft.digest, approver).row.cases
    else:
        refused(Obstacle.RED_DRILL, drafts.activate, draft, draft.digest, approver)


def test_a_draft_on_an_older_base_cannot_be_activated(editor: User, approver: User) -> None:
    draft = begin(editor)
    drafts.approve(draft, draft.digest, approver)
    builders.activate()
    refused(Obstacle.BASE_CHANGED, drafts.activate, draft, draft.digest, approver)


def test_a_closed_draft_stays_closed(editor: User, approver: User) -> None:
    draft = begin(editor)
    drafts.discard(draft, draft.digest, editor)
    refused(Obstacle.DRAFT_CLOSED, drafts.approve, draft, draft.digest, approver)
    with pytest.raises(NotPossible):
        drafts.edit(draft, builders.document(), "[]", editor)
    with pytest.raises(NotPossible):
        drafts.discard(draft, draft.digest, editor)


def test_of_two_edits_of_the_same_version_one_is_lost_and_told(editor: User) -> None:
    draft = begin(editor)
    other = PolicyDraft.objects.get(pk=draft.pk)
    drafts.edit(draft, builders.document(usual_seconds=60), "[]", editor)
    with pytest.raises(NotPossible) as problem:
        drafts.edit(other, builders.document(usual_seconds=90), "[]", editor)
    assert problem.value.obstacle is Obstacle.DRAFT_CHANGED


def test_alone_is_on_the_ledger_with_its_reason_and_one_signal(desk: Desk) -> None:
    entry = LedgerEntry.objects.filter(event="policy_activated").latest("pk")
    assert (entry.reason_code, entry.role, entry.actor_id) == ("alone", "shell", "")
    assert revisions.active().row.note == "test"
    builders.activate()
    assert [(signal.rule, signal.about, signal.count) for signal in Signal.objects.order_by("pk")] == [
        ("activation_alone", "revision-2", 1),
        ("activation_alone", "revision-3", 1),
    ]


def test_rollback_is_a_new_revision_with_an_old_body(editor: User, approver: User, desk: Desk) -> None:
    draft = drafts.roll_back(1, editor)
    assert draft is not None
    drafts.approve(draft, draft.digest, approver)
    policy = drafts.activate(draft, draft.digest, approver)
    assert (policy.number, policy.digest) == (3, DEFAULT_DOCUMENT.digest)
    assert drafts.roll_back(99, editor) is None


@pytest.mark.django_db(transaction=True)
def test_of_many_activations_at_once_one_comes_into_force(editor: User, approver: User) -> None:
    waiting = []
    for number in range(6):
        draft = begin(editor, builders.document(usual_seconds=60 + number))
        drafts.approve(draft, draft.digest, approver)
        waiting.append(draft)

    def activate(draft: PolicyDraft) -> str:
        try:
            return f"revision {drafts.activate(draft, draft.digest, approver).number}"
        except NotPossible as problem:
            return problem.obstacle

    outcomes = Counter(at_once([partial(activate, draft) for draft in waiting], 6))
    assert outcomes == {"revision 2": 1, "base_changed": 5}
    assert PolicyRevision.objects.filter(status="active").count() == 1
    assert Counter(events())[("policy_refused", "base_changed")] == 5
