"""People at the desk: who may give whom what, and that each change is on the ledger."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import call_command
from django.db import DatabaseError, transaction
from django.test import Client
from django.utils.html import escape

from audit.models import LedgerEntry
from elicitation.models import Seat, Tenant
from elicitation.services import scoping, staff
from elicitation.services.roles import ABOUT, MAY, Role
from elicitation.services.scoping import NOTHING, WHOLE_DESK, scope_of
from elicitation.services.staff import NotAllowed, Obstacle, Standing, standing
from tests.builders import Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.people import of_role
from tests.people import staff as somebody

pytestmark = pytest.mark.django_db

PEOPLE: Final = "/admin/auth/user/"
NOTHING_YET: Final = Standing(True, frozenset(), False, frozenset())
WORD: Final = "correct-horse-battery"


@pytest.fixture
def ada(desk: Desk) -> User:
    """An administrator of acme."""
    return of_role(Role.ADMINISTRATOR, desk.acme, name="ada")


@pytest.fixture
def root(desk: Desk) -> User:
    """An administrator of the whole desk."""
    return of_role(Role.ADMINISTRATOR, name="root", whole_desk=True)


@pytest.fixture
def sam(desk: Desk) -> User:
    return somebody("sam", tenants=(desk.acme,))


def told(*events: str) -> list[tuple[str, str, str, str]]:
    """Of the ledger: tenant, event, role and whose doing."""
    rows = LedgerEntry.objects.filter(event__in=events or _ALL).order_by("pk")
    return [(row.tenant, row.event, row.reason_code, row.actor_id) for row in rows]


_ALL: Final = (
    "staff_opened", "staff_closed", "role_granted", "role_withdrawn", "seat_bound", "seat_unbound", "password_set",
)  # fmt: skip


def test_the_groups_are_the_roles_after_every_migration(desk: Desk) -> None:
    Group.objects.get(name=Role.SUPPORT).permissions.set(Group.objects.get(name=Role.AUDITOR).permissions.all())
    Group.objects.get(name=Role.OPERATOR).delete()
    call_command("migrate", verbosity=0)
    for role in Role:
        group = Group.objects.get(name=role)
        assert {f"{each.content_type.app_label}.{each.codename}" for each in group.permissions.all()} == MAY[role]


def test_every_role_says_what_it_is_for() -> None:
    assert set(ABOUT) == set(MAY) == set(Role)
    # Nobody decides over their own: who runs the people acts on nothing, who drafts does not approve.
    assert not MAY[Role.ADMINISTRATOR] & {"elicitation.cancel_elicitation", "elicitation.approve_policydraft"}
    assert not MAY[Role.POLICY_EDITOR] & {"elicitation.approve_policydraft"}
    assert not MAY[Role.OPERATOR] & {"audit.add_export", "elicitation.change_policydraft"}
    changing = ("add_", "change_", "delete_", "cancel_", "approve_", "manage_", "review_", "resend_")
    # An export is a reading that is written down.
    assert [name for name in MAY[Role.AUDITOR] if name.split(".")[1].startswith(changing)] == ["audit.add_export"]


def test_what_a_seat_reaches(desk: Desk, ada: User, root: User) -> None:
    assert scope_of(root) == WHOLE_DESK
    assert scope_of(ada).tenants == {desk.acme.pk: "acme"}
    assert scope_of(User.objects.create_superuser("olga")) == WHOLE_DESK
    assert scope_of(User.objects.create_user("nobody", is_staff=True)) == NOTHING
    ada.is_active = root.is_active = False
    assert scope_of(ada) == scope_of(root) == NOTHING


def test_the_whole_desk_has_what_is_of_no_tenant_and_the_others_have_not(desk: Desk, ada: User) -> None:
    assert scoping.WHOLE_DESK.rows(LedgerEntry).filter(tenant="desk").exists()
    assert not scope_of(ada).rows(LedgerEntry).exclude(tenant="acme").exists()
    with pytest.raises(KeyError):
        scope_of(ada).rows(Seat)


def test_roles_and_tenants_are_given_and_taken_each_on_the_ledger(desk: Desk, ada: User, sam: User) -> None:
    assert staff.change(sam, replace(standing(sam), roles=frozenset({Role.OPERATOR, Role.AUDITOR})), ada)
    assert standing(sam).roles == {Role.OPERATOR, Role.AUDITOR}
    assert staff.change(sam, replace(standing(sam), roles=frozenset({Role.AUDITOR})), ada)
    assert staff.change(sam, replace(standing(sam), tenants=frozenset(), active=False), ada)
    by = str(ada.pk)
    assert told() == [
        ("desk", "role_granted", "operator", by),
        ("desk", "role_granted", "auditor", by),
        ("desk", "role_withdrawn", "operator", by),
        ("desk", "staff_closed", "", by),
        ("acme", "seat_unbound", "", by),
    ]
    assert {row.related_id for row in LedgerEntry.objects.filter(event__in=_ALL)} == {Seat.objects.get(person=sam).uid}
    assert not User.objects.get(pk=sam.pk).has_perm("audit.view_log")


def test_what_changes_nothing_is_no_entry(desk: Desk, ada: User, sam: User) -> None:
    assert not staff.change(sam, standing(sam), ada)
    assert told() == []


@pytest.mark.parametrize(
    ("wanted", "obstacle"),
    [
        ({"whole_desk": True, "tenants": frozenset()}, Obstacle.BEYOND),
        ({"tenants": frozenset({"acme", "globex"})}, Obstacle.BEYOND),
        ({"tenants": frozenset({"globex"})}, Obstacle.BEYOND),
        ({"roles": frozenset({Role.POLICY_EDITOR})}, Obstacle.NEEDS_WHOLE_DESK),
        ({"roles": frozenset({Role.POLICY_APPROVER})}, Obstacle.NEEDS_WHOLE_DESK),
    ],
)
def test_nobody_gives_more_than_they_reach(ada: User, sam: User, wanted: dict[str, Any], obstacle: Obstacle) -> None:
    before = standing(sam)
    with pytest.raises(NotAllowed) as refusal:
        staff.change(sam, replace(before, **wanted), ada)
    assert refusal.value.obstacle is obstacle
    assert standing(sam) == before
    assert told() == []


def test_nobody_changes_themselves(desk: Desk, ada: User, root: User) -> None:
    for person in (ada, root, User.objects.create_superuser("olga")):
        with pytest.raises(NotAllowed) as refusal:
            staff.change(person, replace(standing(person), roles=frozenset({Role.OPERATOR})), person)
        assert refusal.value.obstacle is Obstacle.ONESELF
    assert told() == []


def test_a_superuser_and_who_reaches_further_are_out_of_reach(desk: Desk, ada: User, root: User) -> None:
    olga = User.objects.create_superuser("olga")
    wide = somebody("wide", tenants=(desk.acme, desk.globex))
    for by, person, obstacle in (
        (ada, olga, Obstacle.SUPERUSER),
        (root, olga, Obstacle.SUPERUSER),
        (ada, root, Obstacle.BEYOND),
        (ada, wide, Obstacle.BEYOND),
    ):
        with pytest.raises(NotAllowed) as refusal:
            staff.change(person, replace(standing(person), active=False), by)
        assert refusal.value.obstacle is obstacle
    assert User.objects.filter(is_active=False).count() == 0


def test_when_the_ledger_cannot_be_written_nobody_changes(
    ada: User, sam: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise DatabaseError("the disk is full")

    before = standing(sam)
    monkeypatch.setattr("elicitation.services.staff.append", broken)
    with pytest.raises(DatabaseError), transaction.atomic():
        staff.change(sam, replace(before, roles=frozenset({Role.OPERATOR}), tenants=frozenset()), ada)
    assert standing(sam) == before


def form(person: User, **changes: Any) -> dict[str, Any]:
    """The page of a person as a browser sends it back, changed as given."""
    present = standing(person)
    fields: dict[str, Any] = {
        "username": person.username,
        "first_name": "",
        "last_name": "",
        "email": "",
        "is_active": "on",
        "roles": sorted(present.roles),
        "tenants": sorted(present.tenants),
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def test_the_page_gives_roles_and_tenants(desk: Desk, root: User, sam: User) -> None:
    client = signed_in(root)
    page = look(client, f"{PEOPLE}{sam.pk}/change/")
    for role in Role:
        assert escape(ABOUT[role]) in page
    assert "is_superuser" not in page
    assert "user_permissions" not in page
    sent = form(sam, roles=["Operator"], tenants=["acme", "globex"])
    assert client.post(f"{PEOPLE}{sam.pk}/change/", sent).status_code == 302
    assert standing(sam) == Standing(True, frozenset({Role.OPERATOR}), False, frozenset({"acme", "globex"}))
    page = look(client, PEOPLE)
    assert "acme, globex" in page
    assert "Operator" in page


def test_the_page_of_some_tenants_offers_no_others(desk: Desk, ada: User, sam: User) -> None:
    client = signed_in(ada)
    page = look(client, f"{PEOPLE}{sam.pk}/change/")
    assert "globex" not in page
    assert "whole_desk" not in page
    for more in ({"tenants": ["acme", "globex"]}, {"roles": ["Policy editor"]}, {"roles": ["Owner"]}):
        assert client.post(f"{PEOPLE}{sam.pk}/change/", form(sam, **more)).status_code == 200
    client.post(f"{PEOPLE}{sam.pk}/change/", form(sam, whole_desk="on", is_superuser="on", user_permissions="1"))
    sam.refresh_from_db()
    assert not sam.is_superuser
    assert standing(sam) == Standing(True, frozenset(), False, frozenset({"acme"}))


def test_a_page_of_oneself_keeps_ones_own_roles(desk: Desk, ada: User) -> None:
    client, before = signed_in(ada), standing(ada)
    sent = form(ada, first_name="Ada", roles=["Administrator", "Operator"])
    page = client.post(f"{PEOPLE}{ada.pk}/change/", sent, follow=True).content.decode()
    assert "Nobody changes their own roles and tenants" in page
    assert standing(ada) == before
    assert client.post(f"{PEOPLE}{ada.pk}/change/", form(ada, is_active=None)).status_code == 302
    assert User.objects.get(pk=ada.pk).is_active


def test_a_person_is_shut_out_and_not_deleted(desk: Desk, root: User, sam: User) -> None:
    theirs, client = signed_in(sam), signed_in(root)
    assert client.post(f"{PEOPLE}{sam.pk}/change/", form(sam, is_active=None)).status_code == 302
    assert theirs.get("/admin/").status_code == 302
    assert told() == [("desk", "staff_closed", "", str(root.pk))]
    assert client.post(f"{PEOPLE}{sam.pk}/delete/").status_code in (302, 404)
    assert User.objects.filter(pk=sam.pk).exists()


def test_a_new_person_may_do_nothing_yet_and_is_found_by_who_made_them(desk: Desk, ada: User) -> None:
    client = signed_in(ada)
    sent = {"username": "new", "usable_password": "true", "password1": WORD, "password2": WORD}
    response = client.post(f"{PEOPLE}add/", sent)
    person = User.objects.get(username="new")
    assert response["Location"] == f"{PEOPLE}{person.pk}/change/"
    look(client, response["Location"])
    assert (person.is_staff, person.is_superuser) == (True, False)
    assert standing(person) == Standing(True, frozenset(), False, frozenset({"acme"}))
    by = str(ada.pk)
    assert told() == [("desk", "staff_opened", "", by), ("acme", "seat_bound", "", by)]
    fresh = Client()
    assert fresh.login(username="new", password=WORD)
    look(fresh, "/admin/")
    look(fresh, PEOPLE, 403)


def test_a_password_set_for_somebody_else_is_on_the_ledger(desk: Desk, ada: User, root: User, sam: User) -> None:
    client, sent = signed_in(ada), {"password1": WORD, "password2": WORD, "usable_password": "true"}
    assert client.post(f"{PEOPLE}{sam.pk}/password/", sent | {"password2": "other"}).status_code == 200
    assert told() == []
    assert client.post(f"{PEOPLE}{sam.pk}/password/", sent).status_code == 302
    assert told() == [("desk", "password_set", "", str(ada.pk))]
    assert Client().login(username="sam", password=WORD)
    for person in (root, User.objects.create_superuser("olga")):
        assert client.post(f"{PEOPLE}{person.pk}/password/", sent).status_code in (302, 403, 404)
        person.refresh_from_db()
        assert not person.check_password(WORD)
    assert signed_in(root).post(f"{PEOPLE}{User.objects.get(username='olga').pk}/password/", sent).status_code == 403
    assert len(told()) == 1


def test_a_closed_tenant_still_has_its_people(desk: Desk, ada: User) -> None:
    Tenant.objects.filter(pk=desk.acme.pk).update(closed_at=desk.acme.opened_at)
    assert scope_of(ada).holds("acme")
