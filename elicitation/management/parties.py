"""Finding the party that a command names, or opening it when the person says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from django.core.management.base import CommandError
from django.db import transaction

from elicitation.models import Provider, Service, Tenant
from elicitation.services import parties
from elicitation.services.parties import NotOpened

T = TypeVar("T")


def tenant_named(slug: str, *, may_open: bool) -> Tenant:
    """Raises ``CommandError``."""
    found = Tenant.objects.filter(slug=slug).first()
    return found or _opened(lambda: parties.open_tenant(slug, slug), "tenant", may_open)


@transaction.atomic
def service_named(tenant: str, slug: str, *, may_open: bool) -> Service:
    """Raises ``CommandError``."""
    owner = tenant_named(tenant, may_open=may_open)
    found = Service.objects.select_related("tenant").filter(tenant=owner, slug=slug).first()
    return found or _opened(lambda: parties.open_service(owner, slug, slug), "service", may_open)


@transaction.atomic
def provider_named(tenant: str, slug: str, *, may_open: bool) -> Provider:
    """Raises ``CommandError``."""
    owner = tenant_named(tenant, may_open=may_open)
    found = Provider.objects.select_related("tenant").filter(tenant=owner, slug=slug).first()
    return found or _opened(lambda: parties.open_provider(owner, slug, slug), "provider", may_open)


def _opened(make: Callable[[], T], what: str, may_open: bool) -> T:
    if not may_open:
        raise CommandError(f"There is no such {what}; `create` with --open opens it.", returncode=2)
    try:
        return make()
    except NotOpened as problem:
        raise CommandError(f"The {what} cannot be opened: {problem}", returncode=2) from None
