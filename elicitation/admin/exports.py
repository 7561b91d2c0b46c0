"""Exports of the ledger in the admin: asking for one, watching it, taking it, and what verifies it offline."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.views.decorators.http import require_POST

from audit.admin import NewestFirst
from audit.exporting.selection import Selection
from audit.models import Export, Log, Prune
from audit.verify import Format
from audit.vocabulary import EVENTS
from elicitation.admin import pasted
from elicitation.admin.checkpoints import LogField
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.services import exports
from elicitation.services.downloads import download, verifier
from elicitation.services.exports import (
    NoSuchCheckpoint,
    NoSuchElicitation,
    NothingSealed,
    PruneNotTold,
    TooMany,
    Wanted,
)
from elicitation.services.named import by_whom, operator_names
from elicitation.services.scoping import Scope
from elicitation.templatetags.desk import elc, utc, visible

HTTP_OK: Final = 200
HTTP_CONFLICT: Final = 409
#: What stopped an export, and what to do.
PROBLEMS: Final[dict[str, str]] = {
    "disk_full": "The disk is full. Make room, then let it go on.",
    "file_error": "The file cannot be written. Look at the folder of exports, then let it go on.",
    "pruned": "Leaves were pruned while it was made. Ask for a new export.",
    "not_kept": "An entry that it needs is gone. Verify the log.",
}
NOT_TOLD: Final = "What it covers was pruned, at least in part, and nothing up to there tells of it. Take a newer one."


class _When(forms.DateTimeField):
    """A time as people write it: in UTC, unless it says otherwise."""

    def __init__(self, label: str, hint: str) -> None:
        widget = forms.TextInput(attrs={"placeholder": "2026-01-31 12:00"})
        super().__init__(label=label, required=False, widget=widget, help_text=hint)
        self.error_messages["invalid"] = "Write a time as 2026-01-31 12:00, in UTC."

    def to_python(self, value: Any) -> datetime | None:
        moment = super().to_python(value)
        try:
            return moment.astimezone(UTC) if moment else None
        except OverflowError:
            raise forms.ValidationError(self.error_messages["invalid"], "invalid") from None


class _Size(forms.IntegerField):
    """The size of a checkpoint."""

    def __init__(self, label: str, hint: str) -> None:
        super().__init__(label=label, required=False, min_value=0, max_value=exports.LAST_SIZE, help_text=hint)


class ExportForm(forms.Form):
    """What to export: everything of a log, or what is narrowed down."""

    use_required_attribute = False
    log = LogField(label="Tenant", empty_label=None)
    format = forms.ChoiceField(choices=Export.Format.choices, widget=forms.RadioSelect, initial=Export.Format.JSONL)
    since = _When("Since", "UTC. What happened then is included.")
    until = _When("Until", "UTC. What happened then is not.")
    from_size = _Size("After checkpoint", "Its size. Leaves out what it covers already.")
    to_size = _Size("Up to checkpoint", "Its size. Without one, the newest counts.")
    event = forms.ChoiceField(required=False, choices=[("", "any"), *((event, event) for event in sorted(EVENTS))])
    elicitation = forms.CharField(required=False, max_length=2000, help_text="Its id, as you have it.")
    policy_revision = forms.IntegerField(
        label="Policy revision", required=False, min_value=0, max_value=exports.LAST_REVISION
    )

    def __init__(self, scope: Scope, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(LogField, self.fields["log"]).within(scope)

    def clean_elicitation(self) -> UUID | None:
        text = self.cleaned_data["elicitation"]
        found = list(pasted.read(text).ours)
        if text and len(found) != 1:
            raise forms.ValidationError("Give one id of an elicitation.")
        return found[0] if found else None

    def wanted(self) -> Wanted:
        """What a valid form asks for."""
        given = self.cleaned_data
        selection = Selection(
            since=given["since"],
            until=given["until"],
            from_size=given["from_size"],
            event=given["event"],
            elicitation_id=given["elicitation"],
            policy_revision=given["policy_revision"],
        )
        return Wanted(Format(given["format"]), selection, given["to_size"])


class _Named(NewestFirst):
    """With the names of the operators of one page, read at once."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        names = operator_names(self.result_list)
        for row in self.result_list:
            row.by_whom = by_whom(row, names)


@admin.register(Export)
class ExportAdmin(ScopedAdmin):
    list_display = ("made", "tenant", "kind", "what", "how_it_stands", "who")
    list_select_related = ("log",)
    change_list_template = "admin/desk/exports.html"
    nothing_yet = "Nothing has been exported."

    def get_urls(self) -> list[URLPattern]:
        def at(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"audit_export_{name}")

        return [
            at("add/", self.ask_view, "add"),
            at("verify.py", self.verifier_view, "verifier"),
            at("<int:number>/file/", self.file_view, "file"),
            at("<int:number>/resume/", require_POST(self.resume_view), "resume"),
            *super().get_urls(),
        ]

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[NewestFirst]:
        return _Named

    def has_add_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("audit.add_export")

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        export = self._viewed(request, object_id)
        unfinished = export.status in (Export.Status.WAITING, Export.Status.RUNNING)
        return self._answer(
            request,
            "admin/desk/export.html",
            title=f"Export of {export.log.tenant}",
            export=export,
            log=export.log,
            badge=badge(export),
            selection=described(export),
            who=visible(by_whom(export, operator_names([export]))),
            unfinished=unfinished,
            ready=export.status == Export.Status.READY,
            stopped=export.status == Export.Status.FAILED,
            percent=exports.percent(export),
            problem=PROBLEMS.get(export.problem, ""),
            kept_until=export.finished_at + exports.KEPT if export.finished_at else None,
            pruned=Prune.objects.filter(export=export).aggregate(upto=Max("upto"))["upto"],
            name=exports.name_of(export),
            may_resume=self.has_add_permission(request) and export.problem != "pruned",
        )

    def ask_view(self, request: HttpRequest) -> HttpResponseBase:
        """The form (GET); a small export comes as the answer (POST), a larger one becomes a job with a page."""
        if not self.has_add_permission(request) or not self.has_view_permission(request):
            raise PermissionDenied
        form = ExportForm(scope_of(request), request.POST or None, initial={"log": request.GET.get("log")})
        if request.method != "POST" or not form.is_valid():
            return self._ask(request, form, HTTP_OK)
        assert request.user.pk is not None
        wanted, log, by = form.wanted(), form.cleaned_data["log"], exports.auditor(request.user.pk)
        streamed = exports.is_small(log, wanted)
        try:
            export = exports.ask(log, wanted, by, streamed=streamed)
        except NothingSealed:
            form.add_error("log", "Nothing of this tenant is sealed yet: its log has no checkpoint.")
        except NoSuchCheckpoint as problem:
            form.add_error(f"{problem.member}_size", "The log has no checkpoint of this size.")
        except PruneNotTold:
            form.add_error("to_size", NOT_TOLD)
        except NoSuchElicitation:
            form.add_error("elicitation", "The ledger of this tenant has no entry about this elicitation.")
        except TooMany as problem:
            form.add_error("log", str(problem))
        else:
            return _sent(export) if streamed else HttpResponseRedirect(address(export))
        return self._ask(request, form, HTTP_CONFLICT)

    def file_view(self, request: HttpRequest, number: int) -> HttpResponseBase:
        export = self._viewed(request, str(number))
        response = download(export, request) if export.status == Export.Status.READY else None
        if response is None:
            raise Http404
        return response

    def resume_view(self, request: HttpRequest, number: int) -> HttpResponse:
        export = self._viewed(request, str(number))
        if not self.has_add_permission(request):
            raise PermissionDenied
        if exports.resume(export):
            self.message_user(request, "It goes on from where it stopped.", messages.SUCCESS)
        else:
            self.message_user(request, "It had not stopped, so nothing was changed.", messages.WARNING)
        return HttpResponseRedirect(address(export))

    def verifier_view(self, request: HttpRequest) -> HttpResponse:
        """The verifier as one file."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return verifier()

    def _viewed(self, request: HttpRequest, object_id: str) -> Export:
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = self.get_object(request, object_id)
        if not isinstance(found, Export):
            raise Http404
        return found

    def _ask(self, request: HttpRequest, form: ExportForm, status: int) -> HttpResponse:
        more = {"form": form, "there": scope_of(request).rows(Log).exists(), "small": f"{exports.SMALL:,}"}
        return self._answer(request, "admin/desk/export_new.html", status, title="New export", **more)

    def _answer(self, request: HttpRequest, template: str, status: int = HTTP_OK, **more: object) -> HttpResponse:
        context = {**self.admin_site.each_context(request), "opts": self.opts, **more}
        return TemplateResponse(request, template, context, status=status)

    @admin.display(description="asked for")
    def made(self, row: Export) -> str:
        return utc(row.made_at)

    @admin.display(description="tenant")
    def tenant(self, row: Export) -> str:
        return row.log.tenant

    @admin.display(description="format")
    def kind(self, row: Export) -> str:
        return row.get_format_display()

    @admin.display(description="what")
    def what(self, row: Export) -> str:
        return format_html_join("; ", "{} {}", described(row)) or f"all {row.size:,} leaves"

    @admin.display(description="state")
    def how_it_stands(self, row: Export) -> SafeString:
        going = row.status in (Export.Status.WAITING, Export.Status.RUNNING)
        return format_html("{}{}", badge(row), f" {exports.percent(row)} %" if going else "")

    @admin.display(description="by")
    def who(self, row: Any) -> str:
        return visible(row.by_whom)


def address(export: Export) -> str:
    return reverse("admin:audit_export_change", args=[export.pk])


def badge(export: Export) -> SafeString:
    """How it stands; of a stream, whether it came to its end."""
    if export.status == Export.Status.SENT and not export.finished_at:
        return format_html('<span class="state export-cut">Not sent to its end</span>')
    return format_html('<span class="state export-{}">{}</span>', export.status, capfirst(export.get_status_display()))


def described(export: Export) -> list[tuple[str, object]]:
    """What was selected, in words; nothing for the whole log."""
    given = Selection.of(export)
    found = [
        ("since", given.since and utc(given.since)),
        ("until", given.until and utc(given.until)),
        ("after checkpoint", given.from_size),
        ("event", given.event or None),
        ("elicitation", given.elicitation_id and elc(given.elicitation_id)),
        ("policy revision", given.policy_revision),
    ]
    return [(name, value) for name, value in found if value is not None]


def _sent(export: Export) -> HttpResponseBase:
    response = StreamingHttpResponse(exports.stream(export))
    response["Content-Type"] = "text/csv; charset=utf-8" if export.format == "csv" else "application/jsonl"
    response["Content-Disposition"] = f'attachment; filename="{exports.name_of(export)}"'
    response["Cache-Control"] = "no-store"
    return response
