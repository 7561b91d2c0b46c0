"""Is this value in the ledger? Asked by a person, by keyed digest or exact id, within one tenant and on the record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from audit.ledger import Entry, append
from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence, Provider, Subject, Tenant
from elicitation.services import clock, digests, parties
from elicitation.services.actors import Actor
from elicitation.services.lookup import Person

#: So many entries are shown, and so many of a person's elicitations are looked through, the newest of each.
SHOWN: Final = 20
_ELICITATIONS: Final = 200
#: A value is compared with what so many providers of the tenant may have sent.
_PROVIDERS: Final = 200
#: What an entry is related to by the other's own uid: an export, a prune, a hold.
_RELATED: Final = ("exported", "pruned", "hold_placed", "hold_lifted")


@dataclass(frozen=True, slots=True)
class Result:
    """The opaque reference of a provider, as it was sent."""

    reference: str


@dataclass(frozen=True, slots=True)
class Ids:
    """``ours`` are ids of the desk; ``wire`` are looked for among the services' own ids when there are none."""

    ours: tuple[UUID, ...]
    wire: tuple[str, ...] = ()


Value = Person | Result | Ids


@dataclass(frozen=True, slots=True)
class Found:
    """The newest entries with the value, newest first; ``more``: there are more than these."""

    entries: tuple[LedgerEntry, ...]
    more: bool


def ask(tenant: Tenant, value: Value, by: Actor) -> Found:
    """Whether the ledger of ``tenant`` has the value, under any digest key that is live. That it was asked, by whom,
    for what kind of value and with which answer is an entry; the value is none, and is kept nowhere.

    Raises ``ImproperlyConfigured`` without a digest key.
    """
    with transaction.atomic():
        some = [row for rows in _entries(tenant, value) for row in rows.order_by("-pk")[: SHOWN + 1]]
        rows = sorted({row.pk: row for row in some}.values(), key=lambda row: -row.pk)
        append(
            clock.now(),
            Entry(
                tenant=tenant.slug,
                event="value_asked",
                outcome="recorded" if rows else "unknown",
                place=_place(value),
                actor_kind=by.kind,
                actor_id=by.id,
                role=by.role,
            ),
        )
    return Found(tuple(rows[:SHOWN]), len(rows) > SHOWN)


def _entries(tenant: Tenant, value: Value) -> list[QuerySet[LedgerEntry]]:
    """Each by an index of its own: nothing reads the ledger through."""
    mine = LedgerEntry.objects.filter(tenant=tenant.slug)
    match value:
        case Person():
            people = Subject.objects.filter(
                tenant=tenant, digest__in=parties.subject_digests(tenant, value.iss, value.sub)
            )
            handles = dict(people.values_list("pk", "handle"))
            asked = Elicitation.objects.filter(subject__in=list(handles)).order_by("-admitted_at")
            uids = list(asked.values_list("uid", flat=True)[:_ELICITATIONS])
            return [mine.filter(elicitation_id__in=uids, subject__in=list(handles.values()))]
        case Result():
            known = _result_digests(tenant, value.reference)
            return [mine.exclude(result_digest="").filter(result_digest__in=known)]
        case Ids():
            related = mine.filter(event__in=_RELATED, related_id__in=value.ours)
            return [mine.filter(elicitation_id__in=_elicitations(tenant, value)), related]


def _result_digests(tenant: Tenant, reference: str) -> list[str]:
    """Under every live key, as if each provider of the tenant, or none, had sent it."""
    slugs = ["", *Provider.objects.filter(tenant=tenant).order_by("pk").values_list("slug", flat=True)[:_PROVIDERS]]
    known = (each for slug in slugs for each in digests.candidates(digests.RESULT, [slug, reference]))
    return [digests.split(each).hex for each in known]


def _elicitations(tenant: Tenant, ids: Ids) -> set[UUID]:
    """Those that are named by their own id, their decision's, a piece of their evidence's, or their service's own."""
    mine = Elicitation.objects.filter(tenant=tenant)
    if not ids.ours:
        services = list(tenant.services.values_list("pk", flat=True))
        return set(mine.filter(service__in=services, wire_id__in=ids.wire).values_list("uid", flat=True))
    decided = mine.filter(decision__uid__in=ids.ours).values_list("uid", flat=True)
    evidence = Evidence.objects.filter(uid__in=ids.ours, elicitation__tenant=tenant)
    return {*ids.ours, *decided, *evidence.values_list("elicitation__uid", flat=True)}


def _place(value: Value) -> str:
    """What kind of value was asked for, in the ledger's words for places."""
    match value:
        case Person():
            return "/subject"
        case Result():
            return "/result_ref"
        case Ids():
            return "/elicitationId"
