"""A whole export to a checkpoint that knows nothing of the prune before it: refused at each door, in words, with
nothing made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from audit.models import Export, LedgerEntry
from elicitation.services import keys, parties
from elicitation.services.keys import Scope
from tests.audit.pruned import acme, exported, prune, write

pytestmark = pytest.mark.django_db(transaction=True)

OLD = 300


@pytest.fixture(autouse=True)
def _pruned(settings: Any, tmp_path: Path) -> Any:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    write(OLD)
    exported()
    assert prune(OLD).upto == 256
    write(10)
    made = Export.objects.count(), LedgerEntry.objects.filter(event="exported").count()
    yield
    assert (Export.objects.count(), LedgerEntry.objects.filter(event="exported").count()) == made


def test_over_the_api_it_is_a_problem_of_the_member() -> None:
    auditor = parties.open_service(parties.open_tenant("acme", "Acme"), "auditor", "Auditor")
    reply = Client().post(
        "/api/v1/exports",
        {"format": "jsonl", "to": OLD},
        content_type="application/json",
        headers={"authorization": f"Bearer {keys.create_service_key(auditor, [Scope.EXPORT])}"},
    )
    problem = reply.json()
    assert (reply.status_code, problem["code"], problem["at"]) == (400, "checkpoint.pruned", "/to")


def test_in_the_admin_the_field_says_what_to_take_instead(admin_user: User) -> None:
    client = Client()
    client.force_login(admin_user)
    page = client.post("/admin/audit/export/add/", {"log": acme().pk, "format": "jsonl", "to_size": OLD})
    assert page.status_code == 409
    assert "Take a newer one." in page.context["form"].errors["to_size"][0]


def test_the_command_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="nothing up to there tells of it") as refused:
        call_command("export_ledger", "acme", format="csv", output=tmp_path / "acme.csv", to_checkpoint=OLD)
    assert refused.value.returncode == 2
    assert not list(tmp_path.glob("acme.csv*"))
