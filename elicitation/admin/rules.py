"""The page of all rules: what each one says, whose it is, and what to do about it."""

from __future__ import annotations

from itertools import groupby
from typing import Final

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from elicitation.policy.rules import CATALOGUE, RuleEntry, Source

SOURCES: Final = {
    Source.SPEC_2025_11_25: "Protocol 2025-11-25",
    Source.SPEC_2026_07_28: "Protocol 2026-07-28",
    Source.OPERATOR: "Operator policy",
}


def source_in_words(about: RuleEntry) -> str:
    """Whose the rule is: the protocol's revisions, or the operator's."""
    return ", ".join(SOURCES[source] for source in about.sources)


def link(code: str) -> SafeString:
    """The code of a rule, leading to its place on the page."""
    return format_html('<a href="{}#{}"><code>{}</code></a>', reverse("rules"), code, code)


def rules_page(request: HttpRequest) -> HttpResponse:
    """Every rule in the catalogue's order, or those of one source (``?source=``). For staff."""
    asked = request.GET.get("source", "")
    chosen = Source(asked) if asked in tuple(Source) else None
    shown = [about for about in CATALOGUE if chosen is None or chosen in about.sources]
    groups = [
        (group, [{"about": about, "source": source_in_words(about)} for about in members])
        for group, members in groupby(shown, key=lambda about: about.rule.partition(".")[0])
    ]
    context = {
        **admin.site.each_context(request),
        "title": "Rules",
        "groups": groups,
        "count": len(shown),
        "chosen": chosen,
        "sources": SOURCES.items(),
    }
    return TemplateResponse(request, "admin/desk/rules.html", context)
