"""A draft's difference, drill, replay and touched entries as lines for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from elicitation.policy import identifiers
from elicitation.policy.difference import Kind, difference
from elicitation.policy.document import Document
from elicitation.services.drafts import Drilled
from elicitation.services.replays import Replayed, Touched

SHOWN: Final = 50
_SIGN: Final = {Kind.ADDED: "+", Kind.REMOVED: "-", Kind.CHANGED: "~"}


@dataclass(frozen=True, slots=True)
class Differences:
    lines: list[str]
    json: list[dict[str, object]]


def differences(before: Document, after: Document) -> Differences:
    changes = list(difference(before.as_json(), after.as_json()))
    lines = []
    for change in changes:
        values = [_short(value) for value in (change.before, change.after) if value is not None]
        lines.append(f"{_SIGN[change.kind]} {change.at}: {' -> '.join(values)}")
    return Differences(lines or ["The draft says what is in force."], [change.as_json() for change in changes])


def drill_lines(drilled: Drilled) -> list[str]:
    lines = []
    for name, report in (("the drill", drilled.drill), ("the policy's own cases", drilled.own)):
        lines.append(f"{report.matched} of {len(report.cases)} of {name} match.")
        lines += [
            f"  {case.case_id}: expected {case.expected}, is {case.actual}" for case in report.cases if not case.match
        ]
    return lines


def touched_lines(touched: Sequence[Touched]) -> list[str]:
    lines = [f"Pending entries that would no longer be admitted: {len(touched)}."]
    lines += [f"  {identifiers.mint_text(each.entry.uid.bytes)}: {each.rule}" for each in touched[:SHOWN]]
    return lines + (["  ..."] if len(touched) > SHOWN else [])


def replay_lines(replayed: Replayed) -> list[str]:
    unknown = replayed.not_replayable.total()
    lines = [
        f"{replayed.refused} of {replayed.total} would be refused, {replayed.admitted} would be admitted, "
        f"{unknown} cannot be replayed."
    ]
    for each in replayed.changed:
        who = f"{each.at:%Y-%m-%d %H:%M}Z  {each.tenant}/{each.service}  {each.purpose}"
        lines.append(f"  {who}: {each.before} -> {each.after} ({each.rule})")
    lines += [f"  not replayable ({rule}): {count}" for rule, count in sorted(replayed.not_replayable.items())]
    return lines


def replay_json(replayed: Replayed) -> dict[str, object]:
    return {
        "total": replayed.total,
        "same": replayed.same,
        "refused": replayed.refused,
        "admitted": replayed.admitted,
        "not_replayable": dict(replayed.not_replayable),
        "changed": [
            {
                "decision_id": each.decision,
                "at": each.at.isoformat(),
                "service": f"{each.tenant}/{each.service}",
                "purpose": each.purpose,
                "before": each.before,
                "after": each.after,
                "rule": each.rule,
            }
            for each in replayed.changed
        ],
    }


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
