"""What a crash run tells: kinds and their ends, kills, what clients and ledger counted, and the zeros."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.crash.flows import MIX
from tests.crash.judging import EXACT, Fault
from tests.crash.running import Outcome
from tests.crash.servers import logs

SHOWN: Final = 10
TAIL: Final = 15


def table(outcome: Outcome) -> Iterator[str]:
    plan = outcome.plan
    yield f"{plan.broker}, seed {plan.seed}: {len(outcome.flows)} of {plan.flows} flows in {outcome.seconds:.0f} s"
    for kind in MIX:
        ends = {state: count for (of, state), count in sorted(outcome.states.items()) if of == kind}
        yield f"  {kind:24}" + "  ".join(f"{state} {count}" for state, count in ends.items())
    yield "  kills: " + ", ".join(f"{name} {count}" for name, count in sorted(outcome.kills.items()))
    if outcome.ended:
        yield "  ended by themselves: " + ", ".join(f"{name} {count}" for name, count in sorted(outcome.ended.items()))
    statuses = ", ".join(f"{status} × {count}" for status, count in sorted(outcome.tally.statuses.items()))
    yield f"  {outcome.tally.calls} calls: {statuses}; connections broken: {sum(outcome.tally.broken.values())}"
    seen = sum((flow.seen for flow in outcome.flows), Counter[str]())
    yield "  acknowledged / on the ledger: " + ", ".join(
        f"{event} {seen[event]}/{outcome.written[event]}" for event in EXACT
    )
    yield f"  expired by the sweep or on sight: {outcome.written['deadline']}; untold: {outcome.verdict.untold}"
    for fault in Fault:
        yield f"  {len(outcome.verdict.faults[fault])} {fault}"


def complaints(outcome: Outcome, folder: Path) -> Iterator[str]:
    """What was found, the errors in the desk's logs by kind, and the end of each log."""
    for fault, places in outcome.verdict.faults.items():
        for place in places[:SHOWN]:
            yield f"{fault}: {place}"
    for error, count in errors(folder).most_common():
        yield f"logged {count} ×: {error}"
    for log in logs(folder):
        yield f"--- {log.name}"
        yield from log.read_text(errors="replace").splitlines()[-TAIL:]


def errors(folder: Path) -> Counter[str]:
    """The desk's own log lines of level ERROR and above, by event, exceptions and the place that raised them."""
    found: Counter[str] = Counter()
    for log in logs(folder):
        for text in log.read_text(errors="replace").splitlines():
            try:
                line = json.loads(text)
            except ValueError:
                continue
            if isinstance(line, dict) and line.get("level") in ("ERROR", "CRITICAL"):
                chain = [f"{one['class']} at {one['frames'][-1:]}" for one in line.get("error", [])]
                found[f"{log.stem} {line.get('event')} {line.get('route', '')} {' < '.join(chain)}"] += 1
    return found
