"""The benches of the ledger measure what they say on a database that they drop again, and believe no wrong result."""

import os
from pathlib import Path
from typing import Any

import psycopg
import pytest

from audit.models import LedgerEntry
from elicitation.bench import export as exporting
from elicitation.bench import ledger_desk, on_demand
from elicitation.bench import seal as sealing
from elicitation.bench import verify as verifying
from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.bench.on_demand import Process
from elicitation.bench.scratch import insert, scratch

HOME = os.environ.get("DATABASE_URL", "")


def measured(comparisons: list[Comparison]) -> dict[str, tuple[float, float]]:
    """Each figure's measurement and its peer's, of which the peer's comes first."""
    found = {}
    for each in comparisons:
        peer = each.peer_value()
        found[each.figure] = each.measure(), peer
    return found


def left_over() -> list[tuple[Any, ...]]:
    with psycopg.connect(HOME) as connection:
        return connection.execute(f"SELECT FROM pg_database WHERE datname = 'desk_bench_{os.getpid()}'").fetchall()


def test_appends_are_measured_with_sealing_and_without_and_each_is_one_leaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sealing, "ROWS", 400)
    monkeypatch.setattr(sealing, "LINES", 500)
    monkeypatch.setattr(sealing, "EVERY_SECONDS", 0.4)
    notes: list[str] = []
    with sealing.seal(notes.append) as comparisons:
        figures = measured(list(comparisons))
    assert list(figures) == ["append while it seals", "tree"]
    assert all(ours > 0 and peer > 0 for ours, peer in figures.values()), figures
    (note,) = notes
    assert note.startswith("seal: ")
    assert note.endswith(" entries, each of them one leaf")
    assert left_over() == []


def test_an_entry_that_was_not_sealed_spoils_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealing, "ROWS", 400)
    monkeypatch.setattr(sealing, "EVERY_SECONDS", 0.2)
    does = Process.does

    def forgets(process: Process, what: str) -> dict[str, Any]:
        told = does(process, what)
        return told | {"leaves": told["leaves"] - 1} if what == "prove" else told

    monkeypatch.setattr(Process, "does", forgets)
    with pytest.raises(CannotMeasure, match="found an entry that was missed"), sealing.seal():
        pass


def test_exports_are_measured_beside_psql_and_verified() -> None:
    notes: list[str] = []
    with exporting.export(3000, notes.append) as comparisons:
        figures = measured(list(comparisons))
    assert list(figures) == ["CSV", "CSV over HTTP", "JSONL", "JSONL over HTTP", "memory that it takes"]
    assert all(peer > 0 for _, peer in figures.values()), figures
    assert notes == ["export: 3,000 of 3,000 entries made", "export: sealing"]
    assert left_over() == []


def test_an_export_that_is_not_verified_spoils_the_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    keep = exporting._Field.keep

    def keep_cut(field: Any, format_: Any, made: Path) -> None:
        made.write_bytes(made.read_bytes()[:-1])
        keep(field, format_, made)

    monkeypatch.setattr(exporting._Field, "keep", keep_cut)
    with pytest.raises(CannotMeasure, match="made a file in csv that is truncated"):  # noqa: SIM117
        with exporting.export(300) as comparisons:
            comparisons[0].measure()


def test_the_verifier_is_measured_beside_a_digest_of_the_same_file() -> None:
    with verifying.verify(30_000) as comparisons:
        figures = measured(list(comparisons))
    assert list(figures) == ["JSONL", "memory of the verifier"]
    assert 5 < figures["memory of the verifier"][0] < 32
    assert left_over() == []


def test_what_is_filled_is_four_entries_about_each_elicitation_and_sealed() -> None:
    with scratch("test") as desk, on_demand.process(desk, "elicitation.bench.ledger_worker") as worker:
        assert list(ledger_desk.fill(desk, worker, 400)) == ["400 of 400 entries made", "sealing"]
        proof = worker.does("prove")
        assert (proof["entries"] - proof["leaves"], proof["faults"]) == (0, 0)
        with desk.connect() as connection:
            told = connection.execute(
                "SELECT count(*), count(DISTINCT elicitation_id) FROM audit_ledgerentry WHERE tenant = 'bench'"
            ).fetchone()
    assert told == (400, 101)


def test_an_entry_that_is_no_leaf_and_a_checkpoint_of_another_root_are_faults() -> None:
    with scratch("test") as desk, on_demand.process(desk, "elicitation.bench.ledger_worker") as worker:
        for _ in ledger_desk.fill(desk, worker, 40):
            pass
        with desk.connect() as connection:
            insert(connection, LedgerEntry, ledger_desk.columns("'bench'"), "generate_series(41, 42) AS n")
            assert worker.does("prove")["faults"] == 2
            connection.execute("ALTER TABLE audit_checkpoint DISABLE TRIGGER ALL")
            connection.execute("UPDATE audit_checkpoint SET root = sha256('') WHERE size = 40")
        assert worker.does("prove")["faults"] == 3
