"""A process of ``bench seal`` in which several connections append as the desk does, from ``start`` to ``stop``."""

from __future__ import annotations

import os
import sys
import threading
from itertools import cycle
from typing import Any, Final

import psycopg

from elicitation.bench.on_demand import serve, set_up

#: Connections of one process.
WRITERS: Final = 8


def main() -> None:
    number, processes = map(int, sys.argv[1:])
    set_up()
    writers = [_Writer(number * WRITERS + own, processes * WRITERS) for own in range(WRITERS)]

    def work(asked: str) -> dict[str, Any]:
        for each in writers:
            each.start() if asked == "start" else each.stop()
        return {"written": sum(each.written for each in writers), "failed": sum(each.failed for each in writers)}

    serve(work)


class _Writer:
    """The ``share``-th of so many connections, and the rows that nobody else changes.

    A transaction is a guarded update and a ledger entry, as every change of the desk is.
    """

    def __init__(self, share: int, shares: int) -> None:
        from audit.models import LedgerEntry
        from elicitation.bench import ledger_desk, sweep_desk
        from elicitation.bench.scratch import insertion
        from elicitation.models import Elicitation

        table, tenant = Elicitation._meta.db_table, f"'bench-' || (1 + n % {sweep_desk.SERVICES})"
        columns = ledger_desk.columns(tenant) | {"at": "clock_timestamp()"}
        entry = insertion(LedgerEntry, columns, "(SELECT {}::bigint AS n) AS one")
        self.update = f"UPDATE {table} SET version = version + 1 WHERE id = %s AND version = %s".encode()  # noqa: S608 - our own table
        self.insert = entry.replace("%", "%%").format("%s").encode()
        self.connection: psycopg.Connection[Any] = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True)
        mine = f"SELECT id, version FROM {table} WHERE id %% %s = %s".encode()  # noqa: S608 - our own table
        self.rows = cycle([list(row) for row in self.connection.execute(mine, [shares, share])])
        self.written = self.failed = 0
        self.over = threading.Event()
        self.thread = threading.Thread()

    def start(self) -> None:
        self.over.clear()
        self.thread = threading.Thread(target=self._write)
        self.thread.start()

    def stop(self) -> None:
        self.over.set()
        self.thread.join()

    def _write(self) -> None:
        while not self.over.is_set():
            row = next(self.rows)
            try:
                with self.connection.transaction():
                    changed = self.connection.execute(self.update, row).rowcount
                    self.connection.execute(self.insert, [row[0] + row[1]])
            except psycopg.Error:
                changed = 0
            if changed != 1:
                self.failed += 1
                return
            row[1] += 1
            self.written += 1


if __name__ == "__main__":
    main()
