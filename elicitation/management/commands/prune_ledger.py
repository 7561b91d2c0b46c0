"""``manage.py prune_ledger``: remove what a tenant's log begins with, once it is sealed, exported and not held."""

from __future__ import annotations

from argparse import RawDescriptionHelpFormatter
from datetime import UTC, datetime
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from audit import retention
from audit.models import Log
from audit.retention import Bound, Limit, NotDone, Plan
from audit.retention_role import NotSetUp
from elicitation.management.base import DeskCommand
from elicitation.services import actors, exports
from elicitation.services.exports import TooMany
from elicitation.services.retention import OBSTACLES, carry_out, export_whole, order

BOUNDS: Final[dict[Limit, str]] = {
    Limit.ASKED: "leaf {leaf}: what you asked for",
    Limit.HOLD_OF_LOG: "leaf {leaf}: the whole log is under a legal hold",
    Limit.HOLD: "leaf {leaf}: the first one under a legal hold",
    Limit.EXPORT: "leaf {leaf}: so far reaches the last export of the whole log as JSON Lines that the desk keeps "
    "(--export makes one)",
    Limit.WITNESS: "leaf {leaf}: so far the witness has seen the log",
}


class Command(DeskCommand):
    help = (
        "Remove the first entries of a tenant's log, in whole blocks of 256: sealed, held in full by a verified "
        "export of the whole log as JSON Lines, seen by the witness where there is one, and never past a legal hold. "
        "The prune itself is an entry of what survives. Keep the export's file: it is the only copy afterwards. "
        "Only an export that the desk keeps counts, as --export makes it, or the API.\n\n"
        "A prune that was interrupted is carried out first; without --upto or --before nothing else is done.\n\n"
        "Example: manage.py prune_ledger acme --before 2026-01-01 --export\n\n"
        "Exit codes: 0 pruned, or shown what would be; 1 nothing could be pruned; 2 could not run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("tenant")
        upto = parser.add_mutually_exclusive_group()
        upto.add_argument("--upto", type=int, metavar="N", help="the first leaf that stays")
        upto.add_argument("--before", metavar="DATE", help="what was sealed before this day (UTC), such as 2026-01-01")
        parser.add_argument("--export", action="store_true", help="first make the export that has to hold what goes")
        parser.add_argument("--dry-run", action="store_true", help="show what would go and what bounds it")

    def handle(self, *args: Any, **options: Any) -> None:
        log = Log.objects.filter(tenant=options["tenant"]).first()
        if log is None:
            raise CommandError("This tenant has no log: nothing of it was ever sealed.", returncode=2)
        asked = self._asked(log, options)
        if asked is None and (options["export"] or (options["dry_run"] and retention.unfinished(log) is None)):
            raise CommandError("Say up to where, by --upto or --before.", returncode=2)
        if options["dry_run"] and options["export"]:
            raise CommandError("--dry-run makes no export: leave one of the two out.", returncode=2)
        try:
            if options["dry_run"]:
                self._show(log, asked)
                return
            self._finish(log)
            if options["export"]:
                self.note("Exporting the whole log.")
                export_whole(log, actors.shell())
            if asked is not None:
                self._prune(retention.plan(self._again(log), asked))
        except NotDone as refusal:
            raise CommandError(OBSTACLES[refusal.obstacle], returncode=1) from None
        except NotSetUp as problem:
            raise CommandError(str(problem), returncode=2) from None
        except TooMany:
            raise CommandError("Too many exports of this log are unfinished or kept.", returncode=1) from None

    def _asked(self, log: Log, options: dict[str, Any]) -> int | None:
        if options["before"] is not None:
            try:
                day = datetime.fromisoformat(options["before"])
                day = day.astimezone(UTC) if day.tzinfo else day.replace(tzinfo=UTC)
            except (ValueError, OverflowError):
                raise CommandError("--before takes a day such as 2026-01-01.", returncode=2) from None
            return retention.size_before(log, day)
        upto: int | None = options["upto"]
        if upto is not None and upto < 0:
            raise CommandError("--upto takes the number of a leaf.", returncode=2)
        return upto

    def _show(self, log: Log, asked: int | None) -> None:
        left = retention.unfinished(log)
        if left is not None:
            self.stdout.write(f"not finished: a prune of the leaves before {left.upto}")
        if asked is not None:
            self._tell(retention.plan(log, asked))

    def _tell(self, plan: Plan) -> None:
        if plan.count:
            self.stdout.write(f"would go: leaves {plan.log.pruned} to {plan.upto - 1}, {plan.count} entries")
        else:
            self.stdout.write("would go: nothing")
        for bound in plan.bounds:
            self.stdout.write(f"  {_words(bound)}")
        self.stdout.write(f"  in whole blocks of 256; leaves before {plan.log.pruned} are pruned already")

    def _finish(self, log: Log) -> None:
        prune = retention.unfinished(log)
        if prune is not None:
            self.note(f"Carrying out a prune of the leaves before {prune.upto} that was not finished.")
            self.stdout.write(f"pruned: {carry_out(prune, self._progress)} more, up to leaf {prune.upto}")

    def _prune(self, plan: Plan) -> None:
        if not plan.count:
            self._tell(plan)
        prune = order(plan, actors.shell())
        removed = carry_out(prune, self._progress)
        self.stdout.write(f"pruned: {removed} entries, up to leaf {prune.upto}, by prune {prune.uid}")
        self.stdout.write(f"keep: {exports.path_of(prune.export)}")

    def _progress(self, removed: int) -> None:
        self.note(f"{removed} removed so far")

    def _again(self, log: Log) -> Log:
        log.refresh_from_db()
        return log


def _words(bound: Bound) -> str:
    return BOUNDS[bound.limit].format(leaf=bound.leaf)
