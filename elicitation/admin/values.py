"""Is this value in the ledger? A page that takes a value, compares it by keyed digest, and shows it to nobody again."""

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

from audit.models import Log
from elicitation.admin import pasted
from elicitation.admin.scoped import scope_of
from elicitation.models import Tenant
from elicitation.services import asking_the_ledger, exports
from elicitation.services.asking_the_ledger import Found, Ids, Result, Value
from elicitation.services.lookup import Person
from elicitation.services.named import by_whom, operator_names
from elicitation.services.scoping import Scope

_LONGEST: Final = 2_000
_TYPED: Final = {"size": 40, "autocomplete": "off", "spellcheck": "false", "maxlength": _LONGEST}
KINDS: Final = (
    ("person", "A person, by issuer and subject"),
    ("result", "A provider's reference of a result"),
    ("id", "An id: of an elicitation, a decision, a piece of evidence, an export, a prune, a hold; or a service's own"),
)


class ValueForm(forms.Form):
    """What is asked. Nothing of it goes back to the page."""

    use_required_attribute = False
    tenant = forms.ModelChoiceField(Tenant.objects.none(), empty_label="Choose one")
    kind = forms.ChoiceField(label="What it is", choices=KINDS, widget=forms.RadioSelect)
    value = forms.CharField(
        label="The value",
        max_length=_LONGEST,
        strip=False,
        widget=forms.TextInput(attrs=_TYPED),
        help_text="Of a person, the subject. It is compared exactly, and is written down nowhere.",
    )
    issuer = forms.CharField(
        label="The person's issuer",
        max_length=_LONGEST,
        strip=False,
        required=False,
        widget=forms.TextInput(attrs=_TYPED),
        help_text="Of a person only, such as https://login.example.net.",
    )

    def __init__(self, scope: Scope, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["tenant"].queryset = scope.rows(Tenant).order_by("slug")  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = self.cleaned_data
        if given.get("kind") == "person" and not given.get("issuer"):
            self.add_error("issuer", "A person is known by issuer and subject together.")
        if given.get("kind") == "id" and _ids(given.get("value", "")) == Ids((), ()):
            self.add_error("value", "There is no id in what you pasted.")
        return given

    def asked(self) -> Value:
        """What the valid form asks for."""
        given = self.cleaned_data
        match given["kind"]:
            case "person":
                return Person(given["issuer"], given["value"])
            case "result":
                return Result(given["value"])
            case _:
                return _ids(given["value"])


def _ids(text: str) -> Ids:
    read = pasted.read(text)
    return Ids(read.ours, read.wire)


@method_decorator(sensitive_post_parameters(), name="dispatch")
class ValuePage(View):
    """Asks (GET), and answers (POST): a value is never part of an address."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._answer(request, ValueForm(scope_of(request)))

    def post(self, request: HttpRequest) -> HttpResponse:
        _allow(request)
        form = ValueForm(scope_of(request), request.POST)
        if not form.is_valid():
            return self._answer(request, form)
        assert request.user.pk is not None
        tenant: Tenant = form.cleaned_data["tenant"]
        found = asking_the_ledger.ask(tenant, form.asked(), exports.auditor(request.user.pk))
        return self._answer(request, form, tenant=tenant, found=found)

    def _answer(self, request: HttpRequest, form: ValueForm, **more: Any) -> HttpResponse:
        _allow(request)
        kept = {name: form.data[name] for name in ("tenant", "kind") if name in form.data}
        again = ValueForm(scope_of(request), initial=kept)
        context = {
            **admin.site.each_context(request),
            "title": "Is this value in the ledger?",
            "fields": [(again[name], form.errors.get(name)) for name in again.fields],
            **more,
            **(_told(more["found"], more["tenant"]) if more else {}),
        }
        response = TemplateResponse(request, "admin/desk/value.html", context)
        response["Cache-Control"] = "no-store"
        return response


def _told(found: Found, tenant: Tenant) -> dict[str, Any]:
    names = operator_names(found.entries)
    log = Log.objects.filter(tenant=tenant.slug).first()
    return {
        "rows": [(row, by_whom(row, names)) for row in found.entries],
        "pruned": log.pruned if log else 0,
    }


def _allow(request: HttpRequest) -> None:
    if not request.user.has_perm("audit.view_log"):
        raise PermissionDenied
