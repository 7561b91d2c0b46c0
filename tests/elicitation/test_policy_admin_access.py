"""The pages of drafts and rules: open to whom they are for, changed by their own forms alone, and inert."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from elicitation.models import PolicyDraft, PolicyRevision
from tests.builders import Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.policy_pages import (
    APPROVER,
    DRAFTS,
    EDITOR,
    REVISIONS,
    VIEW,
    client_of,
    draft_by,
    page_of,
    person,
    press,
    snapshot,
    typed,
)

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202egnp.exe"


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


RIGHTS: dict[str, tuple[str, ...]] = {
    "nobody": (),
    "reader": VIEW,
    "editor": EDITOR,
    "approver": APPROVER,
    "outsider": ("approve_policydraft", "add_policydraft"),
}


PAGES = {
    "list": ("GET", DRAFTS, {"reader", "editor", "approver"}),
    "draft": ("GET", "{draft}change/", {"reader", "editor", "approver"}),
    "file": ("GET", "{draft}export/", {"reader", "editor", "approver"}),
    "begin": ("GET", f"{DRAFTS}add/", {"editor", "outsider"}),
    "editor": ("GET", "{draft}edit/", {"editor"}),
    "save": ("POST", "{draft}edit/", {"editor"}),
    "approve": ("POST", "{draft}approve/", {"approver"}),
    "confirm": ("GET", "{draft}activate/", {"approver"}),
    "activate": ("POST", "{draft}activate/", {"approver"}),
    "discard": ("POST", "{draft}discard/", {"editor"}),
    "carry over": ("POST", "{draft}carry-over/", {"editor"}),
    "revisions": ("GET", REVISIONS, {"reader", "editor", "approver"}),
    "revision": ("GET", "{revision}change/", {"reader", "editor", "approver"}),
    "revision's file": ("GET", "{revision}export/", {"reader", "editor", "approver"}),
    "roll back": ("POST", "{revision}roll-back/", {"editor"}),
    "rules": ("GET", "/admin/rules/", set(RIGHTS)),
}


@pytest.mark.parametrize("who", RIGHTS)
def test_each_page_is_open_to_whom_it_is_for_and_to_nobody_else(desk: Desk, draft: PolicyDraft, who: str) -> None:
    client = client_of(who, *RIGHTS[who])
    places = {"draft": f"{DRAFTS}{draft.pk}/", "revision": f"{REVISIONS}{PolicyRevision.objects.latest('pk').pk}/"}
    for name, (method, path, allowed) in PAGES.items():
        before = snapshot()
        address = path.format(**places)
        response = client.get(address) if method == "GET" else client.post(address, {})
        if who in allowed:
            assert response.status_code in (200, 302, 409), (name, who)
        else:
            assert response.status_code == 403, (name, who)
            assert snapshot() == before


def test_somebody_who_is_not_signed_in_is_asked_to(desk: Desk, draft: PolicyDraft) -> None:
    for path in (DRAFTS, page_of(draft), page_of(draft, "edit"), "/admin/rules/"):
        assert Client().get(path).status_code == 302


def test_the_buttons_are_those_that_the_reader_may_press(desk: Desk, draft: PolicyDraft) -> None:
    page = look(client_of("rita", *VIEW), page_of(draft))
    for button in ("/edit/", "/approve/", "/activate/", "/discard/"):
        assert button not in page
    page = look(client_of("amir", *APPROVER), page_of(draft))
    assert [button in page for button in ("/edit/", "/approve/", "/activate/", "/discard/")] == [
        False,
        True,
        True,
        False,
    ]


def test_a_buttons_address_changes_nothing_when_it_is_looked_at(
    approver: Client, editor: Client, draft: PolicyDraft
) -> None:
    before = snapshot()
    for client, verb in ((approver, "approve"), (approver, "activate"), (editor, "discard"), (editor, "carry-over")):
        assert client.get(page_of(draft, verb)).status_code in (200, 302)
    assert editor.get(f"{REVISIONS}{PolicyRevision.objects.latest('pk').pk}/roll-back/").status_code == 302
    assert snapshot() == before


def test_a_forged_post_from_another_page_is_refused(desk: Desk, draft: PolicyDraft) -> None:
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(person("amir", *APPROVER))
    before = snapshot()
    for verb in ("approve", "activate"):
        assert press(client, draft, verb).status_code == 403
    assert snapshot() == before


def test_a_hostile_title_is_inert_and_its_direction_mark_is_seen(editor: Client, approver: Client, erin: User) -> None:
    draft = draft_by(erin, title=HOSTILE)
    press(approver, draft, "approve")
    paths = [DRAFTS, page_of(draft), page_of(draft, "edit"), page_of(draft, "activate")]
    press(approver, draft, "activate")
    revision = f"{REVISIONS}{PolicyRevision.objects.latest('pk').pk}/change/"
    for path, client in [*((path, editor) for path in paths), (revision, editor), (REVISIONS, editor)]:
        page = client.get(path).content.decode()
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;[U+202E]gnp.exe" in page
        assert "\u202e" not in page


def test_no_page_needs_more_than_the_content_security_policy_allows(
    editor: Client, approver: Client, draft: PolicyDraft
) -> None:
    tried = editor.post(page_of(draft, "edit"), typed(draft, {"try": "Check", "try.id": "a-1", "wires": []}))
    pages = [tried.content.decode(), look(approver, page_of(draft, "activate"))]
    for path in (DRAFTS, page_of(draft), page_of(draft, "edit"), f"{DRAFTS}add/", "/admin/rules/", REVISIONS):
        pages.append(look(editor, path))
    for page in pages:
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page)
        assert not re.search(r"<script(?![^>]*\ssrc=)", page)


def test_an_unknown_draft_has_no_page(editor: Client) -> None:
    for number in ("999999", "9" * 40, "x", "²"):
        assert editor.get(f"{DRAFTS}{number}/change/").status_code == 404
    assert editor.get(f"{DRAFTS}999999/edit/").status_code == 404
    assert editor.get(f"{REVISIONS}{'9' * 30}/export/").status_code == 404
