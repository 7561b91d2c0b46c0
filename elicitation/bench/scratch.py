"""A database that a bench makes beside the desk's own, fills and drops again."""

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

from elicitation.bench.frame import CannotMeasure

ROOT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Scratch:
    """A desk of the bench's own: its address, and what a process needs in its environment to work on it."""

    url: str
    environment: dict[str, str]

    @property
    def folder(self) -> Path:
        """The state folder, which goes when the database goes."""
        return Path(self.environment["DESK_STATE_DIR"])

    def connect(self, *, autocommit: bool = True) -> psycopg.Connection[Any]:
        return psycopg.connect(self.url, autocommit=autocommit, cursor_factory=psycopg.ClientCursor)


@contextmanager
def scratch(bench: str) -> Iterator[Scratch]:
    """A migrated database beside the one of ``DATABASE_URL``, for the bench of this name. Raises ``CannotMeasure``."""
    home = os.environ.get("DATABASE_URL", "")
    if not home.startswith(("postgres://", "postgresql://")):
        raise CannotMeasure(f"`bench {bench}` needs PostgreSQL: set DATABASE_URL to one that lets you make databases.")
    name = f"desk_bench_{os.getpid()}"
    url = urlunsplit(urlsplit(home)._replace(path=f"/{name}"))
    try:
        _on(home, f"CREATE DATABASE {name}")
    except psycopg.OperationalError:
        raise CannotMeasure(f"`bench {bench}` cannot reach the database of DATABASE_URL.") from None
    except psycopg.Error:
        raise CannotMeasure(f"`bench {bench}` may not make a database on the server of DATABASE_URL.") from None
    try:
        with tempfile.TemporaryDirectory(prefix="desk-bench-") as folder:
            kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "PGPASSFILE") if key in os.environ}
            desk = Scratch(url, {**kept, "DESK_STATE_DIR": folder, "DATABASE_URL": url, "DESK_LOG_LEVEL": "ERROR"})
            run(desk, "-c", "from config.environment import make_absent_secrets; make_absent_secrets()")
            run(desk, "manage.py", "migrate", "-v0")
            yield desk
    finally:
        _on(home, f"DROP DATABASE {name} WITH (FORCE)")


def _on(url: str, statement: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(statement.encode())


def run(desk: Scratch, *arguments: str) -> str:
    """What Python prints when it is run so on the scratch desk. Raises ``CannotMeasure`` when it fails."""
    command = [sys.executable, *arguments]
    done = subprocess.run(  # noqa: S603 - our own interpreter
        command, cwd=ROOT, env=desk.environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise CannotMeasure(f"`{arguments[0]}` failed: {done.stderr.strip().rpartition(chr(10))[2]}")
    return done.stdout


def insert(connection: psycopg.Connection[Any], model: type[Model], given: dict[str, str], source: str) -> None:
    """Run the ``insertion``."""
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


def take_off(connection: psycopg.Connection[Any], table: str) -> list[str]:
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
