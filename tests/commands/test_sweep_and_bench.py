"""``manage.py sweep`` works off what is due; ``manage.py bench`` judges a figure by its ratio."""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
import pytest
from django.core.management import CommandError, call_command

from elicitation.bench import sweep as sweeping
from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.management.commands import bench
from elicitation.services.sweeps.registry import SWEEPS


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The only sweep: it moves 500, then 20, then finds nothing; what is left says how often it ran."""
    left = [500, 20, 0]
    for name in set(SWEEPS) - {"expire"}:
        monkeypatch.delitem(SWEEPS, name)
    monkeypatch.setitem(SWEEPS, "expire", lambda: left.pop(0))
    return left


def test_a_sweep_runs_until_nothing_is_due(passes: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sweep", "expire", skip_checks=True)
    assert passes == []
    assert capsys.readouterr().out == "expire: 520\n"


def test_once_is_one_pass(passes: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    call_command("sweep", once=True, skip_checks=True)
    assert passes == [20, 0]
    assert capsys.readouterr().out == "expire: 500\n"


def bench_of(seconds: Sequence[float], peer: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rest = list(seconds)

    @contextmanager
    def made() -> Iterator[list[Comparison]]:
        yield [Comparison("a figure", "a peer", lambda: rest.pop(0), lambda: peer, at_most=1.5)]

    monkeypatch.setattr(bench, "BENCHES", {"made": made})


def test_a_figure_is_a_ratio_of_medians(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bench_of([1.0, 9.0, 1.2], 1.0, monkeypatch)
    call_command("bench", "made", format="json")
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert (row["value"], row["ratio"], row["met"], row["rounds"]) == (1.2, 1.2, True, 3)


def test_a_missed_goal_is_exit_code_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    bench_of([1.6, 1.6, 1.6], 1.0, monkeypatch)
    with pytest.raises(CommandError, match="1 of 1 goals missed") as missed:
        call_command("bench")
    assert missed.value.returncode == 1
    assert "MISSED" in capsys.readouterr().out


def test_what_cannot_be_measured_is_exit_code_2(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def broken() -> Iterator[list[Comparison]]:
        raise CannotMeasure("no such program")
        yield []

    monkeypatch.setattr(bench, "BENCHES", {"broken": broken})
    for arguments in (["broken"], ["nothing"], ["broken", "--rounds", "1"]):
        with pytest.raises(CommandError) as refused:
            call_command("bench", *arguments)
        assert refused.value.returncode == 2


def test_one_that_cannot_be_measured_hides_no_figure_of_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bench_of([1.0, 1.0, 1.0], 1.0, monkeypatch)
    monkeypatch.setenv("DATABASE_URL", "")
    monkeypatch.setattr(bench, "BENCHES", {"sweep": sweeping.sweep, **bench.BENCHES})
    with pytest.raises(CommandError, match=r"^`bench sweep` needs PostgreSQL: [^.]*\.$") as left_out:
        call_command("bench")
    assert left_out.value.returncode == 2
    assert "made: a figure" in capsys.readouterr().out


def test_what_is_no_time_is_shown_in_its_own_unit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    @contextmanager
    def made() -> Iterator[list[Comparison]]:
        yield [Comparison("memory", "limit", lambda: 0.5, 64.0, 1.0, "MiB")]

    monkeypatch.setattr(bench, "BENCHES", {"made": made})
    call_command("bench")
    shown = capsys.readouterr()
    assert "0.50 MiB  limit 64.00 MiB" in shown.out
    assert "memory 0.50 MiB, limit 64.00 MiB" in shown.err


@pytest.mark.parametrize("sizes", [["--due", "1000"], ["--rows", "1000"], ["--rounds", "1000"]])
def test_a_sweep_too_small_to_be_measured_is_refused_before_anything_is_made(
    sizes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody@127.0.0.1:9/nothing")
    with pytest.raises(CommandError, match="or more due") as refused:
        call_command("bench", "sweep", *sizes)
    assert refused.value.returncode == 2


def test_a_database_that_is_not_there_is_one_sentence_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://nobody:hidden@127.0.0.1:9/nothing")
    with pytest.raises(CommandError) as refused:
        call_command("bench", "sweep")
    assert str(refused.value) == "`bench sweep` cannot reach the database of DATABASE_URL."
    assert refused.value.returncode == 2


def test_the_bench_of_the_sweep_measures_every_figure_on_a_database_that_it_drops_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without PostgreSQL it can only say so."""
    monkeypatch.setattr(sweeping, "BATCH", 50)
    monkeypatch.setattr(sweeping, "WARM_UP", 150)
    home = os.environ.get("DATABASE_URL", "")
    if not home:
        with pytest.raises(CannotMeasure, match="needs PostgreSQL"), sweeping.sweep(3000, 1350):
            pass
        return
    with sweeping.sweep(3000, 1350) as comparisons:
        figures = {each.figure: (each.peer_value(), each.measure(), each.unit) for each in comparisons}
        with psycopg.connect(home) as connection:
            made = [f"desk_bench_{os.getpid()}"]
            there = connection.execute("SELECT FROM pg_database WHERE datname = %s", made).fetchall()
    assert list(figures) == [
        "a share of the due",
        "while a transaction is open",
        "beside appends",
        "shared by two",
        "memory that it takes",
        "process at its peak",
    ]
    assert len(there) == 1
    assert all(peer > 0 for peer, _, _ in figures.values()), figures
    assert {unit for _, _, unit in figures.values()} == {"s", "MiB"}
    with psycopg.connect(home) as connection:
        assert connection.execute("SELECT FROM pg_database WHERE datname = %s", made).fetchall() == []
