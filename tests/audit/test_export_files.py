"""Exports as files: whatever interrupts one, it is whole and verifies in the end, or is plainly unfinished."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from audit.exporting import content, file, rows
from audit.exporting.file import Taken, part_of
from audit.exporting.selection import Selection
from audit.models import Export, LedgerEntry, Log
from audit.verify import Format, Verdict, parse_key, verify
from elicitation.models import Heartbeat
from elicitation.services import actors, exports
from elicitation.services.exports import Wanted
from elicitation.services.sweeps.exporting import export as sweep
from tests.audit.exported import keys, seal_everything, sealed

pytestmark = pytest.mark.django_db

FORMATS = list(Format)
COUNT = 700


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    monkeypatch.setattr(rows, "BATCH", 100)
    monkeypatch.setattr(content, "_PIECE", 1)  # a piece for each batch of rows, so that there is much to interrupt
    yield
    file._known.clear()


def asked(log: Log, format_: Format, **selection: Any) -> Export:
    return exports.ask(log, Wanted(format_, Selection(**selection)), exports.auditor(1))


def slice_of(export: Export, *, forgetful: bool = False) -> Export:
    """One pass that has time for one piece alone, in a process of its own when ``forgetful``."""
    if forgetful:
        file._known.clear()
    exports.carry_on(0)
    export.refresh_from_db()
    return export


def verdict(path: Path, log: Log) -> Verdict:
    return verify(path, [parse_key(key) for key in keys(log)]).verdict


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("forgetful", [False, True], ids=["one worker", "another worker each time"])
@pytest.mark.parametrize("selection", [{}, {"event": "shown"}], ids=["whole", "selection"])
def test_an_export_made_in_slices_is_the_one_made_at_once(
    format_: Format, forgetful: bool, selection: dict[str, Any]
) -> None:
    log = sealed(COUNT)
    export = asked(log, format_, **selection)
    slices = 0
    while export.status != Export.Status.READY:
        assert export.status in (Export.Status.WAITING, Export.Status.RUNNING)
        assert not exports.path_of(export).exists()
        slice_of(export, forgetful=forgetful)
        slices += 1
    assert slices > 3
    path = exports.path_of(export)
    assert path.read_bytes() == b"".join(exports.stream(export))
    assert verdict(path, log) is (Verdict.SELECTION if selection else Verdict.VERIFIED)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert not part_of(path).exists()


def test_the_sweep_makes_what_was_asked_for_and_lets_go_of_it_after_a_week() -> None:
    log = sealed(50)
    export = asked(log, Format.CSV)
    assert sweep() == 50
    assert Heartbeat.objects.get(name="export").count == 50
    export.refresh_from_db()
    path = exports.path_of(export)
    assert (export.status, path.exists()) == (Export.Status.READY, True)
    Export.objects.update(finished_at=timezone.now() - timedelta(days=6, hours=23))
    assert sweep() == 0
    Export.objects.update(finished_at=timezone.now() - timedelta(days=7, hours=1))
    assert sweep() == 1
    export.refresh_from_db()
    assert (export.status, path.exists()) == (Export.Status.GONE, False)


@pytest.mark.parametrize("format_", FORMATS)
def test_what_a_dead_worker_wrote_beyond_its_last_word_is_written_anew(format_: Format) -> None:
    log = sealed(COUNT)
    export = slice_of(asked(log, format_))
    with part_of(exports.path_of(export)).open("ab") as part:
        part.write(b'{"index":500,"tenant":"ac')
    while export.status != Export.Status.READY:
        slice_of(export, forgetful=True)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED


def test_a_worker_that_died_is_followed_by_another_once_its_lease_is_over() -> None:
    log = sealed(COUNT)
    export = slice_of(asked(log, Format.JSONL))
    Export.objects.update(lease_until=timezone.now() + timedelta(seconds=60))
    before = export.bytes_done
    assert slice_of(export).bytes_done == before
    Export.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    assert slice_of(export).bytes_done > before


def test_two_workers_never_write_one_file() -> None:
    log = sealed(COUNT)
    export = slice_of(asked(log, Format.JSONL))
    part = part_of(exports.path_of(export))
    with file._opened(part), pytest.raises(Taken):
        file.advance(export, exports.path_of(export), {}, 1)
    Export.objects.update(lease_until=timezone.now() + timedelta(seconds=60))
    export.lease_until = timezone.now()
    exports._keep(export, file.Progress(7, 7, 7, whole=True), Export.Status.READY)
    export.refresh_from_db()
    assert export.status == Export.Status.RUNNING


def test_a_file_that_was_renamed_by_a_worker_that_died_then_becomes_ready() -> None:
    log = sealed(COUNT)
    export = asked(log, Format.OCSF)
    slice_of(export)
    said = Export.objects.filter(pk=export.pk).values("status", "bytes_done", "next_leaf", "count").get()
    while export.status != Export.Status.READY:
        slice_of(export)
    Export.objects.update(**said, finished_at=None)
    file._known.clear()
    exports.carry_on(60)
    export.refresh_from_db()
    assert (export.status, export.count) == (Export.Status.READY, COUNT)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED


def test_a_lost_part_is_begun_anew() -> None:
    log = sealed(COUNT)
    export = slice_of(asked(log, Format.CSV))
    part_of(exports.path_of(export)).unlink()
    exports.carry_on(60)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED


@pytest.mark.parametrize("format_", FORMATS)
def test_a_full_disk_stops_an_export_which_goes_on_when_there_is_room(format_: Format) -> None:
    log = sealed(COUNT)
    export = slice_of(asked(log, format_))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (export.bytes_done + 1000, hard))
    try:
        exports.carry_on(60)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    export.refresh_from_db()
    assert (export.status, export.problem) == (Export.Status.FAILED, "disk_full")
    assert not exports.path_of(export).exists()
    assert exports.carry_on(60) == 0
    assert exports.resume(export)
    exports.carry_on(60)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED
    assert not exports.resume(export)


def test_a_stream_that_breaks_has_no_end_and_is_not_called_finished(tmp_path: Path) -> None:
    log = sealed(COUNT)
    export = exports.ask(log, Wanted(Format.JSONL), exports.auditor(1), streamed=True)
    coming = exports.stream(export)
    cut = tmp_path / "cut.jsonl"
    cut.write_bytes(next(coming) + next(coming))
    coming.close()
    assert verdict(cut, log) is Verdict.TRUNCATED
    export.refresh_from_db()
    assert (export.status, export.finished_at) == (Export.Status.SENT, None)


@pytest.mark.django_db(transaction=True)
def test_entries_that_come_during_an_export_are_not_in_it(tmp_path: Path) -> None:
    at = timezone.now()
    log = sealed(COUNT, at=at)
    export = exports.ask(log, Wanted(Format.JSONL), exports.auditor(1), streamed=True)
    coming = exports.stream(export)
    received = next(coming)
    with ThreadPoolExecutor(1) as others:
        others.submit(_in_a_thread, lambda: sealed(300, at=at)).result()
    path = tmp_path / "acme.jsonl"
    path.write_bytes(received + b"".join(coming))
    assert verdict(path, log) is Verdict.VERIFIED
    leaves = [json.loads(line)["index"] for line in path.read_bytes().splitlines()[1:-1]]
    assert leaves == list(range(COUNT))


def _in_a_thread(work: Callable[[], object]) -> None:
    try:
        work()
    finally:
        connection.close()


def test_no_log_is_filled_with_exports_that_nobody_finished() -> None:
    log = sealed(10)
    for _ in range(exports.MOST_UNFINISHED):
        asked(log, Format.CSV)
    with pytest.raises(exports.TooMany):
        asked(log, Format.CSV)


def run(*arguments: object) -> str:
    told = StringIO()
    call_command("export_ledger", *map(str, arguments), stderr=told, skip_checks=True)
    return told.getvalue()


@pytest.mark.parametrize("format_", FORMATS)
def test_the_command_seals_first_and_writes_a_file_that_verifies(format_: Format, tmp_path: Path) -> None:
    log = sealed(100)
    LedgerEntry(tenant="acme", at=timezone.now(), event="consume", actor_kind="service").save()
    output = tmp_path / "acme"
    assert "is whole" in run("acme", "--format", format_, "--output", output)
    assert verdict(output, log) is Verdict.VERIFIED
    export = Export.objects.get()
    assert (export.size, export.count, export.status) == (101, 101, Export.Status.SENT)
    assert export.finished_at is not None
    assert LedgerEntry.objects.get(event="exported").role == "shell"
    with pytest.raises(CommandError, match="exists already"):
        run("acme", "--format", format_, "--output", output)


def test_the_command_goes_on_with_a_part_and_only_when_told(tmp_path: Path) -> None:
    log = sealed(COUNT)
    export = exports.ask(log, Wanted(Format.CSV), actors.shell(), streamed=True)
    output = tmp_path / "acme.csv"
    exports.write(export, output, 0)
    with pytest.raises(CommandError, match="go on with it by --resume"):
        run("acme", "--format", "csv", "--output", output)
    with pytest.raises(CommandError, match="is not what an export with these options has written"):
        run("acme", "--format", "csv", "--event", "shown", "--output", output, "--resume")
    file._known.clear()
    run("acme", "--format", "csv", "--output", output, "--resume")
    assert verdict(output, log) is Verdict.VERIFIED
    assert LedgerEntry.objects.filter(event="exported").count() == 1


def test_the_command_says_what_it_cannot_export(tmp_path: Path) -> None:
    for arguments, code in (
        (("globex", "--format", "csv"), 1),
        (("acme", "--format", "csv", "--to-checkpoint", 7), 2),
        (("acme", "--format", "csv", "--from-checkpoint", 7), 2),
        (("acme", "--format", "csv", "--resume"), 2),
    ):
        sealed(10)
        with pytest.raises(CommandError) as refused:
            run(*arguments, "--output", tmp_path / "out.csv")
        assert refused.value.returncode == code
    assert list(tmp_path.glob("out*")) == []


_KILLED = """
import os, signal, django
django.setup()
from audit.exporting import content, rows
rows.BATCH = 100
from elicitation.services import actors, exports
content._PIECE = 1
pieces = content.Content.pieces
def dying(self, start):
    for number, piece in enumerate(pieces(self, start)):
        yield piece
        if number == 3:
            os.kill(os.getpid(), signal.SIGKILL)
content.Content.pieces = dying
exports.carry_on(60)
"""


@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_leaves_a_part_that_the_next_one_completes() -> None:
    log = sealed(COUNT)
    export = asked(log, Format.JSONL)
    name = str(connection.settings_dict["NAME"])
    setup = (
        "from django.conf import settings; from pathlib import Path\n"
        f"settings.DATABASES['default']['NAME'] = {name!r}\n"
        f"settings.DESK_EXPORT_DIR = Path({str(settings.DESK_EXPORT_DIR)!r})\n"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "tests.settings"}
    died = subprocess.run([sys.executable, "-c", setup + _KILLED], env=environment, check=False, capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    part = part_of(exports.path_of(export))
    assert part.stat().st_size > 0
    export.refresh_from_db()
    assert (export.status, export.bytes_done) == (Export.Status.RUNNING, 0)
    Export.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    exports.carry_on(60)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED
    seal_everything()
