"""Up to which number every entry is sealed, and above which new ones are looked for, though transactions commit in
another order than they take their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from audit.models import LedgerEntry, Mark

TABLE: Final = LedgerEntry._meta.db_table
#: A prepared transaction goes on under another name.
_PREPARED: Final = "-1/"

#: The last number that was given out. Asked of the sequence itself, which no snapshot hides.
_LAST: Final = f"""
SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence('{TABLE}', 'id')::regclass), 0),
       current_setting('transaction_isolation')
"""
#: Whoever inserts takes this lock before a number, and holds it to the end of the transaction.
_WRITERS: Final = f"""
SELECT DISTINCT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = to_regclass('{TABLE}') AND mode = 'RowExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND pid IS DISTINCT FROM pg_backend_pid()
"""  # noqa: S608 - made of our own table


@dataclass(frozen=True, slots=True)
class Present:
    """The last number that was given out, and then the transactions that may hold a smaller one uncommitted."""

    last: int
    writers: frozenset[str]


@dataclass(frozen=True, slots=True)
class Horizon:
    """Every unsealed entry, visible or not, lies above ``reached``, or belongs to one of ``writers`` and lies above the
    number there. So none lies at or below ``through``.

    The idea is that of CREATE INDEX CONCURRENTLY: a number that was given out and cannot be seen is held by a
    transaction that has locked the table since before it took the number.
    """

    reached: int
    writers: Mapping[str, int]

    @property
    def through(self) -> int:
        return min([self.reached, *self.writers.values()])

    @classmethod
    def of(cls, mark: Mark, present: Present) -> Horizon:
        """As ``mark`` keeps it; but one that has come further than there are numbers knows nothing."""
        if mark.reached > present.last:
            return cls(0, {})
        pairs = (writer.split("=") for writer in mark.writers.split())
        return cls(mark.reached, {name: int(above) for name, above in pairs})

    def keep(self, mark: Mark) -> None:
        """Write it into ``mark``, which the caller holds."""
        writers = " ".join(f"{name}={above}" for name, above in self.writers.items())
        if (self.through, self.reached, writers) != (mark.through, mark.reached, mark.writers):
            Mark.objects.filter(pk=mark.pk).update(through=self.through, reached=self.reached, writers=writers)

    def start(self, present: Present) -> int:
        """The number above which a scan finds all that can be seen now and is not sealed."""
        return min([self.reached, *self._ended(present).values()])

    def after(self, present: Present, sealed_to: int | None) -> Horizon:
        """After a scan that began behind ``present`` was read and sealed what it found: all of it, or up to
        ``sealed_to``."""
        writers = {name: self.writers.get(name, self._above(name)) for name in sorted(present.writers)}
        if sealed_to is None:
            return Horizon(present.last, writers)
        if sealed_to < self.reached:
            left = {name: max(above, sealed_to) for name, above in self._ended(present).items()}
            return Horizon(self.reached, writers | left)
        return Horizon(max(self.reached, min(present.last, sealed_to)), writers)

    def _ended(self, present: Present) -> dict[str, int]:
        return {name: above for name, above in self.writers.items() if name not in present.writers}

    def _above(self, name: str) -> int:
        """A writer that was not there at the last look took its numbers since."""
        return self.through if name.startswith(_PREPARED) else self.reached


def present() -> Present:
    """What holds before a scan begins; each statement of the scan must see what was committed until then.

    Raises ``ImproperlyConfigured`` where statements of one transaction all see the same.
    """
    with connection.cursor() as cursor:
        if connection.vendor != "postgresql":  # one writer at a time: what is not there yet gets a greater number
            cursor.execute(f"SELECT coalesce(max(id), 0) FROM {TABLE}")  # noqa: S608 - made of our own table
            return Present(cursor.fetchone()[0], frozenset())
        cursor.execute(_LAST)
        last, isolation = cursor.fetchone()
        if isolation != "read committed":
            raise ImproperlyConfigured("The desk's transactions must be READ COMMITTED, PostgreSQL's default.")
        cursor.execute(_WRITERS)
        return Present(last, frozenset(row[0] for row in cursor.fetchall()))
