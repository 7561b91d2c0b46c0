"""The line of an entry: the database's spelling is the reference's, and nothing that would need escaping gets in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connection, models, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit import line, wording
from audit.models import LedgerEntry

MOMENTS = st.integers(0, 8000 * 365 * 86_400 * 10**6).map(
    lambda us: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)
)
EDGES = st.sampled_from([datetime(2026, 1, 1, tzinfo=UTC) + timedelta(microseconds=n) for n in (0, 1, 10, 999_999)])


def _values(field: models.Field[Any, Any]) -> st.SearchStrategy[Any]:
    match field:
        case models.CharField():
            alphabet = st.sampled_from("AZaz09_.:/#$-")
            found: st.SearchStrategy[Any] = st.text(alphabet, max_size=field.max_length)
        case models.UUIDField():
            found = st.uuids()
        case models.DateTimeField():
            found = MOMENTS | EDGES
        case models.BooleanField():
            found = st.booleans()
        case models.SmallIntegerField():
            found = st.integers(-(2**15), 2**15 - 1)
        case models.BigIntegerField():
            found = st.integers(-(2**63), 2**63 - 1)
        case _:
            found = st.integers(-(2**31), 2**31 - 1)
    return st.none() | found if field.null else found


ENTRIES = st.builds(LedgerEntry, **{field.attname: _values(field) for field in line.FIELDS if not field.primary_key})


def _read(entry: LedgerEntry, index: int) -> bytes:
    with connection.cursor() as cursor:
        said = line.expression(connection.vendor, "e").replace("%", "%%")
        cursor.execute(f"SELECT {said} FROM {LedgerEntry._meta.db_table} e WHERE id = %s", [entry.pk])
        rest: str = cursor.fetchone()[0]
        return line.beginning(index) + rest.encode()


@pytest.mark.django_db
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entry=ENTRIES, index=st.integers(0, 2**62))
def test_the_database_spells_an_entry_as_the_reference_does(entry: LedgerEntry, index: int) -> None:
    entry.save(force_insert=True)
    assert _read(entry, index) == line.line(index, entry)
    assert line.line(index, LedgerEntry.objects.get(pk=entry.pk)) == line.line(index, entry)


def test_a_line_says_where_it_is_and_leaves_out_what_does_not_apply() -> None:
    entry = LedgerEntry(
        id=17,
        tenant="acme",
        at=datetime(2026, 11, 30, 12, tzinfo=UTC),
        event="admit",
        elicitation_id=UUID(int=7),
        negotiated=False,
        actor_kind="service",
    )
    assert line.line(3, entry) == (
        b'{"index":3,"tenant":"acme","id":17,"format":1,"at":"2026-11-30T12:00:00.000000Z","event":"admit",'
        b'"elicitation_id":"00000000-0000-0000-0000-000000000007","negotiated":false,"actor_kind":"service"}'
    )


def test_every_column_is_in_the_line_once() -> None:
    columns = {field.attname for field in LedgerEntry._meta.concrete_fields}
    assert len(set(line.NAMES)) == len(line.NAMES)
    assert {field.attname for field in line.FIELDS} == columns


OUTSIDE = [*" \"\\\n\t'=+,@;(){}[]^|<>&!?*~`%", "\x7f", "\u00e9", "e\u0301", "\u200b", "\uff1d", "\u0130"]


@pytest.mark.django_db
def test_the_database_takes_no_text_that_would_need_escaping() -> None:
    columns = {field.attname: field.max_length for field in line.FIELDS if isinstance(field, models.CharField)}
    assert len(columns) > 25
    before = LedgerEntry.objects.count()
    for column, longest in columns.items():
        for text in (f"a{character}b" for character in OUTSIDE):
            whole = {"tenant": "acme", "event": "admit", "actor_kind": "service", "at": datetime.now(UTC)}
            with pytest.raises(DatabaseError), transaction.atomic():
                LedgerEntry(**whole | {column: text[:longest]}).save()
    assert LedgerEntry.objects.count() == before


@pytest.mark.django_db
def test_a_dropped_alphabet_stops_the_system_check() -> None:
    call_command("check", databases=["default"])
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {wording.TABLE} DROP CONSTRAINT {wording.NAME}")
        else:
            cursor.execute(f"DROP TRIGGER {wording.NAME}")
    with pytest.raises(SystemCheckError, match=wording.NAME):
        call_command("check", databases=["default"])
