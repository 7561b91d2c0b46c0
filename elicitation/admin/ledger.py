"""The ledger with elicitations' ids as people know them, and links between an entry and what it tells of."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit import vocabulary
from audit.admin import LedgerAdmin, NewestFirst, choices
from audit.ledger import SYSTEM_TENANT
from audit.models import LedgerEntry
from audit.paging import MERGED, Reading
from elicitation.admin import pasted
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.models import Tenant
from elicitation.services.named import by_whom, operator_names
from elicitation.services.scoping import WHOLE_DESK
from elicitation.templatetags.desk import elc, visible


class _Named(NewestFirst):
    """With the names of the operators of one page, read at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        names = operator_names(self.result_list)
        for row in self.result_list:
            row.by_whom = by_whom(row, names)


@admin.register(LedgerEntry)
class DeskLedgerAdmin(ScopedAdmin, LedgerAdmin):
    search_help_text = "The id of an elicitation, as you have it: elc_… or a UUID, quotes, spaces, a whole address."
    nothing_yet = "Nothing has happened yet."

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return _Named

    def reading(self, request: HttpRequest, changes: ChangeList) -> Reading:
        """By tenant and event, which an index has together; a search by the id that it is for."""
        chosen, scope = choices(changes.filter_specs), scope_of(request)
        if changes.query:
            return Reading([changes.queryset.filter(**chosen)])
        rest = Q(outcome=chosen["outcome"]) if "outcome" in chosen else None
        events = [chosen["event"]] if "event" in chosen else sorted(vocabulary.EVENTS)
        if scope.whole_desk and "event" not in chosen:
            return Reading([scope.rows(LedgerEntry)], rest)
        tenants = list(scope.rows(Tenant).values_list("slug", flat=True)[: MERGED + 1])
        tenants += [SYSTEM_TENANT] if scope.whole_desk else []
        if len(tenants) * len(events) <= MERGED:
            rows = scope.rows(LedgerEntry)
            return Reading([rows.filter(tenant=tenant, event=event) for tenant in tenants for event in events], rest)
        # Too many to merge: all rows in their order, looked through for whose they are.
        mine = Q() if scope.tenants is None else Q(tenant__in=sorted(scope.tenants.values()))
        return Reading([WHOLE_DESK.rows(LedgerEntry)], Q(**chosen) & mine)

    @admin.display(description="by")
    def who(self, row: Any) -> str:
        return visible(row.by_whom)

    def ids_in(self, text: str) -> list[UUID]:
        return list(pasted.read(text).ours)

    def spelled(self, uid: UUID) -> str:
        return elc(uid)

    @admin.display(description="elicitation")
    def about(self, row: LedgerEntry) -> SafeString | None:
        if row.elicitation_id is None:
            return None
        spelled = elc(row.elicitation_id)
        link = reverse("admin:elicitation_elicitation_change", args=[spelled])
        return format_html('<a href="{}"><code>{}</code></a>', link, spelled)
