"""``manage.py up`` starts everything, watches over it, and leaves nothing behind."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from tests.commands.running import all_gone, free_port, manage, pids, up


@pytest.fixture(scope="module", autouse=True)
def _database_of_its_own() -> Iterator[None]:
    """On PostgreSQL a fresh database for this module; SQLite has one in each state folder anyway."""
    url = os.environ.get("DATABASE_URL")
    if not url:
        yield
        return
    name = f"up_{uuid4().hex[:12]}"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DATABASE_URL", f"{url.rsplit('/', 1)[0]}/{name}")
            yield
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("desk")


@pytest.fixture(scope="module")
def first_start(state: Path) -> str:
    """What the first start of this module said."""
    with up(state) as desk:
        desk.first_page()
        code, out, _ = desk.end()
        assert code == 0
        return out


def test_the_first_start_makes_keys_that_only_the_owner_reads_and_prints_the_password_once(
    state: Path, first_start: str
) -> None:
    assert re.search(r"First operator: operator, password: \S{16} \(shown this once\)", first_start)
    assert {file.stat().st_mode & 0o777 for file in (state / "keys").iterdir()} == {0o600}
    with up(state) as desk:
        desk.announced()
        desk.first_page()
        _, out, _ = desk.end()
    assert "password" not in out
    assert f"serves {desk.address}/" in out


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_stops_all_and_leaves_no_process(state: Path, first_start: str, number: signal.Signals) -> None:
    with up(state) as desk:
        desk.first_page()
        assert len(pids(state)) >= 5  # up, server and its two workers, schedule
        code, _, errors = desk.end(number)
    assert code == 0
    assert "Traceback" not in errors
    assert all_gone(state)


def test_a_supervisor_that_is_killed_takes_everything_with_it(state: Path, first_start: str) -> None:
    with up(state) as desk:
        desk.first_page()
        desk.end(signal.SIGKILL)
        assert all_gone(state)


@pytest.mark.parametrize(("word", "name"), [("config.server", "web server"), ("beat", "schedule")])
def test_a_childs_death_stops_the_rest_and_is_named(state: Path, first_start: str, word: str, name: str) -> None:
    with up(state) as desk:
        desk.first_page()
        _wait_for(lambda: bool(pids(state, word)))
        os.kill(pids(state, word)[0], signal.SIGKILL)
        code, _, errors = desk.end(None)
    assert code == 1
    assert errors.splitlines()[-1] == f"CommandError: The {name} ended by SIGKILL, so the desk is stopped."


def test_the_desk_is_ready_once_the_sweep_has_run(state: Path, first_start: str) -> None:
    with up(state) as desk:
        desk.first_page()
        assert desk.get("/healthz")[0] == 200
        _wait_for(lambda: desk.get("/readyz")[0] == 200)
        assert set(json.loads(desk.get("/readyz")[1])["parts"].values()) == {"ok"}
        desk.end()


def test_nothing_of_a_request_is_in_what_the_desk_prints(state: Path, first_start: str) -> None:
    canary = "canary-90d2"
    with up(state) as desk:
        desk.first_page()
        desk.get(f"/{canary}?token={canary}")
        desk.get(f"/api/v1/elicitations/{canary}")
        desk.get(f"/admin/login/?next=/{canary}")
        _, out, errors = desk.end()
    requests = [json.loads(line) for line in errors.splitlines() if '"event": "request"' in line]
    assert [line["status"] for line in requests][-3] == 404
    assert canary not in out + errors


def test_a_second_start_in_the_folder_is_refused_by_port_and_by_folder(state: Path, first_start: str) -> None:
    with up(state) as desk:
        desk.first_page()
        same_port = manage(state, "up", "--port", str(desk.port))
        other_port = manage(state, "up", "--port", str(free_port()))
        desk.end()
    assert (same_port.returncode, other_port.returncode) == (2, 2)
    assert f"127.0.0.1 port {desk.port} cannot be used (Address already in use)" in _only_line(same_port.stderr)
    assert _only_line(other_port.stderr) == f"CommandError: The desk of {state} is already up."


def test_a_taken_port_is_told_before_anything_is_started(tmp_path: Path, state: Path, first_start: str) -> None:
    with up(state) as desk:
        desk.first_page()
        refused = manage(tmp_path, "up", "--port", str(desk.port))
        desk.end()
    assert refused.returncode == 2
    assert "cannot be used" in _only_line(refused.stderr)
    assert not (tmp_path / "desk.sqlite3").exists()


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"DESK_BASE_ULR": "https://desk.example.com"}, "DESK_BASE_ULR is not a setting of the desk"),
        ({"DESK_BASE_URL": "desk.example.com"}, "DESK_BASE_URL is not an origin"),
        ({"DESK_SEAL_KEYS": "k1:c2hvcnQ="}, "Key 1 of DESK_SEAL_KEYS is not 32 bytes in base64"),
        ({"DESK_SECRET_KEY_FILE": "/nonexistent/key"}, "The file of DESK_SECRET_KEY_FILE cannot be read"),
        ({"DESK_LOG_LEVEL": "LOUD"}, "DESK_LOG_LEVEL is not one of"),
        ({"DATABASE_URL": "mysql://db.example.com/desk"}, "DATABASE_URL is not of the form"),
        ({"DATABASE_URL": "postgres://u@127.0.0.1:1/desk"}, "The database cannot be used"),
        ({"DATABASE_URL": "//desk:CANARY@db.example.com/desk"}, "DATABASE_URL is not"),
        ({"DATABASE_URL": "CANARY"}, "DATABASE_URL is not"),
        ({"CELERY_BROKER_URL": "redis://127.0.0.1:1/0"}, "The broker of CELERY_BROKER_URL does not answer"),
        ({"DESK_SECRET_KEY": "CANARY"}, "DESK_SECRET_KEY has fewer than"),
        ({"DESK_DIGEST_KEYS": ""}, "DESK_DIGEST_KEYS is set, and empty"),
        ({"CELERY_BROKER_URL": "memory://"}, "CELERY_BROKER_URL is not a redis:// or amqp:// address"),
        ({"DESK_STATE_DIR": "/proc/desk"}, "The state folder /proc/desk cannot be written"),
    ],
)
def test_a_setting_that_cannot_be_used_is_one_sentence(tmp_path: Path, settings: dict[str, str], sentence: str) -> None:
    started = manage(tmp_path, "up", "--port", str(free_port()), **settings)
    assert started.returncode == 2
    assert sentence in _only_line(started.stderr.removeprefix("Preparing the database ...\n"))
    assert "c2hvcnQ" not in started.stderr
    assert "CANARY" not in started.stderr


def test_a_key_that_was_lost_is_not_replaced_by_another_one(tmp_path: Path) -> None:
    (tmp_path / "desk.sqlite3").touch()
    (tmp_path / "keys").mkdir()
    for name in ("secret_key", "digest_keys", "seal_keys"):
        (tmp_path / "keys" / f"desk_{name}").write_text("x" * 60)
    started = manage(tmp_path, "up", "--port", str(free_port()))
    assert started.returncode == 2
    assert _only_line(started.stderr).startswith("DESK_LEDGER_KEYS: set nowhere, and not in ")
    assert "Put back" in started.stderr
    assert not (tmp_path / "keys" / "desk_ledger_keys").exists()


def test_help_needs_no_keys_and_shows_an_example(tmp_path: Path) -> None:
    for command in ("up", "sweep", "bench"):
        shown = manage(tmp_path, command, "--help")
        assert shown.returncode == 0
        assert "Example: " in shown.stdout
    assert not list(tmp_path.iterdir())


def _only_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    return lines[0]


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
