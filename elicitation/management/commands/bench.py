"""``manage.py bench``: the figures that the desk promises, measured on this machine."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandError

from elicitation.bench.frame import FEWEST_ROUNDS, Bench, CannotMeasure, Row, measure, readable
from elicitation.bench.policy import policy
from elicitation.bench.replay import replay
from elicitation.bench.start import start
from elicitation.management.base import DeskCommand

BENCHES: Final[dict[str, Bench]] = {"start": start, "replay": replay, "policy": policy}


class Command(DeskCommand):
    help = (
        "Measure each figure beside its peer or its limit: interleaved rounds, medians, a ratio, a goal.\n\n"
        "Example: manage.py bench start --rounds 5 --format json\n\n"
        "Exit codes: 0 every goal is met, 1 one is missed, 2 could not run."
    )
    requires_system_checks = ()  # a bench brings its own desk

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHES)} (default: all)")
        parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS, help="rounds, 3 or more (default: 3)")
        parser.add_argument("--format", choices=("table", "json"), default="table")

    def handle(self, *args: Any, names: list[str], rounds: int, format: str, **options: Any) -> None:
        if rounds < FEWEST_ROUNDS:
            raise CommandError(f"--rounds is {FEWEST_ROUNDS} or more.", returncode=2)
        for name in names:
            if name not in BENCHES:
                raise CommandError(f"There is no such bench; there is {', '.join(BENCHES)}.", returncode=2)
        rows: list[Row] = []
        for name in names or list(BENCHES):
            try:
                for found in measure(name, BENCHES[name], rounds):
                    match found:
                        case Row():
                            rows.append(found)
                        case str():
                            self.note(found)
            except CannotMeasure as problem:
                raise CommandError(str(problem), returncode=2) from None
        if format == "json":
            self.stdout.write(json.dumps({"rows": [asdict(row) for row in rows]}, indent=2))
        else:
            self.stdout.write(_table(rows))
        missed = [row for row in rows if not row.met]
        if missed:
            raise CommandError(f"{len(missed)} of {len(rows)} goals missed.", returncode=1)


def _table(rows: list[Row]) -> str:
    lines = [f"{'figure':34} {'median':>9}  {'beside':24} {'ratio':>6} {'goal':>7}"]
    for row in rows:
        beside = f"{row.beside} {readable(row.peer_seconds)}"
        goal = f"<= {row.goal:.2f}"
        lines.append(
            f"{f'{row.bench}: {row.figure}':34} {readable(row.seconds):>9}  {beside:24} {row.ratio:6.2f} {goal:>7}"
            f"  {'met' if row.met else 'MISSED'}"
        )
    return "\n".join(lines)
