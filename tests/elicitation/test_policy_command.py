"""``manage.py policy`` as a stranger runs it: file, draft, comparison, replay, activation, each mistake's sentence."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command

from elicitation.models import Decision, PolicyDraft, Seat
from elicitation.services import drafts, revisions
from elicitation.services.roles import Role
from tests import builders
from tests.builders import Desk

pytestmark = pytest.mark.django_db


def policy(*arguments: object) -> str:
    out = io.StringIO()
    call_command("policy", *map(str, arguments), stdout=out, stderr=io.StringIO())
    return out.getvalue()


def failing(code: int, *arguments: object) -> str:
    with pytest.raises(CommandError) as problem:
        policy(*arguments)
    assert problem.value.returncode == code
    return str(problem.value)


def file_of(folder: Path, document: object) -> Path:
    path = folder / "policy.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_a_document_travels_out_and_in_and_comes_into_force(tmp_path: Path) -> None:
    document = json.loads(policy("export"))
    document["forms"]["max_fields"] = 7
    number = policy("import", file_of(tmp_path, document)).strip()
    assert "~ /forms/max_fields: 12 -> 7" in policy("diff", number)
    policy("activate", number, "--alone", "fewer fields")
    assert revisions.active().document.forms.max_fields == 7
    assert json.loads(policy("export", "--revision", 1))["forms"]["max_fields"] == 12


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"wires": [], "wires": []}', "written twice"),
        ("[]", "/"),
        ('{"CANARY": 1}', "/"),
        ("CANARY{", ""),
        (json.dumps(builders.document().as_json() | {"urls": {"max_length": "CANARY"}}), "/urls/max_length"),
    ],
)
def test_a_file_that_is_no_document_is_refused_by_place(tmp_path: Path, text: str, place: str) -> None:
    sentence = failing(2, "import", file_of(tmp_path, text))
    assert "The document is not valid" in sentence
    assert place in sentence
    assert "CANARY" not in sentence
    assert not PolicyDraft.objects.exists()


def test_mistakes_have_one_sentence(tmp_path: Path) -> None:
    assert "cannot be read" in failing(2, "import", tmp_path / "none")
    assert "no draft" in failing(2, "diff", 99)
    assert "no policy revision" in failing(2, "export", "--revision", 99)
    assert "no policy revision" in failing(2, "rollback", 99)
    number = policy("draft", "A title").strip()
    assert "--as USER, or --alone" in failing(2, "activate", number)
    assert "Say why" in failing(2, "activate", number, "--alone", " ")
    assert "from 1 to" in failing(2, "replay", number, "--days", 0)
    policy("discard", number)
    assert "activated or discarded already" in failing(1, "activate", number, "--alone", "why")


def test_a_second_person_approves_and_activates_by_password(monkeypatch: pytest.MonkeyPatch) -> None:
    approver = User.objects.create_user("approver", password="right-horse")
    number = policy("draft", "A title").strip()
    monkeypatch.setattr("sys.stdin", io.StringIO("right-horse\n"))
    assert "may not approve" in failing(2, "approve", number, "--as", "approver")
    approver.groups.add(Group.objects.get(name=Role.POLICY_APPROVER))
    monkeypatch.setattr("sys.stdin", io.StringIO("right-horse\n"))
    assert "may not approve" in failing(2, "approve", number, "--as", "approver")
    Seat.objects.create(person=approver, whole_desk=True)
    monkeypatch.setattr("sys.stdin", io.StringIO("wrong\n"))
    assert "cannot sign in with this password" in failing(2, "approve", number, "--as", "approver")
    monkeypatch.setattr("sys.stdin", io.StringIO("right-horse\nright-horse\n"))
    policy("approve", number, "--as", "approver")
    policy("activate", number, "--as", "approver")
    assert revisions.active().row.approved_by == approver


def replayed(desk: Desk, **destination: Any) -> dict[str, Any]:
    draft = drafts.begin("x", revisions.active(), builders.document(**destination), "[]", None)
    result: dict[str, Any] = json.loads(policy("replay", draft.pk, "--format", "json"))
    return result


def test_a_replay_lists_exactly_the_changed_verdicts(desk: Desk) -> None:
    paid = desk.admit(request={"mode": "url", "message": "Pay.", "url": builders.PAY_URL})
    desk.admit(form=True)
    refused = desk.admit(purpose="credential", operation=builders.operation(target="secret"))
    assert (paid.status_code, refused.status_code) == (201, 422)
    ids = {row.rule: str(row.uid) for row in Decision.objects.filter(mode="url")}
    narrower = replayed(desk, purposes=["third_party_authorization"])
    assert [(row["decision_id"], row["after"], row["rule"]) for row in narrower["changed"]] == [
        (ids["policy.admitted"], "deny", "destination.purpose")
    ]
    wider = replayed(desk, purposes=["payment", "credential"])
    assert [(row["decision_id"], row["after"]) for row in wider["changed"]] == [(ids["destination.purpose"], "admit")]
    assert (wider["total"], wider["same"], wider["refused"], wider["admitted"]) == (3, 2, 0, 1)


def test_a_dry_run_and_a_checked_error_are_no_admissions_to_replay(desk: Desk) -> None:
    desk.call("decisions", builders.admission())
    assert replayed(desk)["total"] == 0


def test_a_diff_counts_and_names_the_pending_entries_it_touches(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    desk.admit(form=True, operation=builders.operation(question="form"))
    draft = drafts.begin("x", revisions.active(), builders.document(paths=["/elsewhere"]), "[]", None)
    text = policy("diff", draft.pk)
    assert "Pending entries that would no longer be admitted: 1." in text
    assert f"{public_id}: url.path_not_listed" in text
