"""Retention: a sealed and exported beginning of a log may go, by order and on the record; nothing else ever goes."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from audit import retention, triggers
from audit.exporting.selection import Selection
from audit.models import Export, Hourly, Leaf, LedgerEntry, Log, Prune, Subtree
from audit.retention import Limit, NotDone, Obstacle
from audit.tree import WIDTH
from audit.verify import Format, Verdict
from elicitation.services import actors, clock, exports
from elicitation.services.exports import Wanted
from elicitation.services.retention import HoldReason, LiftReason, carry_out, lift_hold, order, place_hold
from tests.audit.pruned import (
    AUDITOR,
    HELD,
    acme,
    exported,
    leaves,
    order_of_events,
    prune,
    refused,
    refused_by_the_database,
    seal_all,
    tampering,
    verified,
    watched,
    write,
)


@pytest.mark.django_db(transaction=True)
def test_a_pruned_log_verifies_from_where_and_tells_by_which_prune() -> None:
    write(1200)
    exported()
    hours = list(Hourly.objects.filter(event="shown").values_list("count", flat=True))
    done = prune(1000)
    assert (done.upto, acme().pruned, done.finished_at is not None) == (768, 768, True)
    assert leaves()[0] == 768
    assert not LedgerEntry.objects.filter(tenant="acme").exclude(pk__in=Leaf.objects.values("entry_id")).exists()
    report = verified()
    assert report.verdict is Verdict.VERIFIED, str(report)
    told = next(index for index, event in order_of_events() if event == "pruned")
    assert f"Leaves 0 to 767 are pruned; leaf {told} tells of it." in report.sentences
    assert watched() == (Log.Verdict.VERIFIED, None)
    assert Subtree.objects.filter(log=acme(), number__lt=3).exists()
    assert list(Hourly.objects.filter(event="shown").values_list("count", flat=True)) == hours


@pytest.mark.django_db(transaction=True)
def test_the_prune_of_another_day_goes_on_from_the_first() -> None:
    write(600)
    exported()
    prune(256)
    write(600)
    exported()
    assert prune(1024).upto == 1024
    assert (leaves()[0], acme().pruned) == (1024, 1024)
    report = verified()
    assert report.verdict is Verdict.VERIFIED, str(report)
    assert any(sentence.startswith("Leaves 0 to 1023 are pruned;") for sentence in report.sentences)
    assert watched() == (Log.Verdict.VERIFIED, None)


@pytest.mark.django_db(transaction=True)
def test_rows_that_go_without_a_prune_are_missed() -> None:
    """Also when the log itself says that they were pruned."""
    write(600)
    with tampering(triggers.LEDGER, triggers.LEAVES):
        gone = list(Leaf.objects.filter(log=acme(), index__lt=256).values_list("entry_id", flat=True))
        LedgerEntry.objects.filter(pk__in=gone).delete()
        Leaf.objects.filter(log=acme(), index__lt=256).delete()
    assert verified().verdict is Verdict.REMOVED
    assert watched() == (Log.Verdict.REMOVED, 0)
    Log.objects.update(pruned=256)
    assert watched() == (Log.Verdict.REMOVED, 0)
    report = verified()
    assert (report.verdict, report.leaf) == (Verdict.REMOVED, 0)
    assert "no entry tells" in report.sentences[0]


@pytest.mark.django_db(transaction=True)
def test_the_newest_row_that_goes_is_missed() -> None:
    write(600)
    with tampering(triggers.LEDGER, triggers.LEAVES):
        last = Leaf.objects.filter(log=acme()).latest("index")
        LedgerEntry.objects.filter(pk=last.entry_id).delete()
        Leaf.objects.filter(log=acme(), index=last.index).delete()
    lost = exports.ask(acme(), Wanted(Format.JSONL), AUDITOR)
    exports.carry_on(60)
    lost.refresh_from_db()
    assert (lost.status, lost.problem) == (Export.Status.FAILED, "not_kept")
    assert watched() == (Log.Verdict.REMOVED, 599)


@pytest.mark.django_db(transaction=True)
def test_a_hold_moves_the_end_of_a_prune_and_raises_no_false_alarm() -> None:
    write(500)
    write(1, about=HELD)
    write(700)
    exported()
    place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)
    plan = retention.plan(acme(), 1000)
    assert (plan.upto, plan.bounds[0].limit, plan.bounds[0].leaf) == (256, Limit.HOLD, 500)
    assert prune(1000).upto == 256
    assert LedgerEntry.objects.filter(elicitation_id=HELD, event="shown").exists()
    assert verified().verdict is Verdict.VERIFIED
    assert watched() == (Log.Verdict.VERIFIED, None)


@pytest.mark.django_db(transaction=True)
def test_a_hold_on_the_whole_log_keeps_all_of_it_until_it_is_lifted() -> None:
    write(600)
    exported()
    hold = place_hold(acme(), None, AUDITOR, HoldReason.LEGAL)
    assert retention.plan(acme(), 512).bounds[0] == retention.Bound(Limit.HOLD_OF_LOG, 0)
    with refused(Obstacle.NOTHING):
        prune(512)
    lift_hold(hold, AUDITOR, LiftReason.HANDLED)
    assert prune(512).upto == 512
    told = LedgerEntry.objects.filter(event__startswith="hold_").order_by("pk")
    assert [(row.event, row.related_id, row.reason_code, row.role) for row in told] == [
        ("hold_placed", hold.uid, "legal", "auditor"),
        ("hold_lifted", hold.uid, "handled", "auditor"),
    ]


@pytest.mark.django_db(transaction=True)
def test_one_thing_is_held_once_and_a_hold_is_lifted_once() -> None:
    write(10, about=HELD)
    hold = place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)
    with refused(Obstacle.HELD_ALREADY):
        place_hold(acme(), HELD, AUDITOR, HoldReason.OTHER)
    with refused(Obstacle.NO_ENTRY):
        place_hold(acme(), uuid4(), AUDITOR, HoldReason.LEGAL)
    lift_hold(hold, AUDITOR, LiftReason.HANDLED)
    with refused(Obstacle.LIFTED_ALREADY):
        lift_hold(hold, AUDITOR, LiftReason.HANDLED)


@pytest.mark.django_db(transaction=True)
def test_an_entry_of_another_tenant_cannot_be_held_here() -> None:
    write(1)
    write(10, tenant="globex", about=HELD)
    with refused(Obstacle.NO_ENTRY):
        place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)


@pytest.mark.django_db(transaction=True)
def test_a_hold_that_comes_while_a_prune_is_carried_out_stops_it() -> None:
    write(300)
    write(1, about=HELD)
    write(700)
    exported()
    ordered = order(retention.plan(acme(), 768), actors.shell())
    hold = place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)
    with pytest.raises(NotDone, match=Obstacle.HELD):
        carry_out(ordered)
    assert LedgerEntry.objects.filter(elicitation_id=HELD, event="shown").exists()
    assert verified().verdict is Verdict.VERIFIED
    lift_hold(hold, AUDITOR, LiftReason.HANDLED)
    carry_out(ordered)
    assert leaves()[0] == 768
    assert verified().verdict is Verdict.VERIFIED


@pytest.mark.parametrize("kind", [Format.CSV, Format.OCSF])
@pytest.mark.django_db(transaction=True)
def test_only_the_whole_log_as_json_lines_lets_a_prune_go_ahead(kind: Format) -> None:
    write(600)
    exported(kind=kind)
    exported(Selection(event="shown"))
    assert retention.plan(acme(), 512).bounds[0] == retention.Bound(Limit.EXPORT, 0)
    with refused(Obstacle.NOTHING):
        prune(512)


@pytest.mark.django_db(transaction=True)
def test_nothing_goes_that_the_export_does_not_hold() -> None:
    write(300)
    exported()
    write(600)
    assert prune(900).upto == 256


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("damage", ["edited", "cut", "gone", "of another log"])
def test_an_export_that_does_not_verify_lets_nothing_go(damage: str) -> None:
    write(600)
    path = exports.path_of(exported())
    match damage:
        case "edited":
            path.write_bytes(path.read_bytes().replace(b'"event":"shown"', b'"event":"admit"', 1))
        case "cut":
            path.write_bytes(path.read_bytes()[:-20])
        case "gone":
            path.unlink()
        case _:
            write(600, tenant="globex")
            theirs = exports.ask(Log.objects.get(tenant="globex"), Wanted(Format.JSONL), AUDITOR)
            while Export.objects.get(pk=theirs.pk).status != Export.Status.READY:
                exports.carry_on(60)
            path.write_bytes(exports.path_of(theirs).read_bytes())
    with refused(Obstacle.EXPORT_GONE if damage == "gone" else Obstacle.EXPORT_NOT_VERIFIED):
        prune(512)


@pytest.mark.django_db(transaction=True)
def test_an_export_that_is_under_way_is_waited_for() -> None:
    write(600)
    exported()
    exports.ask(acme(), Wanted(Format.CSV), AUDITOR)
    with refused(Obstacle.EXPORT_RUNNING):
        prune(512)


@pytest.mark.django_db(transaction=True)
def test_a_witness_that_has_not_seen_it_keeps_it(settings: Any, tmp_path: Path) -> None:
    write(600)
    exported()
    settings.DESK_WITNESS_FILE = tmp_path / "witness.notes"
    Log.objects.update(witnessed_size=300)
    assert prune(512).upto == 256


@pytest.mark.django_db(transaction=True)
def test_nothing_is_removed_before_the_prune_itself_is_sealed() -> None:
    write(600)
    exported()
    ordered = order(retention.plan(acme(), 512), actors.shell())
    with refused(Obstacle.NOT_TOLD):
        retention.carry_on(ordered, clock.now())
    with refused_by_the_database():
        retention._remove(ordered, 0, 512)
    seal_all()
    assert retention.carry_on(ordered, clock.now()) == 512


@pytest.mark.django_db(transaction=True)
def test_a_prune_that_is_interrupted_anywhere_goes_on_and_the_log_verifies_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(retention.BATCH, connection.vendor, WIDTH)
    write(900)
    exported()
    ordered = order(retention.plan(acme(), 768), actors.shell())
    with refused(Obstacle.PRUNE_RUNNING):
        order(retention.plan(acme(), 512), actors.shell())
    seal_all()
    for gone in (WIDTH, 2 * WIDTH, 3 * WIDTH):
        assert retention.carry_on(ordered, clock.now()) == WIDTH
        assert (leaves()[0], acme().pruned) == (gone, gone)
        assert verified().verdict is Verdict.VERIFIED
        assert watched() == (Log.Verdict.VERIFIED, None)
        assert (Prune.objects.get().finished_at is not None) is (gone == ordered.upto)
    assert carry_out(ordered) == 0
