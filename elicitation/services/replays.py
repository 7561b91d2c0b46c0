"""What a draft would have decided in the last days, and which pending entries it would touch. Reads only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from elicitation.models import Decision, Elicitation
from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass, Mode, Outcome, Purpose, Wire
from elicitation.policy.document import Document
from elicitation.policy.lifecycle import LIVE
from elicitation.policy.recheck import withdrawn
from elicitation.policy.replay import Recorded, ReplayOutcome, replay
from elicitation.services import clock, revisions
from elicitation.services.lookup import RELATED
from elicitation.services.move import standing

BATCH: Final = 2000

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class ChangedVerdict:
    """One decision that the draft would have made otherwise; ``rule`` denied then, or would deny now."""

    decision: UUID
    at: datetime
    tenant: str
    service: str
    purpose: str
    before: str
    after: str
    rule: str


@dataclass(slots=True)
class Replayed:
    """``changed`` lists every changed verdict; ``not_replayable`` counts by the rule that needs what was not kept."""

    total: int = 0
    same: int = 0
    changed: list[ChangedVerdict] = field(default_factory=list)
    not_replayable: Counter[str] = field(default_factory=Counter)

    @property
    def refused(self) -> int:
        return sum(each.after == Outcome.DENY for each in self.changed)

    @property
    def admitted(self) -> int:
        return len(self.changed) - self.refused


@dataclass(frozen=True, slots=True)
class Touched:
    """A pending entry that the draft would no longer admit, and the rule."""

    entry: Elicitation
    rule: Rule


def replay_days(document: Document, days: int, progress: Progress | None = None) -> Replayed:
    """Replay every admission, allowed or denied, of the last ``days``; ``progress`` is told (done, of)."""
    rows = Decision.objects.filter(kind=Decision.Kind.ADMISSION, at__gte=clock.now() - timedelta(days=days)).order_by(
        "pk"
    )
    of, result = rows.count() if progress else 0, Replayed()
    documents: dict[int, Document] = {}
    for row in rows.select_related("service__tenant", "revision").iterator(chunk_size=BATCH):
        before = documents.get(row.revision_id)
        if before is None:
            before = documents[row.revision_id] = revisions.in_force(row.revision).document
        verdict = replay(recorded(row, before), before, document)
        result.total += 1
        if verdict.outcome is ReplayOutcome.NOT_REPLAYABLE:
            result.not_replayable[str(verdict.rule)] += 1
        elif verdict.outcome == row.outcome:
            result.same += 1
        else:
            result.changed.append(_changed(row, str(verdict.outcome), verdict.rule))
        if progress and result.total % BATCH == 0:
            progress(result.total, of)
    if progress:
        progress(result.total, of)
    return result


def touched(document: Document) -> Iterator[Touched]:
    """The pending entries that ``document`` would no longer admit, oldest first: they would end at the answer, or be
    held at completion."""
    rows = Elicitation.objects.filter(state__in=sorted(LIVE)).select_related(*RELATED).order_by("pk")
    for entry in rows.iterator(chunk_size=BATCH):
        rule = withdrawn(standing(entry), document)
        if rule is not None:
            yield Touched(entry, rule)


def recorded(row: Decision, under: Document) -> Recorded:
    """The traits of a decision row; its path prefix is an index into the document that it was decided under."""
    tenant, service = row.service.tenant.slug, row.service.slug
    destination = under.destination_for(row.origin, tenant, service) if row.origin else None
    prefix = destination.paths[row.path_index] if destination is not None and row.path_index is not None else ""
    return Recorded(
        wire=Wire(row.wire),
        purpose=Purpose(row.purpose),
        mode=Mode(row.mode) if row.mode else None,
        mode_asked=row.mode_asked,
        tenant=tenant,
        service=service,
        origin=row.origin,
        path_prefix=prefix,
        parameter_names=tuple(row.parameter_names),
        property_names=tuple(row.property_names),
        keywords=tuple(row.keywords),
        property_count=row.property_count,
        choice_count=row.choice_count,
        text_bytes=row.text_bytes,
        schema_bytes=row.schema_bytes,
        url_length=row.url_length,
        id_class=IdClass(row.id_class),
        asked_window=row.asked_window,
        rules=tuple(Rule(rule) for rule, _ in row.findings),
    )


def _changed(row: Decision, after: str, rule: Rule | None) -> ChangedVerdict:
    return ChangedVerdict(
        decision=row.uid,
        at=row.at,
        tenant=row.service.tenant.slug,
        service=row.service.slug,
        purpose=row.purpose,
        before=row.outcome,
        after=after,
        rule=str(rule) if rule is not None else row.rule,
    )
