"""Legal holds, placed and lifted with a reason on the record, and the prunes that they bound."""

from __future__ import annotations

from typing import Any, Final, cast
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.models import LegalHold, Prune
from audit.retention import NotDone
from elicitation.admin import pasted
from elicitation.admin.acting_forms import ReasonForm
from elicitation.admin.checkpoints import LogField
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.services import exports, retention
from elicitation.services.retention import HOLD_REASONS, LIFT_REASONS, OBSTACLES, HoldReason, LiftReason
from elicitation.services.scoping import Scope
from elicitation.templatetags.desk import elc, utc

HTTP_OK: Final = 200
HTTP_CONFLICT: Final = 409


class PlaceForm(ReasonForm):
    """What is to be held: one elicitation, or with no id the whole log."""

    seen = None  # type: ignore[assignment]  # nothing is decided on a state here
    log = LogField(label="Log", empty_label="Choose one", to_field_name="tenant")
    elicitation = forms.CharField(
        required=False,
        max_length=200,
        label="Elicitation",
        widget=forms.TextInput(attrs={"size": 40, "autocomplete": "off", "spellcheck": "false"}),
        help_text="Its id, elc_…; left empty, the whole log is held.",
    )

    def __init__(self, scope: Scope, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        cast(LogField, self.fields["log"]).within(scope)
        self.order_fields(("log", "elicitation", "reason", "note"))

    def clean_elicitation(self) -> UUID | None:
        text: str = self.cleaned_data["elicitation"]
        if not text:
            return None
        found = pasted.read(text).ours
        if len(found) != 1:
            raise forms.ValidationError("Give the id of one elicitation, elc_…")
        return found[0]


class LiftForm(ReasonForm):
    seen = None  # type: ignore[assignment]  # a hold that was lifted meanwhile is not lifted again


@admin.register(LegalHold)
class LegalHoldAdmin(ScopedAdmin):
    list_display = ("what", "tenant", "placed", "lifted")
    list_select_related = ("log",)
    change_list_template = "admin/desk/holds.html"
    change_form_template = "admin/desk/hold.html"
    nothing_yet = "Nothing is held. A hold keeps the entries of one elicitation, or a whole log, from being pruned."

    def get_urls(self) -> list[URLPattern]:
        place, lift = self.admin_site.admin_view(self.place_view), self.admin_site.admin_view(self.lift_view)
        return [
            path("place/", place, name="audit_legalhold_place"),
            path("<int:number>/lift/", lift, name="audit_legalhold_lift"),
            *super().get_urls(),
        ]

    def has_manage_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("audit.manage_legalhold")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        more = {"may_place": self.has_manage_permission(request)}
        return super().changelist_view(request, more | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        hold = self.get_object(request, object_id)
        offered = hold is not None and hold.lifted_at is None and self.has_manage_permission(request)
        notes = _notes_on(hold) if hold is not None else []
        more = {"may_lift": offered, "notes": notes}
        return super().change_view(request, object_id, form_url, more | (extra_context or {}))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        known = [name for name in self.list_display if name != "lifted" or obj is None or obj.lifted_at]
        return ["its_id", *known]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    def place_view(self, request: HttpRequest) -> HttpResponse:
        """Asks what is to be held and why (GET), then holds it (POST)."""
        if not self.has_manage_permission(request):
            raise PermissionDenied
        form = PlaceForm(scope_of(request), HOLD_REASONS, request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self._ask(request, form)
        given, reason = form.cleaned_data, HoldReason(form.cleaned_data["reason"])
        assert request.user.pk is not None
        try:
            with transaction.atomic():
                by = exports.auditor(request.user.pk)
                hold = retention.place_hold(given["log"], given["elicitation"], by, reason)
                _keep(request.user.pk, hold, ADDITION, f"Placed: {HOLD_REASONS[reason]}.", given["note"])
        except NotDone as refusal:
            return self._ask(request, form, refusal=OBSTACLES[refusal.obstacle])
        self.message_user(request, "It is held: no prune goes past it until the hold is lifted.")
        return HttpResponseRedirect(reverse("admin:audit_legalhold_change", args=[hold.pk]))

    def lift_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Asks why the hold is lifted (GET), then lifts it (POST)."""
        if not self.has_manage_permission(request):
            raise PermissionDenied
        hold = scope_of(request).rows(LegalHold).select_related("log").filter(pk=number).first()
        if hold is None:
            raise Http404
        form = LiftForm(LIFT_REASONS, request.POST if request.method == "POST" else None)
        if hold.lifted_at is not None or not form.is_valid():
            return self._ask(request, form, hold)
        reason = LiftReason(form.cleaned_data["reason"])
        assert request.user.pk is not None
        try:
            with transaction.atomic():
                retention.lift_hold(hold, exports.auditor(request.user.pk), reason)
                _keep(request.user.pk, hold, CHANGE, f"Lifted: {LIFT_REASONS[reason]}.", form.cleaned_data["note"])
        except NotDone as refusal:
            hold.refresh_from_db()
            return self._ask(request, form, hold, OBSTACLES[refusal.obstacle])
        self.message_user(request, "The hold is lifted. What it kept may go with a later prune.")
        return HttpResponseRedirect(reverse("admin:audit_legalhold_change", args=[hold.pk]))

    def _ask(
        self, request: HttpRequest, form: ReasonForm, hold: LegalHold | None = None, refusal: str = ""
    ) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Lift a legal hold" if hold else "Place a legal hold",
            "form": form,
            "hold": hold,
            "what": self.what(hold) if hold else "",
            "refusal": refusal,
            "back": reverse("admin:audit_legalhold_change", args=[hold.pk])
            if hold
            else reverse("admin:audit_legalhold_changelist"),
        }
        status = HTTP_CONFLICT if refusal else HTTP_OK
        return TemplateResponse(request, "admin/desk/hold_act.html", context, status=status)

    @admin.display(description="id")
    def its_id(self, row: LegalHold) -> SafeString:
        return format_html("<code>{}</code>", row.uid)

    @admin.display(description="what is held")
    def what(self, row: LegalHold) -> SafeString | str:
        if row.elicitation_id is None:
            return f"the whole log of {row.log.tenant}"
        return format_html("<code>{}</code>", elc(row.elicitation_id))

    @admin.display(description="tenant")
    def tenant(self, row: LegalHold) -> str:
        return row.log.tenant

    @admin.display(description="placed")
    def placed(self, row: LegalHold) -> SafeString | str:
        return utc(row.made_at)

    @admin.display(description="lifted")
    def lifted(self, row: LegalHold) -> SafeString | str | None:
        return utc(row.lifted_at) if row.lifted_at else None


@admin.register(Prune)
class PruneAdmin(ScopedAdmin):
    list_display = ("its_id", "tenant", "first_kept", "ordered", "finished")
    list_select_related = ("log",)
    nothing_yet = (
        "Nothing has been pruned. manage.py prune_ledger does it, within what an export holds and no hold keeps."
    )

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        known = [name for name in self.list_display if name != "finished" or obj is None or obj.finished_at]
        return [*known, "its_export"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return self.get_fields(request, obj)

    @admin.display(description="id")
    def its_id(self, row: Prune) -> SafeString:
        return format_html("<code>{}</code>", row.uid)

    @admin.display(description="tenant")
    def tenant(self, row: Prune) -> str:
        return row.log.tenant

    @admin.display(description="first leaf that stays")
    def first_kept(self, row: Prune) -> int:
        return row.upto

    @admin.display(description="ordered")
    def ordered(self, row: Prune) -> SafeString | str:
        return utc(row.ordered_at)

    @admin.display(description="finished")
    def finished(self, row: Prune) -> SafeString | str | None:
        return utc(row.finished_at) if row.finished_at else None

    @admin.display(description="what went is in the export")
    def its_export(self, row: Prune) -> SafeString:
        return format_html("<code>{}</code>", row.export.uid)


def _keep(user_id: int, hold: LegalHold, flag: int, kept: str, note: str) -> None:
    """The operator's action with its note, which the ledger has no place for."""
    LogEntry.objects.create(
        user_id=user_id,
        content_type=ContentType.objects.get_for_model(LegalHold),
        object_id=str(hold.pk),
        object_repr=str(hold),
        action_flag=flag,
        change_message=kept + (f" Note: {note}" if note else ""),
    )


def _notes_on(hold: LegalHold) -> list[LogEntry]:
    kind = ContentType.objects.get_for_model(LegalHold)
    mine = LogEntry.objects.filter(content_type=kind, object_id=str(hold.pk))
    return list(mine.select_related("user").order_by("action_time", "pk"))
