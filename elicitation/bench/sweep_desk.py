"""The database that ``bench sweep`` makes, fills and drops again: entries of which many are overdue."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db.models import Field, Model

from audit.models import LedgerEntry
from elicitation.bench.frame import CannotMeasure
from elicitation.models import Client, Decision, Elicitation, PolicyRevision, Provider, Service, Subject, Tenant

ROOT: Final = Path(__file__).resolve().parents[2]
SERVICES: Final = 8
#: Entries asked of one person, on the average.
PER_SUBJECT: Final = 20
#: So many entries are made in one statement.
SLICE: Final = 250_000
LIVE: Final = "'ADMITTED', 'CONSENT_PENDING', 'RETRY_REQUIRED'"

#: One of four entries is a form. Of the links that are due half are admitted, some pending, some lost; what is not
#: due has ended, but for one of twenty, which is live and has time.
_IS_FORM: Final = "n % 4 = 0"
_STATE: Final = """CASE
    WHEN n <= {ended} AND n % 20 <> 1 THEN CASE WHEN n % 4 = 0 THEN 'DECLINED' ELSE 'CANCELLED' END
    WHEN n % 4 = 0 OR n % 2 = 1 THEN 'ADMITTED' WHEN n % 10 = 2 THEN 'RETRY_REQUIRED' ELSE 'CONSENT_PENDING' END"""
_ENDS: Final = "CASE WHEN n <= {ended} THEN now() + interval '30 days' ELSE now() - interval '2 days' END"


@dataclass(frozen=True, slots=True)
class Scratch:
    """A desk of the bench's own: its address, and what a process needs in its environment to work on it."""

    url: str
    environment: dict[str, str]

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=autocommit, cursor_factory=psycopg.ClientCursor)


@contextmanager
def scratch() -> Iterator[Scratch]:
    """A migrated database beside the one of ``DATABASE_URL``. Raises ``CannotMeasure``."""
    home = os.environ.get("DATABASE_URL", "")
    if not home.startswith(("postgres://", "postgresql://")):
        raise CannotMeasure("`bench sweep` needs PostgreSQL: set DATABASE_URL to one that lets you make databases.")
    name = f"desk_bench_{os.getpid()}"
    url = urlunsplit(urlsplit(home)._replace(path=f"/{name}"))
    try:
        _on(home, f"CREATE DATABASE {name}")
    except psycopg.OperationalError:
        raise CannotMeasure("`bench sweep` cannot reach the database of DATABASE_URL.") from None
    except psycopg.Error:
        raise CannotMeasure("`bench sweep` may not make a database on the server of DATABASE_URL.") from None
    try:
        with tempfile.TemporaryDirectory(prefix="desk-bench-") as folder:
            kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "PGPASSFILE") if key in os.environ}
            desk = Scratch(url, {**kept, "DESK_STATE_DIR": folder, "DATABASE_URL": url, "DESK_LOG_LEVEL": "ERROR"})
            _run(desk, "-c", "from config.environment import make_absent_secrets; make_absent_secrets()")
            _run(desk, "manage.py", "migrate", "-v0")
            yield desk
    finally:
        _on(home, f"DROP DATABASE {name} WITH (FORCE)")


def _on(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def _run(desk: Scratch, *arguments: str) -> None:
    command = [sys.executable, *arguments]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        command, cwd=ROOT, env=desk.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotMeasure(f"`{arguments[0]}` failed: {done.stderr.strip().rpartition(chr(10))[2]}")


def fill(desk: Scratch, rows: int, due: int) -> Iterator[str]:
    """``rows`` entries of several services, of which the last ``due`` are overdue, each with a deadline of its own.

    Indexes and foreign keys come after the rows, as when a dump is restored. Yields how far it has come.
    """
    with desk.connect() as connection:
        subjects = max(1, rows // PER_SUBJECT)
        slug = {"slug": "'bench-' || n", "name": "'Bench'", "opened_at": "now()"}
        services = f"generate_series(1, {SERVICES}) AS n"
        _insert(connection, Tenant, slug, services)
        _insert(connection, Service, {**slug, "tenant": "n"}, services)
        asked = {"lookup": "CASE WHEN n % 2 = 0 THEN 'generic' ELSE '' END"}
        asked["status_url"] = "CASE WHEN n % 2 = 0 THEN 'https://pay.example.com/status' ELSE '' END"
        _insert(connection, Provider, {**slug, **asked, "tenant": "n"}, services)
        _insert(connection, Client, {"tenant": "n", "name": "'bench'", "version": "n"}, services)
        who = {"tenant": f"1 + n % {SERVICES}", "digest": "md5(n::text)", "handle": "gen_random_uuid()"}
        _insert(connection, Subject, who, f"generate_series(1, {subjects}) AS n")
        _insert(connection, Decision, _decision(), services)
        later = _take_off(connection, Elicitation._meta.db_table)
        for first in range(1, rows + 1, SLICE):
            last = min(rows, first + SLICE - 1)
            _insert(connection, Elicitation, _entry(rows - due, subjects), f"generate_series({first}, {last}) AS n")
            yield f"{last:,} of {rows:,} entries made"
        connection.execute("SET maintenance_work_mem = '256MB'")
        yield "indexes and keys"
        for statement in later:
            connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")


def _decision() -> dict[str, str]:
    given = {"uid": "gen_random_uuid()", "kind": "'admission'", "at": "now()", "service": "n", "client": "n"}
    words = {"wire": "'2025-11-25'", "delivery": "'create'", "purpose": "'payment'", "id_class": "'minted'"}
    flags = dict.fromkeys(("mode_asked", "declared_form", "declared_url"), "true") | {"capability_malformed": "false"}
    return given | words | flags | {"revision": _revision(), "outcome": "'admit'", "rule": "'policy.admitted'"}


def _entry(ended: int, subjects: int) -> dict[str, str]:
    state, ends, service = _STATE.format(ended=ended), _ENDS.format(ended=ended), f"1 + n % {SERVICES}"
    over = f"{ends} + n * interval '1 millisecond'"
    parties = dict.fromkeys(("service", "tenant", "client", "decision"), service)
    times = {"window_ends_at": over, "admitted_at": f"{over} - interval '1 hour'"}
    times["consented_at"] = f"CASE WHEN {state} = 'CONSENT_PENDING' THEN {over} - interval '30 minutes' END"
    times["shown_at"] = f"CASE WHEN n % 3 = 0 THEN {over} - interval '40 minutes' END"
    return {
        **parties,
        **times,
        "uid": "gen_random_uuid()",
        "subject": f"1 + n % {subjects}",
        "provider": f"CASE WHEN {_IS_FORM} THEN NULL ELSE {service} END",
        "origin": f"CASE WHEN {_IS_FORM} THEN '' ELSE 'https://consent.example.com' END",
        "mode": f"CASE WHEN {_IS_FORM} THEN 'form' ELSE 'url' END",
        "purpose": f"CASE WHEN {_IS_FORM} THEN 'choice' ELSE 'payment' END",
        "wire": "'2025-11-25'",
        "wire_id": f"CASE WHEN {_IS_FORM} THEN NULL ELSE 'elc_' || md5(n::text) END",
        "delivery": "CASE WHEN n % 5 = 0 THEN 'url_required' ELSE 'create' END",
        "id_class": "'minted'",
        "operation_digest": "'b1:' || md5(n::text) || md5((-n)::text)",
        "revision": _revision(),
        "state": state,
        "deadline": f"CASE WHEN {state} IN ({LIVE}) THEN {over} END",
    }


def _revision() -> str:
    return f"(SELECT id FROM {PolicyRevision._meta.db_table} WHERE status = 'active')"  # noqa: S608 - our own table


def _insert(connection: psycopg.Connection[Any], model: type[Model], given: dict[str, str], source: str) -> None:
    connection.execute(insertion(model, given, source).encode())


def insertion(model: type[Model], given: dict[str, str], source: str) -> str:
    """An ``INSERT`` of a row for each of ``source``: fields as ``given``, the rest as the model has them unsaid."""
    columns = [field for field in model._meta.concrete_fields if not field.primary_key]
    assert given.keys() <= {field.name for field in columns}
    names = ", ".join(f'"{field.column}"' for field in columns)
    values = ", ".join(given.get(field.name) or _unsaid(field) for field in columns)
    return f"INSERT INTO {model._meta.db_table} ({names}) SELECT {values} FROM {source}"  # noqa: S608 - our own tables


def _unsaid(field: Field[Any, Any]) -> str:
    if field.null:
        return "NULL"
    match field.get_default():
        case bool(value):
            return str(value).lower()
        case int(value):
            return str(value)
        case list():
            return "'[]'"
        case value:
            return f"'{value}'"


def _take_off(connection: psycopg.Connection[Any], table: str) -> list[str]:
    """Drop the table's constraints and indexes that cost most while it is filled; returns what makes them anew."""
    kept = connection.execute(
        "SELECT conname, pg_get_constraintdef(oid), contype = 'u' FROM pg_constraint "
        "WHERE conrelid = to_regclass(%s) AND contype IN ('f', 'u') ORDER BY contype DESC",
        [table],
    ).fetchall()
    indexes = connection.execute(
        "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = %s AND NOT EXISTS "
        "(SELECT FROM pg_constraint WHERE conindid = to_regclass(quote_ident(indexname)))",
        [table],
    ).fetchall()
    for name, _, _ in kept:
        connection.execute(f'ALTER TABLE {table} DROP CONSTRAINT "{name}" CASCADE'.encode())
    for name, _ in indexes:
        connection.execute(f'DROP INDEX "{name}"'.encode())
    return [
        *(definition for _, definition in indexes),
        *(f'ALTER TABLE {table} ADD CONSTRAINT "{name}" {definition}' for name, definition, _ in kept),
    ]


def append_one() -> bytes:
    """Another entry on the ledger, as any event of the desk appends one."""
    given = {"tenant": "'bench-1'", "at": "clock_timestamp()", "event": "'shown'", "actor_kind": "'service'"}
    return insertion(LedgerEntry, {**given, "elicitation_id": "gen_random_uuid()"}, "generate_series(1, 1)").encode()
