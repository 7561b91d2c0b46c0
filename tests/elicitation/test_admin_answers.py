"""The page of an auditor's questions, and the evidence pack from it."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit import triggers
from audit.models import LedgerEntry, Log
from elicitation.services import exports, packs
from tests import builders
from tests.audit.pruned import tampering, write
from tests.builders import Desk
from tests.elicitation.admin_pages import look, page_of
from tests.steps import apply, complete

pytestmark = pytest.mark.django_db


def answered(public_id: str) -> str:
    return f"/admin/answers/{public_id}/"


def words(page: str) -> str:
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", page)))


def test_the_page_answers_the_three_questions_with_numbered_entries(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    apply(desk, public_id)
    exports.seal_all()
    Log.objects.update(witnessed_size=Log.objects.get(tenant="acme").size - 1)
    page = look(admin_client, answered(public_id))
    said = words(page)
    assert "Did a person approve this? The client says so" in said
    assert f"Under which policy? Revision {builders.entry_of(public_id).revision.number}" in said
    assert "Was the result used once? Yes, once" in said
    assert "The waiting call took the result. [4]" in said
    assert [page.count(f'id="entry-{number}"') for number in range(1, 6)] == [1, 1, 1, 1, 0]
    assert said.count("and seen by the witness") == 3
    assert said.count("by the desk; no witness has seen it") == 1


def test_what_is_not_sealed_is_said_to_be_so(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    said = words(look(admin_client, answered(public_id)))
    assert "What is not sealed yet can still be changed" in said


def test_the_entrys_page_leads_there(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    assert f'href="{answered(public_id)}"' in look(admin_client, page_of(public_id))


def test_the_pack_is_downloaded_by_a_button_and_that_is_on_the_ledger(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    reply = admin_client.post(f"{answered(public_id)}pack/")
    assert reply["Content-Disposition"] == f'attachment; filename="{public_id}.evidence.json"'
    pack = json.loads(reply.content)
    assert pack["count"] == 3
    told = LedgerEntry.objects.latest("pk")
    assert (told.event, told.role, told.elicitation_id) == (
        "evidence_packed",
        "auditor",
        builders.entry_of(public_id).uid,
    )
    assert "An evidence pack about it was made." in words(look(admin_client, page_of(public_id)))


@pytest.mark.django_db(transaction=True)
def test_of_what_cannot_be_proven_any_more_no_pack_is_made_and_the_page_says_so(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    write(3)
    with tampering(triggers.LEDGER):
        LedgerEntry.objects.filter(pk=LedgerEntry.objects.latest("pk").pk).delete()
    before = LedgerEntry.objects.count()
    reply = admin_client.post(f"{answered(public_id)}pack/", follow=True)
    assert reply.redirect_chain == [(answered(public_id), 302)]
    assert "cannot prove them any more. Verify the log." in words(reply.content.decode())
    with pytest.raises(CommandError, match="cannot prove them any more") as problem:
        call_command("evidence_pack", public_id)
    assert problem.value.returncode == 1
    assert LedgerEntry.objects.count() == before


def test_a_pack_that_no_verifier_would_read_is_not_handed_out(
    desk: Desk, admin_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packs, "LARGEST_PACK", 100)
    public_id = desk.admit().json()["id"]
    told = LedgerEntry.objects.filter(event="evidence_packed")
    page = admin_client.post(f"{answered(public_id)}pack/", follow=True)
    assert "Export the elicitation instead." in words(page.content.decode())
    with pytest.raises(CommandError, match="Export the elicitation instead"):
        call_command("evidence_pack", public_id)
    assert not told.exists()


def test_a_pack_is_not_made_by_following_a_link(desk: Desk, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    before = LedgerEntry.objects.count()
    assert admin_client.get(f"{answered(public_id)}pack/").status_code == 405
    assert LedgerEntry.objects.count() == before


def test_who_may_not_see_logs_sees_neither(desk: Desk, client: Any, django_user_model: Any) -> None:
    public_id = desk.admit().json()["id"]
    before = LedgerEntry.objects.count()
    assert client.get(answered(public_id)).status_code == 302
    client.force_login(django_user_model.objects.create_user("support", is_staff=True))
    assert client.get(answered(public_id)).status_code == 403
    assert client.post(f"{answered(public_id)}pack/").status_code == 403
    assert LedgerEntry.objects.count() == before


@pytest.mark.parametrize("name", ["elc_" + "a" * 26, "nonsense"])
def test_there_is_no_page_about_what_the_ledger_does_not_know(desk: Desk, admin_client: Any, name: str) -> None:
    look(admin_client, answered(name), 404)
