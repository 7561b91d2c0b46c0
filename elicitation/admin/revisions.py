"""Policy revisions, to read."""

from __future__ import annotations

import json

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from audit.admin import ReadOnlyAdmin
from elicitation.models import PolicyRevision
from elicitation.templatetags.desk import utc, visible, words


@admin.register(PolicyRevision)
class PolicyRevisionAdmin(ReadOnlyAdmin):
    list_display = ("number", "standing", "activated", "by", "reason", "short_digest")
    list_select_related = ("activated_by",)
    fields = ("number", "standing", "activated", "by", "reason", "full_digest", "pretty")
    readonly_fields = fields

    @admin.display(description="status")
    def standing(self, row: PolicyRevision) -> SafeString:
        return format_html('<span class="state revision-{}">{}</span>', row.status, words(row.status))

    @admin.display(description="activated")
    def activated(self, row: PolicyRevision) -> SafeString | str:
        return utc(row.activated_at)

    @admin.display(description="by")
    def by(self, row: PolicyRevision) -> str:
        return row.activated_by.get_username() if row.activated_by else "the machine's shell"

    @admin.display(description="note")
    def reason(self, row: PolicyRevision) -> str:
        return visible(row.note) or self.empty_value_display

    @admin.display(description="digest")
    def short_digest(self, row: PolicyRevision) -> SafeString:
        return format_html("<code>{}…</code>", row.digest[:19])

    @admin.display(description="digest")
    def full_digest(self, row: PolicyRevision) -> SafeString:
        return format_html("<code>{}</code>", row.digest)

    @admin.display(description="document")
    def pretty(self, row: PolicyRevision) -> SafeString:
        text = json.dumps(json.loads(row.document), indent=2, ensure_ascii=False)
        return format_html('<pre class="document">{}</pre>', "\n".join(visible(line) for line in text.split("\n")))
