"""Evidence of outside work as it comes in: judged in the policy's order, kept when money may have moved."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction

from elicitation.models import Elicitation, Provider, Service
from elicitation.policy import evidence as rules
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome, Reach
from elicitation.services import actors, clock, lookup, refusals
from elicitation.services.actors import Actor
from elicitation.services.judging import Claim, carry_out, examine
from elicitation.services.move import expire_if_due, settled


@dataclass(frozen=True, slots=True)
class Received:
    """``entry`` is ``None`` for whoever may not know it; ``afterwards`` is written once the caller has its reply.
    ``outcome`` is an evidence outcome, or what became of another word of the provider's."""

    outcome: str
    entry: Elicitation | None
    now: datetime
    afterwards: Trespass | None = None


@dataclass(frozen=True, slots=True)
class Trespass:
    """A caller named an entry that is not its own. The owner's log gets it; the caller learns nothing, in no time."""

    entry: Elicitation
    by: Actor
    outcome: EvidenceOutcome

    def record(self) -> None:
        with transaction.atomic():
            refusals.note(self.entry, self.by, self.outcome, clock.now(), unnamed=True)


def receive(caller: Service | Provider, uid: UUID | None, claim: Claim, source: EvidenceSource) -> Received:
    """Judge ``claim`` about the entry ``uid`` and do what follows. Raises ``Contended``."""
    by = actors.service(caller) if isinstance(caller, Service) else actors.provider(caller)

    def attempt() -> Received:
        entry, reach = (None, Reach.ABSENT) if uid is None else lookup.reach(uid, caller)
        now = clock.now()
        if entry is None or reach is not Reach.OWN:
            return Received(EvidenceOutcome.UNKNOWN_IGNORED, None, now, trespass_of(entry, reach, by))
        expire_if_due(entry, actors.SCHEDULER, now)
        judged = examine(entry, caller, claim, source, now)
        carry_out(entry, by, judged, now)
        return Received(judged.outcome, entry, now)

    return settled(attempt)


def trespass_of(entry: Elicitation | None, reach: Reach, by: Actor) -> Trespass | None:
    """What the owner's log is to learn of a caller that named an entry which is not its own."""
    outcome = rules.out_of_reach(reach)
    return None if entry is None or outcome is None else Trespass(entry, by, outcome)
