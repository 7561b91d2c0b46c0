"""A provider that can be asked: a real server on loopback that speaks TLS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elicitation.models import KeyUse, Provider
from elicitation.services import keys
from tests.builders import ALICE, Desk
from tests.providers.server import ProviderServer

KEY = "sk_for_looking_up"  # no secret: it opens nothing but this test's server


@pytest.fixture
def provider(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """Acme's provider, which can be asked from now on."""
    with ProviderServer(tmp_path) as server:
        for name, value in server.trusting.items():
            monkeypatch.setenv(name, value)
        can_be_asked(desk.pay, server)
        yield server


def can_be_asked(provider: Provider, server: ProviderServer) -> None:
    Provider.objects.filter(pk=provider.pk).update(lookup="generic", status_url=server.status_url)
    provider.refresh_from_db()
    keys.import_provider_key(provider, KEY, KeyUse.LOOKUP)


def asked(server: ProviderServer) -> int:
    return len(server.seen)


def done(result_ref: str = "pi_1", **more: Any) -> dict[str, Any]:
    """What the provider says of work that was done by Alice."""
    return {"status": "completed", "result_ref": result_ref, "subject": ALICE} | more
