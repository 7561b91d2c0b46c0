"""The benches of the ledger say in one sentence what they lack."""

import os
from typing import Any

import pytest

from config.celery import SCHEDULE
from elicitation.bench import export as exporting
from elicitation.bench import on_demand
from elicitation.bench import seal as sealing
from elicitation.bench import verify as verifying
from elicitation.bench.frame import CannotMeasure
from elicitation.bench.scratch import Scratch


@pytest.mark.parametrize(
    ("bench", "name"), [(sealing.seal, "seal"), (exporting.export, "export"), (verifying.verify, "verify")]
)
def test_without_postgresql_a_bench_of_the_ledger_says_so(
    bench: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "")
    with pytest.raises(CannotMeasure, match=rf"^`bench {name}` needs PostgreSQL: [^.]*\.$"), bench():
        pass


def test_the_bench_seals_as_often_as_the_desk_does() -> None:
    assert SCHEDULE["seal"] == sealing.EVERY_SECONDS


@pytest.mark.parametrize(("bench", "program"), [(exporting.export, "psql"), (verifying.verify, "sha256sum")])
def test_without_the_peer_there_is_one_sentence(bench: Any, program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(CannotMeasure, match=rf"^`bench \w+` needs {program} on the PATH\.$"), bench():
        pass


def test_a_process_that_ends_is_one_sentence() -> None:
    desk = Scratch("postgres://127.0.0.1/none", {"PATH": os.environ["PATH"]})
    with (
        on_demand.process(desk, "no_such_module") as made,
        pytest.raises(CannotMeasure, match=r"^`no_such_module` ended"),
    ):
        made.does("anything")
