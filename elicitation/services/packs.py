"""Evidence packs on the record: each one that is handed out is an entry of the ledger."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from audit import packs, seal
from audit.ledger import Entry, append
from audit.models import LedgerEntry, Log
from audit.packs import NothingToPack
from elicitation.services import clock, exports
from elicitation.services.actors import Actor


def tenant_of(uid: UUID) -> str:
    """Whose the elicitation is, by the ledger alone. Raises ``NothingToPack`` when no entry is about it."""
    tenant = LedgerEntry.objects.filter(elicitation_id=uid).order_by("pk").values_list("tenant", flat=True).first()
    if tenant is None:
        raise NothingToPack
    return tenant


def make(tenant: str, uid: UUID, by: Actor) -> bytes:
    """The evidence pack of the tenant's elicitation, with what has happened so far sealed in it.

    Raises ``NothingToPack``, ``ImproperlyConfigured`` without a key.
    """
    exports.seal_all()
    log = Log.objects.filter(tenant=tenant).first()
    if log is None:
        raise NothingToPack
    now = clock.now()
    made = packs.pack(log, uid, now, seal.keys())
    with transaction.atomic():
        append(
            now,
            Entry(
                tenant=tenant,
                event="evidence_packed",
                elicitation_id=uid,
                actor_kind=by.kind,
                actor_id=by.id,
                role=by.role,
            ),
        )
    return made
