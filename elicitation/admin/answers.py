"""An auditor's three questions about one elicitation, answered on one page from the ledger, and its evidence pack."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from audit.packs import NothingToPack
from elicitation.admin.scoped import scope_of
from elicitation.policy import identifiers
from elicitation.services import exports, packs
from elicitation.services.answering import Answers, answers


@require_GET
def answer_page(request: HttpRequest, public_id: str) -> HttpResponse:
    """Did a person approve this, under which policy, was the result used once. For who may see logs."""
    found = _found(request, public_id)
    numbers = {exhibit.row.pk: number for number, exhibit in enumerate(found.exhibits, 1)}
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": "An auditor's questions",
        "public_id": public_id,
        "found": found,
        "answers": [
            (each, [(said, [numbers[row] for row in said.rows]) for said in each.said]) for each in found.answers
        ],
    }
    return TemplateResponse(request, "admin/desk/answers.html", context)


@require_POST
def pack_view(request: HttpRequest, public_id: str) -> HttpResponse:
    """The evidence pack as a download; that it was made is on the ledger."""
    found = _found(request, public_id)
    assert request.user.pk is not None
    try:
        made = packs.make(found.tenant, found.uid, exports.auditor(request.user.pk))
    except NothingToPack:
        raise Http404 from None
    except packs.NotMade as problem:
        messages.error(request, str(problem))
        return HttpResponseRedirect(reverse("answers", args=[public_id]))
    name = f"{public_id}.evidence.json"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(made, content_type="application/json", headers=headers)


def _found(request: HttpRequest, public_id: str) -> Answers:
    if not request.user.has_perm("audit.view_log"):
        raise PermissionDenied
    raw = identifiers.parse(public_id)
    found = answers(UUID(bytes=raw), scope_of(request)) if raw is not None else None
    if found is None:
        raise Http404
    return found
