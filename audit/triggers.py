"""Triggers that keep a promise in the database itself: rows, or some columns of them, that nobody rewrites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper

#: Who prunes on PostgreSQL: nobody logs in as this role, one function runs as it (``audit.pruning``).
RETENTION_ROLE: Final = "desk_retention"


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses DELETE, TRUNCATE and REPLACE on ``table``, and UPDATE of ``columns`` (of any column when empty).

    ``key`` is the columns of its primary key, as SQL spells them. ``covered`` is SQL about the row ``OLD``: where it
    holds, a prune may delete the row, on PostgreSQL as ``RETENTION_ROLE`` alone.
    """

    table: str
    columns: tuple[str, ...] = ()
    key: tuple[str, ...] = ("id",)
    covered: str = ""

    @property
    def message(self) -> str:
        return f"{self.table} is append-only"

    def postgresql(self) -> list[str]:
        of = f" OF {', '.join(self.columns)}" if self.columns else ""
        function, table = f"{self.table}_refuse", self.table
        statements = [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $${self._refusal}$$",
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE{of} ON {table} FOR EACH ROW EXECUTE FUNCTION {function}()",
            *self._postgresql_deletes(),
            f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()",
        ]
        # ALWAYS: also where session_replication_role would switch ordinary triggers off.
        statements += [f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}" for name in self.postgresql_names()]
        if not self.columns:
            statements.append(f"REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM PUBLIC, CURRENT_USER")
        return statements

    @property
    def _refuse(self) -> str:
        return f"RAISE EXCEPTION '{self.message}' USING ERRCODE = 'insufficient_privilege';"

    @property
    def _refusal(self) -> str:
        return f" BEGIN {self._refuse} END "

    @property
    def _exception(self) -> str:
        return (
            f" BEGIN IF current_user = '{RETENTION_ROLE}' AND {self.covered} THEN RETURN OLD; END IF; "
            f"{self._refuse} END "
        )

    def _postgresql_deletes(self) -> list[str]:
        function = f"{self.table}_{'prune' if self.covered else 'refuse'}"
        trigger = (
            f"CREATE TRIGGER {self.table}_no_delete BEFORE DELETE ON {self.table} "
            f"FOR EACH ROW EXECUTE FUNCTION {function}()"
        )
        if not self.covered:
            return [trigger]
        return [
            f"CREATE OR REPLACE FUNCTION {function}() RETURNS trigger LANGUAGE plpgsql AS $${self._exception}$$",
            # What it reads is looked up in the desk's own schema, before the temporary tables of whoever deletes.
            f"DO $$ BEGIN EXECUTE format('ALTER FUNCTION {function}() SET search_path = %I, pg_temp', "
            "current_schema()); END $$",
            trigger,
        ]

    def sqlite(self) -> list[str]:
        of = f" OF {', '.join(self.columns)}" if self.columns else ""
        same = " AND ".join(f"{column} = NEW.{column}" for column in self.key)
        table, refuse = self.table, f"BEGIN SELECT RAISE(ABORT, '{self.message}'); END"
        return [
            f"CREATE TRIGGER {table}_no_update BEFORE UPDATE{of} ON {table} {refuse}",
            *self._sqlite_deletes(),
            # REPLACE deletes without firing a DELETE trigger, so a key that exists is refused first.
            f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} "
            f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}",
        ]

    def _sqlite_deletes(self) -> list[str]:
        unless = f" WHEN NOT ({self.covered})" if self.covered else ""
        return [
            f"CREATE TRIGGER {self.table}_no_delete BEFORE DELETE ON {self.table}{unless} "
            f"BEGIN SELECT RAISE(ABORT, '{self.message}'); END"
        ]

    def postgresql_names(self) -> tuple[str, ...]:
        return tuple(f"{self.table}_no_{verb}" for verb in ("update", "delete", "truncate"))

    def sqlite_names(self) -> tuple[str, ...]:
        return tuple(f"{self.table}_no_{verb}" for verb in ("update", "delete", "replace"))

    def install(self, _apps: Any, schema_editor: Any) -> None:
        """For ``migrations.RunPython``: knows both databases. Lets no prune through."""
        for statement in getattr(replace(self, covered=""), schema_editor.connection.vendor)():
            schema_editor.execute(statement, params=None)

    def let_prunes_through(self, _apps: Any, schema_editor: Any) -> None:
        """For ``migrations.RunPython``, once what ``covered`` speaks of is there."""
        if schema_editor.connection.vendor == "postgresql":
            name, always = f"{self.table}_no_delete", f"ALTER TABLE {self.table} ENABLE ALWAYS TRIGGER "
            statements = [f"DROP TRIGGER {name} ON {self.table}", *self._postgresql_deletes(), always + name]
        else:
            statements = [f"DROP TRIGGER {self.table}_no_delete", *self._sqlite_deletes()]
        for statement in statements:
            schema_editor.execute(statement, params=None)

    def missing(self, connection: BaseDatabaseWrapper) -> list[str]:
        """The triggers that are not there, not always on, or not as they were made."""
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute(_TRIGGERS, [self.table])
                bodies = {"delete": self._exception if self.covered else self._refusal}
                made = _creations(self.postgresql())
                wanted: dict[str, Any] = {
                    name: (made[name], bodies.get(name.rpartition("_")[2], self._refusal))
                    for name in self.postgresql_names()
                }
                there: dict[str, Any] = {name: (made, body) for name, made, body in cursor.fetchall()}
            else:
                cursor.execute(
                    "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = %s", [self.table]
                )
                wanted, there = _creations(self.sqlite()), dict(cursor.fetchall())
        return [name for name, made in wanted.items() if there.get(name) != made]


_TRIGGERS: Final = """
SELECT tgname, pg_get_triggerdef(made.oid, true), prosrc FROM pg_trigger made JOIN pg_proc ON pg_proc.oid = tgfoid
WHERE tgrelid = to_regclass(%s) AND tgenabled = 'A'
"""


def _creations(statements: Sequence[str]) -> dict[str, str]:
    """Those that make a trigger, by its name."""
    return {each.split()[2]: each for each in statements if each.startswith("CREATE TRIGGER ")}


#: A leaf that an order under way is about: where the log still has leaves, before the order's ``upto``, and held in
#: full by an export that is kept. What was put below by hand is no leaf.
_ORDERED: Final = """audit_prune prune
    JOIN audit_log log ON log.id = prune.log_id AND prune.finished_at IS NULL
    JOIN audit_export export ON export.id = prune.export_id AND export.log_id = prune.log_id
        AND export.format = 'jsonl' AND export.status = 'ready' AND export.size >= prune.upto AND export.event = ''
        AND coalesce(export.from_size, export.to_size, export.policy_revision) IS NULL
        AND coalesce(export.since, export.until) IS NULL AND export.elicitation_id IS NULL"""
#: An order covers the leaves before its ``upto`` once its own entry is sealed behind them, so that what survives tells
#: of it; never an entry under a legal hold, unless an entry tells that it was lifted.
_ENTRY_IS_COVERED: Final = f"""EXISTS (
    SELECT 1 FROM {_ORDERED}
    JOIN audit_leaf leaf ON leaf.log_id = prune.log_id AND leaf."index" < prune.upto AND leaf."index" >= log.pruned
    WHERE leaf.entry_id = OLD.id
    AND EXISTS (
        SELECT 1 FROM audit_ledgerentry told JOIN audit_leaf place ON place.entry_id = told.id
        WHERE told.tenant = OLD.tenant AND told.event = 'pruned' AND told.related_id = prune.uid
        AND told.repeat_count = prune.upto AND place.log_id = prune.log_id AND place."index" >= prune.upto)
    AND NOT EXISTS (
        SELECT 1 FROM audit_legalhold hold WHERE hold.log_id = leaf.log_id
        AND (hold.elicitation_id IS NULL OR hold.elicitation_id = OLD.elicitation_id)
        AND (hold.lifted_at IS NULL OR NOT EXISTS (
            SELECT 1 FROM audit_ledgerentry told
            WHERE told.tenant = OLD.tenant AND told.event = 'hold_lifted' AND told.related_id = hold.uid))))"""
#: A leaf goes after its entry, so that no entry is left that looks as if it had never been sealed.
_LEAF_IS_COVERED: Final = f"""EXISTS (
    SELECT 1 FROM {_ORDERED}
    WHERE prune.log_id = OLD.log_id AND OLD."index" < prune.upto AND OLD."index" >= log.pruned)
    AND NOT EXISTS (SELECT 1 FROM audit_ledgerentry entry WHERE entry.id = OLD.entry_id)"""

LEDGER = Guard("audit_ledgerentry", covered=_ENTRY_IS_COVERED)
LEAVES = Guard("audit_leaf", key=("log_id", '"index"'), covered=_LEAF_IS_COVERED)
SUBTREES = Guard("audit_subtree", key=("log_id", "level", "number"))
#: What a witness says is added later.
CHECKPOINTS = Guard("audit_checkpoint", columns=("log_id", "size", "root", "at", "note"))
#: A hold is lifted, a prune is finished: nothing else becomes of them.
HOLDS = Guard("audit_legalhold", columns=("id", "uid", "log_id", "elicitation_id", "made_at"))
PRUNES = Guard("audit_prune", columns=("id", "uid", "log_id", "upto", "export_id", "ordered_at"))
#: An export gets on; what it is an export of stays.
EXPORTS = Guard(
    "audit_export",
    columns=(
        *("id", "uid", "log_id", "format", "size", "made_at"),
        *("since", "until", "from_size", "to_size", "event", "elicitation_id", "policy_revision"),
    ),
)
SEALED = (LEDGER, LEAVES, SUBTREES, CHECKPOINTS, HOLDS, PRUNES, EXPORTS)

#: Read by what covers a row.
LOGS: Final = "audit_log"


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """What is not there of the triggers that guard the ledger and its seals."""
    return [name for guard in SEALED for name in guard.missing(connection)]
