"""An entry's canonical bytes, which are what is sealed, exported and verified: rebuilt from its columns alone.

One JSON object without spaces. What does not apply is left out; nothing is ever escaped, for the database refuses every
text outside of a closed alphabet (``audit.wording``).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from django.db import models

from audit.models import LedgerEntry

#: Always said, before the others, in this order; ``index`` is the leaf's, the rest are columns.
HEAD: Final = ("index", "tenant", "id", "format", "at")
#: Columns whose name in the line is another.
_NAMED: Final = {"format_version": "format"}


def _fields() -> list[models.Field[Any, Any]]:
    fields = {_NAMED.get(field.attname, field.attname): field for field in LedgerEntry._meta.concrete_fields}
    order = [name for name in HEAD if name in fields] + [name for name in fields if name not in HEAD]
    return [fields[name] for name in order]


#: The ledger's columns in the order of the line, without the index.
FIELDS: Final = tuple(_fields())
#: Their names in the line, and ``index`` before them.
NAMES: Final = ("index", *(_NAMED.get(field.attname, field.attname) for field in FIELDS))


def beginning(index: int) -> bytes:
    """What stands before the rest of the line of leaf ``index``."""
    return b'{"index":%d,' % index


def line(index: int, entry: LedgerEntry) -> bytes:
    """The line of ``entry`` as leaf ``index``: the reference that ``expression`` is held to."""
    said = []
    for name, field in zip(NAMES[1:], FIELDS, strict=True):
        value = getattr(entry, field.attname)
        if name in HEAD or (value is not None and value != ""):
            said.append(f'"{name}":{_spelled(value)}')
    return beginning(index) + ",".join(said).encode("ascii") + b"}"


def _spelled(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case datetime():
            return f'"{value.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"'
        case UUID() | str():
            return f'"{value}"'
        case _:
            raise TypeError


def expression(vendor: str, table: str) -> str:
    """SQL for everything of the line behind ``beginning``, from the columns of ``table`` (a name or an alias)."""
    spelling = _POSTGRESQL if vendor == "postgresql" else _SQLITE
    pieces: list[str] = []
    for name, field in zip(NAMES[1:], FIELDS, strict=True):
        column = f"{table}.{field.column}"
        before, value, after = spelling[field.get_internal_type()](column)
        comma = "," if pieces else ""
        said = f"'{comma}\"{name}\":{before}' || {value}" + (f" || '{after}'" if after else "")
        if name in HEAD:
            pieces.append(said)
        else:
            absent = f"{column} IS NULL" if field.null else f"{column} = ''"
            pieces.append(f"CASE WHEN {absent} THEN '' ELSE {said} END")
    return " || ".join([*pieces, "'}'"])


def values(vendor: str, table: str) -> list[str]:
    """SQL for each value of the line behind the index, as it is spelled there but for its quotes; NULL stays NULL."""
    spelling = _POSTGRESQL if vendor == "postgresql" else _SQLITE
    return [spelling[field.get_internal_type()](f"{table}.{field.column}")[1] for field in FIELDS]


#: What stands before a value, the value as text, and what stands behind it.
_Spelling = Callable[[str], tuple[str, str, str]]


def _quoted(value: str) -> tuple[str, str, str]:
    return '"', value, '"'


_POSTGRESQL: Final[dict[str, _Spelling]] = {
    "CharField": _quoted,
    "UUIDField": _quoted,
    "DateTimeField": lambda column: _quoted(
        f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
    ),
    "BooleanField": lambda column: ("", f"{column}::text", ""),
    "BigAutoField": lambda column: ("", column, ""),
    "BigIntegerField": lambda column: ("", column, ""),
    "IntegerField": lambda column: ("", column, ""),
    "SmallIntegerField": lambda column: ("", column, ""),
}


def _dashed(column: str) -> str:
    parts = ((1, 8), (9, 4), (13, 4), (17, 4))
    said = " || '-' || ".join(f"substr({column}, {start}, {length})" for start, length in parts)
    return f"({said} || '-' || substr({column}, 21))"  # all that is left, so that nothing can hide there


def _moment(column: str) -> str:
    """Django leaves out microseconds that are nought. What it would not write is marked, so that it is no time."""
    said = f"substr({column}, 1, 10) || 'T' || substr({column}, 12)"
    return (
        f"CASE WHEN substr({column}, 11, 1) <> ' ' THEN '?' || {column} "
        f"WHEN length({column}) = 19 THEN {said} || '.000000Z' "
        f"WHEN length({column}) = 26 AND substr({column}, 20) <> '.000000' THEN {said} || 'Z' "
        f"ELSE '?' || {column} END"
    )


_SQLITE: Final[dict[str, _Spelling]] = {
    "CharField": _quoted,
    "UUIDField": lambda column: _quoted(_dashed(column)),
    "DateTimeField": lambda column: _quoted(_moment(column)),
    "BooleanField": lambda column: ("", f"CASE WHEN {column} THEN 'true' WHEN NOT {column} THEN 'false' END", ""),
    "BigAutoField": lambda column: ("", column, ""),
    "BigIntegerField": lambda column: ("", column, ""),
    "IntegerField": lambda column: ("", column, ""),
    "SmallIntegerField": lambda column: ("", column, ""),
}
