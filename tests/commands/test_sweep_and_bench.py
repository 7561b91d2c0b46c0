"""``manage.py sweep`` works off what is due; ``manage.py bench`` judges a figure by its ratio."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from django.core.management import CommandError, call_command

from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.management.commands import bench
from elicitation.services.sweeps.registry import SWEEPS


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A sweep that moves 500, then 20, then finds nothing; what is left says how often it ran."""
    left = [500, 20, 0]
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
    assert (row["seconds"], row["ratio"], row["met"], row["rounds"]) == (1.2, 1.2, True, 3)


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
