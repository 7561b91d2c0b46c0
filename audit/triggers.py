"""Triggers that keep a promise in the database itself: rows, or some columns of them, that nobody rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses DELETE, TRUNCATE and REPLACE on ``table``, and UPDATE of ``columns`` (of any column when empty)."""

    table: str
    columns: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        return f"{self.table} is append-only"

    def postgresql(self) -> list[str]:
        of = f" OF {', '.join(self.columns)}" if self.columns else ""
        function, table = f"{self.table}_refuse", self.table
        statements = [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{self.message}' USING ERRCODE = 'insufficient_privilege'; END $$",
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE{of} ON {table} FOR EACH ROW EXECUTE FUNCTION {function}()",
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} FOR EACH ROW EXECUTE FUNCTION {function}()",
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]
        # ALWAYS: also where session_replication_role would switch ordinary triggers off.
        statements += [f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}" for name in self.postgresql_names()]
        if not self.columns:
            statements.append(f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM PUBLIC, CURRENT_USER")
        return statements

    def sqlite(self) -> list[str]:
        of = f" OF {', '.join(self.columns)}" if self.columns else ""
        table, refuse = self.table, f"BEGIN SELECT RAISE(ABORT, '{self.message}'); END"
        return [
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE{of} ON {table} {refuse}",
            f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}",
            # REPLACE deletes without firing a DELETE trigger, so an id that exists is refused first.
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} WHERE id = NEW.id) {refuse}",
        ]

    def postgresql_names(self) -> tuple[str, ...]:
        return tuple(f"{self.table}_no_{verb}" for verb in ("update", "delete", "truncate"))

    def sqlite_names(self) -> tuple[str, ...]:
        return tuple(f"{self.table}_no_{verb}" for verb in ("update", "delete", "replace"))

    def install(self, _apps: Any, schema_editor: Any) -> None:
        """For ``migrations.RunPython``: knows both databases."""
        for statement in getattr(self, schema_editor.connection.vendor)():
            schema_editor.execute(statement, params=None)

    def missing(self, connection: BaseDatabaseWrapper) -> list[str]:
        """The triggers that are not there, or not always on."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(
                    "SELECT tgname FROM pg_trigger WHERE tgrelid = to_regclass(%s) AND tgenabled = 'A'", [self.table]
                )
                wanted: Sequence[str] = self.postgresql_names()
            else:
                cursor.execute("SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [self.table])
                wanted = self.sqlite_names()
            there = {row[0] for row in cursor.fetchall()}
        return [name for name in wanted if name not in there]


LEDGER = Guard("audit_ledgerentry")


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The triggers of the ledger that are not there."""
    return LEDGER.missing(connection)
