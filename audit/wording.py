"""What a row of the ledger may hold, which the database itself keeps: texts of a closed alphabet, so no free text and
nothing to escape in a line; and, where a column takes any text, nothing but what its type is written as.

The closed lists of ``audit.vocabulary`` are far narrower; this holds for whoever writes past them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from audit.models import LedgerEntry

#: For a bracket expression, of a regular expression as of GLOB.
ALPHABET: Final = "A-Za-z0-9_.:/#$-"
TABLE: Final = "audit_ledgerentry"
NAME: Final = "audit_ledgerentry_words"
#: SQLite's own writing of a number, a truth value, a UUID and a time; ``{0}`` is the column. GLOB stops at a nought
#: byte, so what has one is longer than its pattern.
_HEX: Final = "[0-9a-f]" * 32
_SECOND: Final = "0000-00-00 00:00:00".replace("0", "[0-9]")
_MICROSECOND: Final = f"{_SECOND}.{'[0-9]' * 6}"
#: A line says no era, and neither infinity: for PostgreSQL.
_FIRST, _LAST = "'0001-01-01 00:00+00'", "'9999-12-31 00:00+00'"
_NUMBER: Final = "typeof({0}) IN ('integer', 'null')"
_SQLITE: Final[dict[str, str]] = {
    "CharField": "typeof({0}) = 'text' AND instr({0}, char(0)) = 0",
    "UUIDField": f"({{0}} IS NULL OR {{0}} GLOB '{_HEX}' AND length(CAST({{0}} AS BLOB)) = 32)",
    "DateTimeField": f"({{0}} IS NULL OR {{0}} GLOB '{_SECOND}' AND length(CAST({{0}} AS BLOB)) = 19"
    f" OR {{0}} GLOB '{_MICROSECOND}' AND {{0}} NOT GLOB '*.000000' AND length(CAST({{0}} AS BLOB)) = 26)",
    "BooleanField": "({0} IS NULL OR typeof({0}) = 'integer' AND {0} IN (0, 1))",
    "BigIntegerField": _NUMBER,
    "IntegerField": _NUMBER,
    "SmallIntegerField": _NUMBER,
}


def is_kept(vendor: str, fields: Iterable[models.Field[Any, Any]], row: str = "") -> str:
    """SQL that is true of a row of the ledger as it may be; ``row`` stands before each column."""
    fields = [field for field in fields if not field.primary_key]
    joined = " || ".join(f"{row}{field.column}" for field in fields if isinstance(field, models.CharField))
    if vendor == "postgresql":
        times = [f"{row}{field.column}" for field in fields if isinstance(field, models.DateTimeField)]
        within = [
            f"({time} IS NULL OR {time} BETWEEN '0001-01-01 00:00+00' AND '9999-12-31 00:00+00')" for time in times
        ]
        return " AND ".join([f"(({joined}) COLLATE \"C\") ~ '^[{ALPHABET}]*$'", *within])
    written = [_SQLITE[field.get_internal_type()].format(f"{row}{field.column}") for field in fields]
    return " AND ".join([f"({joined}) NOT GLOB '*[^{ALPHABET}]*'", *written])


def install(apps: Any, schema_editor: Any) -> None:
    """For ``migrations.RunPython``: PostgreSQL checks the rows, SQLite what is inserted (nothing is updated there)."""
    vendor = schema_editor.connection.vendor
    schema_editor.execute(_creation(vendor, apps.get_model("audit", "LedgerEntry")._meta.concrete_fields), params=None)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The name of what keeps the ledger so, when it is not there or not as it was made."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT 1 FROM pg_constraint WHERE conrelid = to_regclass(%s) AND conname = %s AND convalidated",
                [TABLE, NAME],
            )
        else:
            made = _creation(connection.vendor, LedgerEntry._meta.concrete_fields)
            cursor.execute(
                "SELECT 1 FROM sqlite_master WHERE type = 'trigger' AND name = %s AND sql = %s", [NAME, made]
            )
        return [] if cursor.fetchone() else [NAME]


def _creation(vendor: str, fields: Sequence[models.Field[Any, Any]]) -> str:
    if vendor == "postgresql":
        return f"ALTER TABLE {TABLE} ADD CONSTRAINT {NAME} CHECK ({is_kept(vendor, fields)})"
    return (
        f"CREATE TRIGGER {NAME} BEFORE INSERT ON {TABLE} WHEN NOT ({is_kept(vendor, fields, 'NEW.')}) "
        f"BEGIN SELECT RAISE(ABORT, '{TABLE} holds no free text'); END"
    )
