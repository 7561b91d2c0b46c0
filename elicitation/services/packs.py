"""Evidence packs on the record: each one that is handed out is an entry of the ledger."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.db import transaction

from audit import packs, seal
from audit.ledger import Entry, append
from audit.models import Log
from audit.packs import NothingToPack
from audit.tree import NotKept
from audit.verify import LARGEST_PACK
from elicitation.services import clock, exports
from elicitation.services.actors import Actor

#: An entry about the elicitation, or one beside it that a proof needs, is not there or is not what was sealed.
NOT_PROVABLE: Final = "The ledger has entries about it, but cannot prove them any more. Verify the log."
TOO_LARGE: Final = "A pack about so many entries would be too large for the verifier. Export the elicitation instead."


class NotMade(Exception):
    """There is something about the elicitation, and no pack of it; says why in a sentence."""


def make(tenant: str, uid: UUID, by: Actor) -> bytes:
    """The evidence pack of the tenant's elicitation, with what has happened so far sealed in it.

    Raises ``NothingToPack``, ``NotMade``, ``ImproperlyConfigured`` without a key.
    """
    exports.seal_all()
    log = Log.objects.filter(tenant=tenant).first()
    if log is None:
        raise NothingToPack
    now = clock.now()
    try:
        made = packs.pack(log, uid, now, seal.keys())
    except (NotKept, ValueError):
        raise NotMade(NOT_PROVABLE) from None
    if len(made) > LARGEST_PACK:
        raise NotMade(TOO_LARGE)
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
