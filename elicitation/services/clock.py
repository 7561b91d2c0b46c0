"""The only clock: the database's."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from django.db import connection
from django.db.models import DateTimeField, Func, Value
from django.db.models.expressions import Combinable

_FUNCTION: Final = "clock_timestamp"
#: The clock in the text of a PostgreSQL statement.
NOW: Final = f"{_FUNCTION}()"


class _StatementClock(Func):
    function = _FUNCTION
    output_field = DateTimeField()


def now() -> datetime:
    """The time on the database's clock: aware, UTC, microseconds.

    SQLite runs in this process and reads this machine's clock, of which its own functions show milliseconds only;
    it is therefore read here.
    """
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {NOW}")
        row = cursor.fetchone()
    moment: datetime = row[0]
    return moment.astimezone(UTC)


def statement() -> Combinable:
    """The same clock inside a statement, for guards that must hold at the moment of the write."""
    if connection.vendor == "sqlite":
        return Value(now(), output_field=DateTimeField())  # one writer at a time: nothing happens in between
    return _StatementClock()
