"""``manage.py export_ledger``: a tenant's ledger into a file that verifies without the desk."""

from __future__ import annotations

from argparse import ArgumentTypeError
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.core.management.base import CommandError, CommandParser

from audit.exporting.content import Pruned
from audit.exporting.file import Taken, part_of
from audit.exporting.selection import Selection
from audit.models import Export
from audit.tree import NotKept
from audit.verify import Format
from audit.vocabulary import EVENTS
from elicitation.management.base import DeskCommand
from elicitation.policy import identifiers
from elicitation.services import actors, exports
from elicitation.services.exports import NoSuchCheckpoint, NoSuchElicitation, NothingSealed, PruneNotTold, Wanted

#: Seconds between two lines of progress.
_SLICE: Final = 2.0


class Command(DeskCommand):
    help = (
        "Write a tenant's ledger to a file: sealed first, then whole or a part of it, under a signed checkpoint. It is "
        "FILE.part until it is whole; --resume goes on with one that was interrupted. Verify it anywhere with "
        "`python -m audit.verify FILE --key KEYFILE`.\n\n"
        "Example: python3 manage.py export_ledger acme --format jsonl --output acme.jsonl\n\n"
        "Exit codes: 0 the file is whole, 1 there is nothing to export or the file stopped, 2 could not run."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("tenant")
        parser.add_argument("--format", choices=list(Format), required=True)
        parser.add_argument("--output", metavar="FILE", type=Path, required=True)
        parser.add_argument("--resume", action="store_true", help="go on with FILE.part")
        parser.add_argument("--since", metavar="TIME", type=_time, help="ISO 8601, UTC unless it says otherwise")
        parser.add_argument("--until", metavar="TIME", type=_time, help="up to, and without, this time")
        parser.add_argument("--from-checkpoint", metavar="N", type=_size, help="only what came after this checkpoint")
        parser.add_argument("--to-checkpoint", metavar="N", type=_size, help="up to this checkpoint, not the newest")
        parser.add_argument("--event", choices=sorted(EVENTS), metavar="EVENT", default="")
        parser.add_argument("--elicitation", metavar="ID", type=_elicitation)
        parser.add_argument("--policy-revision", metavar="N", type=_revision)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["output"]
        wanted = _wanted(options)
        if path.exists():
            raise CommandError(f"{path} exists already; nothing is overwritten.", returncode=2)
        if part_of(path).exists() is not options["resume"]:
            sentence = "does not exist" if options["resume"] else "exists; go on with it by --resume, or remove it"
            raise CommandError(f"{part_of(path)} {sentence}.", returncode=2)
        try:
            export = self._export(options["tenant"], wanted, part_of(path) if options["resume"] else None)
            self._write(export, path)
        except NothingSealed:
            raise CommandError(
                "There is no such tenant, or nothing of it is sealed yet: its log has no checkpoint.", returncode=1
            ) from None
        except NoSuchCheckpoint as problem:
            raise CommandError(
                f"--{problem.member}-checkpoint names no checkpoint of this log.", returncode=2
            ) from None
        except PruneNotTold:
            sentence = "What this checkpoint covers was pruned, at least in part, and nothing up to there tells of it."
            raise CommandError(sentence, returncode=2) from None
        except NoSuchElicitation:
            sentence = "The ledger of this tenant has no entry about this elicitation."
            raise CommandError(sentence, returncode=1) from None
        except Taken:
            raise CommandError(f"Another process is writing {part_of(path)}.", returncode=2) from None
        except OSError as error:
            raise CommandError(f"{part_of(path)}: {error.strerror}. {_GO_ON}", returncode=1) from None
        except Pruned:
            raise CommandError(
                "Leaves were pruned meanwhile. Remove the part and export again.", returncode=1
            ) from None
        except NotKept as gap:
            raise CommandError(f"The entry of leaf {gap.leaf} is gone: verify the log.", returncode=1) from None

    def _export(self, tenant: str, wanted: Wanted, part: Path | None) -> Export:
        """The export that ``part`` was begun for, or a new one."""
        if part is not None:
            begun = exports.begun(exports.log_of(tenant), wanted, actors.shell(), part)
            if begun is None:
                sentence = "is not what an export with these options has written. Remove it and export again."
                raise CommandError(f"{part} {sentence}", returncode=2)
            return begun
        exports.seal_all()
        return exports.ask(exports.log_of(tenant), wanted, actors.shell(), streamed=True)

    def _write(self, export: Export, path: Path) -> None:
        whole = False
        while not whole:
            progress = exports.write(export, path, _SLICE)
            whole = progress.whole
            self.note(f"leaf {progress.next_leaf:,} of {export.size:,}, {progress.count:,} entries")
        self.note(f"{path} is whole: {export.log.origin}, checkpoint of size {export.size}.")


_GO_ON: Final = "Once that is mended, --resume goes on with it."


def _wanted(options: dict[str, Any]) -> Wanted:
    selection = Selection(
        since=options["since"],
        until=options["until"],
        from_size=options["from_checkpoint"],
        event=options["event"],
        elicitation_id=options["elicitation"],
        policy_revision=options["policy_revision"],
    )
    return Wanted(Format(options["format"]), selection, options["to_checkpoint"])


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("not a time such as 2026-01-31T12:00:00Z") from None
    try:
        return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except OverflowError:
        raise ArgumentTypeError("not a time that there is in UTC") from None


def _size(text: str) -> int:
    if not text.isdecimal() or len(text) > 18:
        raise ArgumentTypeError("not the size of a checkpoint")
    return int(text)


def _revision(text: str) -> int:
    if not text.isdecimal() or len(text) > 10 or int(text) > exports.LAST_REVISION:
        raise ArgumentTypeError("not the number of a revision")
    return int(text)


def _elicitation(text: str) -> UUID:
    raw = identifiers.parse(text)
    if raw is None:
        raise ArgumentTypeError("not the id of an elicitation")
    return UUID(bytes=raw)
