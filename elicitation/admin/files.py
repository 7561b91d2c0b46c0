"""A policy's document or cases as a file."""

from __future__ import annotations

import json

from django.http import HttpRequest, HttpResponse

from elicitation.models import PolicyDraft, PolicyRevision


def download(request: HttpRequest, row: PolicyDraft | PolicyRevision, name: str) -> HttpResponse:
    """The document of ``row``, or with ``?part=cases`` its own cases, as JSON that an import reads back."""
    cases = request.GET.get("part") == "cases"
    text = json.dumps(json.loads(row.cases if cases else row.document), indent=2, ensure_ascii=False)
    return HttpResponse(
        f"{text}\n",
        content_type="application/json",
        headers={"Content-Disposition": f'attachment; filename="{name}{"-cases" if cases else ""}.json"'},
    )
