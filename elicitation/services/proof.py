"""Using what an outside service confirmed: at most once, judged again by the policy in force, kept sealed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from elicitation.models import Elicitation, Evidence, EvidenceStatus
from elicitation.models.evidence import WAITING
from elicitation.policy import evidence as rules
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.destinations import Binding, Destination
from elicitation.policy.evidence import EvidenceOutcome, ResultMatch, SubjectMatch
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.recheck import standing_destination, withdrawn
from elicitation.services import digests, locks, revisions, sealing
from elicitation.services.actors import Actor
from elicitation.services.move import Step, Superseded, move, standing


def use(entry: Elicitation, by: Actor, row: Evidence, now: datetime, *, before: Step | None = None) -> None:
    """Complete ``entry`` with ``row``, after the step ``before`` in the same move if one is given.

    The caller has judged the evidence. Raises ``Superseded``, ``TransitionRefused``.
    """
    if not Evidence.objects.filter(pk=row.pk).exclude(status=EvidenceStatus.USED).update(status=EvidenceStatus.USED):
        raise Superseded
    consented = bool(entry.consent_source) or (before is not None and "consent_source" in before.changes)
    changes: dict[str, Any] = {
        "completed_at": now,
        "completion_source": row.source,
        "result_ref": row.result_ref,
        "result_digest": row.result_digest,
    }
    if not consented:
        changes["consent_source"] = "evidence_only"
    split = digests.split(row.result_digest)
    record = {
        "outcome": EvidenceOutcome.COMPLETED,
        "completion_source": row.source,
        "consent_source": changes.get("consent_source", ""),
        "related_id": row.uid,
        "result_digest": split.hex,
        "policy_revision": revisions.active().number,
    }
    evidence = Step(event=Event.EVIDENCE, changes=changes, record=record)
    move(entry, by, *((before, evidence) if before else (evidence,)), at=now)


def waiting(entry: Elicitation, state: State, now: datetime) -> tuple[Evidence | None, EvidenceOutcome | None]:
    """Judge the evidence that waits on ``entry`` again, as if it stood in ``state``.

    The row that passes every check with ``completed``; else ``None`` with the outcome of the last one that does not;
    ``(None, None)`` when nothing waits.
    """
    policy = revisions.active()
    place = standing(entry)
    destination = standing_destination(place, policy.document)
    outcome: EvidenceOutcome | None = None
    for row in Evidence.objects.filter(elicitation=entry, status__in=WAITING).order_by("pk"):
        bound = row.subject_given or (destination is not None and destination.binding is Binding.ASSERTED)
        outcome = rules.check(
            rules.Evidence(
                state=state,
                mode=Mode(entry.mode),
                delivery=Delivery(entry.delivery),
                from_destination=True,  # judged when it came
                subject=SubjectMatch.ABSENT_BOUND if bound else SubjectMatch.ABSENT,
                result=result_match(entry, known_as(entry, row)),
                # In a retry proof is sought: its arrival says nothing. Elsewhere it was in time when it came.
                occurred_at=row.occurred_at or (None if state is State.RETRY_REQUIRED else row.received_at),
                window_ends_at=entry.window_ends_at,
                now=now,
                withdrawn=withdrawn(place, policy.document) is not None,
                page_missing=page_missing(entry, destination),
            )
        )
        if outcome is EvidenceOutcome.COMPLETED:
            return row, outcome
    return None, outcome


def kept(entry: Elicitation) -> dict[str, bool]:
    """The entry's flags, as its evidence has them: a provider that says more may turn one kind into the other."""
    rows = Evidence.objects.filter(elicitation=entry)
    return {
        "held_evidence": rows.filter(status__in=WAITING).exists(),
        "late_evidence": rows.filter(status=EvidenceStatus.LATE).exists(),
    }


def page_missing(entry: Elicitation, destination: Destination | None) -> bool:
    return destination is not None and destination.connect_page and entry.consent_source != "connect_page"


def result_match(entry: Elicitation, known: list[str]) -> ResultMatch:
    if State(entry.state) is State.COMPLETE:
        return ResultMatch.SAME if entry.result_digest in known else ResultMatch.OTHER
    if not entry.result_exclusive:
        return ResultMatch.NEW
    locks.hold(known)
    others = Elicitation.objects.filter(provider=entry.provider, result_digest__in=known, result_exclusive=True)
    others = others.exclude(pk=entry.pk)  # it may have been completed since it was read: that is no other entry
    return ResultMatch.REUSED if others.exists() else ResultMatch.NEW


def result_digests(entry: Elicitation, result_ref: str) -> list[str]:
    """The reference's digest under every live key; a reference is the provider's, whoever reports it."""
    return digests.candidates(digests.RESULT, [entry.provider.slug if entry.provider else "", result_ref])


def known_as(entry: Elicitation, row: Evidence) -> list[str]:
    """Every digest under which the reference of ``row`` may be known: it was kept under the key of its day."""
    if row.result_digest not in (known := result_digests(entry, sealing.unseal(row.result_ref, seal_purpose(entry)))):
        known.append(row.result_digest)
    return known


def seal_purpose(entry: Elicitation) -> str:
    """A stored reference opens for its own entry alone."""
    return f"result:{entry.uid}"
