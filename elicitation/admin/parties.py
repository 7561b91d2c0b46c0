"""Tenants, services, providers and clients, so that names resolve; and how a provider signs and is asked.
Keys are never shown."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, reverse
from django.utils.safestring import SafeString

from elicitation.admin.scoped import ScopedAdmin, TenantFilter, scope_of
from elicitation.models import (
    Client,
    LookupKind,
    Provider,
    ProviderKey,
    Service,
    SignatureScheme,
    Tenant,
    WebhookDelivery,
)
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.provider_events import Kind
from elicitation.providers import Problem
from elicitation.services import actors, parties
from elicitation.services.parties import MAX_STATUS_URL, STRIPE_SEARCH, NotChanged
from elicitation.templatetags.desk import foreign, utc

#: Keys on a provider's page, the newest: more than any rotation leaves.
_KEYS_SHOWN: Final = 20


class _Party(ScopedAdmin):
    @admin.display(description="name")
    def said_name(self, row: Any) -> SafeString:
        return foreign(row.name)

    @admin.display(description="opened")
    def opened(self, row: Any) -> SafeString | str:
        return utc(row.opened_at)

    @admin.display(description="closed")
    def closed(self, row: Any) -> SafeString | str | None:
        return utc(row.closed_at) or None


class _ListOnly(_Party):
    list_display_links = None

    def get_urls(self) -> list[URLPattern]:
        return [url for url in super().get_urls() if (url.name or "").endswith("_changelist")]


@admin.register(Tenant)
class TenantAdmin(_ListOnly):
    list_display = ("slug", "said_name", "opened", "closed")
    nothing_yet = "There is no tenant yet."


@admin.register(Service)
class ServiceAdmin(_ListOnly):
    list_display = ("slug", "tenant", "said_name", "opened", "closed")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter,)
    nothing_yet = "There is no service yet."


#: Why a look-up brought no answer.
UNANSWERED: Final[dict[str, str]] = {
    Problem.NO_KEY: "its key cannot be sent",
    Problem.NOT_HTTPS: "the address is not a plain https:// address",
    Problem.CONNECT: "its host cannot be reached, or broke the connection off",
    Problem.TLS: "its certificate is not trusted",
    Problem.TIMEOUT: "it took too long",
    Problem.REDIRECT: "it sent the desk elsewhere, and the key goes to the given address alone",
    Problem.STATUS_4XX: "it refused the request: the key or the address is wrong",
    Problem.STATUS_5XX: "it reported a fault of its own",
    Problem.ENCODED: "its reply was compressed, although it was asked for plain",
    Problem.TOO_LARGE: "its reply was too large",
    Problem.NOT_JSON: "its reply was not JSON",
    Problem.MALFORMED: "its reply was not what the README describes",
}


#: Deliveries that are looked through, the newest: so many take a few milliseconds.
_DELIVERIES_READ: Final = 1_000


def _unnamed(provider: Provider) -> str:
    """How many of the events that ``provider`` sent lately named no entry of the desk, in words; empty for none."""
    newest = WebhookDelivery.objects.filter(provider=provider).order_by("-pk")
    read = list(newest.values_list("outcome", "received_at")[:_DELIVERIES_READ])
    times = [at for outcome, at in read if outcome in (EvidenceOutcome.UNKNOWN_IGNORED, Kind.NOT_OURS)]
    if not times:
        return ""
    among = f" of the last {len(read)}" if len(read) == _DELIVERIES_READ else ""
    return f"{len(times)}{among}, last at {times[0]:%Y-%m-%d %H:%M:%S} UTC"


class SetUpForm(forms.Form):
    """How a provider signs and is asked. What else it must be is the service's to say."""

    use_required_attribute = False
    scheme = forms.ChoiceField(label="Signs and words its events as", choices=SignatureScheme.choices)
    lookup = forms.ChoiceField(label="Is asked for a status", choices=LookupKind.choices, required=False)
    status_url = forms.CharField(
        label="Address",
        required=False,
        max_length=MAX_STATUS_URL,
        help_text=f"An https:// address without a query. Left empty, Stripe is asked at {STRIPE_SEARCH}.",
    )


@admin.register(Provider)
class ProviderAdmin(_Party):
    list_display = ("slug", "tenant", "said_name", "scheme", "lookup", "opened", "closed")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter,)
    nothing_yet = "There is no provider yet."

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The provider as it is (GET); with the permission, what was filled in is set (POST)."""
        provider = self._find(request, object_id)
        may = request.user.has_perm("elicitation.change_provider")
        if request.method == "POST" and not may:
            raise PermissionDenied
        before = {"scheme": provider.scheme, "lookup": provider.lookup, "status_url": provider.status_url}
        form = SetUpForm(request.POST if request.method == "POST" else None, initial=before)
        if request.method == "POST" and form.is_valid():
            assert request.user.pk is not None
            try:
                changed = parties.change_provider(
                    provider, **form.cleaned_data, by=actors.administrator(request.user.pk)
                )
            except NotChanged as problem:
                form.add_error(None, str(problem))
            else:
                told = "It is set, and on the ledger." if changed else "Nothing was different, so nothing was changed."
                messages.success(request, told)
                return HttpResponseRedirect(reverse("admin:elicitation_provider_change", args=[provider.pk]))
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": provider.slug,
            "provider": provider,
            "unanswered": UNANSWERED.get(provider.lookup_problem),
            "keys": ProviderKey.objects.filter(provider=provider).order_by("-pk")[:_KEYS_SHOWN],
            "unnamed": _unnamed(provider),
            "form": form if may else None,
        }
        return TemplateResponse(request, "admin/desk/provider.html", context)

    def _find(self, request: HttpRequest, object_id: str) -> Provider:
        if not self.has_view_permission(request):
            raise PermissionDenied
        if not (object_id.isascii() and object_id.isdigit() and len(object_id) < 19):
            raise Http404
        provider = scope_of(request).rows(Provider).select_related("tenant").filter(pk=int(object_id)).first()
        if provider is None:
            raise Http404
        return provider


@admin.register(Client)
class ClientAdmin(_ListOnly):
    list_display = ("said_name", "said_version", "tenant")
    list_select_related = ("tenant",)
    list_filter = (TenantFilter,)
    nothing_yet = "No client has been seen yet."

    @admin.display(description="version")
    def said_version(self, row: Client) -> SafeString:
        return foreign(row.version)
