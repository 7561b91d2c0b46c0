"""The only clock: the database's."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db import connection
from django.db.models import DateTimeField, Func, Value
from django.db.models.expressions import Combinable


class _StatementClock(Func):
    function = "clock_timestamp"
    output_field = DateTimeField()


def now() -> datetime:
    """The time on the database's clock: aware, UTC, microseconds.

    SQLite runs in this process and reads this machine's clock, of which its own functions show milliseconds only;
    it is therefore read here.
    """
    if connection.vendor == "sqlite":
        return datetime.now(UTC)
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    moment: datetime = row[0]
    return moment.astimezone(UTC)


def statement() -> Combinable:
    """The same clock inside a statement, for guards that must hold at the moment of the write."""
    if connection.vendor == "sqlite":
        return Value(now(), output_field=DateTimeField())  # one writer at a time: nothing happens in between
    return _StatementClock()
