"""Elicitations: a list with exact search, the page of an entry in words, and what operators do to one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.views.main import ChangeList
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, Q, QuerySet, Value
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin import NewestFirst
from audit.paging import Reading
from elicitation.admin import acting, pasted, reviewing
from elicitation.admin.acting_forms import SeenForm
from elicitation.admin.acting_words import Verb, words_of
from elicitation.admin.entry import Page, page
from elicitation.admin.entry_list import FILTERS, Chosen, reading
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.models import Elicitation, Service
from elicitation.policy import identifiers
from elicitation.services import clock
from elicitation.services.lookup import RELATED
from elicitation.services.move import state_at
from elicitation.templatetags.desk import elc, foreign, span, utc, words

HTTP_OK: Final = 200
HTTP_CONFLICT: Final = 409


class _Entries(NewestFirst):
    def url_for_result(self, result: Any) -> str:
        return address(result)


def address(entry: Elicitation, view: str = "change") -> str:
    """The entry's page, by the id that people know."""
    return reverse(f"admin:elicitation_elicitation_{view}", args=[elc(entry.uid)])


@admin.register(Elicitation)
class ElicitationAdmin(ScopedAdmin):
    list_display = ("entry_id", "told", "age", "purpose", "mode", "asked_by", "works_at", "seen_client", "ends")
    list_select_related = ("service__tenant", "provider", "client")
    list_filter = FILTERS
    search_fields = ("uid",)
    search_help_text = "An id of the desk (elc_…) or of the service, as you have it: quotes, spaces, a whole address."
    nothing_yet = "No question has been admitted yet. Services ask with their key: the README says how to connect one."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _Entries

    def get_urls(self) -> list[URLPattern]:
        act = self.admin_site.admin_view(self.act_view)
        return [
            *(
                path(f"<str:object_id>/{verb}/", act, {"verb": verb}, name=f"elicitation_elicitation_{verb}")
                for verb in Verb
            ),
            *super().get_urls(),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the time of reading, asked of the database's clock once and not for each row."""
        now = Value(clock.now(), output_field=DateTimeField())
        rows: QuerySet[Any] = super().get_queryset(request).annotate(read_at=now)
        return rows

    def reading(self, request: HttpRequest, changes: ChangeList) -> Reading:
        found = changes.queryset if changes.query else None
        return reading(Chosen.of(changes.filter_specs), scope_of(request), clock.now(), found)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("elicitation.cancel_elicitation")

    def searched_for(self, text: str) -> Sequence[str]:
        return pasted.read(text).spelled

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Exact ids only, by the indexes that they have."""
        if not search_term:
            return queryset, False
        found = pasted.read(search_term)
        if found.ours:
            return queryset.filter(uid__in=found.ours), False
        services = list(scope_of(request).rows(Service).values_list("pk", flat=True))
        return queryset.filter(service__in=services, wire_id__in=found.wire), False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        entry = self._find(request, object_id)
        signals = reviewing.unresolved(entry) if request.user.has_perm("audit.view_signal") else []
        return self._answer(request, page(entry, clock.now()), "admin/desk/entry.html", signals=signals)

    def act_view(self, request: HttpRequest, object_id: str, verb: Verb) -> HttpResponse:
        """Shows the present state and asks for what is needed (GET), then acts through the registry (POST)."""
        if not self.has_cancel_permission(request):
            raise PermissionDenied
        entry = self._find(request, object_id)
        shown = page(entry, clock.now())
        if request.method != "POST":
            return self._ask(request, shown, verb, acting.form(verb, shown))
        form = acting.form(verb, shown, request.POST)
        if not form.is_valid():
            return self._ask(request, shown, verb, form)
        assert request.user.pk is not None
        try:
            done = acting.act(verb, entry, request.user.pk, form)
        except acting.NotDone as refusal:
            now = page(self._find(request, object_id), clock.now())
            said = f"{refusal} Nothing was changed by you."
            return self._ask(request, now, verb, acting.form(verb, now), refusal=said)
        messages.add_message(request, messages.SUCCESS if done.good else messages.WARNING, done.told)
        return HttpResponseRedirect(address(entry))

    def _ask(self, request: HttpRequest, shown: Page, verb: Verb, form: SeenForm, refusal: str = "") -> HttpResponse:
        more = {"form": form, "refusal": refusal, "verb": verb, "words": words_of(verb, shown.entry)}
        status = HTTP_CONFLICT if refusal else HTTP_OK
        return self._answer(request, shown, "admin/desk/act.html", status, **more)

    def _answer(
        self, request: HttpRequest, shown: Page, template: str, status: int = HTTP_OK, **more: Any
    ) -> HttpResponse:
        offers = []
        if self.has_cancel_permission(request):
            assert request.user.pk is not None
            offers = acting.offers(shown, request.user.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": elc(shown.entry.uid),
            "page": shown,
            "entry_url": address(shown.entry),
            "offers": [(offer, address(shown.entry, offer.verb)) for offer in offers],
            **more,
        }
        context["offered"] = context.get("verb") in [offer.verb for offer in offers]
        return TemplateResponse(request, template, context, status=status)

    def _find(self, request: HttpRequest, object_id: str) -> Elicitation:
        """By the desk's id; by the row's number for the links that Django makes."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        raw = identifiers.parse(object_id)
        if raw is not None:
            wanted = Q(uid=UUID(bytes=raw))
        elif object_id.isascii() and object_id.isdigit() and len(object_id) < 19:
            wanted = Q(pk=int(object_id))
        else:
            raise Http404
        rows = scope_of(request).rows(Elicitation)
        entry = rows.select_related(*RELATED, "predecessor").filter(wanted).first()
        if entry is None:
            raise Http404
        return entry

    @admin.display(description="id")
    def entry_id(self, entry: Elicitation) -> str:
        return elc(entry.uid)

    @admin.display(description="state")
    def told(self, entry: Any) -> SafeString:
        state = state_at(entry, entry.read_at)
        return format_html('<span class="state state-{}">{}</span>', state.lower(), words(state))

    @admin.display(description="age")
    def age(self, entry: Any) -> str:
        return span(entry.read_at - entry.admitted_at)

    @admin.display(description="asked by")
    def asked_by(self, entry: Elicitation) -> str:
        return str(entry.service)

    @admin.display(description="provider")
    def works_at(self, entry: Elicitation) -> str | None:
        return entry.provider.slug if entry.provider else None

    @admin.display(description="client (unverified)")
    def seen_client(self, entry: Elicitation) -> SafeString | None:
        return foreign(entry.client) if entry.client else None

    @admin.display(description="deadline")
    def ends(self, entry: Any) -> SafeString | str | None:
        if entry.deadline is None:
            return None
        left = entry.deadline - entry.read_at
        return format_html("{} ({})", utc(entry.deadline), f"in {span(left)}" if left > timedelta() else "over")
