"""``manage.py policy``: the document in force, and bringing another into force from the machine's shell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from elicitation.policy.document import Document, DocumentError, parse
from elicitation.services import revisions
from elicitation.services.revisions import NotActivated


class Command(BaseCommand):
    help = (
        "Show a policy revision, or bring a document into force. An activation runs the drill first; done alone, from "
        "the machine's shell, it is on the ledger as such and says why.\n\n"
        "Example: python3 manage.py policy show > policy.json, edit it, then "
        'python3 manage.py policy activate policy.json --alone "first destination"'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="print a revision's document")
        show.add_argument("--revision", type=int, metavar="N", help="by default the active one")
        activate = verbs.add_parser("activate", help="bring a document into force as a new revision")
        activate.add_argument("file", help="the document, as `show` prints it")
        activate.add_argument("--alone", required=True, metavar="REASON", help="why nobody else approved it")

    def handle(self, *args: Any, **options: Any) -> None:
        match options["verb"]:
            case "show":
                self._show(options["revision"])
            case "activate":
                self._activate(options["file"], options["alone"].strip())

    def _show(self, number: int | None) -> None:
        policy = revisions.active() if number is None else revisions.numbered(number)
        if policy is None:
            raise CommandError("There is no policy revision with this number.", returncode=2)
        self.stdout.write(json.dumps(policy.document.as_json(), indent=2, ensure_ascii=False))
        self.stderr.write(f"Revision {policy.number}, {policy.digest}.")

    def _activate(self, file: str, reason: str) -> None:
        if not 0 < len(reason) <= 200:
            raise CommandError("Say why in 1 to 200 characters.", returncode=2)
        policy = self._tried(_read(file), reason)
        self.stderr.write(f"Revision {policy.number} is in force, {policy.digest}.")

    def _tried(self, document: Document, reason: str) -> revisions.InForce:
        try:
            return revisions.activate_alone(document, reason)
        except NotActivated as problem:
            raise CommandError(f"Nothing was activated. {problem}", returncode=1) from None


def _read(file: str) -> Document:
    try:
        return parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError):
        raise CommandError("The file cannot be read.", returncode=2) from None
    except DocumentError as problem:
        raise CommandError(f"The document is not valid. {problem}", returncode=2) from None
