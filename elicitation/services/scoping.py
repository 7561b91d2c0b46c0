"""Whose rows a person may see. Every read of the admin and of the commands for people goes through :class:`Scope`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Model, QuerySet

from audit.models import (
    Checkpoint,
    Export,
    Hourly,
    LedgerEntry,
    LegalHold,
    Log,
    Outgoing,
    Prune,
    Signal,
)
from elicitation.models import (
    Client,
    Decision,
    Elicitation,
    Evidence,
    HonourProposal,
    Provider,
    ProviderKey,
    Seat,
    Service,
    ServiceKey,
    Tenant,
    WebhookDelivery,
)

_M = TypeVar("_M", bound=Model)

#: Where a row names its tenant, by number.
_NUMBERED: Final[dict[type[Model], str]] = {
    Tenant: "pk",
    Service: "tenant",
    ServiceKey: "service__tenant",
    Provider: "tenant",
    ProviderKey: "provider__tenant",
    WebhookDelivery: "provider__tenant",
    Client: "tenant",
    Decision: "service__tenant",
    Elicitation: "tenant",
    Evidence: "elicitation__tenant",
    HonourProposal: "elicitation__tenant",
}
#: Where a row names its tenant, by slug. The desk's own rows have a slug that is no tenant's.
_NAMED: Final[dict[type[Model], str]] = {
    LedgerEntry: "tenant",
    Hourly: "tenant",
    Log: "tenant",
    Checkpoint: "log__tenant",
    Export: "log__tenant",
    LegalHold: "log__tenant",
    Prune: "log__tenant",
    Signal: "tenant",
    Outgoing: "signal__tenant",
}
SCOPED: Final = frozenset({*_NUMBERED, *_NAMED})


@dataclass(frozen=True, slots=True)
class Scope:
    """The tenants, slugs by number, that somebody sees; ``None``: the whole desk, also what is no tenant's."""

    tenants: Mapping[int, str] | None

    @property
    def whole_desk(self) -> bool:
        return self.tenants is None

    def holds(self, tenant: str) -> bool:
        """Whether ``tenant``, a slug, is in it."""
        return self.tenants is None or tenant in self.tenants.values()

    def rows(self, model: type[_M]) -> QuerySet[_M]:
        """The rows of ``model`` that this person may know of. Raises ``KeyError`` for a model that has no tenant."""
        every = model._default_manager.all()
        if model in _NUMBERED:
            wanted: list[Any] | None = None if self.tenants is None else sorted(self.tenants)
            place = _NUMBERED[model]
        else:
            wanted, place = None if self.tenants is None else sorted(self.tenants.values()), _NAMED[model]
        return every if wanted is None else every.filter(**{f"{place}__in": wanted})

    def people(self) -> QuerySet[User]:
        """The people whose seat reaches no further than this scope. Who sees the whole desk belongs to it alone."""
        everybody = User.objects.all()
        if self.tenants is None:
            return everybody
        seats = Seat.objects.filter(whole_desk=False)
        inside = seats.filter(tenants__in=sorted(self.tenants))
        beyond = seats.filter(tenants__in=Tenant.objects.exclude(pk__in=sorted(self.tenants)))
        return everybody.filter(is_superuser=False, seat__in=inside).exclude(seat__in=beyond)


WHOLE_DESK: Final = Scope(None)
NOTHING: Final = Scope({})


def scope_of(person: User | AnonymousUser) -> Scope:
    """What the seat of ``person`` reaches. A superuser sees the whole desk; without a seat there is nothing."""
    if not person.is_active or not isinstance(person, User):
        return NOTHING
    if person.is_superuser:
        return WHOLE_DESK
    seat = Seat.objects.filter(person=person).first()
    if seat is None:
        return NOTHING
    return WHOLE_DESK if seat.whole_desk else Scope(dict(seat.tenants.values_list("pk", "slug")))
