"""Policy revisions: what each one changed, who brought it into force, and the way back to it."""

from __future__ import annotations

import json
from typing import Any, Final

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin import ReadOnlyAdmin
from elicitation.admin import drafts as draft_pages
from elicitation.admin import files, policy_words
from elicitation.admin.scoped import scope_of
from elicitation.models import PolicyRevision
from elicitation.policy.document import DocumentError
from elicitation.services import drafts, revisions
from elicitation.services.policy_within import within
from elicitation.templatetags.desk import foreign, utc, visible, words

_SHELL: Final = "the machine's shell"
_OUTGROWN: Final = "Rules have changed since: its document, or the one before it, is no longer valid."


@admin.register(PolicyRevision)
class PolicyRevisionAdmin(ReadOnlyAdmin):
    list_display = ("number", "standing", "activated", "by", "approved", "reason", "short_digest")
    list_select_related = ("activated_by", "approved_by")
    change_form_template = "admin/desk/revision.html"
    fields = (
        "number",
        "standing",
        "activated",
        "by",
        "approved",
        "reason",
        "from_draft",
        "full_digest",
        "changes",
        "own_cases",
        "pretty",
    )
    readonly_fields = fields

    def get_urls(self) -> list[URLPattern]:
        site, name = self.admin_site, "elicitation_policyrevision"
        return [
            path("<int:row>/export/", site.admin_view(self.export_view), name=f"{name}_export"),
            path("<int:row>/roll-back/", site.admin_view(self.roll_back_view), name=f"{name}_roll_back"),
            *super().get_urls(),
        ]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        whole = scope_of(request).whole_desk
        more = {"whole": whole, "may_draft": whole and request.user.has_perm("elicitation.add_policydraft")}
        return super().change_view(request, object_id, form_url, more | (extra_context or {}))

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """With the scope of whoever reads it: the document names every tenant's parties."""
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            found.reader = scope_of(request)
        return found

    def export_view(self, request: HttpRequest, row: int) -> HttpResponse:
        found = self._find(request, row)
        return files.download(request, found, f"policy-revision-{found.number}")

    def roll_back_view(self, request: HttpRequest, row: int) -> HttpResponse:
        """A new draft with the content of this revision."""
        if not request.user.has_perm("elicitation.add_policydraft"):
            raise PermissionDenied
        found = self._find(request, row)
        here = HttpResponseRedirect(reverse("admin:elicitation_policyrevision_change", args=[found.pk]))
        if request.method != "POST":
            return here
        try:
            draft = drafts.roll_back(found.number, draft_pages.person(request))
        except DocumentError:
            messages.error(request, f"No draft was begun. {_OUTGROWN}")
            return here
        assert draft is not None
        messages.success(request, "Begun. It is a draft like any other: somebody else has to approve it.")
        return HttpResponseRedirect(draft_pages.address(draft))

    def _find(self, request: HttpRequest, row: int) -> PolicyRevision:
        """For who sees it all: a file, or a draft, is the whole document."""
        if not self.has_view_permission(request) or not scope_of(request).whole_desk:
            raise PermissionDenied
        found = PolicyRevision.objects.filter(pk=min(row, 2**63 - 1)).first()
        if found is None:
            raise Http404
        return found

    @admin.display(description="status")
    def standing(self, row: PolicyRevision) -> SafeString:
        return format_html('<span class="state revision-{}">{}</span>', row.status, words(row.status))

    @admin.display(description="activated")
    def activated(self, row: PolicyRevision) -> SafeString | str:
        return utc(row.activated_at)

    @admin.display(description="by")
    def by(self, row: PolicyRevision) -> SafeString | str:
        return _name(row.activated_by) or _SHELL

    @admin.display(description="approved by")
    def approved(self, row: PolicyRevision) -> SafeString | str:
        return _name(row.approved_by) or "nobody else"

    @admin.display(description="note")
    def reason(self, row: PolicyRevision) -> str:
        return visible(row.note) or self.empty_value_display

    @admin.display(description="draft")
    def from_draft(self, row: Any) -> SafeString | str:
        draft = getattr(row, "draft", None)
        if draft is None:
            return self.empty_value_display
        if not row.reader.whole_desk:
            return f"draft {draft.pk}"
        return format_html('<a href="{}">draft {}</a>', draft_pages.address(draft), draft.pk)

    @admin.display(description="digest")
    def short_digest(self, row: PolicyRevision) -> SafeString:
        return format_html("<code>{}…</code>", row.digest[:19])

    @admin.display(description="digest")
    def full_digest(self, row: PolicyRevision) -> SafeString:
        return format_html("<code>{}</code>", row.digest)

    @admin.display(description="what it changed")
    def changes(self, row: Any) -> SafeString | str:
        try:
            before, after = revisions.numbered(row.number - 1), revisions.in_force(row)
        except DocumentError:
            return _OUTGROWN
        if before is None:
            return "It is the first one."
        cases = (before.row.cases, row.cases) if row.reader.whole_desk else ("[]", "[]")
        lines = policy_words.changes(within(before.document, row.reader), within(after.document, row.reader), *cases)
        if not lines:
            return f"Nothing that revision {before.number} does not say{self._of_whom(row)}."
        return render_to_string("admin/desk/changes.html", {"lines": lines})

    @admin.display(description="its own cases")
    def own_cases(self, row: Any) -> SafeString | str:
        count = len(json.loads(row.cases))
        if not count:
            return "none"
        if not row.reader.whole_desk:
            return str(count)
        link = reverse("admin:elicitation_policyrevision_export", args=[row.pk])
        return format_html('<a href="{}?part=cases">{}</a>', link, f"{count} as a file")

    @admin.display(description="document")
    def pretty(self, row: Any) -> SafeString | str:
        document = json.loads(row.document)
        if not row.reader.whole_desk:
            try:
                document = within(revisions.in_force(row).document, row.reader).as_json()
            except DocumentError:
                return _OUTGROWN
        text = "\n".join(visible(line) for line in json.dumps(document, indent=2, ensure_ascii=False).split("\n"))
        said = f"What it says{self._of_whom(row)}:" if not row.reader.whole_desk else ""
        return format_html('{}<pre class="document">{}</pre>', said, text)

    def _of_whom(self, row: Any) -> str:
        return "" if row.reader.whole_desk else " of your tenants, and of everybody"


def _name(who: User | None) -> SafeString | None:
    return foreign(who.get_username()) if who else None
