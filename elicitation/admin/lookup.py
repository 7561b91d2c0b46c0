"""Support's one box: an id as it was pasted, and what became of the elicitation, in words."""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.debug import sensitive_post_parameters

from elicitation.admin import pasted
from elicitation.admin.entry import page
from elicitation.admin.scoped import scope_of
from elicitation.services import actors, clock
from elicitation.services.looking_up import look_up

_LONGEST: Final = 2_000


class BoxForm(forms.Form):
    use_required_attribute = False
    pasted = forms.CharField(
        label="An id, as you have it",
        max_length=_LONGEST,
        widget=forms.TextInput(attrs={"size": 60, "autocomplete": "off", "spellcheck": "false", "maxlength": _LONGEST}),
        help_text="Of the desk (elc_…) or of a service: quotes, spaces, a whole address, a line of a log, several.",
    )


@method_decorator(sensitive_post_parameters(), name="dispatch")
class LookupPage(View):
    """The box (GET), and the answer (POST): an id is never part of an address, where logs would keep it."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request, BoxForm())

    def post(self, request: HttpRequest) -> HttpResponse:
        _allow(request)
        form = BoxForm(request.POST)
        if not form.is_valid():
            return self._answer(request, form)
        read = pasted.read(form.cleaned_data["pasted"])
        if not read.spelled:
            return self._answer(request, BoxForm(), searched=[], found=[])
        assert request.user.pk is not None
        wire = () if read.ours else read.wire
        found = look_up(read.ours, wire, scope_of(request), actors.support(request.user.pk))
        now = clock.now()
        return self._answer(request, BoxForm(), searched=read.spelled, found=[page(entry, now) for entry in found])

    def _answer(self, request: HttpRequest, form: BoxForm, **more: Any) -> HttpResponse:
        _allow(request)
        context = {
            **admin.site.each_context(request),
            "title": "Look up an elicitation",
            "field": form["pasted"],
            "asked": bool(more),
            **more,
        }
        response = TemplateResponse(request, "admin/desk/lookup.html", context)
        response["Cache-Control"] = "no-store"
        return response


def _allow(request: HttpRequest) -> None:
    if not request.user.has_perm("elicitation.lookup_elicitation"):
        raise PermissionDenied
