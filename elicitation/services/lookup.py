"""Finding an entry for a caller: foreign and absent are never told apart."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from elicitation.models import Elicitation, Provider, Service
from elicitation.policy.evidence import Reach as Reach
from elicitation.services import actors, clock, parties
from elicitation.services.move import Refusal, expire_if_due

#: Columns that every ledger entry about an elicitation reads.
RELATED: Final = ("tenant", "service__tenant", "provider", "client", "subject", "revision", "decision")


class Unknown(Refusal):
    """No such entry for this caller. Absent, a sibling's, another tenant's, another person's: all the same."""


@dataclass(frozen=True, slots=True)
class Person:
    """(issuer, subject) as the service learned it from the MCP authorization."""

    iss: str
    sub: str


def own(service: Service, uid: UUID) -> Elicitation:
    """The service's own entry. Raises ``Unknown``."""
    entry = Elicitation.objects.select_related(*RELATED).filter(uid=uid, service=service).first()
    if entry is None:
        raise Unknown
    return entry


def own_of(service: Service, uid: UUID, person: Person) -> Elicitation:
    """The service's own entry about this person. Raises ``Unknown``."""
    entry = own(service, uid)
    if not is_persons(entry, person):
        raise Unknown
    return entry


def present(service: Service, uid: UUID, person: Person) -> tuple[Elicitation, datetime]:
    """:func:`own_of` with the deadline's move made when it was due, and the time. Raises ``Unknown``, ``Superseded``.

    To be called in the transaction of the event.
    """
    entry, now = own_of(service, uid, person), clock.now()
    expire_if_due(entry, actors.SCHEDULER, now)
    return entry, now


def is_persons(entry: Elicitation, person: Person) -> bool:
    return parties.is_subject(entry.subject, entry.tenant, person.iss, person.sub)


def reach(uid: UUID, caller: Service | Provider) -> tuple[Elicitation | None, Reach]:
    """The entry, whoever's it is, and whether the caller may know it. For evidence alone."""
    entry = Elicitation.objects.select_related(*RELATED).filter(uid=uid).first()
    if entry is None:
        return None, Reach.ABSENT
    if entry.tenant_id != caller.tenant_id:
        return entry, Reach.WRONG_TENANT
    if isinstance(caller, Service) and entry.service_id != caller.pk:
        return entry, Reach.SIBLING_SERVICE
    return entry, Reach.OWN
