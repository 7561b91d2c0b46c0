"""A desk's database is dumped and restored, into the same version, into others, and copied while it runs: the log that
comes out is the one that went in, and goes on."""

from __future__ import annotations

import base64
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from audit.triggers import RETENTION_ROLE
from config.environment import ROOT
from tests.commands.running import environment
from tests.peers.postgres import Server, others, programs, server

pytestmark = pytest.mark.peers

#: Whoever restores a database has the desk's keys as well.
KEYS = {
    f"DESK_{ring}_KEYS": f"k{number}:" + base64.b64encode(bytes([number]) * 32).decode()
    for number, ring in enumerate(("DIGEST", "SEAL", "LEDGER"), start=1)
}
UNCOMMITTED = (
    "INSERT INTO audit_ledgerentry SELECT (jsonb_populate_record(entry, jsonb_build_object('id', "
    "nextval(pg_get_serial_sequence('audit_ledgerentry', 'id'))))).* FROM audit_ledgerentry entry LIMIT 1"
)


def ledger(verb: str, state: Path, **settings: str) -> Any:
    """What ``tests.peers.restored`` says of the desk with this state folder."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.peers.restored", verb],
        cwd=ROOT,
        env=environment(state, **KEYS, DESK_SECRET_KEY="x" * 50, DJANGO_SETTINGS_MODULE="config.settings", **settings),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@dataclass(frozen=True)
class Dumped:
    """A dump, made while a transaction had an entry that it had not committed, and what stood in the ledger then."""

    server: Server
    state: Path
    text: bytes
    then: Any


@pytest.fixture(scope="module")
def dumped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dumped]:
    state = tmp_path_factory.mktemp("state")
    with server(programs()) as source:
        source.run("createdb", "desk")
        url = source.url("desk")
        ledger("make", state, DATABASE_URL=url)
        with psycopg.connect(url) as open_one:
            open_one.execute(UNCOMMITTED.encode())
            then = ledger("look", state, DATABASE_URL=url)
            text = source.run("pg_dump", "desk")
            open_one.commit()
        yield Dumped(source, state, text, then)


def assert_whole(then: Any, now: Any) -> None:
    """Nothing is missing, the guards stand, every verification is green, and the notes are the very same."""
    assert now["guards"] == []
    for tenant, was in then["logs"].items():
        found = now["logs"][tenant]
        assert (found["night"], found["export"]) == (["verified", None], "verified")
        assert found["notes"][: len(was["notes"])] == was["notes"]
        assert found["pruned"] >= was["pruned"]


def assert_goes_on(then: Any, state: Path, **settings: str) -> None:
    """More is sealed, every new checkpoint fits the old ones, and no entry stays behind."""
    now = ledger("go_on", state, **settings)
    assert_whole(then, now)
    assert all(fits and grown >= 300 for grown, fits in now["consistent"].values())
    assert now["unsealed"] <= 1  # the last export's own entry
    assert now["logs"]["acme"]["pruned"] == 768


def restored(dumped: Dumped, target: Server, *, with_role: bool) -> str:
    target.run("createdb", "restored")
    if with_role:
        target.run("psql", "-d", "postgres", "-c", f"CREATE ROLE {RETENTION_ROLE} NOLOGIN")
    stop = "ON_ERROR_STOP=1" if with_role else "ON_ERROR_STOP=0"
    target.run("psql", "-q", "-X", "-v", stop, "-d", "restored", given=dumped.text)
    return target.url("restored")


def assert_moved(dumped: Dumped, url: str) -> Any:
    now = ledger("look", dumped.state, DATABASE_URL=url)
    assert_whole(dumped.then, now)
    # The look at the source wrote two entries about its own exports before the dump was made.
    for tenant, was in dumped.then["logs"].items():
        assert {name: now["logs"][tenant][name] for name in ("lines", "size", "root")} == {
            name: was[name] for name in ("lines", "size", "root")
        }
    return now


@pytest.mark.parametrize("binaries", [programs(), *others()], ids=lambda path: path.parts[-3])
def test_a_dump_is_restored_as_it_was_and_goes_on(dumped: Dumped, binaries: Path) -> None:
    with server(binaries) as target:
        url = restored(dumped, target, with_role=True)
        now = assert_moved(dumped, url)
        assert now["version"] >= dumped.then["version"]
        assert_goes_on(now, dumped.state, DATABASE_URL=url)


def test_a_dump_without_the_role_that_prunes_is_guarded_and_prunes_again(dumped: Dumped) -> None:
    """The role is not part of a database's dump."""
    with server(programs()) as target:
        url = restored(dumped, target, with_role=False)
        assert_goes_on(assert_moved(dumped, url), dumped.state, DATABASE_URL=url)


def test_what_was_not_committed_when_it_was_dumped_is_sealed_where_it_was(dumped: Dumped) -> None:
    assert_goes_on(dumped.then, dumped.state, DATABASE_URL=dumped.server.url("desk"))


def test_there_are_other_versions_to_try() -> None:
    if not others():
        pytest.skip("OTHER_POSTGRES names no folder; .ci/run brings some")
    assert len(others()) >= 2


def test_sqlite_is_copied_while_it_runs(tmp_path: Path) -> None:
    state, copy = tmp_path / "state", tmp_path / "copy"
    state.mkdir()
    copy.mkdir()
    ledger("make", state)
    then = ledger("look", state)
    with (
        closing(sqlite3.connect(state / "desk.sqlite3", isolation_level=None)) as writer,
        closing(sqlite3.connect(state / "desk.sqlite3")) as source,
        closing(sqlite3.connect(copy / "desk.sqlite3")) as target,
    ):
        writer.execute("BEGIN IMMEDIATE")
        columns = ", ".join(
            name for _, name, *_ in writer.execute("PRAGMA table_info(audit_ledgerentry)") if name != "id"
        )
        writer.execute(f"INSERT INTO audit_ledgerentry ({columns}) SELECT {columns} FROM audit_ledgerentry LIMIT 1")
        source.backup(target)
        writer.execute("COMMIT")
    now = ledger("look", copy)
    assert_whole(then, now)
    assert {tenant: log["lines"] for tenant, log in now["logs"].items()} == {
        tenant: log["lines"] for tenant, log in then["logs"].items()
    }
    assert_goes_on(now, copy)
    assert_goes_on(then, state)
