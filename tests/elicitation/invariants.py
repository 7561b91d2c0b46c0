"""What is stored, and what holds of it after every event: written down from the design and not from the code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence
from elicitation.services import clock

LIVE: Final = frozenset({"ADMITTED", "CONSENT_PENDING", "RETRY_REQUIRED"})
WAITING: Final = frozenset({"held", "unbound", "withdrawn"})
#: What became of a piece of evidence stays so; only the provider may still take it back.
SETTLED: Final = {
    "used": {"used"},
    "reversed": {"reversed"},
    "closed": {"closed", "reversed"},
    "conflict": {"conflict", "reversed"},
}
#: Each fact, and the events that alone record it. None of them stands for another.
FACTS: Final = {
    "delivered_at": {"delivered"},
    "shown_at": {"shown"},
    "origin_ended_at": {"call_ended"},
    "answered_at": {"answer_accept", "answer_decline", "answer_cancel", "policy_withdrawn"},
    "consented_at": {"answer_accept"},
    "lost_at": {"lost"},
    "completed_at": {"evidence", "honour_evidence"},
    "reversed_at": {"reversal"},
    "applied_at": {"consume"},
}
#: When to ask a provider is no fact about the entry, and under which key its operation is digested neither.
NO_FACTS: Final = frozenset({"version", "next_lookup_at", "feed_index", "operation_digest"})
#: The ledger gets the answer of a look-up when it is news.
LOOKED_UP: Final = frozenset({"looked_up_at", "lookup_outcome"})


class Line(NamedTuple):
    """One ledger entry about an elicitation."""

    event: str
    source: str
    target: str
    outcome: str


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry: its columns, its evidence by number, its ledger; and the time at which it was read."""

    columns: Mapping[str, Any]
    evidence: Mapping[int, Mapping[str, Any]]
    ledger: tuple[Line, ...]
    at: datetime

    def __getitem__(self, column: str) -> Any:
        return self.columns[column]

    @property
    def overdue(self) -> bool:
        return self["deadline"] is not None and self["deadline"] <= self.at

    @property
    def facts(self) -> Any:
        return {name: value for name, value in self.columns.items() if name not in NO_FACTS}, self.evidence

    def told_since(self, before: Stored) -> tuple[Line, ...]:
        return self.ledger[len(before.ledger) :]


def stored() -> dict[UUID, Stored]:
    """Every entry, as it is now."""
    now = clock.now()
    evidence: dict[int, dict[int, Mapping[str, Any]]] = {}
    for row in Evidence.objects.values():
        evidence.setdefault(row["elicitation_id"], {})[row["id"]] = row
    ledger: dict[UUID | None, list[Line]] = {}
    lines = LedgerEntry.objects.order_by("pk").values_list(
        "elicitation_id", *("event", "state_from", "state_to", "outcome")
    )
    for uid, *line in lines:
        ledger.setdefault(uid, []).append(Line(*line))
    return {
        row["uid"]: Stored(row, evidence.get(row["id"], {}), tuple(ledger.get(row["uid"], ())), now)
        for row in Elicitation.objects.values()
    }


def assert_whole(entry: Stored) -> None:
    """What holds of one entry at any time."""
    _the_ledger_explains(entry)
    _the_deadline_is_the_states(entry)
    statuses = Counter(row["status"] for row in entry.evidence.values())
    waits = any(statuses[each] for each in WAITING)
    assert entry["held_evidence"] == waits, "held evidence is flagged, and only that"
    assert entry["late_evidence"] == bool(statuses["late"]), "late evidence is flagged, and only that"
    assert entry["unresolved"] == _is_unresolved(entry), "a loss that nobody explained waits until somebody closes it"
    assert not waits or entry["state"] in LIVE, "nothing waits for an entry that has ended"
    if entry["state"] == "COMPLETE":
        (used,) = [row for row in entry.evidence.values() if row["status"] == "used"]
        assert entry["result_digest"] == used["result_digest"]
        assert None not in (entry["completed_at"], entry["consent_source"] or None)
        assert not statuses["late"], "what contradicts a completion is no late evidence"
    else:
        assert not statuses["used"] + statuses["conflict"], "without completion nothing was used or contradicted"
        assert (entry["completed_at"], entry["result_digest"], entry["applied_at"]) == (None, None, None)


def _the_ledger_explains(entry: Stored) -> None:
    """The passages form one chain from nothing to the present state, and what has ended is only ever honoured."""
    state = ""
    for event, source, target, _ in entry.ledger:
        if source != target:
            assert source == state, entry.ledger
            assert source in LIVE or (event, target) == ("honour_evidence", "COMPLETE") or not source, entry.ledger
            state = target
    assert state == entry["state"], entry.ledger
    events = Counter(line.event for line in entry.ledger)
    assert events["consume"] == int(entry["applied_at"] is not None), "applied once, and on the record"


def _the_deadline_is_the_states(entry: Stored) -> None:
    deadline, window = entry["deadline"], entry["window_ends_at"]
    match entry["state"]:
        case "ADMITTED" | "CONSENT_PENDING":
            assert deadline == window, "consent does not restart the window"
        case "RETRY_REQUIRED":
            assert deadline > window, "there is time to find proof"
        case _:
            assert deadline is None


def _is_unresolved(entry: Stored) -> bool:
    """Whether it expired while its confirmation was lost, and nothing has settled that since."""
    unresolved = False
    for event, source, target, _ in entry.ledger:
        if (source, target) == ("RETRY_REQUIRED", "EXPIRED"):
            unresolved = True
        elif event == "close" or (source, target) == ("EXPIRED", "COMPLETE"):
            unresolved = False
    return unresolved


def assert_lawful(before: Stored, after: Stored) -> None:
    """What holds of one entry between two moments, if no time was made to pass."""
    told = after.told_since(before)
    events = {line.event for line in told}
    for fact, recorded_by in FACTS.items():
        if before[fact] is not None:
            assert after[fact] == before[fact], f"{fact} is recorded once"
        else:
            assert after[fact] is None or events & recorded_by, f"{fact} is recorded by {recorded_by} alone"
    assert before.evidence.keys() <= after.evidence.keys(), "evidence is never thrown away"
    for number, row in before.evidence.items():
        status = after.evidence[number]["status"]
        assert status in SETTLED.get(row["status"], {status}), f"{row['status']} evidence became {status}"
        assert status != "closed" or row["status"] == "closed" or "close" in events, "only an operator closes"
    if after.facts != before.facts:
        assert after["version"] > before["version"], "whatever is stored counts as a version"
        assert told or _changed(before, after) <= LOOKED_UP, "whatever is stored is on the ledger"
    if before.overdue and told:
        assert told[0].event == "deadline", "what happens after the deadline happens to what is over"
        target = "RETRY_REQUIRED" if before["state"] == "ADMITTED" and before["held_evidence"] else "EXPIRED"
        assert told[0].target == target, "held evidence never ends as expired"


def assert_refused(before: Stored, after: Stored) -> None:
    """What a refused event leaves: its note, and the move of a deadline that had passed."""
    events = [line.event for line in after.told_since(before)]
    assert set(events) <= {"deadline", "refused", "refused_again"}, events
    assert after.facts == before.facts or "deadline" in events


def _changed(before: Stored, after: Stored) -> set[str]:
    assert after.evidence == before.evidence, "evidence that is stored is on the ledger"
    return {name for name in after.columns if after[name] != before[name]} - NO_FACTS
