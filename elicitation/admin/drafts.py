"""Drafts of the policy: a list, the page of one, its editor, and approving, activating or discarding it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.admin import ListedFilter, ReadOnlyAdmin
from elicitation.admin import beginning, draft_page, editor, files
from elicitation.admin.scoped import scope_of
from elicitation.models import PolicyDraft
from elicitation.policy.document import DocumentError, parse
from elicitation.services import drafts
from elicitation.services.drafts import SENTENCES, NotPossible, Obstacle
from elicitation.templatetags.desk import foreign, utc, words

HTTP_OK: Final = 200
HTTP_CONFLICT: Final = 409
_NOT_VALID: Final = "Rules have changed since, and the document is no longer valid. Download, correct and import it."


class StatusFilter(ListedFilter):
    title = "status"
    parameter_name = "status"
    values = [(status, words(status)) for status in PolicyDraft.Status]


def address(draft: PolicyDraft, view: str = "change") -> str:
    return reverse(f"admin:elicitation_policydraft_{view}", args=[draft.pk])


def person(request: HttpRequest) -> User:
    """Whoever is signed in; the site lets nobody else in."""
    assert isinstance(request.user, User)
    return request.user


@admin.register(PolicyDraft)
class PolicyDraftAdmin(ReadOnlyAdmin):
    list_display = ("named", "standing", "based_on", "edited_by", "edited")
    list_select_related = ("base", "revision")
    list_filter = (StatusFilter,)
    change_list_template = "admin/desk/drafts.html"
    nothing_yet = "There is no draft. Begin one to change the policy; the one in force stays as it is until then."

    def get_urls(self) -> list[URLPattern]:
        def at(route: str, view: Callable[..., HttpResponse], name: str) -> URLPattern:
            return path(route, self.admin_site.admin_view(view), name=f"elicitation_policydraft_{name}")

        return [
            at("add/", self.begin_view, "add"),
            at("<int:number>/edit/", self.edit_view, "edit"),
            at("<int:number>/approve/", self.approve_view, "approve"),
            at("<int:number>/activate/", self.activate_view, "activate"),
            at("<int:number>/discard/", self.discard_view, "discard"),
            at("<int:number>/carry-over/", self.carry_over_view, "carry_over"),
            at("<int:number>/export/", self.export_view, "export"),
            *super().get_urls(),
        ]

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._may(request, "view_policydraft")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._may(request, "add_policydraft")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = super().get_queryset(request).prefetch_related("editors")
        return rows

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not (object_id.isascii() and object_id.isdigit() and len(object_id) < 19):
            raise Http404
        return self._show(request, self._find(request, int(object_id)))

    def begin_view(self, request: HttpRequest) -> HttpResponse:
        """A new draft: its title, and what it begins with."""
        self._need(request, "add_policydraft")
        form = beginning.BeginForm(request.POST or None, request.FILES or None)
        if request.method == "POST" and form.is_valid():
            draft = beginning.begin(form, person(request))
            edits = form.cleaned_data["start"] == beginning.ACTIVE and self._may(request, "change_policydraft")
            return HttpResponseRedirect(address(draft, "edit" if edits else "change"))
        context = {**self._frame(request), "title": "New draft", "form": form}
        return TemplateResponse(request, "admin/desk/draft_new.html", context)

    def carry_over_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """The same content as a new draft, on the revision in force now."""
        draft = self._find(request, number)
        self._need(request, "add_policydraft")
        if request.method != "POST":
            return HttpResponseRedirect(address(draft))
        try:
            new = beginning.carry_over(draft, person(request))
        except DocumentError:
            return self._show(request, draft, _NOT_VALID)
        messages.success(request, "Begun on the revision in force. Compare it anew: approvals are not carried over.")
        return HttpResponseRedirect(address(new))

    def edit_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """The editor. What is tried or wrong changes nothing; a save past somebody else's is refused."""
        draft = self._find(request, number)
        self._need(request, "change_policydraft")
        if draft.status != PolicyDraft.Status.OPEN and request.method != "POST":
            return self._show(request, draft, SENTENCES[Obstacle.DRAFT_CLOSED])
        try:
            if request.method == "POST":
                had = draft.approvals.filter(digest=draft.digest).exists()
                shown = editor.sent(draft, request.POST, person(request))
            else:
                first = request.GET.get(editor.FIRST, "")
                shown = editor.opened(draft, int(first) if first.isascii() and first.isdigit() else 0)
        except DocumentError:
            return self._show(request, draft, _NOT_VALID)
        if shown.saved:
            void = " The approvals that it had are void." if had and not _still_approved(draft) else ""
            messages.success(request, f"Saved.{void}")
            return HttpResponseRedirect(address(draft))
        context = {**self._frame(request, draft), "editor": shown, "edit_url": address(draft, "edit")}
        status = HTTP_CONFLICT if shown.refusal else HTTP_OK
        return TemplateResponse(request, "admin/desk/editor.html", context, status=status)

    def approve_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Yes to the content with the digest that the page showed."""
        draft = self._find(request, number)
        self._need(request, "approve_policydraft")
        if request.method != "POST":
            return HttpResponseRedirect(address(draft))
        try:
            drafts.approve(draft, request.POST.get("seen", ""), person(request))
        except NotPossible as refusal:
            return self._refuse(request, number, refusal)
        messages.success(request, "Approved as it stands now. An edit would void it.")
        return HttpResponseRedirect(address(draft))

    def activate_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """What activating will do (GET), and doing it (POST), past no change since the page was shown."""
        draft = self._find(request, number)
        self._need(request, "approve_policydraft")
        if request.method != "POST":
            page = draft_page.page(draft, person(request))
            context = {**self._frame(request, draft), "page": page, "may": self._rights(request)}
            return TemplateResponse(request, "admin/desk/draft_activate.html", context)
        try:
            policy = drafts.activate(draft, request.POST.get("seen", ""), person(request))
        except NotPossible as refusal:
            return self._refuse(request, number, refusal)
        except DocumentError:
            return self._show(request, draft, _NOT_VALID)
        messages.success(request, f"Revision {policy.number} is in force.")
        return HttpResponseRedirect(address(draft))

    def discard_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Close the draft as it was shown, without activating it."""
        draft = self._find(request, number)
        self._need(request, "change_policydraft")
        if request.method != "POST":
            return HttpResponseRedirect(address(draft))
        try:
            drafts.discard(draft, request.POST.get("seen", ""), person(request))
        except NotPossible as refusal:
            return self._refuse(request, number, refusal)
        messages.success(request, "Discarded. The draft stays here to read.")
        return HttpResponseRedirect(address(draft))

    def export_view(self, request: HttpRequest, number: int) -> HttpResponse:
        draft = self._find(request, number)
        return files.download(request, draft, f"policy-draft-{draft.pk}")

    def _refuse(self, request: HttpRequest, number: int, refusal: NotPossible) -> HttpResponse:
        return self._show(request, self._find(request, number), f"{refusal} Nothing was changed.")

    def _show(self, request: HttpRequest, draft: PolicyDraft, refusal: str = "") -> HttpResponse:
        page = draft_page.page(draft, person(request))
        context = {**self._frame(request, draft), "page": page, "refusal": refusal, "may": self._rights(request)}
        days = request.GET.get("days", "")
        if page.open and not page.invalid and days.isascii() and days.isdigit() and len(days) < 4:
            within = min(max(1, int(days)), draft_page.MOST_DAYS)
            context["replay"] = draft_page.replay(parse(draft.document), within)
        context["most_days"] = draft_page.MOST_DAYS
        return TemplateResponse(request, "admin/desk/draft.html", context, status=HTTP_CONFLICT if refusal else HTTP_OK)

    def _frame(self, request: HttpRequest, draft: PolicyDraft | None = None) -> dict[str, Any]:
        frame = {**self.admin_site.each_context(request), "opts": self.opts}
        return frame if draft is None else frame | {"title": f"Draft {draft.pk}", "draft": draft}

    def _rights(self, request: HttpRequest) -> dict[str, bool]:
        verbs = ("add", "change", "approve")
        return {verb: self._may(request, f"{verb}_policydraft") for verb in verbs}

    def _may(self, request: HttpRequest, right: str) -> bool:
        """The policy is the whole desk's, and a draft names every tenant's parties and pending entries."""
        return scope_of(request).whole_desk and request.user.has_perm(f"elicitation.{right}")

    def _need(self, request: HttpRequest, right: str) -> None:
        if not self._may(request, right):
            raise PermissionDenied

    def _find(self, request: HttpRequest, number: int) -> PolicyDraft:
        if not self.has_view_permission(request):
            raise PermissionDenied
        draft = PolicyDraft.objects.select_related("base", "revision").filter(pk=min(number, 2**63 - 1)).first()
        if draft is None:
            raise Http404
        return draft

    @admin.display(description="draft")
    def named(self, row: PolicyDraft) -> SafeString:
        return format_html("{}. {}", row.pk, foreign(row.title))

    @admin.display(description="status")
    def standing(self, row: PolicyDraft) -> SafeString:
        became = f" as revision {row.revision.number}" if row.revision else ""
        return format_html('<span class="state draft-{}">{}{}</span>', row.status, words(row.status), became)

    @admin.display(description="based on")
    def based_on(self, row: PolicyDraft) -> str:
        return str(row.base)

    @admin.display(description="edited by")
    def edited_by(self, row: PolicyDraft) -> SafeString | str:
        names = ((foreign(each.get_username()),) for each in row.editors.all())
        return format_html_join(", ", "{}", names) or "the machine's shell"

    @admin.display(description="edited")
    def edited(self, row: PolicyDraft) -> SafeString | str:
        return utc(row.edited_at)


def _still_approved(draft: PolicyDraft) -> bool:
    return draft.approvals.filter(digest=draft.digest).exists()
