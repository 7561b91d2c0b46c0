"""``manage.py policy``: the life of a policy revision, from a draft to its activation."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from getpass import getpass
from pathlib import Path
from typing import Any, Final

from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.management.base import CommandError, CommandParser

from elicitation.drill.runner import CaseError
from elicitation.management.base import DeskCommand
from elicitation.management.policy_text import differences, drill_lines, replay_json, replay_lines, touched_lines
from elicitation.models import PolicyDraft, PolicyRevision
from elicitation.policy.document import Document, DocumentError, parse
from elicitation.services import drafts, replays, revisions
from elicitation.services.drafts import NotPossible
from elicitation.services.revisions import InForce
from elicitation.services.scoping import scope_of

MAX_DAYS: Final = 3650


class Command(DeskCommand):
    help = (
        "Draft, compare, replay, approve and activate policy. A draft is activated when the drill and the policy's own "
        "cases match, by somebody who did not edit it; done alone, from the machine's shell, it is on the ledger as "
        "such, with a signal.\n\n"
        "Example: python3 manage.py policy export > policy.json, edit it, python3 manage.py policy import policy.json, "
        'then python3 manage.py policy activate 1 --alone "first destination"'
    )

    def add_arguments(self, parser: CommandParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        show = verbs.add_parser("show", help="the revisions, the open drafts, or one of them in short")
        show.add_argument("--draft", type=int, metavar="D")
        draft = verbs.add_parser("draft", help="a new draft with the content in force")
        draft.add_argument("title")
        imported = verbs.add_parser("import", help="a new draft from a file, or a draft's new content")
        imported.add_argument("file")
        imported.add_argument("--draft", type=int, metavar="D", help="replace this draft's content")
        imported.add_argument("--title", default="", help="of a new draft; by default the file's name")
        imported.add_argument(
            "--cases", metavar="FILE", help="the policy's own cases; by default they stay as they are"
        )
        export = verbs.add_parser("export", help="print a document, by default the one in force")
        export.add_argument("--draft", type=int, metavar="D")
        export.add_argument("--revision", type=int, metavar="N")
        export.add_argument("--cases", action="store_true", help="its own cases instead")
        diff = verbs.add_parser("diff", help="what a draft changes, its drill, and the pending entries it touches")
        diff.add_argument("draft", type=int)
        replay = verbs.add_parser("replay", help="the last days' decisions under a draft")
        replay.add_argument("draft", type=int)
        replay.add_argument("--days", type=int, default=7)
        for verb in (show, diff, replay):
            verb.add_argument("--format", choices=("table", "json"), default="table")
        approve = verbs.add_parser("approve", help="say yes to a draft that you did not edit; asks for your password")
        activate = verbs.add_parser("activate", help="bring a draft into force as a new revision")
        activate.add_argument("--alone", metavar="REASON", help="why nobody else approved it")
        for verb, needed in ((approve, True), (activate, False)):
            verb.add_argument("draft", type=int)
            verb.add_argument("--as", dest="person", required=needed, metavar="USER", help="who you are")
        discard = verbs.add_parser("discard", help="close a draft without activating it")
        discard.add_argument("draft", type=int)
        rollback = verbs.add_parser("rollback", help="a new draft with the content of an older revision")
        rollback.add_argument("revision", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        verbs: dict[str, Callable[[dict[str, Any]], None]] = {
            "show": self._show,
            "draft": self._draft,
            "import": self._import,
            "export": self._export,
            "diff": self._diff,
            "replay": self._replay,
            "approve": self._approve,
            "activate": self._activate,
            "discard": self._discard,
            "rollback": self._rollback,
        }
        try:
            verbs[options["verb"]](options)
        except NotPossible as problem:
            raise CommandError(f"Nothing was changed. {problem}", returncode=1) from None

    def _show(self, options: dict[str, Any]) -> None:
        if options["draft"] is not None:
            draft = _draft(options["draft"])
            self._print(
                options, [_draft_line(draft)], {"draft": draft.pk, "title": draft.title, "status": draft.status}
            )
            return
        rows = list(PolicyRevision.objects.order_by("number"))
        waiting = list(PolicyDraft.objects.filter(status=PolicyDraft.Status.OPEN).order_by("pk"))
        lines = [
            f"revision {row.number}  {row.status:10}  {row.activated_at:%Y-%m-%d %H:%M}Z  {row.note}" for row in rows
        ]
        lines += [_draft_line(draft) for draft in waiting]
        listed = {
            "revisions": [{"number": row.number, "status": row.status, "digest": row.digest} for row in rows],
            "drafts": [{"draft": draft.pk, "title": draft.title, "digest": draft.digest} for draft in waiting],
        }
        self._print(options, lines, listed)

    def _draft(self, options: dict[str, Any]) -> None:
        present = revisions.active()
        self._begun(drafts.begin(options["title"], present, present.document, present.row.cases, None))

    def _import(self, options: dict[str, Any]) -> None:
        document, number = _document(options["file"]), options["draft"]
        draft = _draft(number) if number is not None else None
        present = revisions.active()
        cases = draft.cases if draft is not None else present.row.cases
        if options["cases"] is not None:
            cases = _cases(options["cases"])
        if draft is None:
            title = options["title"] or Path(options["file"]).name
            self._begun(drafts.begin(title, present, document, cases, None))
        else:
            drafts.edit(draft, document, cases, None)
            self.note(f"Draft {draft.pk} has the new content; its approvals are void.")

    def _export(self, options: dict[str, Any]) -> None:
        row: PolicyDraft | PolicyRevision
        row = _draft(options["draft"]) if options["draft"] is not None else _revision(options["revision"]).row
        text = row.cases if options["cases"] else row.document
        self.stdout.write(json.dumps(json.loads(text), indent=2, ensure_ascii=False))

    def _diff(self, options: dict[str, Any]) -> None:
        draft = _draft(options["draft"])
        document = parse(draft.document)
        drilled = drafts.drilled(document, draft.cases, draft.base.number + 1)
        changes = differences(revisions.active().document, document)
        touched = list(replays.touched(document))
        lines = [*changes.lines, *drill_lines(drilled), *touched_lines(touched)]
        result = {
            "changes": changes.json,
            "drill": drilled.drill.as_json(),
            "own": drilled.own.as_json(),
            "touched": len(touched),
        }
        self._print(options, lines, result)
        if not drilled.passed:
            sys.exit(1)

    def _replay(self, options: dict[str, Any]) -> None:
        if not 1 <= options["days"] <= MAX_DAYS:
            raise CommandError(f"--days is a number from 1 to {MAX_DAYS}.", returncode=2)
        document = parse(_draft(options["draft"]).document)
        replayed = replays.replay_days(document, options["days"], self._progress)
        self._print(options, replay_lines(replayed), replay_json(replayed))

    def _progress(self, done: int, of: int) -> None:
        self.note(f"\r{done} of {of} decisions", ending="\n" if done == of else "")

    def _approve(self, options: dict[str, Any]) -> None:
        draft, person = _draft(options["draft"]), _person(options["person"])
        drafts.approve(draft, draft.digest, person)
        self.note(f"Draft {draft.pk} is approved as it stands now.")

    def _activate(self, options: dict[str, Any]) -> None:
        draft, alone, name = _draft(options["draft"]), options["alone"], options["person"]
        if (alone is None) is (name is None):
            raise CommandError("Say --as USER, or --alone REASON.", returncode=2)
        if alone is not None and not 0 < len(alone.strip()) <= drafts.TITLE_LENGTH:
            raise CommandError(f"Say why in 1 to {drafts.TITLE_LENGTH} characters.", returncode=2)
        person = None if name is None else _person(name)
        policy = drafts.activate(draft, draft.digest, person, alone=(alone or "").strip())
        self.note(f"Revision {policy.number} is in force, {policy.digest}.")

    def _discard(self, options: dict[str, Any]) -> None:
        draft = _draft(options["draft"])
        drafts.discard(draft, draft.digest, None)
        self.note(f"Draft {draft.pk} is discarded.")

    def _rollback(self, options: dict[str, Any]) -> None:
        draft = drafts.roll_back(options["revision"], None)
        if draft is None:
            raise CommandError("There is no policy revision with this number.", returncode=2)
        self._begun(draft)

    def _begun(self, draft: PolicyDraft) -> None:
        self.stdout.write(str(draft.pk))
        self.note(f"Draft {draft.pk} is begun on revision {draft.base.number}.")

    def _print(self, options: dict[str, Any], lines: list[str], value: object) -> None:
        if options["format"] == "json":
            self.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str))
        else:
            self.stdout.write("\n".join(lines))


def _draft_line(draft: PolicyDraft) -> str:
    return f"draft {draft.pk}     {draft.status:10}  {draft.edited_at:%Y-%m-%d %H:%M}Z  {draft.title}"


def _draft(number: int) -> PolicyDraft:
    found = PolicyDraft.objects.select_related("base").filter(pk=number).first()
    if found is None:
        raise CommandError("There is no draft with this number; `policy show` lists them.", returncode=2)
    return found


def _revision(number: int | None) -> InForce:
    found = revisions.active() if number is None else revisions.numbered(number)
    if found is None:
        raise CommandError("There is no policy revision with this number.", returncode=2)
    return found


def _document(file: str) -> Document:
    try:
        return parse(_text(file))
    except DocumentError as problem:
        raise CommandError(f"The document is not valid. {problem}", returncode=2) from None


def _cases(file: str) -> str:
    try:
        return drafts.checked_cases(_text(file))
    except CaseError as problem:
        raise CommandError(f"The cases are not valid. {problem}", returncode=2) from None


def _text(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise CommandError("The file cannot be read.", returncode=2) from None


def _person(name: str) -> User:
    """Somebody who may approve, by password: from the terminal, or the first line of what is piped in."""
    password = getpass(f"Password of {name}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\n")
    person = authenticate(username=name, password=password)
    may = isinstance(person, User) and person.has_perm("elicitation.approve_policydraft")
    if not isinstance(person, User) or not (may and scope_of(person).whole_desk):
        raise CommandError(
            "This person cannot sign in with this password, or may not approve policy. The password is read from the "
            "terminal, or from the first line of standard input.",
            returncode=2,
        )
    return person
