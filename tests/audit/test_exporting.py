"""Exports of a sealed log: every format and selection verifies offline, and says what it shows."""

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from audit.exporting.selection import Selection
from audit.models import LedgerEntry
from audit.verify import Format, Verdict
from elicitation.services import exports
from elicitation.services.exports import NoSuchCheckpoint, NothingSealed, Wanted
from tests.audit.exported import ABOUT, BEGAN, judged, sealed, whole

pytestmark = pytest.mark.django_db

FORMATS = list(Format)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("count", [1, 255, 256, 257, 1100])
def test_a_whole_export_verifies(format_: Format, count: int, tmp_path: Path) -> None:
    log = sealed(count, passes=min(3, count))
    _, content = whole(log, format_)
    report = judged(content, log, tmp_path)
    assert report.verdict is Verdict.VERIFIED, report
    assert f"leaves 0 to {count - 1}" in str(report) or count == 1


LATER = BEGAN + timedelta(milliseconds=300)
#: What is asked for, and the numbers of the entries that it means.
SELECTIONS: dict[str, tuple[dict[str, Any], Callable[[int], bool]]] = {
    "an event": ({"event": "shown"}, lambda n: n % 3 == 1),
    "an elicitation": ({"elicitation_id": ABOUT}, lambda n: n % 7 == 0),
    "a policy revision": ({"policy_revision": 8}, lambda n: n >= 400),
    "a period": ({"since": LATER, "until": LATER + timedelta(milliseconds=20)}, lambda n: 300 <= n < 320),
    "an event in a period": ({"event": "admit", "since": LATER}, lambda n: n % 3 == 0 and n >= 300),
    "nothing that is there": ({"event": "pruned"}, lambda n: False),
    "all that is there": ({"since": BEGAN}, lambda n: True),
    "what came after a checkpoint": ({"from_size": 550}, lambda n: n >= 550),
    "an event after a checkpoint": ({"from_size": 550, "event": "shown"}, lambda n: n % 3 == 1 and n >= 550),
    "nothing after the last checkpoint": ({"from_size": 1100}, lambda n: False),
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("asked", SELECTIONS.values(), ids=list(SELECTIONS))
def test_a_selection_verifies_and_shows_what_was_selected(
    format_: Format, asked: tuple[dict[str, Any], Callable[[int], bool]], tmp_path: Path
) -> None:
    selection, meant = asked
    log = sealed(1100, passes=2)
    _, content = whole(log, format_, **selection)
    report = judged(content, log, tmp_path)
    assert report.verdict is Verdict.SELECTION, report
    assert _shown(content, format_) == [number for number in range(1100) if meant(number)]


def test_an_export_to_an_older_checkpoint_is_whole_up_to_it(tmp_path: Path) -> None:
    log = sealed(700, passes=2)
    _, content = whole(log, Format.JSONL, to_size=350)
    report = judged(content, log, tmp_path)
    assert report.verdict is Verdict.VERIFIED
    assert "leaves 0 to 349" in str(report)


def test_an_export_says_which_policy_revisions_occur_and_what_it_leaves_out() -> None:
    log = sealed(700)
    for format_ in FORMATS:
        said = _manifest(whole(log, format_)[1], format_)
        assert said["policy_revisions"] == [7, 8]
        assert (said["count"], said["first"], said["last"], said["left_out"]) == (700, 0, 699, 0)
        said = _manifest(whole(log, format_, policy_revision=8, event="shown")[1], format_)
        assert said["policy_revisions"] == [8]
        assert (said["count"], said["first"], said["last"], said["left_out"]) == (100, 400, 697, 600)
        assert said["selection"] == {"event": "shown", "policy_revision": 8}


def test_csv_and_the_lines_say_the_same() -> None:
    log = sealed(300)
    lines = [json.loads(each) for each in whole(log, Format.JSONL)[1].splitlines()[1:-1]]
    rows = list(csv.DictReader(io.StringIO(whole(log, Format.CSV)[1].decode())))[:-1]
    assert len(rows) == 300
    for said, row in zip(lines, rows, strict=True):
        shown = {name: value for name, value in row.items() if value}
        assert shown == {
            name: str(value).lower() if value in (True, False) and type(value) is bool else str(value)
            for name, value in said.items()
        }


def test_what_is_exported_is_what_was_sealed_by_then_and_each_export_is_on_the_ledger() -> None:
    log = sealed(10)
    export, content = whole(log, Format.JSONL, elicitation_id=ABOUT)
    assert _manifest(content, Format.JSONL)["size"] == 10
    kept = LedgerEntry.objects.get(event="exported")
    assert (kept.tenant, kept.related_id, kept.elicitation_id) == ("acme", export.uid, ABOUT)
    assert (kept.actor_kind, kept.actor_id, kept.role) == ("operator", "1", "auditor")


def test_of_a_log_that_has_nothing_sealed_nothing_is_exported_and_nothing_recorded() -> None:
    with pytest.raises(NothingSealed):
        exports.log_of("acme")
    log = sealed(10)
    for wanted in (Wanted(Format.CSV, to_size=9), Wanted(Format.CSV, Selection(from_size=4))):
        with pytest.raises(NoSuchCheckpoint):
            exports.ask(log, wanted, exports.auditor(1))
    assert not LedgerEntry.objects.filter(event="exported").exists()


def _shown(content: bytes, format_: Format) -> list[int]:
    """The leaves that are there."""
    rows = content.splitlines()[:-1]
    match format_:
        case Format.JSONL:
            return [said["index"] for said in map(json.loads, rows) if "index" in said]
        case Format.CSV:
            return [int(row.partition(b",")[0]) for row in rows[1:]]
        case Format.OCSF:
            return [json.loads(json.loads(row)["raw_data"])["index"] for row in rows]


def _manifest(content: bytes, format_: Format) -> Any:
    last = content.splitlines()[-1].decode()
    match format_:
        case Format.JSONL:
            return json.loads(last)["manifest"]
        case Format.CSV:
            (cells,) = csv.reader([last])
            return json.loads(cells[1])["manifest"]
        case Format.OCSF:
            return json.loads(last)["unmapped"]["manifest"]["manifest"]
