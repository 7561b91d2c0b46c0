"""Legal holds and prunes on the record: asked for by a person, with a reason, and carried out to the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.db import connection, transaction

from audit import retention, retention_role
from audit.ledger import Entry, append
from audit.models import Export, LegalHold, Log, Prune
from audit.retention import NotDone, Obstacle, Plan
from audit.verify import Format
from elicitation.services import clock, exports
from elicitation.services.actors import Actor

PRUNE_REASON: Final = "retention"
#: Seconds of one slice of an export, and until it is looked after again while somebody else has it.
_SLICE: Final = 30.0
_PAUSE: Final = 0.5


class HoldReason(StrEnum):
    """Why something is held. ``OTHER`` needs a note."""

    LEGAL = "legal"
    SECURITY = "security"
    OTHER = "other"


class LiftReason(StrEnum):
    """Why a hold is lifted. ``OTHER`` needs a note."""

    HANDLED = "handled"
    DUPLICATE = "duplicate"
    OTHER = "other"


HOLD_REASONS: Final[dict[HoldReason, str]] = {
    HoldReason.LEGAL: "the law, or a proceeding, asks for it",
    HoldReason.SECURITY: "a security concern is looked into",
    HoldReason.OTHER: "another reason, in the note",
}
LIFT_REASONS: Final[dict[LiftReason, str]] = {
    LiftReason.HANDLED: "what it was placed for is over",
    LiftReason.DUPLICATE: "another hold keeps the same",
    LiftReason.OTHER: "another reason, in the note",
}
#: Why nothing was done, for people.
OBSTACLES: Final[dict[Obstacle, str]] = {
    Obstacle.NOTHING: "Nothing can be pruned within these bounds.",
    Obstacle.EXPORT_GONE: "The file of the export cannot be read. Put it back; or, when nothing is ordered yet, export "
    "the whole log as JSON Lines again.",
    Obstacle.EXPORT_NOT_VERIFIED: "The file of the export does not verify, so nothing is pruned. Look into why, and "
    "put back what was exported; or, when nothing is ordered yet, export the whole log as JSON Lines again.",
    Obstacle.EXPORT_RUNNING: "An export of this log is under way. Prune when it is ready.",
    Obstacle.EXPORT_STOPPED: "The export that has to hold what goes did not come to its end; its page in the admin "
    "says why. Nothing was pruned.",
    Obstacle.PRUNE_RUNNING: "Another prune of this log is not finished yet.",
    Obstacle.CHANGED: "What bounds the prune has changed meanwhile. Look again.",
    Obstacle.NOT_TOLD: "The prune is on the ledger, and not sealed yet. Run the command again when it is.",
    Obstacle.NOT_THERE: "Leaves that were to go are not there, so nothing more goes. Verify the log.",
    Obstacle.HELD: "A legal hold was placed meanwhile. What it keeps stays until it is lifted; then run the command "
    "again.",
    Obstacle.HELD_ALREADY: "The same is held already.",
    Obstacle.NO_ENTRY: "The ledger of this tenant has no entry about this elicitation, or not any more.",
    Obstacle.LIFTED_ALREADY: "It was lifted already.",
}


def place_hold(log: Log, elicitation_id: UUID | None, by: Actor, reason: HoldReason) -> LegalHold:
    """Keep the entries of an elicitation, or without one the whole log, from being pruned. Raises ``NotDone``."""
    with transaction.atomic():
        now = clock.now()
        hold = retention.place_hold(log, elicitation_id, now)
        append(now, _record(hold, by, "hold_placed", reason))
    return hold


def lift_hold(hold: LegalHold, by: Actor, reason: LiftReason) -> None:
    """Let what was held be pruned again, in some later prune. Raises ``NotDone``."""
    with transaction.atomic():
        now = clock.now()
        retention.lift_hold(hold, now)
        append(now, _record(hold, by, "hold_lifted", reason))


def export_whole(log: Log, by: Actor) -> Export:
    """Have the whole log exported as JSON Lines, to a file that the desk keeps: what an order asks for.

    Raises ``NotDone``, and what ``exports.ask`` raises.
    """
    exports.seal_all()
    export = exports.ask(log, exports.Wanted(Format.JSONL), by)
    while export.status in (Export.Status.WAITING, Export.Status.RUNNING):
        if not exports.carry_on(_SLICE):
            time.sleep(_PAUSE)  # a worker has it
        export.refresh_from_db()
    if export.status != Export.Status.READY:
        raise NotDone(Obstacle.EXPORT_STOPPED)
    return export


def order(plan: Plan, by: Actor) -> Prune:
    """Order what was planned, once the file of its export was verified. Raises ``NotDone``, ``NotSetUp``."""
    if plan.export is None or not plan.count:
        raise NotDone(Obstacle.NOTHING)
    retention_role.set_up(connection)
    retention.check_export(plan.export, exports.path_of(plan.export))
    with transaction.atomic():
        now = clock.now()
        prune = retention.order(plan, now)
        append(
            now,
            Entry(
                tenant=plan.log.tenant,
                event="pruned",
                related_id=prune.uid,
                repeat_count=prune.upto,
                reason_code=PRUNE_REASON,
                actor_kind=by.kind,
                actor_id=by.id,
                role=by.role,
            ),
        )
    return prune


def carry_out(prune: Prune, progress: Callable[[int], None] = lambda _: None) -> int:
    """Remove what was ordered to go, once the order's entry is sealed and the file of its export was verified again;
    what an interruption left is taken up again.

    ``progress`` is told how many leaves this call has removed so far. Returns how many it removed in all. Raises
    ``NotDone``, ``NotSetUp``.
    """
    retention_role.set_up(connection)
    if not retention.is_told(prune):
        exports.seal_all()
    retention.check_export(prune.export, exports.path_of(prune.export))
    removed = 0
    while gone := retention.carry_on(prune, clock.now()):
        removed += gone
        progress(removed)
    return removed


def _record(hold: LegalHold, by: Actor, event: str, reason: str) -> Entry:
    return Entry(
        tenant=hold.log.tenant,
        event=event,
        related_id=hold.uid,
        elicitation_id=hold.elicitation_id,
        reason_code=reason,
        actor_kind=by.kind,
        actor_id=by.id,
        role=by.role,
    )
