"""The people at the desk in tests: with permissions or a role, and a seat of the whole desk or of some tenants."""

from __future__ import annotations

from django.contrib.auth.models import Group, Permission, User

from elicitation.models import Seat, Tenant
from elicitation.services.roles import Role


def staff(name: str, *codenames: str, tenants: tuple[Tenant, ...] | None = None, **more: str) -> User:
    """Somebody with these permissions and no others; ``None`` for the whole desk."""
    user = User.objects.create_user(name, is_staff=True, **more)
    user.user_permissions.set(Permission.objects.filter(codename__in=codenames))
    seat = Seat.objects.create(person=user, whole_desk=tenants is None)
    seat.tenants.set(tenants or ())
    return User.objects.get(pk=user.pk)


def of_role(role: Role, *tenants: Tenant, name: str = "", whole_desk: bool = False, **more: str) -> User:
    """Somebody who has the role, in these tenants or on the whole desk."""
    user = staff(name or role.name.lower(), tenants=None if whole_desk else tenants, **more)
    user.groups.add(Group.objects.get(name=role))
    return user
