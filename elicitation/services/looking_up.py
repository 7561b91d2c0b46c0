"""Looking up single elicitations for somebody who was asked about them: by exact id, within a scope, on the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from audit.ledger import SYSTEM_TENANT, Entry, append
from elicitation.models import Elicitation, Service
from elicitation.services import clock
from elicitation.services.actors import Actor
from elicitation.services.lookup import RELATED
from elicitation.services.scoping import Scope


def look_up(ours: Sequence[UUID], wire: Sequence[str], scope: Scope, by: Actor) -> list[Elicitation]:
    """The entries within ``scope`` with these ids of the desk, and these of its services; newest first.

    Each that was found is told in its tenant's log; that nothing was, in the desk's own, without what was asked for.
    Foreign and absent are the same.
    """
    services = list(scope.rows(Service).values_list("pk", flat=True))
    wanted = Q(uid__in=ours) | Q(service__in=services, wire_id__in=wire)
    rows = scope.rows(Elicitation).filter(wanted).select_related(*RELATED, "predecessor").order_by("-pk")
    with transaction.atomic():
        found = list(rows) if ours or wire else []
        told = [_entry(row.tenant.slug, by, row.uid) for row in found]
        append(clock.now(), *(told or [_entry(SYSTEM_TENANT, by)]))
    return found


def _entry(tenant: str, by: Actor, uid: UUID | None = None) -> Entry:
    return Entry(
        tenant=tenant,
        event="looked_up",
        elicitation_id=uid,
        outcome="" if uid else "unknown",
        actor_kind=by.kind,
        actor_id=by.id,
        role=by.role,
    )
