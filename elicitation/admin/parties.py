"""Tenants, services, providers and clients, so that names resolve. Lists alone; keys are never shown."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.urls import URLPattern
from django.utils.safestring import SafeString

from audit.admin import ReadOnlyAdmin
from elicitation.models import Client, Provider, Service, Tenant
from elicitation.templatetags.desk import foreign, utc


class _ListOnly(ReadOnlyAdmin):
    list_display_links = None

    def get_urls(self) -> list[URLPattern]:
        return [url for url in super().get_urls() if (url.name or "").endswith("_changelist")]

    @admin.display(description="name")
    def said_name(self, row: Any) -> SafeString:
        return foreign(row.name)

    @admin.display(description="opened")
    def opened(self, row: Any) -> SafeString | str:
        return utc(row.opened_at)

    @admin.display(description="closed")
    def closed(self, row: Any) -> SafeString | str | None:
        return utc(row.closed_at) or None


@admin.register(Tenant)
class TenantAdmin(_ListOnly):
    list_display = ("slug", "said_name", "opened", "closed")
    nothing_yet = "There is no tenant yet."


@admin.register(Service)
class ServiceAdmin(_ListOnly):
    list_display = ("slug", "tenant", "said_name", "opened", "closed")
    list_select_related = ("tenant",)
    list_filter = ("tenant",)
    nothing_yet = "There is no service yet."


@admin.register(Provider)
class ProviderAdmin(_ListOnly):
    list_display = ("slug", "tenant", "said_name", "opened", "closed")
    list_select_related = ("tenant",)
    list_filter = ("tenant",)
    nothing_yet = "There is no provider yet."


@admin.register(Client)
class ClientAdmin(_ListOnly):
    list_display = ("said_name", "said_version", "tenant")
    list_select_related = ("tenant",)
    list_filter = ("tenant",)
    nothing_yet = "No client has been seen yet."

    @admin.display(description="version")
    def said_version(self, row: Client) -> SafeString:
        return foreign(row.version)
