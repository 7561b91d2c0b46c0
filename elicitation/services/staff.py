"""The people at the desk: who gets which role and which tenants, each change on the ledger.

A role, or a person who comes or goes, is told in the desk's own log; a tenant that a seat is bound to, in its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from django.contrib.auth.models import Group, User
from django.db import transaction

from audit.ledger import SYSTEM_TENANT, Entry, append
from elicitation.models import Seat, Tenant
from elicitation.services import actors, clock
from elicitation.services.roles import Role
from elicitation.services.scoping import Scope, scope_of

#: The policy is the whole desk's: these roles are nothing without it.
NEED_WHOLE_DESK: Final = frozenset({Role.POLICY_EDITOR, Role.POLICY_APPROVER})


class Obstacle(StrEnum):
    """Why a person is not changed. Source: operator policy."""

    ONESELF = "oneself"
    SUPERUSER = "superuser"
    BEYOND = "beyond"
    NEEDS_WHOLE_DESK = "needs_whole_desk"


SENTENCES: Final[dict[Obstacle, str]] = {
    Obstacle.ONESELF: "Nobody changes their own roles and tenants: ask another administrator.",
    Obstacle.SUPERUSER: "A superuser is changed by a superuser alone.",
    Obstacle.BEYOND: "That reaches further than your own tenants.",
    Obstacle.NEEDS_WHOLE_DESK: "The policy is the whole desk's: its editors and approvers need the whole desk.",
}


class NotAllowed(Exception):
    """Nothing was changed."""

    def __init__(self, obstacle: Obstacle) -> None:
        super().__init__(SENTENCES[obstacle])
        self.obstacle = obstacle


@dataclass(frozen=True, slots=True)
class Standing:
    """What somebody may do, and about whose rows. ``tenants`` are slugs, and nothing beside the whole desk."""

    active: bool
    roles: frozenset[Role]
    whole_desk: bool
    tenants: frozenset[str]


def standing(person: User) -> Standing:
    """How ``person`` stands. Without a seat, nothing is reached."""
    names = set(person.groups.values_list("name", flat=True))
    seat = Seat.objects.filter(person=person).first()
    slugs = frozenset(seat.tenants.values_list("slug", flat=True)) if seat else frozenset()
    whole = seat is not None and seat.whole_desk
    return Standing(person.is_active, frozenset(role for role in Role if role in names), whole, slugs)


def change(person: User, wanted: Standing, by: User) -> bool:
    """Let ``person`` stand as ``wanted``, within what ``by`` reaches.

    Returns whether anything changed. Raises ``NotAllowed``; then nothing is changed.
    """
    with transaction.atomic():
        User.objects.select_for_update().get(pk=person.pk)
        before = standing(person)
        if before == wanted:
            return False
        obstacle = _obstacle(person, before, wanted, by)
        if obstacle is not None:
            raise NotAllowed(obstacle)
        seat, _made = Seat.objects.get_or_create(person=person)
        Seat.objects.filter(pk=seat.pk).update(whole_desk=wanted.whole_desk)
        seat.tenants.set(Tenant.objects.filter(slug__in=wanted.tenants))
        # What is no role of the desk stays as it is.
        for role in before.roles - wanted.roles:
            person.groups.remove(Group.objects.get(name=role))
        for role in wanted.roles - before.roles:
            person.groups.add(Group.objects.get(name=role))
        User.objects.filter(pk=person.pk).update(is_active=wanted.active)
        person.is_active = wanted.active
        append(clock.now(), *_told(seat, before, wanted, actors.administrator(by.pk)))
    return True


def opened(person: User, by: User) -> None:
    """``person`` was just made: told on the ledger, in the caller's transaction. They have no role yet, and the tenants
    of ``by``, so that an administrator of some tenants finds whom they made."""
    scope, actor = scope_of(by), actors.administrator(by.pk)
    seat = Seat.objects.create(person=person)
    before = Standing(False, frozenset(), False, frozenset())
    after = Standing(True, frozenset(), False, frozenset((scope.tenants or {}).values()))
    seat.tenants.set(Tenant.objects.filter(slug__in=after.tenants))
    append(clock.now(), *_told(seat, before, after, actor))


def password_set(person: User, by: User) -> None:
    """``by`` gave ``person`` another password, and could sign in as them: told on the ledger, in the caller's
    transaction."""
    seat, _made = Seat.objects.get_or_create(person=person)
    append(clock.now(), _entry("password_set", seat, actors.administrator(by.pk)))


def may_change(person: User, by: User) -> bool:
    """Whether ``by``, who may change people, may change ``person``, apart from what it is changed to."""
    return by.is_superuser or (not person.is_superuser and scope_of(by).people().filter(pk=person.pk).exists())


def _obstacle(person: User, before: Standing, wanted: Standing, by: User) -> Obstacle | None:
    if person.pk == by.pk:
        return Obstacle.ONESELF
    if person.is_superuser and not by.is_superuser:
        return Obstacle.SUPERUSER
    scope = scope_of(by)
    if not (_within(before, scope) and _within(wanted, scope)):
        return Obstacle.BEYOND
    if wanted.roles & NEED_WHOLE_DESK and not wanted.whole_desk:
        return Obstacle.NEEDS_WHOLE_DESK
    return None


def _within(standing: Standing, scope: Scope) -> bool:
    return scope.whole_desk or (not standing.whole_desk and all(scope.holds(slug) for slug in standing.tenants))


def _told(seat: Seat, before: Standing, wanted: Standing, by: actors.Actor) -> Iterator[Entry]:
    """One entry for each difference."""
    if before.active != wanted.active:
        yield _entry("staff_opened" if wanted.active else "staff_closed", seat, by)
    for role in Role:
        if (role in wanted.roles) != (role in before.roles):
            event = "role_granted" if role in wanted.roles else "role_withdrawn"
            yield _entry(event, seat, by, reason=role.name.lower())
    if before.whole_desk != wanted.whole_desk:
        yield _entry("seat_bound" if wanted.whole_desk else "seat_unbound", seat, by)
    for slug in sorted(before.tenants ^ wanted.tenants):
        yield _entry("seat_bound" if slug in wanted.tenants else "seat_unbound", seat, by, tenant=slug)


def _entry(event: str, seat: Seat, by: actors.Actor, *, tenant: str = SYSTEM_TENANT, reason: str = "") -> Entry:
    """About the person of ``seat``, whom ``related_id`` names."""
    return Entry(
        tenant=tenant,
        event=event,
        related_id=seat.uid,
        reason_code=reason,
        actor_kind=by.kind,
        actor_id=by.id,
        role=by.role,
    )
