"""The list of elicitations: its filters, and how each choice of them is read by an index at any size of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.http import HttpRequest

from audit.admin import Choice, choices
from audit.paging import MERGED, Reading
from elicitation.admin.scoped import scope_of
from elicitation.admin.waiting import NAMES, Queue, in_queue
from elicitation.models import Client, Elicitation, Provider, Service, Tenant
from elicitation.policy.decision import Mode, Purpose
from elicitation.policy.lifecycle import LIVE, State
from elicitation.services.scoping import WHOLE_DESK, Scope
from elicitation.templatetags.desk import visible, words

_OPEN: Final = "open"
#: So many services, providers and clients are offered, and whatever is chosen.
_OFFERED: Final = 100
#: Rows are numbered in the order in which they are written, and carry times that differ from it by less than this.
_SKEW: Final = timedelta(minutes=10)
#: Admitted within this time before now, or before it.
AGES: Final[dict[str, tuple[str, timedelta, bool]]] = {
    "hour": ("last hour", timedelta(hours=1), True),
    "day": ("last day", timedelta(days=1), True),
    "week": ("last 7 days", timedelta(days=7), True),
    "older-day": ("more than a day ago", timedelta(days=1), False),
    "older-month": ("more than 30 days ago", timedelta(days=30), False),
}


class QueueFilter(Choice):
    title = "queue"
    parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(queue, NAMES[queue]) for queue in Queue]


class StateFilter(Choice):
    """By the state that a reader is told, which the deadline may have made of the stored one."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(_OPEN, "Open (not ended)"), *((state, words(state)) for state in State)]


class AgeFilter(Choice):
    title = "admitted"
    parameter_name = "age"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(age, name) for age, (name, _, _) in AGES.items()]


class ModeFilter(Choice):
    title = "mode"
    parameter_name = "mode"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(mode, mode) for mode in Mode]


class PurposeFilter(Choice):
    title = "purpose"
    parameter_name = "purpose"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(purpose, words(purpose)) for purpose in Purpose]


class TenantFilter(Choice):
    """Offered where there are several."""

    title = "tenant"
    parameter_name = "tenant"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = list(scope_of(request).rows(Tenant).order_by("slug").values_list("pk", "slug"))
        return [(str(number), slug) for number, slug in rows] if len(rows) > 1 else []


def _offered(rows: QuerySet[Any], asked: str | None, name: Callable[[Any], str]) -> list[tuple[str, str]]:
    """The first of ``rows``, and the one that was ``asked`` for."""
    found = list(rows[:_OFFERED])
    number = int(asked) if asked and asked.isascii() and asked.isdigit() and len(asked) < 19 else None
    if number is not None and all(row.pk != number for row in found):
        found += rows.filter(pk=number)
    return [(str(row.pk), name(row)) for row in found]


class ServiceFilter(Choice):
    title = "service"
    parameter_name = "service"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = scope_of(request).rows(Service).select_related("tenant").order_by("tenant__slug", "slug")
        return _offered(rows, self.value(), str)


class ProviderFilter(Choice):
    title = "provider"
    parameter_name = "provider"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return _offered(scope_of(request).rows(Provider).order_by("slug"), self.value(), str)


class ClientFilter(Choice):
    title = "client (unverified)"
    parameter_name = "client"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        rows = scope_of(request).rows(Client).order_by("name", "version")
        return _offered(rows, self.value(), lambda client: visible(str(client)) or "(unnamed)")


FILTERS: Final = (
    QueueFilter,
    StateFilter,
    AgeFilter,
    TenantFilter,
    ServiceFilter,
    ProviderFilter,
    ClientFilter,
    PurposeFilter,
    ModeFilter,
)


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a person chose; empty where they did not. Numbers are of rows within their scope."""

    queue: str = ""
    state: str = ""
    age: str = ""
    tenant: str = ""
    service: str = ""
    provider: str = ""
    client: str = ""
    purpose: str = ""
    mode: str = ""

    @classmethod
    def of(cls, filters: Sequence[Any]) -> Chosen:
        return cls(**choices(filters))


def reading(chosen: Chosen, scope: Scope, now: datetime, found: QuerySet[Elicitation] | None = None) -> Reading:
    """How the entries within ``scope`` that were ``chosen`` are read.

    ``found`` are the few that a search found: they are held against all choices. Else one choice has an index (the
    queue, else service, provider or client, else tenant with state, else tenant) and the rest is looked for among its
    newest rows.
    """
    if found is not None:
        return Reading([found.filter(_told(chosen.state, now), _aged(chosen.age, now), **_equal(chosen))])
    if chosen.queue:
        few = in_queue(Queue(chosen.queue), scope.rows(Elicitation), scope, now)
        return Reading([few.filter(_told(chosen.state, now), _aged(chosen.age, now), **_equal(chosen))])
    bounds = _bounds(chosen.age, now)
    for party in ("service", "provider", "client"):
        number = getattr(chosen, party)
        if number:
            rows = scope.rows(Elicitation).filter(bounds, Q((party, number)))
            return Reading([rows], _rest(chosen, now, "state", *_PARTIES))
    return _by_tenant(chosen, scope, bounds, now)


_PARTIES: Final = ("tenant", "service", "provider", "client")


def _by_tenant(chosen: Chosen, scope: Scope, bounds: Q, now: datetime) -> Reading:
    tenants: list[int] | None = None
    if chosen.tenant:
        tenants = [int(chosen.tenant)]
    elif scope.tenants is not None or chosen.state:
        tenants = list(scope.rows(Tenant).order_by("pk").values_list("pk", flat=True)[: MERGED + 1])
    states = _branches(chosen.state, now) if chosen.state else [Q()]
    if tenants is None:
        return Reading([scope.rows(Elicitation).filter(bounds)], _rest(chosen, now))
    if len(tenants) * len(states) <= MERGED:
        rows = scope.rows(Elicitation).filter(bounds)
        return Reading([rows.filter(state, tenant=each) for each in tenants for state in states], _rest(chosen, now))
    # Too many to merge: all rows in their order, looked through for whose they are.
    mine = Q() if scope.tenants is None else Q(tenant__in=sorted(scope.tenants))
    rest = _rest(chosen, now, "state", "tenant") or Q()
    return Reading([WHOLE_DESK.rows(Elicitation).filter(bounds)], rest & mine)


def _equal(chosen: Chosen) -> dict[str, str]:
    return {name: getattr(chosen, name) for name in (*_PARTIES, "purpose", "mode") if getattr(chosen, name)}


def _rest(chosen: Chosen, now: datetime, *more: str) -> Q | None:
    """What no index serves: purpose and mode, and of the others those that ``more`` names."""
    rest = Q(*((name, value) for name, value in _equal(chosen).items() if name in (*more, "purpose", "mode")))
    if "state" in more and chosen.state:
        rest &= _told(chosen.state, now)
    return rest or None


def _told(state: str, now: datetime) -> Q:
    """The entries of which a reader is told ``state`` at ``now``."""
    told = Q()
    for branch in _branches(state, now) if state else ():
        told |= branch
    return told


def _branches(state: str, now: datetime) -> list[Q]:
    """:func:`_told` in disjoint parts, each of one stored state."""
    held = Q(state=State.ADMITTED, held_evidence=True, deadline__lte=now)
    if state == _OPEN:
        return [*(Q(state=each, deadline__gt=now) for each in sorted(LIVE)), held]
    wanted = State(state)
    if wanted is State.RETRY_REQUIRED:
        return [Q(state=wanted, deadline__gt=now), held]
    if wanted is State.EXPIRED:
        overdue = Q(state=State.ADMITTED, held_evidence=False, deadline__lte=now)
        others = [Q(state=each, deadline__lte=now) for each in sorted(LIVE - {State.ADMITTED})]
        return [Q(state=wanted), overdue, *others]
    return [Q(state=wanted, deadline__gt=now) if wanted in LIVE else Q(state=wanted)]


def _aged(age: str, now: datetime) -> Q:
    if not age:
        return Q()
    _, span, within = AGES[age]
    return Q(admitted_at__gte=now - span) if within else Q(admitted_at__lt=now - span)


def _bounds(age: str, now: datetime) -> Q:
    """:func:`_aged`, with the numbers that its rows can have: so no index of times is needed."""
    if not age:
        return Q()
    _, span, within = AGES[age]
    cut = now - span
    if within:
        return _aged(age, now) & Q(pk__gte=first_since(cut - _SKEW))
    return _aged(age, now) & Q(pk__lt=first_since(cut + _SKEW))


def first_since(moment: datetime) -> int:
    """The number of the first row that was admitted at ``moment`` or later, as far as numbers follow time; one more
    than the last for none. Some two dozen look-ups by the primary key."""
    rows = WHOLE_DESK.rows(Elicitation)
    ends = rows.order_by("pk").values_list("pk", flat=True)
    low, last = ends.first(), ends.last()
    if low is None or last is None:
        return 0
    high = last + 1
    while low < high:
        middle = (low + high) // 2
        number, at = rows.filter(pk__gte=middle).order_by("pk").values_list("pk", "admitted_at")[0]
        if at >= moment:
            high = middle
        else:
            low = number + 1
    return low
