"""Exports of a log whose head was pruned: they begin at the leaf that the prune left, and say which prune it was."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from audit.exporting import content, rows
from audit.exporting.selection import Selection
from audit.models import Checkpoint, Export, Leaf, LedgerEntry
from audit.verify import Format, Report, Verdict, parse_key, verify
from elicitation.services import exports
from elicitation.services.exports import PruneNotTold, Wanted
from tests.audit.pruned import AUDITOR, HELD, acme, exported, prune, seal_all, write

pytestmark = pytest.mark.django_db(transaction=True)

FORMATS = list(Format)
PRUNED = 512


@pytest.fixture(autouse=True)
def _pruned(settings: Any, tmp_path: Path) -> None:
    """700 entries under several checkpoints; an export holds the first 600, and a prune took most of them."""
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    write(300)
    write(300)
    exported()
    write(20, about=HELD)
    assert prune(PRUNED + 10).upto == PRUNED
    write(80)
    seal_all()


def judged(export: Export) -> Report:
    return verify(exports.path_of(export), [parse_key(key) for key in exports.verifier_keys(acme())])


def leaves(export: Export) -> list[int]:
    """The leaves that are shown."""
    rows = exports.path_of(export).read_bytes().splitlines()[:-1]
    match Format(export.format):
        case Format.JSONL:
            return [said["index"] for said in map(json.loads, rows) if "index" in said]
        case Format.CSV:
            return [int(row.partition(b",")[0]) for row in rows[1:]]
        case Format.OCSF:
            return [json.loads(json.loads(row)["raw_data"])["index"] for row in rows]


@pytest.mark.parametrize("format_", FORMATS)
def test_a_whole_export_is_verified_from_the_first_leaf_that_was_kept(format_: Format) -> None:
    export = exported(kind=format_)
    assert leaves(export) == list(range(PRUNED, acme().size))
    report = judged(export)
    assert report.verdict is Verdict.VERIFIED, report
    assert f"leaves {PRUNED} to {export.size - 1}" in str(report)
    told = Leaf.objects.get(entry_id=LedgerEntry.objects.get(tenant="acme", event="pruned").pk)
    assert f"Leaves 0 to {PRUNED - 1} are pruned; leaf {told.index} tells of it." in report.sentences


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(
    "selection", [Selection(elicitation_id=HELD), Selection(event="pruned"), Selection(event="no_such")]
)
def test_a_selection_shows_what_is_kept_and_verifies(format_: Format, selection: Selection) -> None:
    export = exported(selection, format_)
    kept = LedgerEntry.objects.filter(tenant="acme").exclude(related_id=export.uid)
    wanted = kept.filter(event=selection.event) if selection.event else kept.filter(elicitation_id=HELD)
    assert len(leaves(export)) == wanted.count()
    assert judged(export).verdict is Verdict.SELECTION


@pytest.mark.parametrize("format_", FORMATS)
def test_what_came_after_a_checkpoint_is_shown_though_that_checkpoint_was_pruned(format_: Format) -> None:
    for size in (300, 600):
        export = exported(Selection(from_size=size), format_)
        assert leaves(export) == list(range(max(size, PRUNED), acme().size))
        assert judged(export).verdict is Verdict.SELECTION


def test_a_csv_tells_what_was_pruned_in_a_column_of_its_own() -> None:
    export = exported(kind=Format.CSV)
    first, *_, last = csv.DictReader(io.StringIO(exports.path_of(export).read_text()))
    assert first["left_out"].startswith(f"0-{PRUNED}:")
    assert json.loads(last["tenant"])["manifest"]["pruned"] == PRUNED


def test_a_whole_export_to_a_checkpoint_that_knows_nothing_of_the_prune_is_refused() -> None:
    """It could not be told from one whose head somebody removed; a selection claims less."""
    for size in (300, 600):
        with pytest.raises(PruneNotTold):
            exports.ask(acme(), Wanted(Format.JSONL, to_size=size), AUDITOR)
    assert not Export.objects.filter(size=600).exclude(status=Export.Status.READY).exists()
    wanted = Wanted(Format.JSONL, Selection(from_size=300), to_size=600)
    export = exports.ask(acme(), wanted, AUDITOR)
    exports.carry_on(60)
    assert leaves(export) == list(range(PRUNED, 600))
    assert judged(export).verdict is Verdict.SELECTION
    told = Leaf.objects.get(entry_id=LedgerEntry.objects.get(tenant="acme", event="pruned").pk).index
    size = Checkpoint.objects.filter(log=acme(), size__gt=told).earliest("size").size
    export = exports.ask(acme(), Wanted(Format.JSONL, to_size=size), AUDITOR)
    exports.carry_on(60)
    assert judged(export).verdict is Verdict.VERIFIED


def test_nothing_is_exported_to_a_checkpoint_of_which_all_was_pruned() -> None:
    with pytest.raises(PruneNotTold):
        exports.ask(acme(), Wanted(Format.CSV, Selection(event="shown"), to_size=300), AUDITOR)


@pytest.mark.parametrize("format_", FORMATS)
def test_an_export_whose_checkpoint_is_pruned_meanwhile_raises_no_false_alarm(format_: Format) -> None:
    begun = exports.ask(acme(), Wanted(format_, Selection(event="shown"), to_size=600), AUDITOR)
    Export.objects.filter(pk=begun.pk).update(status=Export.Status.FAILED, problem="disk_full")
    write(500)
    exported()
    assert prune(1024).upto == 1024
    assert exports.resume(begun)
    exports.carry_on(60)
    begun.refresh_from_db()
    assert (begun.status, begun.problem) == (Export.Status.FAILED, "pruned")


@pytest.mark.parametrize("format_", FORMATS)
def test_an_export_that_began_before_a_prune_does_not_go_on_after_it(
    format_: Format, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "BATCH", 20)
    monkeypatch.setattr(content, "_PIECE", 1)
    write(500)
    exported()
    begun = exports.ask(acme(), Wanted(format_), AUDITOR)
    exports.carry_on(0)
    Export.objects.filter(pk=begun.pk, next_leaf__gt=PRUNED).update(status=Export.Status.FAILED, problem="disk_full")
    assert prune(1024).upto == 1024
    begun.refresh_from_db()
    assert exports.resume(begun)
    exports.carry_on(60)
    begun.refresh_from_db()
    assert (begun.status, begun.problem) == (Export.Status.FAILED, "pruned")
    assert not exports.path_of(begun).exists()
