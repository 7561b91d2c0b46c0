"""The admin under the desk's name: its parts in the order of use, and on the first page what waits for an operator."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse

#: Applications and models as people need them; what is not named here follows.
ORDER: Final = (
    "elicitation",
    "audit",
    "auth",
    "Elicitation",
    "Decision",
    "PolicyDraft",
    "PolicyRevision",
    "Tenant",
    "Service",
    "Provider",
    "Client",
    "User",
    "Group",
)


def _place(name: str) -> int:
    return ORDER.index(name) if name in ORDER else len(ORDER)


class DeskAdminSite(admin.AdminSite):
    site_header = "Elicitation Desk"
    site_title = "Elicitation Desk"
    index_title = "What is on the desk"
    site_url = None
    enable_nav_sidebar = False  # the lists need the width

    def __init__(self, name: str = "admin") -> None:
        super().__init__(name)
        self.disable_action("delete_selected")  # what is kept here is closed, not deleted, and never by the dozen

    def get_urls(self) -> list[Any]:
        """Without the addresses that nothing here uses, and that would look up rows past everybody's scope."""
        unused = ("autocomplete", "view_on_site")
        return [url for url in super().get_urls() if getattr(url, "name", "") not in unused]

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = sorted(super().get_app_list(request, app_label), key=lambda app: _place(app["app_label"]))
        for app in apps:
            app["models"].sort(key=lambda model: _place(model["object_name"]))
        return apps

    def index(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        context = dict(extra_context or {})
        if request.user.has_perm("elicitation.view_elicitation"):
            from elicitation.admin.scoped import scope_of  # these register with this site, which must exist first
            from elicitation.admin.waiting import board, notices

            scope = scope_of(request)
            context["board"] = board(scope, request.GET.get("queue", ""))
            context["notices"] = notices(scope, request.user.has_perm)
            context["anything_waits"] = context["board"].tabs or any(each.waits for each in context["notices"])
        return super().index(request, context)
