"""Signals in words and their review, the messages that tell of them, and sending again what was given up."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin import ListedFilter
from audit.models import Outgoing, Signal
from audit.outbox import channels
from audit.signal_admin import OutgoingAdmin, SignalAdmin, StatusFilter, state_of
from elicitation.admin import reviewing
from elicitation.admin.acting_forms import NoteForm
from elicitation.admin.reviewing import Verb
from elicitation.admin.scoped import ScopedAdmin, scope_of
from elicitation.models import Client, Elicitation, PolicyRevision
from elicitation.services import actors, sending, tallying
from elicitation.services.scoping import Scope
from elicitation.services.signal_words import WORDS, Kind, Subject, subject
from elicitation.templatetags.desk import foreign

#: Entries of a person that the page of a signal lists.
ENTRIES_SHOWN: Final = 10
HTTP_OK: Final = 200
HTTP_CONFLICT: Final = 409


class RuleFilter(ListedFilter):
    title = "rule"
    parameter_name = "rule"
    values = [(rule, words.title) for rule, words in sorted(WORDS.items(), key=lambda item: item[1].title)]


def linked(found: Subject) -> SafeString | str:
    """What a signal is about, as a link to its page where it has one."""
    link = ""
    match found.kind:
        case Kind.ENTRY:
            link = reverse("admin:elicitation_elicitation_change", args=[found.name])
        case Kind.REVISION:
            row = PolicyRevision.objects.filter(number=found.number or 0).first()
            link = reverse("admin:elicitation_policyrevision_change", args=[row.pk]) if row else ""
        case Kind.CLIENT:
            client = Client.objects.filter(pk=found.number or 0).first()
            return format_html("{}: {}", found.text, foreign(client)) if client else found.text
        case Kind.PERSON | Kind.SERVICE | Kind.PROVIDER | Kind.SWEEP | Kind.LOG:
            return found.text
    text = format_html("<code>{}</code>", found.name) if found.kind is Kind.ENTRY else found.text
    return format_html('<a href="{}">{}</a>', link, text) if link else text


def address(signal: Signal, view: str = "change") -> str:
    return reverse(f"admin:audit_signal_{view}", args=[signal.pk])


@admin.register(Signal)
class DeskSignalAdmin(ScopedAdmin, SignalAdmin):
    list_display = ("what", "its_subject", "tenant", "count", "status", "first", "last")
    list_filter = (StatusFilter, RuleFilter)
    change_list_template = "admin/desk/signals.html"

    def get_urls(self) -> list[URLPattern]:
        review = self.admin_site.admin_view(self.review_view)
        pages = (path(f"<int:number>/{verb}/", review, {"verb": verb}, f"audit_signal_{verb}") for verb in Verb)
        return [*pages, *super().get_urls()]

    def has_review_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("audit.review_signal")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {"silent": not channels()} | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_view_permission(request):
            raise PermissionDenied
        signal = self.get_object(request, object_id)
        if signal is None:
            raise Http404
        sent = [(message, state_of(message)) for message in Outgoing.objects.filter(signal=signal).order_by("pk")]
        more: dict[str, Any] = {
            "entries": _entries(signal, scope_of(request)),
            "notes": reviewing.notes_on(signal),
            "messages_sent": sent if request.user.has_perm("audit.view_outgoing") else [],
            "silent": not channels(),
        }
        return self._answer(request, signal, "admin/desk/signal.html", **more)

    def review_view(self, request: HttpRequest, number: int, verb: Verb) -> HttpResponse:
        """Shows how the signal stands and asks for what is needed (GET), then reviews it (POST)."""
        if not self.has_review_permission(request) or not self.has_view_permission(request):
            raise PermissionDenied
        signal = self.get_object(request, str(number))
        if signal is None:
            raise Http404
        if request.method != "POST":
            return self._ask(request, signal, verb, reviewing.form(verb, signal))
        form = reviewing.form(verb, signal, request.POST)
        if not form.is_valid():
            return self._ask(request, signal, verb, form)
        assert request.user.pk is not None
        try:
            done = reviewing.act(verb, signal, request.user.pk, form)
        except reviewing.NotDone as refusal:
            signal.refresh_from_db()
            again = reviewing.form(verb, signal, kept=form.cleaned_data)
            return self._ask(request, signal, verb, again, f"{refusal} Nothing was changed by you.")
        self.message_user(request, done, messages.SUCCESS)
        return HttpResponseRedirect(address(signal))

    def _ask(self, request: HttpRequest, signal: Signal, verb: Verb, form: NoteForm, refusal: str = "") -> HttpResponse:
        more = {
            "act": reviewing.WORDS[verb],
            "form": form,
            "offered": verb in reviewing.offered(signal),
            "otherwise": reviewing.otherwise(signal),
            "refusal": refusal,
        }
        status = HTTP_CONFLICT if refusal else HTTP_OK
        return self._answer(request, signal, "admin/desk/signal_review.html", status, **more)

    def _answer(
        self, request: HttpRequest, signal: Signal, template: str, status: int = HTTP_OK, **more: Any
    ) -> HttpResponse:
        offered = reviewing.offered(signal) if self.has_review_permission(request) else []
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": WORDS[signal.rule].title,
            "signal": signal,
            "signal_url": address(signal),
            "words": WORDS[signal.rule],
            "subject": linked(subject(signal)),
            "offers": [(reviewing.WORDS[verb].offer, address(signal, verb), verb is offered[0]) for verb in offered],
            **more,
        }
        return TemplateResponse(request, template, context, status=status)

    @admin.display(description="what happened")
    def what(self, row: Signal) -> str:
        return WORDS[row.rule].title

    @admin.display(description="about")
    def its_subject(self, row: Signal) -> SafeString | str:
        return linked(subject(row))


def _entries(signal: Signal, scope: Scope) -> list[Elicitation]:
    """Where it happened, when the signal is about a person."""
    if WORDS[signal.rule].kind is not Kind.PERSON:
        return []
    mine = tallying.entries_of(signal.about, scope, signal.first_at, signal.last_at).select_related("service__tenant")
    return list(mine[:ENTRIES_SHOWN])


@admin.register(Outgoing)
class DeskOutgoingAdmin(ScopedAdmin, OutgoingAdmin):
    change_list_template = "admin/desk/signals.html"
    change_form_template = "admin/desk/outgoing.html"

    def signal_title(self, signal: Signal) -> str:
        return WORDS[signal.rule].title

    def get_urls(self) -> list[URLPattern]:
        again = self.admin_site.admin_view(self.resend_view)
        return [path("<int:number>/resend/", again, name="audit_outgoing_resend"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        return super().changelist_view(request, {"silent": not channels()} | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        message = self.get_object(request, object_id)
        offered = message is not None and message.status == Outgoing.Status.DEAD and self._may_resend(request)
        return super().change_view(request, object_id, form_url, {"offered": offered} | (extra_context or {}))

    def _may_resend(self, request: HttpRequest) -> bool:
        return request.user.has_perm("audit.resend_outgoing")

    def resend_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Shows the message and what went wrong (GET), then gives it all its tries again (POST)."""
        if not self._may_resend(request) or not self.has_view_permission(request):
            raise PermissionDenied
        message = scope_of(request).rows(Outgoing).select_related("signal").filter(pk=number).first()
        if message is None:
            raise Http404
        refused = False
        if request.method == "POST":
            assert request.user.pk is not None
            if sending.resend(message, actors.operator(request.user.pk)):
                self.message_user(request, "It is sent again with the next pass.", messages.SUCCESS)
                return HttpResponseRedirect(reverse("admin:audit_outgoing_change", args=[number]))
            refused = True
            message.refresh_from_db()
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Send again",
            "message": message,
            "state": state_of(message),
            "words": WORDS[message.signal.rule],
            "offered": message.status == Outgoing.Status.DEAD,
            "refused": refused,
            "silent": message.channel not in channels(),
        }
        return TemplateResponse(
            request, "admin/desk/resend.html", context, status=HTTP_CONFLICT if refused else HTTP_OK
        )
