"""Reading the rows of a log's leaves in order, as texts that the database makes, in flat memory."""

from __future__ import annotations

import csv
import io
import re
import select
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
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
#: Leaves that one statement reads: none lasts long, nothing is held in between, and all its rows may wait in memory.
STATEMENT: Final = 4_096

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
    said_of = f"""SELECT '{{"index":' || l."index" || ',' || {said} """
    statements = (said_of + where for where in _parts(log, start, stop))
    if connection.vendor == "postgresql":
        # A text's newlines come escaped: what the database holds cannot break a line in two.
        for rows in _copied(f"COPY ({each}) TO STDOUT" for each in statements):
            yield b"".join(rows)[:-1].split(b"\n")
    else:
        for fetched in _fetched(statements):
            yield [said.encode() for (said,) in fetched]


def table_rows(log: Log, start: int, stop: int, *, wider: bool) -> Iterator[list[bytes]]:
    """Batches of the same leaves as rows of CSV, each with its newline; ``wider`` by one empty cell at the end."""
    yield from _table(_parts(log, start, stop), wider)


def picked_table_rows(log: Log, leaves: Sequence[int], *, wider: bool) -> Iterator[list[bytes]]:
    """Batches of the leaves given, in order, as rows of CSV."""
    picked = ", ".join(map(str, leaves))
    yield from _table([f'{_FROM}{log.pk} AND l."index" IN ({picked}) ORDER BY l."index"'], wider)


def _parts(log: Log, start: int, stop: int) -> Iterator[str]:
    for first in range(start, stop, STATEMENT):
        yield _between(log, first, min(first + STATEMENT, stop))


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


def _table(parts: Iterable[str], wider: bool) -> Iterator[list[bytes]]:
    cells = ", ".join(['l."index"', *line.values(connection.vendor, "e"), *(["NULL"] if wider else [])])
    statements = (f"SELECT {cells} {where}" for where in parts)
    if connection.vendor == "postgresql":
        # Not as CSV, in which it would quote each empty text; escapes are found in none that the database let in.
        for rows in _copied(f"COPY ({each}) TO STDOUT (DELIMITER ',', NULL '')" for each in statements):
            content = b"".join(rows)
            split = content.splitlines(keepends=True)
            yield list(map(_unescaped, split)) if b"\\" in content or b'"' in content else split
    else:
        for fetched in _fetched(statements):
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


def _copied(statements: Iterable[str]) -> Iterator[list[Buffer]]:
    """The server's rows as it sends them, one a message. Holds no transaction and no cursor of the server's.

    It is the server that takes the time. So while the rows of one statement are read, it makes those of the next, for
    a second connection; but not in a transaction, which a second connection knows nothing of.
    """
    most = 1 if connection.in_atomic_block else 2
    with ExitStack() as ends:
        cursors = [ends.enter_context(connection.cursor())]
        servers = [cursors[0].connection.pgconn]
        begun: deque[Generator[list[Buffer], None, None]] = deque()
        try:
            for number, statement in enumerate(statements):
                if number and len(cursors) < most:
                    cursors.append(ends.enter_context(_second_cursor()))
                    servers.append(cursors[1].connection.pgconn)
                begun.append(_begun(cursors[number % most].copy(statement), servers))
                next(begun[-1])
                if len(begun) == most:
                    yield from begun.popleft()
            while begun:
                yield from begun.popleft()
        finally:
            for unread in begun:
                unread.close()


@contextmanager
def _second_cursor() -> Iterator[Any]:
    second = connection.copy()
    try:
        with second.cursor() as cursor:
            yield cursor
    finally:
        second.close()


def _begun(copying: AbstractContextManager[Copy], servers: Sequence[PGconn]) -> Generator[list[Buffer], None, None]:
    """Nothing, once the server has begun, and then the rows."""
    with copying as copy:
        server = copy.connection.pgconn
        try:
            yield []
            yield from _batches(server, servers)
        except GeneratorExit:
            # Read to its end, which is near: a cancelled statement needs a connection more, and fails a transaction.
            if server.transaction_status == TransactionStatus.ACTIVE:
                for _ in _batches(server, servers):
                    pass
            raise


def _batches(server: PGconn, servers: Sequence[PGconn]) -> Iterator[list[Buffer]]:
    """What iterating over a ``Copy`` gives; but that waits anew for each message, which takes longer than to read it,
    and reads nothing of what the other ``servers`` send meanwhile."""
    rows: list[Buffer] = []
    while True:
        length, row = server.get_copy_data(1)
        if length > 0:
            rows.append(row)
            if len(rows) == BATCH:
                yield rows
                rows = []
        elif length == 0:
            _receive(servers)
        else:
            break
    _must_have_ended_well(server)
    if rows:
        yield rows


def _receive(servers: Sequence[PGconn]) -> None:
    """Take what the servers have sent, once one of them has sent something."""
    sent = select.poll()
    for server in servers:
        sent.register(server.socket, select.POLLIN)
    ready = {descriptor for descriptor, _ in sent.poll()}
    for server in servers:
        if server.socket in ready:
            server.consume_input()


def _must_have_ended_well(server: PGconn) -> None:
    result = server.get_result()
    while server.get_result():
        pass
    if result is None or result.status != ExecStatus.COMMAND_OK:
        raise OperationalError("the copy broke off") if result is None else error_from_result(result)


def _fetched(statements: Iterable[str]) -> Iterator[list[tuple[Any, ...]]]:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
            while fetched := cursor.fetchmany(BATCH):
                yield fetched
