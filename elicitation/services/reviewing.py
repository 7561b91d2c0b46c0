"""What an operator does about a signal: looks at it, and resolves it with a reason, on the record."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

from django.db import transaction

from audit import signals
from audit.ledger import Entry, append
from audit.models import Signal
from audit.signals import Reviewed, Seen
from elicitation.services import clock
from elicitation.services.actors import Actor
from elicitation.services.signal_words import Kind, subject


class ResolveReason(StrEnum):
    """Why a signal is resolved. ``OTHER`` needs a note."""

    HANDLED = "handled"
    FALSE_ALARM = "false_alarm"
    DUPLICATE = "duplicate"
    OTHER = "other"


RESOLVE_REASONS: Final[dict[ResolveReason, str]] = {
    ResolveReason.HANDLED: "what it told of is dealt with",
    ResolveReason.FALSE_ALARM: "a false alarm",
    ResolveReason.DUPLICATE: "another signal tells of the same",
    ResolveReason.OTHER: "another reason, in the operator's note",
}


def acknowledge(signal: Signal, by: Actor) -> Reviewed:
    """Somebody looks at an open signal. It goes on counting, and waits to be resolved."""
    now = clock.now()
    with transaction.atomic():
        outcome = signals.acknowledge(signal.pk)
        if outcome is Reviewed.DONE:
            append(now, _record(signal, by, "signal_acknowledged"))
    return outcome


def resolve(signal: Signal, by: Actor, reason: ResolveReason, seen: Seen) -> Reviewed:
    """Nothing is left to do about a signal, as it was ``seen``. It stays; what happens later opens another one."""
    now = clock.now()
    with transaction.atomic():
        outcome = signals.resolve(signal.pk, seen)
        if outcome is Reviewed.DONE:
            append(now, _record(signal, by, "signal_resolved", reason))
    return outcome


def _record(signal: Signal, by: Actor, event: str, reason: str = "") -> Entry:
    """With the count of this moment, which nobody else can change before the transaction ends."""
    return Entry(
        tenant=signal.tenant,
        event=event,
        actor_kind=by.kind,
        actor_id=by.id,
        role=by.role,
        rule=f"signal.{signal.rule}",
        rule_source="operator",
        reason_code=reason,
        repeat_count=Signal.objects.values_list("count", flat=True).get(pk=signal.pk),
        **_about(signal),
    )


def _about(signal: Signal) -> Mapping[str, Any]:
    """What the signal is about, in the columns that the ledger has for it; a caller of another tenant has none."""
    found, about = subject(signal), signal.about
    match found.kind:
        case Kind.ENTRY:
            return {"elicitation_id": UUID(about)}
        case Kind.PERSON:
            return {"subject": UUID(about)}
        case Kind.CLIENT:
            return {"client_id": found.number}
        case Kind.REVISION:
            return {"policy_revision": found.number}
        case Kind.SERVICE:
            return {"service": about} if found.number is None else {}
        case Kind.PROVIDER:
            return {"provider": about} if found.number is None else {}
        case Kind.SWEEP | Kind.LOG:
            return {}
