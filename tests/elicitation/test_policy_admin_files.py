"""New drafts from files, and policies as files: read strictly, told by place, and the same when they come back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from elicitation.models import PolicyDraft, PolicyRevision
from elicitation.policy.document import DEFAULT_DOCUMENT
from elicitation.services import revisions
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import signed_in
from tests.elicitation.policy_pages import DRAFTS, EDITOR, REVISIONS, draft_by, page_of, person, said, snapshot

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a"
NEW = f"{DRAFTS}add/"


@pytest.fixture
def erin(desk: Desk) -> User:
    return person("erin", *EDITOR)


@pytest.fixture
def editor(erin: User) -> Client:
    return signed_in(erin)


def text(**sections: Any) -> str:
    return json.dumps(builders.document(usual_seconds=60).as_json() | sections, ensure_ascii=False)


def begin(client: Client, **data: Any) -> Any:
    return client.post(NEW, {"title": "From a file", "start": "document"} | data)


def as_file(content: str | bytes, name: str = "policy.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)


def test_a_draft_begins_with_the_revision_in_force_and_opens_in_the_editor(editor: Client, erin: User) -> None:
    response = begin(editor, title="Faster payments", start="active")
    draft = PolicyDraft.objects.get(title="Faster payments")
    assert (response.status_code, response.url) == (302, page_of(draft, "edit"))
    assert (draft.document, draft.base) == (revisions.active().row.document, revisions.active().row)
    assert list(draft.editors.all()) == [erin]


@pytest.mark.parametrize("way", ["pasted", "file", "file with a mark"])
def test_a_document_is_pasted_or_uploaded(editor: Client, way: str) -> None:
    sent: Any = text() if way == "pasted" else as_file(("\ufeff" if "mark" in way else "") + text())
    response = begin(editor, **{"pasted" if way == "pasted" else "file": sent})
    draft = PolicyDraft.objects.latest("pk")
    assert (response.status_code, response.url) == (302, page_of(draft))
    assert draft.document == builders.document(usual_seconds=60).canonical().decode()


def test_its_own_cases_come_from_a_file_or_stay_as_they_are(editor: Client) -> None:
    case = {
        "case_id": "own-decline",
        "mode": "form",
        "kind": "answer",
        "expected": "DECLINED",
        "input": {"state": "ADMITTED", "action": "decline"},
    }
    assert begin(editor, pasted=text(), cases=as_file(json.dumps([case]))).status_code == 302
    draft = PolicyDraft.objects.latest("pk")
    assert json.loads(draft.cases) == [case]
    assert "1 of 1 of the policy's own" in said(editor.get(page_of(draft)))
    assert json.loads(editor.get(page_of(draft, "export", "?part=cases")).content) == [case]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no title": ({"title": " ", "pasted": text()}, "Say what the draft is for."),
    "long title": ({"title": "x" * 201, "pasted": text()}, "at most 200 characters"),
    "no start": ({"start": CANARY, "pasted": text()}, "Select a valid choice"),
    "nothing": ({}, "Choose a file, or paste the document."),
    "blank": ({"pasted": " \n"}, "Choose a file, or paste the document."),
    "empty file": ({"file": as_file(b"")}, "Choose a file, or paste the document."),
    "both": ({"pasted": text(), "file": as_file(text())}, "not both"),
    "no json": ({"pasted": f'{{\n"{CANARY}"'}, "Not JSON at line 2."),
    "no text": ({"file": as_file(b"\xff\xfe\x00")}, "The file is not text in UTF-8."),
    "too long": ({"file": as_file(b" " * 4_000_001)}, "The file is longer than any policy."),
    "key twice": ({"pasted": f'{{"wires": 1, "{CANARY}": 1, "{CANARY}": 2}}'}, "A key is written twice in one object."),
    "unknown": ({"pasted": text(**{CANARY: 1})}, "Has a member that is not known."),
    "place": ({"pasted": text(urls={"max_length": CANARY})}, "At /urls/max_length: must be a whole number"),
    "destination": (
        {"pasted": text(destinations=[builders.DESTINATION | {"origin": f"http://{CANARY}.example.com"}])},
        "At /destinations/0/origin: must be an https origin",
    ),
    "cases": ({"pasted": text(), "cases": as_file(f'[{{"case_id": "{CANARY}"}}]')}, "At /0/mode: is missing."),
    "cases no json": ({"pasted": text(), "cases": as_file(CANARY)}, "Not JSON at line 1."),
    "deep": ({"pasted": "[" * 100_000}, "Nested too deeply."),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_file_that_is_wrong_is_told_by_its_place_and_begins_nothing(editor: Client, kind: str) -> None:
    data, sentence = WRONG[kind]
    before = snapshot()
    response = begin(editor, **data)
    assert response.status_code == 200
    assert sentence in said(response)
    assert snapshot() == before
    page = response.content.decode()
    typed = data.get("pasted", "") + data.get("start", "")
    assert page.count(CANARY) <= typed.count(CANARY) + (kind == "no start")
    assert CANARY not in page.partition("<textarea")[0] or kind == "no start"


def test_what_is_downloaded_comes_back_as_the_same_content(editor: Client, erin: User) -> None:
    draft = draft_by(erin)
    response = editor.get(page_of(draft, "export"))
    assert response.headers["Content-Disposition"] == f'attachment; filename="policy-draft-{draft.pk}.json"'
    assert response.headers["Content-Type"] == "application/json"
    begin(editor, file=as_file(response.content))
    assert PolicyDraft.objects.latest("pk").digest == draft.digest
    row = revisions.active().row
    response = editor.get(f"{REVISIONS}{row.pk}/export/")
    assert json.loads(response.content) == json.loads(row.document)
    assert f"policy-revision-{row.number}.json" in response.headers["Content-Disposition"]


def test_an_older_revision_becomes_a_draft_like_any_other(editor: Client) -> None:
    first = PolicyRevision.objects.get(number=1)
    assert "Draft a way back" in editor.get(f"{REVISIONS}{first.pk}/change/").content.decode()
    active = revisions.active().row
    assert "Draft a way back" not in editor.get(f"{REVISIONS}{active.pk}/change/").content.decode()
    response = editor.post(f"{REVISIONS}{first.pk}/roll-back/", follow=True)
    draft = PolicyDraft.objects.latest("pk")
    assert (draft.title, draft.base, draft.document) == ("Back to revision 1", active, first.document)
    assert "somebody else has to approve it" in said(response)
    assert "Destinations › https://consent.example.com" in said(response)
    assert revisions.active().row == active
    assert DEFAULT_DOCUMENT.canonical().decode() == first.document


def test_a_revision_shows_what_it_changed(editor: Client) -> None:
    builders.activate(builders.document(usual_seconds=60))
    newest = PolicyRevision.objects.latest("number")
    page = said(editor.get(f"{REVISIONS}{newest.pk}/change/"))
    assert "Usual time 300 s (5 min) 60 s (1 min)" in page
    assert "nobody else" in page
    assert "It is the first one." in said(editor.get(f"{REVISIONS}{PolicyRevision.objects.get(number=1).pk}/change/"))
