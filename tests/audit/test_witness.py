"""Outsiders who hold checkpoints: a file, and a witness that checks them and signs that it saw them."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from audit import log_health
from audit import witness as outsider
from audit.models import Checkpoint, Log, Signal
from audit.note import verifier_key, verify_cosignatures
from audit.verify import Checkpoint as Stated
from audit.verify import read_checkpoints
from elicitation.services.sweeps import witnessing
from tests.audit.sealed import NOON, seal_all, sealed
from tests.audit.witnesses import Witness, key, witness_server

pytestmark = pytest.mark.django_db

LEDGER_SEED = bytes([3]) * 32


@pytest.fixture(autouse=True)
def _begun(db: None) -> None:
    """The first revision of the policy is on the ledger of every desk; that log has been shown."""
    seal_all()
    Log.objects.update(witnessed_size=1, filed_size=1)


def acme() -> Log:
    return Log.objects.get(tenant="acme")


@pytest.fixture
def witness(settings: Any) -> Iterator[Witness]:
    with witness_server() as server:
        server.keys = [verifier_key("127.0.0.1:8000/acme", LEDGER_SEED)]
        settings.DESK_WITNESS_URL, settings.DESK_WITNESS_KEY = server.url, key()
        yield server


@pytest.fixture
def file(settings: Any, tmp_path: Path) -> Path:
    settings.DESK_WITNESS_FILE = tmp_path / "checkpoints"
    return tmp_path / "checkpoints"


def again() -> int:
    """The sweep, when the time of the next try has come."""
    Log.objects.update(witness_tried_at=timezone.now() - timedelta(days=1))
    return witnessing.witness()


def newest() -> Checkpoint:
    return Checkpoint.objects.filter(log__tenant="acme").latest("size")


def problem() -> str:
    return acme().witness_problem


def test_nobody_is_shown_anything_unless_it_is_asked_for() -> None:
    sealed(1)
    assert witnessing.witness() == 0
    assert acme().witness_tried_at is None


def test_a_witness_cosigns_each_checkpoint_that_goes_on_from_the_last(witness: Witness) -> None:
    for count, old in ((3, 0), (300, 3), (1, 303)):
        log = sealed(count)
        assert again() == 1
        assert witness.requests[-1].startswith(b"old %d\n" % old)
        cosigned = newest()
        assert verify_cosignatures(cosigned.note, cosigned.cosignatures, key()) == witness.time
        log.refresh_from_db()
        assert (log.witnessed_size, log.witness_problem) == (log.size, "")
        health = log_health.health(log)
        assert (health.witnessed_size, health.sealed_size) == (log.size, log.size)
    assert witness.statuses == [200, 200, 200]
    assert not Signal.objects.exists()


def test_a_log_that_has_not_grown_is_not_shown_again(witness: Witness) -> None:
    sealed(3)
    assert [again(), again(), again()] == [1, 0, 0]
    assert len(witness.requests) == 1


def test_no_try_follows_another_at_once(witness: Witness) -> None:
    sealed(1)
    witness.answer = (503, b"")
    assert [witnessing.witness(), witnessing.witness()] == [0, 0]
    assert len(witness.requests) == 1


def test_the_longer_nobody_answers_the_longer_it_waits() -> None:
    log = sealed(1)
    waits = []
    for silent in (0, 1, 60, 24 * 60):
        log.witness_problem, log.witnessed_at = "unreachable", NOON
        log.witness_tried_at = NOON + timedelta(minutes=silent)
        log.save()
        waits.append(
            next(
                seconds
                for seconds in range(0, 3600, 5)
                if outsider.due(log.witness_tried_at + timedelta(seconds=seconds), 1)
            )
        )
    assert waits == [20, 20, 450, 600]


def test_a_witness_that_saw_more_than_the_desk_noted_is_asked_from_there(witness: Witness) -> None:
    sealed(3)
    again()
    Log.objects.filter(tenant="acme").update(witnessed_size=0)
    sealed(4)
    assert again() == 1
    assert witness.statuses == [200, 409, 200]
    assert witness.requests[-1].startswith(b"old 3\n")
    assert acme().witnessed_size == 7


def test_a_witness_that_forgot_the_log_begins_anew(witness: Witness) -> None:
    sealed(3)
    again()
    witness.seen.clear()
    sealed(4)
    assert again() == 1
    assert witness.statuses == [200, 409, 200]


def broken() -> tuple[str, str, str]:
    signal = Signal.objects.get()
    return signal.rule, signal.tenant, signal.about


def test_a_log_that_became_smaller_is_a_signal(witness: Witness) -> None:
    """As after a restore of yesterday's backup."""
    log = sealed(5)
    again()
    witness.seen[log.origin] = Stated(log.origin, 9, witness.seen[log.origin].root)
    sealed(1)
    assert again() == 0
    assert (problem(), broken()) == ("ahead", ("ledger_broken", "acme", f"log-{log.pk}"))
    assert acme().witnessed_size == 5


def test_a_log_that_is_another_is_a_signal(witness: Witness) -> None:
    log = sealed(5)
    again()
    witness.seen[log.origin] = Stated(log.origin, 5, bytes(32))
    sealed(1)
    assert [again(), again()] == [0, 0]
    assert (problem(), broken()) == ("contradicted", ("ledger_broken", "acme", f"log-{log.pk}"))


def test_a_log_that_grew_to_the_same_size_otherwise_is_a_signal(witness: Witness) -> None:
    log = sealed(5)
    witness.seen[log.origin] = Stated(log.origin, 5, bytes(32))
    assert again() == 0
    assert witness.statuses == [409, 422]
    assert (problem(), broken()[0]) == ("contradicted", "ledger_broken")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((404, b""), "unknown_log"),
        ((403, b""), "unknown_key"),
        ((400, b""), "refused"),
        ((429, b""), "refused"),
        ((500, b"a page"), "failed"),
        ((302, b""), "redirect"),
        ((204, b""), "malformed"),
        ((409, b"0"), "malformed"),
        ((409, b"03\n"), "malformed"),
        ((409, b"0\n"), "overtaken"),
        ((200, b""), "malformed"),
        ((200, b"\xff\n"), "malformed"),
        ((200, b"hello\n"), "malformed"),
        ((200, "\u2014 other.example.com AAAAAAAA\n".encode()), "not_cosigned"),
    ],
)
def test_what_a_witness_says_instead_is_a_code_and_tried_again(
    witness: Witness, answer: tuple[int, bytes], said: str
) -> None:
    sealed(2)
    witness.answer = answer
    assert again() == 0
    assert (problem(), newest().cosignatures) == (said, "")
    assert not Signal.objects.exists()
    witness.answer = None
    assert again() == 1
    assert problem() == ""


def test_a_witness_that_trusts_no_key_of_ours_is_told_apart_from_one_that_does_not_know_the_log(
    witness: Witness,
) -> None:
    sealed(2)
    witness.keys = [verifier_key("127.0.0.1:8000/acme", b"o" * 32)]
    again()
    assert problem() == "unknown_key"
    witness.keys = []
    again()
    assert problem() == "unknown_log"


def test_a_cosignature_of_another_key_or_over_another_text_counts_for_nothing(witness: Witness) -> None:
    sealed(2)
    witness.seed = b"x" * 32
    again()
    assert problem() == "not_cosigned"
    witness.seed = b"w" * 32
    witness.answer = (200, witness.cosignature("127.0.0.1:8000/acme\n9\n" + "A" * 43 + "=\n"))
    again()
    assert (problem(), newest().cosignatures) == ("not_cosigned", "")


def test_the_lines_of_others_are_not_kept(witness: Witness) -> None:
    sealed(2)
    ours = witness.cosignature(newest().note.partition("\n\n")[0] + "\n")
    witness.answer = (200, "\u2014 other.example.com AAAAAAAA\n".encode() + ours)
    assert again() == 1
    assert newest().cosignatures == ours.decode()


def test_a_witness_that_is_not_there_is_a_code(settings: Any, witness: Witness) -> None:
    settings.DESK_WITNESS_URL = "http://127.0.0.1:9"
    sealed(2)
    assert again() == 0
    assert problem() == "unreachable"


def test_a_log_that_fails_stops_no_other(witness: Witness) -> None:
    sealed(2, "umbrella")
    sealed(2)
    assert again() == 1
    found = dict(Log.objects.values_list("tenant", "witness_problem"))
    assert (found["acme"], found["umbrella"]) == ("", "unknown_log")


def test_each_new_checkpoint_is_appended_to_the_file(file: Path) -> None:
    notes = []
    for count in (2, 3):
        sealed(count)
        assert [again(), again()] == [1, 0]
        notes.append(newest().note)
    assert [checkpoint.size for checkpoint in read_checkpoints(file)] == [2, 5]
    text = file.read_text()
    assert all(f"{note}\n" in text for note in notes)
    assert stat.S_IMODE(file.stat().st_mode) == 0o644


def test_what_an_interruption_left_of_a_note_goes_with_the_next(file: Path) -> None:
    sealed(2)
    again()
    whole = file.read_bytes()
    for torn in range(1, len(whole), 7):
        file.write_bytes(whole + whole[:torn].rstrip(b"\n"))
        outsider.append(file, newest().note)
        assert file.read_bytes() == whole * 2
    file.write_bytes(whole[:20])
    outsider.append(file, newest().note)
    assert file.read_bytes() == whole


def test_a_file_that_cannot_be_written_is_a_code_and_tried_again(file: Path) -> None:
    file.mkdir()
    sealed(2)
    assert again() == 0
    assert (problem(), acme().witnessed_size) == ("file", 0)
    file.rmdir()
    assert again() == 1
    assert problem() == ""


def test_a_checkpoint_stands_in_the_file_once_though_the_witness_is_asked_again(file: Path, witness: Witness) -> None:
    sealed(2)
    witness.answer = (500, b"")
    again()
    again()
    assert [each.size for each in read_checkpoints(file)] == [2]
    assert acme().witnessed_size == 0
    witness.answer = None
    again()
    assert acme().witnessed_size == 2
