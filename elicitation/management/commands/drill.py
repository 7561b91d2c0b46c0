"""``manage.py drill``: runs cases against a policy revision and writes each to the ledger."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from elicitation.drill.runner import CaseError, Report, load_cases
from elicitation.services import drills, revisions


class Command(BaseCommand):
    help = (
        "Run the 28 cases of the drill, or a file of cases, against a policy revision. Each case is an entry of the "
        "ledger. Exit code 1 when a case does not match.\n\nExample: python3 manage.py drill --policy 1 --format json"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--policy", type=int, metavar="N", help="the revision's number; by default the active one")
        parser.add_argument("--cases", metavar="FILE", help="a policy's own cases, run without the drill's overlay")
        parser.add_argument("--format", choices=("table", "json"), default="table")

    def handle(self, *args: Any, **options: Any) -> None:
        policy = revisions.active() if options["policy"] is None else revisions.numbered(options["policy"])
        if policy is None:
            raise CommandError("There is no policy revision with this number.", returncode=2)
        try:
            fixture = load_cases(options["cases"])
        except CaseError as problem:
            raise CommandError(f"The cases cannot be run: {problem}.", returncode=2) from None
        report = drills.run_and_record(policy, fixture, overlay=options["cases"] is None)
        if options["format"] == "json":
            self.stdout.write(json.dumps(report.as_json(), indent=2))
        else:
            self._table(report)
        if not report.passed:
            raise SystemExit(1)

    def _table(self, report: Report) -> None:
        for case in report.cases:
            verdict = "ok" if case.match else "NOT AS EXPECTED"
            self.stdout.write(f"{case.case_id:32} {case.mode:5} {case.expected:16} {case.actual:16} {verdict}")
        self.stdout.write(
            f"{report.matched} of {len(report.cases)} match under policy revision {report.policy_revision}"
            + (f", with {', '.join(report.overlaid)} laid over it." if report.overlaid else ".")
        )
