"""Opening a tenant: the desk's own log has a name that no tenant can take, by any door."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command

from audit.ledger import SYSTEM_TENANT
from elicitation.models import Tenant
from elicitation.services import parties

pytestmark = pytest.mark.django_db


def test_no_tenant_takes_the_name_of_the_desks_own_log() -> None:
    with pytest.raises(parties.NotOpened, match="the desk's own"):
        parties.open_tenant(SYSTEM_TENANT, "Desk")
    with pytest.raises(CommandError, match="the desk's own"):
        call_command("service_key", "create", SYSTEM_TENANT, "shop", scopes="admit", open=True)
    assert not Tenant.objects.exists()
