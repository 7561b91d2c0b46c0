"""The people at the desk: their roles, and the tenants whose rows they see. Roles are fixed, so groups have no page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern
from django.utils.safestring import SafeString

from elicitation.admin.scoped import scope_of
from elicitation.models import Seat, Tenant
from elicitation.services import staff
from elicitation.services.roles import ABOUT, Role
from elicitation.services.scoping import Scope
from elicitation.services.staff import NEED_WHOLE_DESK, SENTENCES, Obstacle, Standing
from elicitation.templatetags.desk import foreign, utc

if TYPE_CHECKING:
    _ChangeForm = UserChangeForm[User]
    _UserAdmin = UserAdmin[User]
else:
    _ChangeForm = UserChangeForm
    _UserAdmin = UserAdmin

admin.site.unregister((User, Group))

_PAGES: Final = ("_changelist", "_add", "_change", "_password_change")


class PersonForm(_ChangeForm):
    """A person with roles and tenants. The scope within which they can be given is the page's to set."""

    scope: Scope
    roles = forms.MultipleChoiceField(
        required=False,
        choices=[(role, f"{role}: {ABOUT[role]}") for role in Role],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "One of them is no role."},
    )
    whole_desk = forms.BooleanField(
        required=False, help_text="All tenants, also those to come, and what belongs to none of them."
    )
    tenants = forms.ModelMultipleChoiceField(
        Tenant.objects.none(),
        required=False,
        to_field_name="slug",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "One of them is no tenant of yours."},
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        present = staff.standing(self.instance)
        tenants = cast("forms.ModelMultipleChoiceField[Tenant]", self.fields["tenants"])
        tenants.queryset = self.scope.rows(Tenant).order_by("slug")
        self.fields["roles"].initial = sorted(present.roles)
        self.fields["whole_desk"].initial = present.whole_desk
        tenants.initial = sorted(present.tenants)
        if not self.scope.whole_desk:
            del self.fields["whole_desk"]

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        if NEED_WHOLE_DESK & set(given.get("roles", ())) and not given.get("whole_desk"):
            self.add_error("roles", SENTENCES[Obstacle.NEEDS_WHOLE_DESK])
        return given

    def standing(self) -> Standing:
        """How the person is to stand, by the valid form."""
        given = self.cleaned_data
        whole = bool(given.get("whole_desk"))
        return Standing(
            active=given["is_active"],
            roles=frozenset(Role(name) for name in given["roles"]),
            whole_desk=whole,
            tenants=frozenset() if whole else frozenset(tenant.slug for tenant in given["tenants"]),
        )


@admin.register(User)
class PersonAdmin(_UserAdmin):
    """People are shut out, never deleted: what they did stays theirs."""

    form = PersonForm
    add_form = AdminUserCreationForm
    list_display = ("username", "named", "may", "sees", "is_active", "seen")
    list_filter = ("is_active",)
    search_fields = ("username", "first_name", "last_name", "email")
    search_help_text = "A name, or a part of it."
    ordering = ("username",)
    actions = None
    show_facets = admin.ShowFacets.NEVER
    filter_horizontal = ()
    readonly_fields = ("seen",)
    fieldsets = (
        (None, {"fields": ("username", "password")}),
        ("Person", {"fields": ("first_name", "last_name", "email", "is_active", "seen")}),
        ("At the desk", {"fields": ("roles", "whole_desk", "tenants")}),
    )
    add_fieldsets = ((None, {"fields": ("username", "usable_password", "password1", "password2")}),)

    def get_urls(self) -> list[URLPattern]:
        return [url for url in super().get_urls() if (url.name or "").endswith(_PAGES)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[User]:
        seats = Seat.objects.prefetch_related("tenants")
        return scope_of(request).people().prefetch_related("groups", Prefetch("seat", queryset=seats))

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        if obj is None or scope_of(request).whole_desk:
            return super().get_fieldsets(request, obj)
        return (*self.fieldsets[:2], ("At the desk", {"fields": ("roles", "tenants")}))

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:
        if obj is not None:
            # Fields of the form, not of the model, so the factory must not look for them.
            kwargs["form"] = type("ScopedPersonForm", (PersonForm,), {"scope": scope_of(request)})
            kwargs["fields"] = ("username", "password", "first_name", "last_name", "email", "is_active")
        return super().get_form(request, obj, change=change, **kwargs)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        if not super().has_change_permission(request, obj):
            return False
        return obj is None or (isinstance(request.user, User) and staff.may_change(obj, request.user))

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        """Within the transaction of the page. What cannot be given is told, and the rest of the page is kept."""
        assert isinstance(request.user, User)
        if not change:
            obj.is_staff = True
            super().save_model(request, obj, form, change)
            staff.opened(obj, request.user)
            return
        wanted = form.standing()
        obj.is_active = "is_active" in form.initial and bool(form.initial["is_active"])
        super().save_model(request, obj, form, change)
        try:
            staff.change(obj, wanted, request.user)
        except staff.NotAllowed as refusal:
            messages.error(request, f"Roles and tenants are as they were. {refusal}")

    @transaction.atomic
    def user_change_password(self, request: HttpRequest, id: str, form_url: str = "") -> HttpResponse:
        """Django's page. That somebody else's password was set is on the ledger."""
        response = super().user_change_password(request, id, form_url)
        if request.method == "POST" and not hasattr(response, "render"):
            person = self.get_object(request, id)
            assert isinstance(request.user, User)
            assert isinstance(person, User)
            staff.password_set(person, request.user)
        return response

    @admin.display(description="name")
    def named(self, row: User) -> SafeString | str:
        return foreign(row.get_full_name()) if row.get_full_name() else "–"

    @admin.display(description="roles")
    def may(self, row: User) -> str:
        if row.is_superuser:
            return "everything (superuser)"
        names = {group.name for group in row.groups.all()}
        return ", ".join(role for role in Role if role in names) or "none"

    @admin.display(description="sees")
    def sees(self, row: User) -> str:
        seat = getattr(row, "seat", None)
        if row.is_superuser or (seat is not None and seat.whole_desk):
            return "the whole desk"
        slugs = sorted(tenant.slug for tenant in seat.tenants.all()) if seat is not None else []
        return ", ".join(slugs) or "nothing"

    @admin.display(description="last signed in")
    def seen(self, row: User) -> SafeString | str:
        return utc(row.last_login) if row.last_login else "never"
