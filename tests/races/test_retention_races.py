"""Holds, prunes and files that go, at the same moment: each is decided after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction

from audit import retention
from audit.models import Export, LedgerEntry, Prune
from audit.retention import NotDone, Obstacle
from audit.tree import WIDTH
from elicitation.services import actors, clock, exports
from elicitation.services.retention import HoldReason, order, place_hold
from tests.audit.pruned import AUDITOR, HELD, acme, exported, leaves, seal_all, write
from tests.races.test_late_commits import elsewhere

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    monkeypatch.setitem(retention.BATCH, connection.vendor, WIDTH)
    write(300, about=HELD)
    write(300)
    exported()


def waited(first: Callable[[], object], second: Callable[[], object]) -> Future[object]:
    """What came of ``second``, which waited for the transaction of ``first``."""
    with ThreadPoolExecutor(1) as others, elsewhere(first) as end:
        coming = others.submit(_in_a_transaction, second)
        with pytest.raises(TimeoutError):
            coming.result(0.5)
        end.set()
        coming.exception(30)
    return coming


def _in_a_transaction(work: Callable[[], object]) -> object:
    try:
        with transaction.atomic():
            return work()
    finally:
        connections.close_all()


def ordered() -> Prune:
    made = order(retention.plan(acme(), 2 * WIDTH), actors.shell())
    seal_all()
    return made


def hold() -> None:
    place_hold(acme(), HELD, AUDITOR, HoldReason.LEGAL)


def test_no_prune_is_ordered_on_a_file_that_goes_at_this_moment() -> None:
    Export.objects.update(finished_at=clock.now() - exports.KEPT - timedelta(hours=1))
    plan = retention.plan(acme(), 2 * WIDTH)
    coming = waited(exports.let_go, lambda: retention.order(plan, clock.now()))
    with pytest.raises(NotDone, match=Obstacle.CHANGED):
        coming.result()
    assert not Prune.objects.exists()


def test_no_file_goes_on_which_a_prune_is_ordered_at_this_moment() -> None:
    Export.objects.update(finished_at=clock.now() - exports.KEPT - timedelta(hours=1))
    plan = retention.plan(acme(), 2 * WIDTH)
    assert waited(lambda: retention.order(plan, clock.now()), exports.let_go).result() == 0
    assert exports.path_of(Export.objects.get()).exists()


def test_a_hold_that_is_placed_at_this_moment_keeps_what_a_batch_would_take() -> None:
    prune = ordered()
    coming = waited(hold, lambda: retention.carry_on(prune, clock.now()))
    with pytest.raises(NotDone, match=Obstacle.HELD):
        coming.result()
    assert (leaves()[0], acme().pruned) == (0, 0)


def test_a_hold_keeps_what_a_batch_that_ends_at_this_moment_has_left() -> None:
    prune = ordered()
    waited(lambda: retention.carry_on(prune, clock.now()), hold).result()
    with pytest.raises(NotDone, match=Obstacle.HELD):
        retention.carry_on(prune, clock.now())
    assert (leaves()[0], acme().pruned) == (WIDTH, WIDTH)
    assert LedgerEntry.objects.filter(elicitation_id=HELD, event="shown").count() >= 300 - WIDTH
