"""The part of an export that is not whole yet: it is gone on with as it was written, by the export that wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.exporting import content, file, rows
from audit.exporting.file import part_of
from audit.models import Export, LedgerEntry, Log
from audit.verify import Format, Verdict, parse_key, verify
from elicitation.services import actors, exports
from elicitation.services.exports import Wanted
from tests.audit.exported import keys, sealed

pytestmark = pytest.mark.django_db

FORMATS = list(Format)
COUNT = 700

#: What somebody may do to a part while nobody works on it.
DEEDS: dict[str, Callable[[bytes], bytes]] = {
    "a letter at the beginning": lambda written: written[:20] + bytes([written[20] ^ 1]) + written[21:],
    "an actor": lambda written: written.replace(b"service", b"manager", 1),
    "a letter at the end": lambda written: written[:-3] + bytes([written[-3] ^ 1]) + written[-2:],
    "a line less": lambda written: written[: written[:-1].rindex(b"\n") + 1],
    "a line twice": lambda written: written + written[written[:-1].rindex(b"\n") + 1 :],
    "something behind": lambda written: written + b"and more",
    "no sense": lambda written: b"\xff" * len(written),
    "nothing": lambda written: b"",
}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    monkeypatch.setattr(rows, "BATCH", 100)
    monkeypatch.setattr(content, "_PIECE", 1)
    yield
    file._known.clear()


def verdict(path: Path, log: Log) -> Verdict:
    return verify(path, [parse_key(key) for key in keys(log)]).verdict


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("deed", DEEDS.values(), ids=list(DEEDS))
@pytest.mark.parametrize("forgetful", [False, True], ids=["same worker", "another worker"])
def test_a_part_that_was_changed_is_begun_anew(
    format_: Format, deed: Callable[[bytes], bytes], forgetful: bool
) -> None:
    log = sealed(COUNT)
    export = exports.ask(log, Wanted(format_), exports.auditor(1))
    exports.carry_on(0)
    exports.carry_on(0)
    part = part_of(exports.path_of(export))
    part.write_bytes(deed(part.read_bytes()))
    if forgetful:
        file._known.clear()
    exports.carry_on(60)
    export.refresh_from_db()
    path = exports.path_of(export)
    assert export.status == Export.Status.READY
    assert path.read_bytes() == b"".join(exports.stream(export))
    assert verdict(path, log) is Verdict.VERIFIED


def test_another_file_in_the_place_of_the_part_is_not_gone_on_with() -> None:
    log = sealed(COUNT)
    export = exports.ask(log, Wanted(Format.CSV), exports.auditor(1))
    exports.carry_on(0)
    part = part_of(exports.path_of(export))
    other = part.with_name("other")
    other.write_bytes(part.read_bytes().replace(b"service", b"manager"))
    other.replace(part)
    exports.carry_on(60)
    assert verdict(exports.path_of(export), log) is Verdict.VERIFIED


@pytest.mark.parametrize("format_", FORMATS)
def test_each_part_is_resumed_as_its_own_export(format_: Format, tmp_path: Path) -> None:
    """Two were interrupted, one after the other, and the log had grown in between."""
    begun = {}
    for name, slices in (("first", 2), ("second", 1)):
        log = sealed(COUNT)
        export = exports.ask(log, Wanted(format_), actors.shell(), streamed=True)
        for _ in range(slices):
            exports.write(export, tmp_path / name, 0)
        begun[name] = export
    for name, export in begun.items():
        file._known.clear()
        call_command("export_ledger", "acme", format=format_, output=tmp_path / name, resume=True)
        export.refresh_from_db()
        assert (export.finished_at is not None, export.count) == (True, export.size)
        assert verdict(tmp_path / name, log) is Verdict.VERIFIED
    assert LedgerEntry.objects.filter(event="exported").count() == 2


@pytest.mark.parametrize("format_", FORMATS)
def test_a_part_that_no_export_has_written_is_refused_and_left_alone(format_: Format, tmp_path: Path) -> None:
    log = sealed(COUNT)
    output = tmp_path / "acme"
    exports.write(exports.ask(log, Wanted(format_), actors.shell(), streamed=True), output, 0)
    exports.ask(log, Wanted(format_), actors.shell(), streamed=True)  # one that died before its first word
    part = part_of(output)
    changed = part.read_bytes().replace(b"service", b"manager", 1)
    part.write_bytes(changed)
    file._known.clear()
    before = list(Export.objects.order_by("pk").values())
    with pytest.raises(CommandError, match="Remove it and export again") as refused:
        call_command("export_ledger", "acme", format=format_, output=output, resume=True)
    assert refused.value.returncode == 2
    assert (part.read_bytes(), output.exists()) == (changed, False)
    assert list(Export.objects.order_by("pk").values()) == before


@pytest.mark.parametrize(
    "option",
    [
        ("--policy-revision", str(2**31)),
        ("--policy-revision", str(10**12)),
        ("--policy-revision", "9" * 5000),
        ("--from-checkpoint", "9" * 19),
        ("--since", "0001-01-01T00:00:00+14:00"),
        ("--until", "9999-12-31T23:59:59-12:00"),
    ],
)
def test_the_command_refuses_what_no_column_holds(option: tuple[str, str], tmp_path: Path) -> None:
    sealed(10)
    with pytest.raises(CommandError, match=rf"argument {option[0]}: not "):
        call_command("export_ledger", "acme", "--format", "csv", "--output", str(tmp_path / "out"), *option)
    assert not Export.objects.exists()
