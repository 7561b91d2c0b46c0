"""The database takes no row whose columns hold something else than what their types are written as: no free text, also
where SQLite would take any."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import DatabaseError, connection, models, transaction

from audit import line, wording
from audit.models import LedgerEntry

pytestmark = pytest.mark.django_db

TEXT = "my password is hunter2"
#: What no column of the kind may hold.
WRONG: dict[str, list[Any]] = {
    "CharField": [TEXT, "a\0b", "a\n", b"bytes"],
    "UUIDField": [TEXT, "a" * 31, "a" * 33, "A" * 32, "0" * 32 + "\0more", "00000000-0000-0000-0000-000000000001 "],
    "DateTimeField": [TEXT, "", "2026-12-01 01:00:00 tomorrow", "2026-12-01 01:00:00\0more", "0001-01-01 00:00+00 BC"],
    "BooleanField": [TEXT, 2, "yes, that is what she said"],
    "BigIntegerField": [TEXT, "1 of many", 2.5],
    "IntegerField": [TEXT, "1 of many"],
    "SmallIntegerField": [TEXT, "1 of many"],
}
#: What PostgreSQL reads as a value of the type, and keeps as that value alone.
READ = {("UUIDField", "A" * 32), ("UUIDField", "00000000-0000-0000-0000-000000000001 "), ("BigIntegerField", 2.5)}


def row() -> dict[str, Any]:
    """The columns of an entry that there is, but for its number."""
    with transaction.atomic():
        entry = LedgerEntry.objects.create(tenant="acme", event="shown", actor_kind="client", at=datetime.now(UTC))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {wording.TABLE} WHERE id = %s", [entry.pk])
        found = cursor.fetchone()
        names = [column[0] for column in cursor.description or ()]
    return {name: value for name, value in zip(names, found, strict=True) if name != "id"}


def insert(columns: dict[Any, Any]) -> None:
    places = ", ".join(["%s"] * len(columns))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"INSERT INTO {wording.TABLE} ({', '.join(columns)}) VALUES ({places})", [*columns.values()])


@pytest.mark.parametrize("field", line.FIELDS[1:], ids=lambda field: field.column)
def test_a_column_takes_what_its_type_is_written_as_and_nothing_else(field: models.Field[Any, Any]) -> None:
    whole = row()
    insert(whole)
    before = LedgerEntry.objects.count()
    kind = field.get_internal_type()
    for value in WRONG.get(kind, []):
        if connection.vendor == "postgresql" and (kind, value) in READ:
            continue
        with pytest.raises((DatabaseError, ValueError)):
            insert(whole | {field.column: value})
    assert LedgerEntry.objects.count() == before
    assert kind in WRONG or field.primary_key


def test_what_the_database_keeps_is_what_a_line_can_say() -> None:
    """Every entry that the ORM writes is kept, with each column filled; so is one with none."""
    insert(row())
    kept = wording.is_kept(connection.vendor, LedgerEntry._meta.concrete_fields, "e.")
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {wording.TABLE} e WHERE NOT ({kept})")
        assert cursor.fetchone() == (0,)
