"""Decisions: what was asked, as far as it may be kept, and each finding in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.admin import Choice, choices
from audit.paging import MERGED, Reading
from elicitation.admin import pasted, rules
from elicitation.admin.entry_list import ServiceFilter
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.models import Decision, Elicitation, Service
from elicitation.policy.decision import Outcome, Purpose
from elicitation.policy.rules import CATALOGUE, Rule, entry
from elicitation.services.scoping import WHOLE_DESK
from elicitation.templatetags.desk import elc, foreign, utc, words

_OUTCOMES = {Outcome.ADMIT: "Admitted", Outcome.DENY: "Denied"}


class OutcomeFilter(Choice):
    title = "outcome"
    parameter_name = "outcome"
    values = list(_OUTCOMES.items())


class PurposeFilter(Choice):
    title = "purpose"
    parameter_name = "purpose"
    values = [(purpose, words(purpose)) for purpose in Purpose]


class RuleFilter(Choice):
    title = "rule"
    parameter_name = "rule"
    values = [(about.rule, about.rule) for about in CATALOGUE if about.denies or about.rule is Rule.ADMITTED]


@admin.register(Decision)
class DecisionAdmin(ScopedAdmin):
    list_display = ("when", "verdict", "because", "purpose", "mode", "service", "seen_client", "revision")
    list_display_links = ("when",)
    list_select_related = ("service__tenant", "client", "revision")
    list_filter = (OutcomeFilter, RuleFilter, ServiceFilter, PurposeFilter)
    search_fields = ("uid",)
    search_help_text = "The exact id of a decision (a UUID), as the service got it."
    nothing_yet = "Nothing has been decided yet."
    fieldsets = (
        (None, {"fields": ("its_id", "when", "verdict", "elicitation", "findings_in_words", "revision")}),
        ("Who asked", {"fields": ("service", "seen_client", "declared")}),
        ("What was asked", {"fields": ("purpose", "mode", "wire", "delivery", "id_class", "sizes")}),
        ("Where it leads", {"fields": ("where", "parameters")}),
        ("What the form asks for", {"fields": ("properties", "keyword_list")}),
    )

    def reading(self, request: HttpRequest, changes: ChangeList) -> Reading:
        """By service, or on the whole desk by rule; the rest is looked for among the newest."""
        chosen, scope = choices(changes.filter_specs), scope_of(request)
        if changes.query:
            return Reading([changes.queryset.filter(**chosen)])
        rows = scope.rows(Decision)
        if scope.whole_desk and "service" not in chosen:
            by = {"rule": chosen.pop("rule")} if "rule" in chosen else {}
            return Reading([rows.filter(**by)], Q(**chosen) if chosen else None)
        mine = scope.rows(Service).order_by("pk")
        if "service" in chosen:
            mine = mine.filter(pk=chosen.pop("service"))
        services = list(mine.values_list("pk", flat=True)[: MERGED + 1])
        if len(services) <= MERGED:
            rest = Q(**chosen) if chosen else None
            return Reading([WHOLE_DESK.rows(Decision).filter(service=each) for each in services], rest)
        return Reading([WHOLE_DESK.rows(Decision)], Q(service__in=mine.values("pk"), **chosen))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        return [str(name) for _, options in self.fieldsets for name in options["fields"]]

    def searched_for(self, text: str) -> Sequence[str]:
        return [str(uid) for uid in pasted.read(text).ours]

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        if not search_term:
            return queryset, False
        return queryset.filter(uid__in=pasted.read(search_term).ours), False

    @admin.display(description="id")
    def its_id(self, row: Decision) -> SafeString:
        return format_html("<code>{}</code>", row.uid)

    @admin.display(description="elicitation")
    def elicitation(self, row: Decision) -> SafeString | str:
        found = Elicitation.objects.filter(decision=row).first()
        if found is None:
            return "none came of it"
        spelled = elc(found.uid)
        link = reverse("admin:elicitation_elicitation_change", args=[spelled])
        return format_html('<a href="{}"><code>{}</code></a>', link, spelled)

    @admin.display(description="at")
    def when(self, row: Decision) -> SafeString | str:
        return utc(row.at)

    @admin.display(description="verdict")
    def verdict(self, row: Decision) -> SafeString:
        return format_html('<span class="state verdict-{}">{}</span>', row.outcome, _OUTCOMES[Outcome(row.outcome)])

    @admin.display(description="rule that decided")
    def because(self, row: Decision) -> SafeString:
        return format_html("{} {}", entry(Rule(row.rule)).title, rules.link(row.rule))

    @admin.display(description="findings")
    def findings_in_words(self, row: Decision) -> SafeString | str:
        if not row.findings:
            return "None: " + entry(Rule.ADMITTED).title.lower() + "."
        each = [(entry(Rule(rule)), place or "the request as a whole") for rule, place in row.findings]
        return format_html(
            '<ol class="findings">{}</ol>',
            format_html_join(
                "",
                "<li><strong>{}</strong> {}<br>At <code>{}</code>. {}<br><small>Source: {}</small></li>",
                (
                    (about.title, rules.link(about.rule), place, about.advice, about.source_text)
                    for about, place in each
                ),
            ),
        )

    @admin.display(description="client (unverified)")
    def seen_client(self, row: Decision) -> SafeString | str:
        return foreign(row.client) if row.client else "erased"

    @admin.display(description="the client declared")
    def declared(self, row: Decision) -> str:
        if row.capability_malformed:
            return "something that is no capability"
        modes = (("form", row.declared_form), ("url", row.declared_url))
        return " and ".join(mode for mode, declared in modes if declared) or "nothing"

    @admin.display(description="sizes")
    def sizes(self, row: Decision) -> str:
        return (
            f"{row.property_count} fields, {row.choice_count} choices, {row.text_bytes} bytes of text, "
            f"{row.schema_bytes} bytes of schema, {row.url_length} characters of URL"
        )

    @admin.display(description="origin")
    def where(self, row: Decision) -> SafeString | str:
        return foreign(row.origin) if row.origin else self.empty_value_display

    @admin.display(description="URL parameters")
    def parameters(self, row: Decision) -> SafeString | str:
        return self._listed(row.parameter_names)

    @admin.display(description="fields")
    def properties(self, row: Decision) -> SafeString | str:
        return self._listed(row.property_names)

    @admin.display(description="schema keywords")
    def keyword_list(self, row: Decision) -> SafeString | str:
        return self._listed(row.keywords)

    def _listed(self, names: list[str]) -> SafeString | str:
        return format_html_join(", ", "{}", ((foreign(name),) for name in names)) or self.empty_value_display
