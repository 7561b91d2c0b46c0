"""``manage.py prune_ledger``: shows what would go and what bounds it, prunes, and says why nothing went."""

from __future__ import annotations

import errno
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from audit import retention, triggers
from audit.models import Checkpoint, Export, LedgerEntry, Log, Prune
from audit.verify import Format
from elicitation.services import actors, exports
from elicitation.services.retention import order
from tests.audit.pruned import acme, everything, exported, leaves, tampering, write


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("prune_ledger", "acme", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.mark.django_db(transaction=True)
def test_the_command_shows_what_would_go_and_what_bounds_it_and_then_prunes() -> None:
    write(600)
    export = exported()
    before = everything()
    shown = run("--upto", "700", "--dry-run")
    assert "would go: leaves 0 to 511, 512 entries" in shown
    assert "leaf 700: what you asked for" in shown
    assert "leaf 600: so far reaches the last export" in shown
    assert everything() == before
    said = run("--upto", "700")
    assert "pruned: 512 entries, up to leaf 512, by prune " in said
    assert f"keep: {exports.path_of(export)}" in said
    told = LedgerEntry.objects.get(event="pruned")
    assert (told.repeat_count, told.reason_code, told.role) == (512, "retention", "shell")
    assert told.related_id == Prune.objects.get().uid


@pytest.mark.django_db(transaction=True)
def test_the_command_takes_a_day_and_prunes_what_was_sealed_before_it() -> None:
    write(300)
    write(300)
    exported()
    first = Checkpoint.objects.filter(log=acme()).earliest("size")
    with tampering(triggers.CHECKPOINTS):
        Checkpoint.objects.filter(pk=first.pk).update(at="2025-12-31T23:59:59Z")
    assert "would go: leaves 0 to 255, 256 entries" in run("--before", "2026-01-01", "--dry-run")
    assert "would go: nothing" in run("--before", "2025-12-31", "--dry-run")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--upto", "512"], 1, "Nothing can be pruned"),
        (["--upto", "-1"], 2, "the number of a leaf"),
        (["--before", "soon"], 2, "a day such as"),
        (["--before", "0001-01-01T00:00:00+14:00"], 2, "a day such as"),
        (["--upto", str(10**30)], 1, "Nothing can be pruned"),
    ],
)
def test_the_command_says_why_nothing_went(arguments: list[str], code: int, says: str) -> None:
    write(600)
    with pytest.raises(CommandError, match=says) as problem:
        run(*arguments)
    assert problem.value.returncode == code
    assert len(leaves()) == 600


@pytest.mark.django_db(transaction=True)
def test_the_command_carries_out_what_was_interrupted() -> None:
    write(600)
    exported()
    order(retention.plan(acme(), 512), actors.shell())
    assert "not finished: a prune of the leaves before 512" in run("--dry-run")
    assert "pruned: 512 more, up to leaf 512" in run()
    assert "pruned" not in run()


@pytest.mark.django_db(transaction=True)
def test_the_command_makes_the_export_that_it_asks_for() -> None:
    write(600)
    with pytest.raises(CommandError, match="Nothing can be pruned"):
        run("--upto", "512")
    assert "leaf 0: so far reaches the last export" in run("--upto", "512", "--dry-run")
    said = run("--upto", "512", "--export")
    assert "pruned: 512 entries" in said
    export = Prune.objects.get().export
    assert (export.format, export.status) == (Format.JSONL, Export.Status.READY)
    assert exports.path_of(export).exists()


@pytest.mark.django_db(transaction=True)
def test_the_export_that_stops_prunes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    write(600)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(exports, "advance", full)
    before = leaves()
    with pytest.raises(CommandError, match="did not come to its end"):
        run("--upto", "512", "--export")
    assert leaves() == before
    assert not Prune.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("arguments", [["--dry-run"], ["--export"], ["--upto", "512", "--dry-run", "--export"]])
def test_what_says_nothing_or_too_much_is_refused(arguments: list[str]) -> None:
    write(600)
    before = everything()
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    assert refused.value.returncode == 2
    assert everything() == before


@pytest.mark.django_db(transaction=True)
def test_a_shell_without_the_witness_setting_does_not_forget_the_witness() -> None:
    write(600)
    exported()
    Log.objects.filter(tenant="acme").update(witnessed_size=300)
    assert "leaf 300: so far the witness has seen the log" in run("--upto", "600", "--dry-run")
    assert "would go: leaves 0 to 255" in run("--upto", "600", "--dry-run")
