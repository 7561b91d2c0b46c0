"""Read-only admin pages that stay fast on long tables, and the ledger's own.

The application that writes the ledger registers :class:`LedgerAdmin`, with its own spelling of ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, cast
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Model, QuerySet
from django.db.models.expressions import Combinable
from django.http import HttpRequest
from django.urls import URLPattern
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from audit import vocabulary
from audit.models import LedgerEntry
from audit.paging import LOOKED_THROUGH, Reading, newest

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin

#: The page shows rows with a smaller number than this.
BEFORE: Final = "before"
_MAX_ID: Final = 2**63 - 1


class NewestFirst(ChangeList):
    """Pages by the primary key, newest first: no count, no offset, no other order."""

    older: str = ""
    newest: str = ""
    #: The row at which looking through ended, when the page is not full and older rows may match.
    looked_to: int | None = None

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        asked = request.GET.get(BEFORE, "")
        self.before = min(int(asked), _MAX_ID) if asked.isascii() and asked.isdigit() and len(asked) < 20 else None
        super().__init__(request, *args, **kwargs)
        self.title = str(capfirst(self.opts.verbose_name_plural))

    def get_filters_params(self, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {name: value for name, value in super().get_filters_params(params).items() if name != BEFORE}

    def get_query_string(self, new_params: Any = None, remove: Any = None) -> str:
        """A link to another selection begins at its newest row."""
        return super().get_query_string(new_params, [*(remove or ()), BEFORE])

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[str | Combinable]:
        return ["-pk"]

    def get_results(self, request: HttpRequest) -> None:
        size = self.list_per_page
        part = newest(cast(ReadOnlyAdmin, self.model_admin).reading(request, self), size, self.before)
        rows = {row.pk: row for row in self.queryset.filter(pk__in=part.numbers)} if part.numbers else {}
        self.result_list = [rows[number] for number in part.numbers if number in rows]
        self.result_count, self.looked_to = len(self.result_list), part.looked_to
        kept = [(name, value) for name, value in request.GET.items() if name != BEFORE]
        if self.before is not None:
            self.newest = f"?{urlencode(kept)}"
        if part.older is not None:
            self.older = f"?{urlencode([*kept, (BEFORE, part.older)])}"
        self.show_full_result_count = self.show_admin_actions = self.can_show_all = self.multi_page = False
        self.full_result_count = None
        self.paginator = self.model_admin.get_paginator(request, self.result_list, size)


class ReadOnlyAdmin(_ModelAdmin):
    """A list and a page for each row. Nothing is added, changed or deleted here."""

    actions = None
    empty_value_display = "–"
    list_per_page = 50
    sortable_by = ()
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    change_list_template = "admin/desk/list.html"
    change_form_template = "admin/desk/detail.html"
    #: What the list says when it is empty, and nothing was filtered or searched.
    nothing_yet = "Nothing has been recorded yet."

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        return [url for url in super().get_urls() if (url.name or "").endswith(("_changelist", "_change"))]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NewestFirst

    def reading(self, request: HttpRequest, changes: ChangeList) -> Reading:
        """How the list is read; a table that grows without end says by which indexes."""
        return Reading([changes.queryset])

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """The offered filters and nothing else: a look-up by a digest's beginning would answer guesses."""
        offered = {getattr(item, "parameter_name", item) for item in self.list_filter}
        return any(lookup in (name, f"{name}__exact", f"{name}__id__exact") for name in offered)

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        context = {
            "nothing_yet": self.nothing_yet,
            "window": LOOKED_THROUGH,
            "searched_for": self.searched_for(request.GET.get("q", "")),
        }
        return super().changelist_view(request, context | (extra_context or {}))

    def searched_for(self, text: str) -> Sequence[str]:
        """What is searched, exactly, when a person pastes ``text``."""
        return ()


class ListedFilter(admin.SimpleListFilter):
    """Equality with one value of a closed list."""

    values: ClassVar[Sequence[tuple[str, str]]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return list(self.values)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{str(self.parameter_name): self.value()}) if self.value() else queryset


class Choice(admin.SimpleListFilter):
    """One of a few values, for a table that grows without end. It narrows nothing by itself: the list's ``reading``
    takes all choices together, each by an index or not."""

    values: ClassVar[Sequence[tuple[str, str]]] = ()

    def lookups(self, request: HttpRequest, model_admin: Any) -> Sequence[tuple[str, str]]:
        return list(self.values)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset

    @property
    def chosen(self) -> str:
        """The value, or nothing when it is none that is offered."""
        value = self.value() or ""
        return value if value in {str(offered) for offered, _ in self.lookup_choices} else ""


def choices(filters: Sequence[Any]) -> dict[str, str]:
    """What was chosen, by the name of its parameter; without what was not."""
    found = {str(each.parameter_name): each.chosen for each in filters if isinstance(each, Choice)}
    return {name: value for name, value in found.items() if value}


class EventFilter(Choice):
    title = "event"
    parameter_name = "event"
    values = [(event, event) for event in sorted(vocabulary.EVENTS)]


class OutcomeFilter(Choice):
    title = "outcome"
    parameter_name = "outcome"
    values = [(outcome, outcome) for outcome in sorted(vocabulary.OUTCOMES)]


class LedgerAdmin(ReadOnlyAdmin):
    """The ledger as it was written. People's handles and the digests of operations and results stay out of sight."""

    list_display = ("id", "when", "tenant", "event", "about", "states", "outcome", "rule", "who")
    list_filter = (EventFilter, OutcomeFilter)
    search_fields = ("elicitation_id",)
    search_help_text = "Exact id of an elicitation."
    hidden = frozenset({"subject", "operation_digest", "result_digest", "digest_key_id"})
    shown_as = {"at": "when", "elicitation_id": "about", "deadline": "ends"}

    def ids_in(self, text: str) -> list[UUID]:
        """The elicitations' ids in what a person pasted."""
        try:
            return [UUID(text.strip())]
        except ValueError:
            return []

    def spelled(self, uid: UUID) -> str:
        return str(uid)

    def searched_for(self, text: str) -> Sequence[str]:
        return [self.spelled(uid) for uid in self.ids_in(text)]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        return queryset.filter(elicitation_id__in=self.ids_in(search_term)), False

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """The columns that say something about this entry."""
        columns = [field.name for field in LedgerEntry._meta.fields if field.name not in self.hidden]
        return [self.shown_as.get(name, name) for name in columns if getattr(obj, name, None) not in (None, "")]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    @admin.display(description="at")
    def when(self, row: LedgerEntry) -> SafeString:
        return format_html('<time datetime="{}">{} UTC</time>', row.at.isoformat(), f"{row.at:%Y-%m-%d %H:%M:%S.%f}")

    @admin.display(description="deadline")
    def ends(self, row: LedgerEntry) -> str:
        return f"{row.deadline:%Y-%m-%d %H:%M:%S} UTC" if row.deadline else ""

    @admin.display(description="elicitation")
    def about(self, row: LedgerEntry) -> SafeString | None:
        if row.elicitation_id is None:
            return None
        return format_html("<code>{}</code>", self.spelled(row.elicitation_id))

    @admin.display(description="state")
    def states(self, row: LedgerEntry) -> str | None:
        if row.state_from == row.state_to:
            return row.state_to or None
        return f"{row.state_from or 'new'} → {row.state_to}"

    @admin.display(description="by")
    def who(self, row: LedgerEntry) -> str:
        return " ".join(part for part in (row.actor_kind, row.actor_id) if part)
