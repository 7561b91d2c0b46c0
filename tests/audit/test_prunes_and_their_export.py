"""What was pruned is in a file: no prune begins, or goes on, without it, and none is ordered on one that is let go."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from audit import retention
from audit.models import Export, Prune
from audit.retention import NotDone, Obstacle
from audit.tree import WIDTH
from elicitation.services import actors, clock, exports
from elicitation.services.retention import carry_out, order
from tests.audit.pruned import acme, exported, leaves, refused, seal_all, write

pytestmark = pytest.mark.django_db(transaction=True)

#: What may become of the file, and why nothing goes then.
LOSSES: dict[str, tuple[Callable[[Path], object], Obstacle]] = {
    "gone": (Path.unlink, Obstacle.EXPORT_GONE),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-20]), Obstacle.EXPORT_NOT_VERIFIED),
    "edited": (
        lambda path: path.write_bytes(path.read_bytes().replace(b'"shown"', b'"admit"', 1)),
        Obstacle.EXPORT_NOT_VERIFIED,
    ),
}


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    monkeypatch.setitem(retention.BATCH, connection.vendor, WIDTH)


@pytest.mark.parametrize(("lose", "obstacle"), LOSSES.values(), ids=list(LOSSES))
@pytest.mark.parametrize("batches", [0, 1])
def test_nothing_goes_once_the_file_of_the_export_is_lost(
    lose: Callable[[Path], object], obstacle: Obstacle, batches: int
) -> None:
    write(600)
    path = exports.path_of(exported())
    content = path.read_bytes()
    prune = order(retention.plan(acme(), 512), actors.shell())
    seal_all()
    for _ in range(batches):
        retention.carry_on(prune, clock.now())
    lose(path)
    with refused(obstacle):
        carry_out(prune)
    path.write_bytes(content)
    carry_out(prune)
    assert leaves()[0] == 512


def grown_old() -> Export:
    """An export of the whole log that was kept long enough."""
    write(600)
    export = exported()
    Export.objects.update(finished_at=clock.now() - exports.KEPT - timedelta(hours=1))
    return export


def test_the_file_that_a_prune_counts_on_is_kept() -> None:
    export = grown_old()
    order(retention.plan(acme(), 512), actors.shell())
    assert exports.let_go() == 0
    assert exports.path_of(export).exists()


def test_no_prune_is_ordered_on_a_file_that_goes_at_this_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    export = grown_old()
    plan, remove = retention.plan(acme(), 512), Path.unlink

    def unlink(path: Path, missing_ok: bool = False) -> None:
        with pytest.raises(NotDone, match=Obstacle.CHANGED):
            retention.order(plan, clock.now())
        remove(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", unlink)
    assert exports.let_go() == 1
    monkeypatch.undo()
    export.refresh_from_db()
    assert (export.status, exports.path_of(export).exists(), Prune.objects.count()) == (Export.Status.GONE, False, 0)
    assert retention.plan(acme(), 512).export is None


def test_a_file_that_could_not_be_removed_is_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    export = grown_old()

    def dies(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "unlink", dies)
    with pytest.raises(PermissionError):
        exports.let_go()
    monkeypatch.undo()
    assert exports.let_go() == 1
    assert not exports.path_of(export).exists()
