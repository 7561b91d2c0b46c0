"""``manage.py bench``: the figures that the desk promises, measured on this machine."""

from __future__ import annotations

import json
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from dataclasses import asdict
from functools import partial
from typing import Any, Final

from django.core.management.base import CommandError

from elicitation.bench.export import EXPORT_ROWS, export
from elicitation.bench.frame import FEWEST_ROUNDS, Bench, CannotMeasure, Row, measure, readable
from elicitation.bench.policy import policy
from elicitation.bench.replay import replay
from elicitation.bench.seal import seal
from elicitation.bench.start import start
from elicitation.bench.sweep import DUE, ROWS, sweep
from elicitation.bench.verify import VERIFY_ROWS, verify
from elicitation.management.base import DeskCommand

BENCHES: Final[dict[str, Bench]] = {
    "start": start,
    "replay": replay,
    "policy": policy,
    "sweep": sweep,
    "seal": seal,
    "export": export,
    "verify": verify,
}

_SIZES: Final = f"sweep {ROWS:,}, export {EXPORT_ROWS:,}, verify {VERIFY_ROWS:,}"


class Command(DeskCommand):
    help = (
        "Measure each figure beside its peer or its limit: interleaved rounds, medians, a ratio, a goal.\n\n"
        "Example: manage.py bench start --rounds 5 --format json\n"
        "Example: DATABASE_URL=postgres://… manage.py bench sweep --rows 10000000 --due 1000000\n"
        "Example: DATABASE_URL=postgres://… manage.py bench export --rows 10000000\n\n"
        "Exit codes: 0 every goal is met, 1 one is missed, 2 one could not run."
    )
    requires_system_checks = ()  # a bench brings its own desk

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(BENCHES)} (default: all)")
        parser.add_argument("--rounds", type=int, default=FEWEST_ROUNDS, help="rounds, 3 or more (default: 3)")
        parser.add_argument("--rows", type=int, help=f"entries in all (default: {_SIZES})")
        parser.add_argument("--due", type=int, default=DUE, help=f"sweep: entries that are due (default: {DUE:,})")
        parser.add_argument("--format", choices=("table", "json"), default="table")

    def handle(
        self, *args: Any, names: list[str], rounds: int, rows: int | None, due: int, format: str, **options: Any
    ) -> None:
        if rounds < FEWEST_ROUNDS:
            raise CommandError(f"--rounds is {FEWEST_ROUNDS} or more.", returncode=2)
        for name in names:
            if name not in BENCHES:
                raise CommandError(f"There is no such bench; there is {', '.join(BENCHES)}.", returncode=2)
        sized: dict[str, Bench] = {
            "sweep": partial(sweep, rows or ROWS, due, rounds, self.note),
            "seal": partial(seal, self.note),
            "export": partial(export, rows or EXPORT_ROWS, self.note),
            "verify": partial(verify, rows or VERIFY_ROWS, self.note),
        }
        found: list[Row] = []
        left_out: list[str] = []
        for name in names or list(BENCHES):
            try:
                for each in measure(name, sized.get(name, BENCHES[name]), rounds):
                    match each:
                        case Row():
                            found.append(each)
                        case str():
                            self.note(each)
            except CannotMeasure as problem:
                left_out.append(str(problem))
        if format == "json":
            self.stdout.write(json.dumps({"rows": [asdict(row) for row in found]}, indent=2))
        elif found:
            self.stdout.write(_table(found))
        missed = [row for row in found if not row.met]
        if left_out:
            raise CommandError(" ".join(left_out), returncode=2)
        if missed:
            raise CommandError(f"{len(missed)} of {len(found)} goals missed.", returncode=1)


def _table(rows: list[Row]) -> str:
    lines = [f"{'figure':36} {'median':>9}  {'beside':24} {'ratio':>6} {'goal':>7}"]
    for row in rows:
        beside = f"{row.beside} {readable(row.peer_value, row.unit)}"
        measured, goal = readable(row.value, row.unit), f"<= {row.goal:.2f}"
        lines.append(
            f"{f'{row.bench}: {row.figure}':36} {measured:>9}  {beside:24} {row.ratio:6.2f} {goal:>7}"
            f"  {'met' if row.met else 'MISSED'}"
        )
    return "\n".join(lines)
