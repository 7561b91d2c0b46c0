"""When the demo cannot run it says so in one sentence, with exit code 2, and changes nothing."""

from __future__ import annotations

import pytest
from django.core.management import call_command

from audit.models import LedgerEntry
from elicitation.models import Tenant
from elicitation.services import parties
from tests.commands.running import free_port

pytestmark = pytest.mark.django_db


def refused(capsys, *arguments: str) -> str:
    entries = LedgerEntry.objects.count()
    with pytest.raises(SystemExit) as ended:
        call_command("demo", *arguments)
    assert ended.value.code == 2
    assert LedgerEntry.objects.count() == entries
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return str(said.err)


def test_a_desk_with_other_tenants_is_left_alone(capsys):
    parties.open_tenant("acme", "Acme")
    assert "other tenants" in refused(capsys)


def test_a_tenant_that_only_has_the_name_is_another_tenant(capsys):
    parties.open_tenant("demo", "Demonstrations Ltd")
    assert "other tenants" in refused(capsys)


def test_without_a_running_desk_nothing_is_opened(capsys):
    assert "python3 manage.py up" in refused(capsys, "--base-url", f"http://127.0.0.1:{free_port()}")
    assert not Tenant.objects.exists()


def test_an_address_that_is_none_is_named(capsys):
    assert "--base-url" in refused(capsys, "--base-url", "file:///etc/hostname")
