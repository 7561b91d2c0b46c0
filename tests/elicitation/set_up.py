"""What the tests of a provider's set-up share: an address, a key, and all that a set-up could change."""

from __future__ import annotations

from typing import Any

from elicitation.models import Provider, ProviderKey
from tests import builders
from tests.builders import Desk

STATUS_URL = "https://pay.example.com/v1/status"
API_KEY = "rk_live_" + "Example" * 6


def columns(provider: Provider) -> dict[str, Any]:
    return dict(Provider.objects.filter(pk=provider.pk).values().get())


def stored(desk: Desk) -> Any:
    """All that a set-up could change."""
    rows = list(ProviderKey.objects.order_by("pk").values())
    return columns(desk.pay), rows, len(builders.ledger())
