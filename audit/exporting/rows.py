"""Reading the rows of a log's leaves in order, as texts that the database makes, in flat memory."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db import connection
from psycopg import Copy, OperationalError
from psycopg.abc import Buffer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn

from audit import line
from audit.models import Leaf, LedgerEntry, Log

#: Rows that are handed on at a time: well over 64 KiB of them.
BATCH: Final = 500
#: Leaves that one statement reads: none lasts long, and nothing is held in between.
STATEMENT: Final = 20_000

#: A cell of a row as ``COPY`` writes it in its text format with commas, and what it escapes by a letter there.
_CELL: Final = re.compile(rb"((?:[^,\\\n]|\\.)*)[,\n]")
_ESCAPED: Final = re.compile(rb"\\(.)")
_LETTERS: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}

_FROM: Final = (
    f"FROM {Leaf._meta.db_table} l JOIN {LedgerEntry._meta.db_table} e ON e.id = l.entry_id WHERE l.log_id = "
)


def lines(log: Log, start: int, stop: int) -> Iterator[list[bytes]]:
    """Batches of the lines of leaves ``start`` to ``stop - 1``, without newlines.

    A leaf whose entry is gone is not among them: the jump shows that it is missing.
    """
    said = line.expression(connection.vendor, "e")
    select = f"""SELECT '{{"index":' || l."index" || ',' || {said} """
    for first in range(start, stop, STATEMENT):
        where = _between(log, first, min(first + STATEMENT, stop))
        if connection.vendor == "postgresql":
            # A text's newlines come escaped: what the database holds cannot break a line in two.
            for rows in _copied(f"COPY ({select}{where}) TO STDOUT"):
                yield b"".join(rows)[:-1].split(b"\n")
        else:
            for fetched in _fetched(select + where):
                yield [said.encode() for (said,) in fetched]


def table_rows(log: Log, start: int, stop: int, *, wider: bool) -> Iterator[list[bytes]]:
    """Batches of the same leaves as rows of CSV, each with its newline; ``wider`` by one empty cell at the end."""
    for first in range(start, stop, STATEMENT):
        yield from _table(_between(log, first, min(first + STATEMENT, stop)), wider)


def picked_table_rows(log: Log, leaves: Sequence[int], *, wider: bool) -> Iterator[list[bytes]]:
    """Batches of the leaves given, in order, as rows of CSV."""
    picked = ", ".join(map(str, leaves))
    yield from _table(f'{_FROM}{log.pk} AND l."index" IN ({picked}) ORDER BY l."index"', wider)


def _between(log: Log, start: int, stop: int) -> str:
    if connection.vendor != "postgresql":
        return f'{_FROM}{log.pk} AND l."index" >= {start} AND l."index" < {stop} ORDER BY l."index"'
    # Leaf by leaf, each entry by its number. Left to itself, the planner reads every entry there is for each statement
    # and sorts what it finds; and it compiles an expression as long as a line's as soon as it expects many rows.
    return (
        f'FROM (SELECT entry_id, "index" FROM {Leaf._meta.db_table} WHERE log_id = {log.pk} AND "index" >= {start} '  # noqa: S608 - made of our own tables
        f'ORDER BY "index" LIMIT {stop - start}) l CROSS JOIN LATERAL '
        f"(SELECT * FROM {LedgerEntry._meta.db_table} e WHERE e.id = l.entry_id OFFSET 0) e "
        f'WHERE l."index" < {stop} ORDER BY l."index"'
    )


def _table(where: str, wider: bool) -> Iterator[list[bytes]]:
    cells = ", ".join(['l."index"', *line.values(connection.vendor, "e"), *(["NULL"] if wider else [])])
    select = f"SELECT {cells} {where}"
    if connection.vendor == "postgresql":
        # Not as CSV, in which it would quote each empty text; escapes are found in none that the database let in.
        for rows in _copied(f"COPY ({select}) TO STDOUT (DELIMITER ',', NULL '')"):
            content = b"".join(rows)
            split = content.splitlines(keepends=True)
            yield list(map(_unescaped, split)) if b"\\" in content or b'"' in content else split
    else:
        for fetched in _fetched(select):
            yield [table_row(cells) for cells in fetched]


def table_row(cells: Sequence[Any]) -> bytes:
    """A row of CSV with its newline; quotes only where they are needed."""
    written = io.StringIO()
    csv.writer(written, lineterminator="\r\n").writerow(cells)  # so that a carriage return in a cell is quoted, too
    return written.getvalue()[:-2].encode() + b"\n"


def _unescaped(row: bytes) -> bytes:
    """A row of ``COPY``'s text format as one of CSV."""
    cells = [_ESCAPED.sub(lambda found: _LETTERS.get(found[1], found[1]), cell) for cell in _CELL.findall(row)]
    return table_row([cell.decode() for cell in cells])


def _copied(statement: str) -> Iterator[list[Buffer]]:
    """The server's rows as it sends them, one a message. Holds no transaction and no cursor of the server's."""
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        try:
            yield from _batches(copy)
        except GeneratorExit:
            # Read to its end, which is near: a cancelled statement needs a second connection, and fails a transaction.
            if copy.connection.pgconn.transaction_status == TransactionStatus.ACTIVE:
                for _ in _batches(copy):
                    pass
            raise


def _batches(copy: Copy) -> Iterator[list[Buffer]]:
    """What iterating over ``copy`` gives; but that waits anew for each message, which takes longer than to read it."""
    server = copy.connection.pgconn
    rows: list[Buffer] = []
    row: Buffer
    while True:
        length, row = server.get_copy_data(1)
        if length == 0:  # the next has not come yet
            row = copy.read()
            if not row:
                break
        elif length < 0:
            _must_have_ended_well(server)
            break
        rows.append(row)
        if len(rows) == BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


def _must_have_ended_well(server: PGconn) -> None:
    result = server.get_result()
    while server.get_result():
        pass
    if result is None or result.status != ExecStatus.COMMAND_OK:
        raise OperationalError("the copy broke off") if result is None else error_from_result(result)


def _fetched(statement: str) -> Iterator[list[tuple[Any, ...]]]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        while fetched := cursor.fetchmany(BATCH):
            yield fetched
