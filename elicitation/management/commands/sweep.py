"""``manage.py sweep``: run a scheduled task now."""

from __future__ import annotations

from argparse import ArgumentParser, RawDescriptionHelpFormatter
from typing import Any

from elicitation.management.base import DeskCommand
from elicitation.services.sweeps.registry import SWEEPS


class Command(DeskCommand):
    help = (
        "Run a sweep, or all of them, until nothing is due; with --once, one bounded pass each.\n\n"
        "Example: manage.py sweep expire --once\n\n"
        "Exit codes: 0 done, 2 could not run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("name", nargs="?", choices=sorted(SWEEPS), help="which sweep (default: all)")
        parser.add_argument(
            "--once", action="store_true", help="one pass, as the schedule does it, instead of all that is due"
        )

    def handle(self, *args: Any, name: str | None, once: bool, **options: Any) -> None:
        for each in [name] if name else sorted(SWEEPS):
            total = 0
            while moved := SWEEPS[each]():
                total += moved
                if once:
                    break
                self.note(f"{each}: {total} so far")
            self.stdout.write(f"{each}: {total}")
