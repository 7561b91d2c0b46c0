"""The judge of a crash run: what the database holds and the ledger tells, against what the clients were told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final
from uuid import UUID

import psycopg

from elicitation.policy import identifiers
from tests.crash.clients import Flow
from tests.crash.flows import MIX

LIVE: Final = frozenset({"ADMITTED", "CONSENT_PENDING", "RETRY_REQUIRED"})
#: Events that happen once for each call that was acknowledged, however often the call was sent.
EXACT: Final = (
    "admit",
    "answer_accept",
    "answer_decline",
    "answer_cancel",
    "lost",
    "evidence",
    "provider_failure",
    "reversal",
    "cancel",
    "consume",
)
#: Events that happen again when the call is sent again.
AT_LEAST: Final = ("retry", "lost")


#: How a call of a careful client may be refused: it came again, or after the end.
EARNED: Final = frozenset({"duplicate_ignored", "held", "expired_denied", "not_pending_denied", "transition_refused"})


class Fault(StrEnum):
    """What must not happen; the first four are what the run is for."""

    LOST = "completions lost"
    TWICE = "results applied twice"
    UNEXPLAINED = "entries that the ledger does not explain"
    OVERDUE = "entries live past their deadline and a sweep"
    ACCUSED = "refusals that nobody has earned"
    MISCOUNTED = "entries whose ledger is not what their client saw"
    WRONG_END = "flows that ended in another state than they may"
    UNANSWERED = "flows with a reply that no client should get"
    BROKEN = "replies with status 500"
    ENDED = "processes of the desk that ended by themselves"


@dataclass(frozen=True, slots=True)
class Row:
    """One entry as the database has it, with how much evidence completed it, came too late, and waits. ``before``: the
    entry that it names as its predecessor."""

    id: UUID
    state: str
    version: int
    late: bool
    used_rows: int
    late_rows: int
    held_rows: int
    overdue: bool
    looked_up: bool
    before: UUID | None


@dataclass(frozen=True, slots=True)
class Line:
    """One entry of the ledger."""

    event: str
    source: str
    target: str
    outcome: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is judged."""

    flows: Sequence[Flow]
    rows: dict[UUID, Row]
    lines: dict[UUID, list[Line]]
    broken: int = 0
    ended: int = 0


@dataclass
class Verdict:
    faults: dict[Fault, list[str]] = field(default_factory=lambda: {fault: [] for fault in Fault})
    #: Entries that were made by a call whose reply never arrived, and expired before it was sent again.
    untold: int = 0

    @property
    def clean(self) -> bool:
        return not any(self.faults.values())

    def found(self, fault: Fault, where: str) -> None:
        self.faults[fault].append(where)


def uid_of(public_id: str) -> UUID | None:
    raw = identifiers.parse(public_id)
    return UUID(bytes=raw) if raw else None


def judge(evidence: Evidence) -> Verdict:
    verdict = Verdict()
    known: dict[UUID, Flow] = {}
    for flow in evidence.flows:
        for problem in flow.problems:
            verdict.found(Fault.UNANSWERED, f"{flow.kind} {flow.id}: {problem}")
        uid = uid_of(flow.id)
        if uid is not None:
            known[uid] = flow
            if uid in evidence.rows:
                _judge_flow(verdict, flow, evidence.rows[uid], evidence.lines[uid])
            else:
                verdict.found(Fault.LOST, f"{flow.kind} {flow.id}: no such entry")
    for uid, row in evidence.rows.items():
        _judge_ledger(verdict, row, evidence.lines[uid])
        if row.overdue:
            verdict.found(Fault.OVERDUE, f"{row.id} {row.state}")
    _judge_untold(verdict, evidence.rows, known)
    verdict.faults[Fault.BROKEN] += ["see the logs"] * evidence.broken
    verdict.faults[Fault.ENDED] += ["see the logs"] * evidence.ended
    return verdict


def _judge_flow(verdict: Verdict, flow: Flow, row: Row, lines: Sequence[Line]) -> None:
    where = f"{flow.kind} {flow.id} {row.state}"
    if row.state not in MIX[flow.kind].ends:
        verdict.found(Fault.WRONG_END, where)
    if flow.told and not _is_kept(flow, row):
        verdict.found(Fault.LOST, where)
    applied = sum(outcome == "applied" for outcome, _, _ in flow.handed)
    references = {reference for _, reference, _ in flow.handed}
    expected = {None} if row.state == "ACCEPTED" else {flow.reference}
    if applied > 1 or not references <= expected:
        verdict.found(Fault.TWICE, f"{where}: {applied} times, {len(references)} references")
    if flow.finished:
        written = Counter(line.event for line in lines)
        # The desk itself suspects a loss where a provider that it asks does not answer.
        counted = [event for event in EXACT if event != "lost" or not row.looked_up]
        exact = all(written[event] == flow.seen[event] for event in counted)
        if not exact or any(written[event] < flow.seen[event] for event in AT_LEAST):
            verdict.found(Fault.MISCOUNTED, f"{where}: saw {dict(flow.seen)}, written {dict(written)}")


def _is_kept(flow: Flow, row: Row) -> bool:
    """Whether the completion that got its 204 is where it belongs: the result, or evidence that waits for people. A
    client that got an answer to everything was handed the result, too."""
    if row.state == "COMPLETE":
        handed = any(reference == flow.reference for _, reference, _ in flow.handed)
        return row.used_rows == 1 and (handed or not flow.finished)
    if row.state in LIVE:
        return row.held_rows == 1
    return row.late and row.late_rows == 1


def _judge_ledger(verdict: Verdict, row: Row, lines: Sequence[Line]) -> None:
    """One unbroken chain from nothing to the present state; what was refused tells of a state that the entry had."""
    told = [line for line in lines if not line.event.startswith("refused")]
    before, visited, unbroken = "", {""}, True
    for line in told:
        unbroken = unbroken and line.source == before
        before = line.target
        visited.add(before)
    unbroken = unbroken and before == row.state and bool(told) and told[0].event == "admit"
    refused = [line for line in lines if line.event.startswith("refused")]
    placed = all(line.source == line.target and line.source in visited for line in refused)
    for line in refused:
        if line.outcome not in EARNED:
            verdict.found(Fault.ACCUSED, f"{row.id} {row.state}: {line.outcome}")
    # One version for each stored event: steps of one move share a moment, and a refusal may have kept something. A
    # provider that says again what it said before is noted on the entry alone.
    least, most = len({line.at for line in told}) - 1, len(lines) - 1
    if not (unbroken and placed and least <= row.version and (row.version <= most or row.looked_up)):
        story = ", ".join(f"{line.event} {line.source}>{line.target}" for line in lines)
        verdict.found(Fault.UNEXPLAINED, f"{row.id} {row.state} version {row.version}: {story}")
    if sum(line.event == "consume" for line in lines) > 1:
        verdict.found(Fault.TWICE, f"{row.id}: on the ledger")


def _judge_untold(verdict: Verdict, rows: dict[UUID, Row], known: dict[UUID, Flow]) -> None:
    """An entry of which no client was told is one that expired, and that its operation's next entry follows."""
    followed = {row.before for row in rows.values()}
    for uid, row in rows.items():
        if uid in known:
            continue
        verdict.untold += 1
        if row.state != "EXPIRED" or uid not in followed:
            verdict.found(Fault.WRONG_END, f"{uid} {row.state}, of which nobody was told")


_ROWS: Final = """
SELECT e.uid, e.state, e.version, e.late_evidence,
       (SELECT count(*) FROM elicitation_evidence v WHERE v.elicitation_id = e.id AND v.status = 'used'),
       (SELECT count(*) FROM elicitation_evidence v WHERE v.elicitation_id = e.id AND v.status = 'late'),
       (SELECT count(*) FROM elicitation_evidence v WHERE v.elicitation_id = e.id AND v.status = 'held'),
       e.deadline IS NOT NULL AND e.deadline < clock_timestamp() - %s * interval '1 second',
       e.looked_up_at IS NOT NULL,
       p.uid
FROM elicitation_elicitation e LEFT JOIN elicitation_elicitation p ON p.id = e.predecessor_id
"""
_LINES: Final = """
SELECT elicitation_id, event, state_from, state_to, outcome, at FROM audit_ledgerentry
WHERE elicitation_id IS NOT NULL ORDER BY id
"""


def gather(url: str, flows: Iterable[Flow], sweep_seconds: float, *, broken: int, ended: int) -> Evidence:
    """Read what is judged, without the desk's code. ``broken`` and ``ended`` are what others have counted."""
    lines: dict[UUID, list[Line]] = defaultdict(list)
    with psycopg.connect(url) as connection:
        rows = {row[0]: Row(*row) for row in connection.execute(_ROWS, [sweep_seconds])}
        for uid, *columns in _all(connection, _LINES):
            lines[uid].append(Line(*columns))
    return Evidence(list(flows), rows, lines, broken, ended)


def _all(connection: psycopg.Connection[tuple[Any, ...]], query: str) -> Iterable[tuple[Any, ...]]:
    return connection.execute(query.encode())


def events_written(evidence: Evidence) -> Counter[str]:
    return Counter(line.event for lines in evidence.lines.values() for line in lines)


def ends(evidence: Evidence) -> Counter[tuple[str, str]]:
    """How many flows of each kind ended in which state; ``none`` for an entry that is not there."""
    found: Counter[tuple[str, str]] = Counter()
    for flow in evidence.flows:
        uid = uid_of(flow.id)
        row = None if uid is None else evidence.rows.get(uid)
        found[flow.kind, row.state if row else "none"] += 1
    return found
