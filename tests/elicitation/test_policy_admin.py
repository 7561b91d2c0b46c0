"""The life of a draft in the admin: read by whom it is for, and activated by somebody else exactly as it was shown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit.models import LedgerEntry
from elicitation.admin import draft_page
from elicitation.models import Decision, PolicyApproval, PolicyDraft
from elicitation.policy.document import DEFAULT_DOCUMENT, lay_over
from elicitation.policy.rules import CATALOGUE, Source
from elicitation.services import drafts, revisions
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.policy_pages import (
    APPROVER,
    DRAFTS,
    EDITOR,
    REVISIONS,
    client_of,
    draft_by,
    page_of,
    person,
    press,
    said,
    snapshot,
    typed,
)
from tests.steps import ask

pytestmark = pytest.mark.django_db
NO_LONGER_ADMITTED = [
    {
        "case_id": "own-payment-is-admitted",
        "mode": "url",
        "kind": "admission",
        "expected": "ADMIT",
        "input": {
            "wire": "2025-11-25",
            "delivery": "create",
            "capabilities": {"elicitation": {"url": {}}},
            "purpose": "payment",
            "request": {"mode": "url", "message": "Pay.", "url": "https://elsewhere.example.net/pay"},
        },
    }
]


@pytest.fixture
def erin(desk: Desk) -> User:
    return person("erin", *EDITOR, "approve_policydraft")


@pytest.fixture
def editor(erin: User) -> Client:
    return signed_in(erin)


@pytest.fixture
def approver(desk: Desk) -> Client:
    return client_of("amir", *APPROVER)


@pytest.fixture
def draft(erin: User) -> PolicyDraft:
    return draft_by(erin, title="Faster payments")


def refusals() -> list[str]:
    return [row.outcome for row in LedgerEntry.objects.filter(event="policy_refused").order_by("pk")]


def test_a_draft_shows_what_it_changes_in_words_and_that_it_passes(editor: Client, draft: PolicyDraft) -> None:
    page = said(editor.get(page_of(draft)))
    for words in (
        "Faster payments",
        "begun on revision 2",
        "by erin",
        "valid",
        "Destinations › https://consent.example.com › Usual time 300 s (5 min) 60 s (1 min)",
        "28 of 28 cases of the drill match",
        "No pending entry is touched.",
        "nobody yet",
        draft.digest,
        "You edited this draft, so somebody else has to approve and activate it.",
        f"python3 manage.py policy activate {draft.pk} --alone REASON",
    ):
        assert words in page, words
    assert "Faster payments" in look(editor, DRAFTS)


def test_words_of_a_list_are_shown_as_what_came_and_what_went(editor: Client, erin: User) -> None:
    base = revisions.active().document
    words = {"deny": ["door code", *base.vocabulary.deny[1:]], "allow": list(base.vocabulary.allow)}
    page = look(editor, page_of(draft_by(erin, lay_over(base, {"vocabulary": words}))))
    assert re.search(r"<del><bdi>password</bdi></del>.*?<ins><bdi>door code</bdi></ins>", page, re.DOTALL)


def test_a_removed_destination_does_not_shift_the_others(editor: Client, erin: User) -> None:
    other = builders.DESTINATION | {"origin": "https://wallet.example.net"}
    builders.activate(lay_over(DEFAULT_DOCUMENT, {"destinations": [builders.DESTINATION, other]}))
    draft = draft_by(erin, lay_over(DEFAULT_DOCUMENT, {"destinations": [other]}))
    page = look(editor, page_of(draft))
    assert page.count('<th scope="row" data-name="Place">') == 1
    assert "https://consent.example.com" in page
    assert "https://wallet.example.net" not in page


def test_another_person_approves_and_activates_what_they_were_shown(
    approver: Client, editor: Client, draft: PolicyDraft
) -> None:
    assert "Nobody else has approved the draft" in look(approver, page_of(draft, "activate"))
    assert press(approver, draft, "approve").status_code == 302
    page = said(approver.get(page_of(draft, "activate")))
    for words in (draft.digest, "in place of revision 2", "green: 28 of 28", "0 pending entries", "Usual time"):
        assert words in page, words
    assert press(approver, draft, "activate").status_code == 302
    active = revisions.active()
    assert (active.number, active.digest) == (3, builders.document(usual_seconds=60).digest)
    page = said(editor.get(page_of(draft)))
    for words in ("Activated", "revision 3", "What it changed in revision 2", "amir at"):
        assert words in page, words
    page = said(editor.get(f"{REVISIONS}{active.row.pk}/change/"))
    for words in ("Policy revision 3", "amir", "Faster payments", f"draft {draft.pk}", "Usual time"):
        assert words in page, words


@pytest.mark.parametrize("verb", ["approve", "activate"])
@pytest.mark.parametrize("boss", [False, True])
def test_whoever_edited_is_refused_superuser_or_not_and_it_is_on_the_ledger(desk: Desk, verb: str, boss: bool) -> None:
    user = person("erin", *EDITOR, "approve_policydraft", boss=boss)
    draft = draft_by(user)
    before = snapshot()
    response = press(signed_in(user), draft, verb)
    assert response.status_code == 409
    assert "Whoever edited the draft cannot approve or activate it. Nothing was changed." in said(response)
    assert (snapshot(), refusals()) == (before, ["same_person"])
    assert "Approve this content" not in response.content.decode()
    assert "Bring it into force" not in look(signed_in(user), page_of(draft, "activate"))


@pytest.mark.parametrize("verb", ["approve", "activate", "discard"])
@pytest.mark.parametrize("seen", ["", "sha256:" + "0" * 64])
def test_a_yes_to_something_else_than_the_draft_changes_nothing(
    approver: Client, draft: PolicyDraft, verb: str, seen: str
) -> None:
    client = client_of("dana", *EDITOR) if verb == "discard" else approver
    before = snapshot()
    response = press(client, draft, verb, seen)
    assert response.status_code == 409
    assert "The draft was edited meanwhile; look at it again." in said(response)
    assert snapshot() == before


def test_an_edit_voids_the_approval_and_the_page_says_so(approver: Client, editor: Client, draft: PolicyDraft) -> None:
    press(approver, draft, "approve")
    response = editor.post(
        page_of(draft, "edit"), typed(draft, {"destinations.0.usual_seconds": "90", "save": "Save"}), follow=True
    )
    assert "The approvals that it had are void." in said(response)
    assert "amir , void: edited since" in said(response)
    draft.refresh_from_db()
    before = snapshot()
    assert "Nobody else has approved" in said(press(approver, draft, "activate"))
    assert (snapshot(), refusals()) == (before, ["not_approved"])


def test_a_red_case_stops_the_activation_and_stands_first(approver: Client, erin: User) -> None:
    draft = draft_by(erin, cases=drafts.checked_cases(json.dumps(NO_LONGER_ADMITTED)))
    press(approver, draft, "approve")
    page = look(approver, page_of(draft))
    assert "0 of 1 of the policy's own" in page
    assert page.index("own-payment-is-admitted</code></th>") < page.index("capability-missing")
    before = snapshot()
    response = press(approver, draft, "activate")
    assert response.status_code == 409
    assert "Not all cases of the drill and of the policy match." in said(response)
    assert (snapshot(), refusals()) == (before, ["red_drill"])
    assert "Not all cases" in look(approver, page_of(draft, "activate"))


def test_a_draft_on_an_older_revision_is_refused_and_can_be_carried_over(
    approver: Client, editor: Client, draft: PolicyDraft
) -> None:
    press(approver, draft, "approve")
    builders.activate(builders.document(usual_seconds=400))
    before = snapshot()
    response = press(approver, draft, "activate")
    assert response.status_code == 409
    assert "Another revision has come into force since the draft was begun" in said(response)
    assert (snapshot(), refusals()) == (before, ["base_changed"])
    page = said(editor.get(page_of(draft)))
    assert "Revision 3 is in force now" in page
    assert "400 s (6 min) 60 s (1 min)" in page
    assert editor.post(page_of(draft, "carry-over")).status_code == 302
    new = PolicyDraft.objects.latest("pk")
    assert (new.base.number, new.digest, new.approvals.count()) == (3, draft.digest, 0)


def test_a_discarded_draft_stays_to_be_read_and_nothing_more(
    approver: Client, editor: Client, draft: PolicyDraft
) -> None:
    assert press(editor, draft, "discard").status_code == 302
    assert "Discarded" in said(editor.get(page_of(draft)))
    before = snapshot()
    for client, verb in ((approver, "approve"), (approver, "activate"), (editor, "discard")):
        draft.refresh_from_db()
        response = press(client, draft, verb)
        assert response.status_code == 409
        assert "The draft was activated or discarded already." in said(response)
    assert editor.get(page_of(draft, "edit")).status_code == 409
    response = editor.post(page_of(draft, "edit"), typed(draft, {"save": "Save"}))
    assert response.status_code == 409
    assert "The draft was activated or discarded already." in said(response)
    assert snapshot() == before


def test_pending_entries_that_it_touches_are_counted_and_linked(
    desk: Desk, editor: Client, erin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_page, "TOUCHED_SHOWN", 2)
    ids = [ask(desk, number) for number in range(3)]
    draft = draft_by(erin, DEFAULT_DOCUMENT)
    page = look(editor, page_of(draft))
    assert "3 pending entries would no longer be admitted" in said(editor.get(page_of(draft)))
    assert [public_id in page for public_id in ids] == [True, True, False]
    assert "/admin/rules/#url.origin_not_listed" in page


def test_the_last_days_are_replayed_with_every_changed_verdict_counted(
    desk: Desk, editor: Client, erin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_page, "CHANGED_SHOWN", 2)
    for number in range(3):
        ask(desk, number)
    ask(desk, 4, form=True)
    draft = draft_by(erin, DEFAULT_DOCUMENT)
    assert "would be refused" not in said(editor.get(page_of(draft)))
    page = editor.get(page_of(draft, query="?days=7"))
    assert "Of 4 decisions, 3 would be refused , 0 would be admitted , 1 stay as they are" in said(page)
    assert "the first 2 of 3" in said(page)
    assert "3: The origin is not on the allowlist" in said(page)
    rows = [int(row) for row in re.findall(r"elicitation/decision/(\d+)/change/", page.content.decode())]
    assert rows == list(Decision.objects.order_by("pk").values_list("pk", flat=True)[:2])
    for days in ("0", "x", "²", "-1", "9" * 9):
        assert editor.get(page_of(draft, query=f"?days={days}")).status_code == 200


def test_slugs_that_are_nobodys_here_are_pointed_out(editor: Client, erin: User) -> None:
    draft = draft_by(
        erin, builders.document(provider="example-gone", tenants=["acme", "umbrella"], services=["bakery"])
    )
    page = said(editor.get(page_of(draft)))
    for words in ("no open provider example-gone", "no open tenant umbrella", "no open service bakery"):
        assert words in page


def test_a_document_that_the_rules_of_today_refuse_is_said_to_be_so(editor: Client, draft: PolicyDraft) -> None:
    PolicyDraft.objects.filter(pk=draft.pk).update(document='{"wires":[]}')
    assert "not valid: /wires: must not be empty" in said(editor.get(page_of(draft)))
    for verb in ("edit", "carry-over"):
        response = editor.post(page_of(draft, verb), {})
        assert response.status_code == 409
        assert "no longer valid" in said(response)


def test_the_list_of_drafts_reads_as_many_rows_in_as_many_queries(
    editor: Client, erin: User, django_assert_max_num_queries: Any
) -> None:
    for number in range(8):
        draft_by(erin, title=f"Draft {number}")
    with django_assert_max_num_queries(9):
        look(editor, DRAFTS)
    assert "Nothing matches these filters" in look(editor, f"{DRAFTS}?status=discarded")


def test_the_page_of_rules_names_each_with_its_source_and_an_anchor(desk: Desk) -> None:
    client = client_of("rita")
    page = look(client, "/admin/rules/")
    for about in CATALOGUE:
        assert f'<tr id="{about.rule}">' in page
    for source in Source:
        shown = re.findall(r'<tr id="([^"]+)">', look(client, f"/admin/rules/?source={source}"))
        assert shown == [about.rule for about in CATALOGUE if source in about.sources]
    assert len(re.findall("<tr id=", look(client, "/admin/rules/?source=else"))) == len(CATALOGUE)
    assert "client/elicitation#capabilities" in page
    assert "R1, R4, R5, R6" in page


def test_a_decision_leads_to_its_rule(desk: Desk, editor: Client) -> None:
    desk.admit(request={"mode": "url", "message": "Pay", "url": "https://evil.example.net/start?flow=pay"})
    client = client_of("dan", "view_decision")
    row = Decision.objects.latest("pk")
    for path in ("/admin/elicitation/decision/", f"/admin/elicitation/decision/{row.pk}/change/"):
        assert "/admin/rules/#url.origin_not_listed" in look(client, path)


def test_approving_twice_is_one_approval(approver: Client, draft: PolicyDraft) -> None:
    for _ in range(2):
        assert press(approver, draft, "approve").status_code == 302
    assert PolicyApproval.objects.count() == 1
    assert "Approve this content" not in look(approver, page_of(draft))
