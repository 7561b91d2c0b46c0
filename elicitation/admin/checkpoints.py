"""The logs in the admin: how each stands, its checkpoints and its key, and verifying it now."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.views.decorators.http import require_POST

from audit import nightly
from audit.log_health import health
from audit.models import Checkpoint, Log
from audit.witness import Problem
from elicitation.admin.scoped import ScopedAdmin
from elicitation.services import clock, exports
from elicitation.services.scoping import Scope

if TYPE_CHECKING:
    _LogChoice = forms.ModelChoiceField[Log]
else:
    _LogChoice = forms.ModelChoiceField

#: Why the last checkpoint was not witnessed, and whose matter that is.
WITNESS_PROBLEMS: Final[dict[Problem, str]] = {
    Problem.FILE: "the witness file cannot be written: look at its folder, its rights and its disk",
    Problem.UNREACHABLE: "the witness does not answer",
    Problem.TIMEOUT: "the witness does not answer in time",
    Problem.TLS: "the witness's certificate does not hold",
    Problem.REDIRECT: "the witness points elsewhere, which is not followed: correct its address",
    Problem.UNKNOWN_LOG: "the witness does not know this log: tell it the origin and the key",
    Problem.UNKNOWN_KEY: "the witness knows none of the keys: tell it the present one",
    Problem.REFUSED: "the witness refuses the request",
    Problem.FAILED: "the witness fails by itself",
    Problem.MALFORMED: "the witness answers something that no witness says",
    Problem.NOT_COSIGNED: "the witness's signature is missing or does not hold: compare its key",
    Problem.OVERTAKEN: "the witness saw another checkpoint meanwhile; it is asked again",
    Problem.NOT_KEPT: "what leads from what the witness saw last to now was pruned",
    Problem.AHEAD: "the witness saw a larger log than there is: an older copy of the database was restored, or "
    "somebody cut the log",
    Problem.CONTRADICTED: "the witness saw another log than there is: somebody changed what was sealed",
}
#: Of a log's checkpoints, so many are listed, the newest first.
SHOWN: Final = 50


class LogField(_LogChoice):
    """One of the logs within a scope, by the name of its tenant; the form says within which."""

    def __init__(self, **given: Any) -> None:
        super().__init__(Log.objects.none(), **given)

    def within(self, scope: Scope) -> None:
        self.queryset = scope.rows(Log).order_by("tenant")

    def label_from_instance(self, obj: Log) -> str:
        return obj.tenant


@admin.register(Log)
class LogAdmin(ScopedAdmin):
    list_display = ("tenant", "sealed", "witnessed", "verification")
    change_list_template = "admin/desk/logs.html"
    nothing_yet = "Nothing is sealed yet. The first entries are, seconds after they are written."

    def get_urls(self) -> list[URLPattern]:
        def at(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"audit_log_{name}")

        return [
            at("<int:number>/verify/", require_POST(self.verify_view), "verify"),
            at("<int:number>/key/", self.key_view, "key"),
            at("<int:number>/checkpoint/", self.checkpoint_view, "checkpoint"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        log = self._viewed(request, object_id)
        standing = health(log)
        rows = list(Checkpoint.objects.filter(log=log).order_by("-size")[: SHOWN + 1])
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"Log of {log.tenant}",
            "log": log,
            "health": standing,
            "witness_problem": WITNESS_PROBLEMS[Problem(log.witness_problem)] if log.witness_problem else "",
            "verifying": standing.verifying is not None or standing.verify_due,
            "broken": standing.verdict not in (Log.Verdict.UNKNOWN, Log.Verdict.VERIFIED),
            "checkpoints": rows[:SHOWN],
            "more": len(rows) > SHOWN,
            "keys": exports.verifier_keys(log),
            "may_verify": request.user.has_perm("audit.verify_log"),
            "may_export": request.user.has_perm("audit.add_export"),
        }
        return TemplateResponse(request, "admin/desk/log.html", context)

    def verify_view(self, request: HttpRequest, number: int) -> HttpResponse:
        log = self._viewed(request, str(number))
        if not request.user.has_perm("audit.verify_log"):
            raise PermissionDenied
        nightly.request(log, clock.now())
        self.message_user(request, "It will be verified from the first leaf on, within seconds.", messages.SUCCESS)
        return HttpResponseRedirect(reverse("admin:audit_log_change", args=[log.pk]))

    def key_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """The log's verifier keys as the verifier reads them."""
        log = self._viewed(request, str(number))
        return _file("".join(f"{key}\n" for key in exports.verifier_keys(log)), f"{log.tenant}.vkey")

    def checkpoint_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """The newest checkpoint, to be kept."""
        log = self._viewed(request, str(number))
        newest = Checkpoint.objects.filter(log=log).order_by("-size").first()
        if newest is None:
            raise Http404
        return _file(newest.note + newest.cosignatures, f"{log.tenant}-{newest.size}.note")

    def _viewed(self, request: HttpRequest, object_id: str) -> Log:
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_object(request, object_id)
        if not isinstance(found, Log):
            raise Http404
        return found

    @admin.display(description="sealed up to")
    def sealed(self, row: Log) -> str:
        return f"{row.size:,}"

    @admin.display(description="witnessed up to")
    def witnessed(self, row: Log) -> str:
        return f"{row.witnessed_size:,}"

    @admin.display(description="last verification")
    def verification(self, row: Log) -> str:
        found = Log.Verdict(row.verdict).label
        return f"{found}, up to {row.verified_size:,}" if row.verified_at else found


def _file(text: str, name: str) -> HttpResponse:
    return HttpResponse(
        text,
        content_type="text/plain; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
