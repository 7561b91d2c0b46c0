"""Legal holds placed while a prune is under way: what they keep is there and can be proven, whenever they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from audit import retention, triggers, verify
from audit.exporting.selection import Selection
from audit.models import Leaf, LedgerEntry, Log, Prune
from audit.retention import NotDone, Obstacle
from audit.tree import WIDTH
from audit.verify import Format, Verdict
from elicitation.services import actors, answering, clock, exports, packs
from elicitation.services.retention import HoldReason, LiftReason, carry_out, lift_hold, order, place_hold
from elicitation.services.scoping import WHOLE_DESK
from tests.audit.pruned import (
    AUDITOR,
    HELD,
    acme,
    exported,
    leaves,
    refused,
    seal_all,
    tampering,
    verified,
    watched,
    write,
)

pytestmark = pytest.mark.django_db(transaction=True)

BATCH = 2 * WIDTH


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path) -> None:
    monkeypatch.setitem(retention.BATCH, connection.vendor, BATCH)
    settings.DESK_EXPORT_DIR = tmp_path / "exports"


def ordered() -> Prune:
    """A prune of the first 1,024 leaves, on the ledger and sealed."""
    exported()
    made = order(retention.plan(acme(), 4 * WIDTH), actors.shell())
    assert made.upto == 4 * WIDTH
    seal_all()
    return made


def held(at: int) -> None:
    """1,100 entries, of which two neighbours are about ``HELD``."""
    write(at)
    write(2, about=HELD)
    write(1100 - at)


@pytest.mark.parametrize("batches", [0, 1])
@pytest.mark.parametrize("at", [BATCH, BATCH + 1, BATCH + WIDTH - 1, BATCH + WIDTH, 2 * BATCH - 1])
def test_what_a_hold_keeps_is_proven_wherever_the_prune_was(at: int, batches: int, tmp_path: Path) -> None:
    held(at)
    prune = ordered()
    for _ in range(batches):
        retention.carry_on(prune, clock.now())
    hold = place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)
    with pytest.raises(NotDone, match=Obstacle.HELD):
        carry_out(prune)
    assert (leaves()[0], acme().pruned) == (BATCH, BATCH)
    assert verified().verdict is Verdict.VERIFIED
    assert watched() == (Log.Verdict.VERIFIED, None)
    selected = exported(Selection(elicitation_id=HELD))
    assert selected.count == LedgerEntry.objects.filter(elicitation_id=HELD).exclude(related_id=selected.uid).count()
    pack = tmp_path / "pack.json"
    pack.write_bytes(packs.make("acme", HELD, AUDITOR))
    keys = [verify.parse_key(key) for key in exports.verifier_keys(acme())]
    assert verify.verify(pack, keys).verdict is Verdict.SELECTION
    found = answering.answers(HELD, WHOLE_DESK)
    assert found is not None
    assert [each.leaf for each in found.exhibits[:2]] == [at, at + 1]
    lift_hold(hold, AUDITOR, LiftReason.HANDLED)
    carry_out(prune)
    assert (leaves()[0], acme().pruned) == (prune.upto, prune.upto)
    assert verified().verdict is Verdict.VERIFIED


def test_a_hold_on_the_whole_log_between_the_order_and_its_carrying_out_keeps_all_of_it_under_watch() -> None:
    """What is held is not said to be pruned: nobody could see who edits it then."""
    write(1100)
    prune = ordered()
    place_hold(acme(), None, AUDITOR, HoldReason.LEGAL)
    seal_all()
    with refused(Obstacle.HELD):
        carry_out(prune)
    assert (acme().pruned, leaves()[0], Prune.objects.get().finished_at) == (0, 0, None)
    assert watched() == (Log.Verdict.VERIFIED, None)
    with tampering(triggers.LEDGER):
        LedgerEntry.objects.filter(pk=Leaf.objects.get(log=acme(), index=3).entry_id).update(event="page_consent")
    assert watched()[0] == Log.Verdict.EDITED
    assert verified().verdict is Verdict.EDITED


def test_an_entry_that_nobody_pruned_is_missed_also_while_a_prune_is_under_way() -> None:
    write(1100)
    prune = ordered()
    retention.carry_on(prune, clock.now())
    with tampering(triggers.LEDGER):
        LedgerEntry.objects.filter(pk=Leaf.objects.get(log=acme(), index=BATCH + 3).entry_id).delete()
    assert watched() == (Log.Verdict.REMOVED, BATCH + 3)
    assert verified().verdict is Verdict.REMOVED


def test_a_batch_of_which_leaves_are_missing_goes_not_at_all() -> None:
    write(1100)
    prune = ordered()
    with tampering(triggers.LEAVES):
        Leaf.objects.filter(log=acme(), index=5).delete()
    with refused(Obstacle.NOT_THERE):
        carry_out(prune)


def test_every_format_tells_of_a_prune_that_is_under_way() -> None:
    write(1100)
    retention.carry_on(ordered(), clock.now())
    keys = [verify.parse_key(key) for key in exports.verifier_keys(acme())]
    for kind in Format:
        report = verify.verify(exports.path_of(exported(kind=kind)), keys)
        assert report.verdict is Verdict.VERIFIED, report
        assert any(sentence.startswith(f"Leaves 0 to {BATCH - 1} are pruned; leaf ") for sentence in report.sentences)
