"""Read-only pages of what has a tenant: a person gets the rows within the scope of their seat, and no others.

"Not yours" and "not there" are the same row that was not found.
"""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from audit.admin import ReadOnlyAdmin
from elicitation.models import Tenant
from elicitation.services import scoping
from elicitation.services.scoping import Scope

_KEPT = "_desk_scope"


def scope_of(request: HttpRequest) -> Scope:
    """Whose rows the person behind ``request`` may see, read once for each request."""
    found: Scope | None = getattr(request, _KEPT, None)
    if found is None:
        found = scoping.scope_of(request.user)
        setattr(request, _KEPT, found)
    return found


class ScopedAdmin(ReadOnlyAdmin):
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return scope_of(request).rows(self.model)


class TenantFilter(admin.SimpleListFilter):
    """One of the person's tenants, by slug; offered where there are several."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        slugs = scope_of(request).rows(Tenant).order_by("slug").values_list("slug", flat=True)
        return [(slug, slug) for slug in slugs] if len(slugs) > 1 else []

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        tenant = scope_of(request).rows(Tenant).filter(slug=self.value()).first() if self.value() else None
        if self.value() and tenant is None:
            return queryset.none()
        return queryset.filter(tenant=tenant) if tenant else queryset
