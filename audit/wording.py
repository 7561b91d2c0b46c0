"""The alphabet of the ledger's texts, which the database itself keeps: no free text, and nothing to escape in a line.

The closed lists of ``audit.vocabulary`` are far narrower; this holds for whoever writes past them.
"""

from __future__ import annotations

from typing import Any, Final

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

#: For a bracket expression, of a regular expression as of GLOB.
ALPHABET: Final = "A-Za-z0-9_.:/#$-"
TABLE: Final = "audit_ledgerentry"
NAME: Final = "audit_ledgerentry_words"


def install(apps: Any, schema_editor: Any) -> None:
    """For ``migrations.RunPython``: PostgreSQL checks the rows, SQLite what is inserted (nothing is updated there)."""
    fields = apps.get_model("audit", "LedgerEntry")._meta.concrete_fields
    columns = [field.attname for field in fields if isinstance(field, models.CharField)]
    if schema_editor.connection.vendor == "postgresql":
        joined = " || ".join(columns)
        schema_editor.execute(
            f"ALTER TABLE {TABLE} ADD CONSTRAINT {NAME} CHECK ((({joined}) COLLATE \"C\") ~ '^[{ALPHABET}]*$')",
            params=None,
        )
    else:
        joined = " || ".join(f"NEW.{column}" for column in columns)
        schema_editor.execute(
            f"CREATE TRIGGER {NAME} BEFORE INSERT ON {TABLE} WHEN ({joined}) GLOB '*[^{ALPHABET}]*' "
            f"BEGIN SELECT RAISE(ABORT, '{TABLE} holds no free text'); END",
            params=None,
        )


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The name of what keeps the alphabet, when it is not there."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass(%s) AND conname = %s AND convalidated",
                [TABLE, NAME],
            )
        else:
            cursor.execute("SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = %s", [NAME])
        return [] if cursor.fetchone() else [NAME]
