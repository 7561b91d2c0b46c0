"""``manage.py evidence_pack``: all entries about one elicitation, with the proofs that they are in the log."""

from __future__ import annotations

import os
from argparse import RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from audit.packs import NothingToPack
from elicitation.management.base import DeskCommand
from elicitation.policy import identifiers
from elicitation.services import actors, packs
from elicitation.services.answering import tenant_of


class Command(DeskCommand):
    help = (
        "Write the evidence pack of one elicitation: its entries, each with its proof under the newest checkpoint. "
        "Anybody verifies it without the desk, with verify.py and the log's public key. The pack itself is an entry "
        "on the ledger.\n\n"
        "Example: manage.py evidence_pack elc_… --output pack.json\n\n"
        "Exit codes: 0 written, 1 the ledger has nothing about it or cannot prove it, 2 could not run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("id", help="the elicitation, elc_…")
        parser.add_argument("--output", type=Path, metavar="FILE", help="a new file (default: standard output)")

    def handle(self, *args: Any, **options: Any) -> None:
        raw = identifiers.parse(options["id"])
        if raw is None:
            raise CommandError("This is not an id of the desk, elc_ and 26 characters.", returncode=2)
        output: Path | None = options["output"]
        if output is not None and output.exists():
            raise CommandError(f"{output} is there already; name a new file.", returncode=2)
        uid = UUID(bytes=raw)
        try:
            made = packs.make(tenant_of(uid) or "", uid, actors.shell())
        except NothingToPack:
            raise CommandError("The ledger has no entry about this elicitation.", returncode=1) from None
        except packs.NotMade as problem:
            raise CommandError(str(problem), returncode=1) from None
        if output is None:
            self.stdout.write(made.decode(), ending="")
            return
        try:
            with os.fdopen(os.open(output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(made)
        except OSError as error:
            raise CommandError(f"{output}: {error.strerror or 'cannot be written'}", returncode=2) from None
        self.note(f"Verify it with: python verify.py {output} --key KEYFILE")
