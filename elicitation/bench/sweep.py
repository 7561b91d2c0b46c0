"""``sweep``: the expire sweep beside bare SQL that runs the same statement, on equal shares of what is overdue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any, Final

import psycopg

from audit.models import LedgerEntry
from elicitation.bench.frame import FEWEST_ROUNDS, CannotMeasure, Comparison
from elicitation.bench.on_demand import Process, must_tell_memory, process
from elicitation.bench.scratch import Scratch, scratch
from elicitation.bench.sweep_desk import LIVE, append_one, fill
from elicitation.models import Elicitation
from elicitation.services.move_many import statement
from elicitation.services.sweeps.expiring import BATCH

#: Sized so that a measurement lasts about a second; the long form is 10,000,000 of which 1,000,000 are due.
ROWS: Final = 600_000
DUE: Final = 500_000
#: Shares of what is due that one round takes: each figure and its peer; the memory is read off the others.
SHARES: Final = 8
#: A share is taken in so many pieces, ours and the peer's in turn, so that a busy moment meets both.
PIECES: Final = 2
#: Before the first round, each process makes its first move unmeasured.
WARM_UP: Final = 3 * BATCH

LIMIT_MIB: Final = 64.0
APPEND_EVERY_SECONDS: Final = 0.005

#: What goes on beside a measurement.
Beside = Callable[[], AbstractContextManager[None]]
Pair = tuple[Callable[[], float], Callable[[], float]]


@contextmanager
def sweep(
    rows: int = ROWS, due: int = DUE, rounds: int = FEWEST_ROUNDS, note: Callable[[str], None] | None = None
) -> Iterator[Sequence[Comparison]]:
    """A scratch database of ``rows`` entries of which ``due`` are overdue, shared out over the measurements.

    Ours is the sweep as a worker runs it, in a process of its own. The peer is its statement sent by psycopg alone.
    At the end every entry that was moved must be on the ledger, once. ``note`` is told how far the filling has come.
    Raises ``CannotMeasure``.
    """
    share = (due - WARM_UP) // (SHARES * rounds)
    if share < BATCH or due > rows:
        fewest = WARM_UP + SHARES * rounds * BATCH
        raise CannotMeasure(f"`bench sweep` of {rounds} rounds needs {fewest:,} or more due, and no more than rows.")
    must_tell_memory("sweep")
    with scratch("sweep") as desk, ExitStack() as ends:
        for progress in fill(desk, rows, due):
            if note is not None:
                note(f"sweep: {progress}")
        first, second = (ends.enter_context(process(desk, "elicitation.bench.sweeper")) for _ in range(2))
        field = _Field(desk, share, ends.enter_context(desk.connect(autocommit=False)))
        field.swept(BATCH, first, second)
        field.bare(BATCH)
        alone, late, busy = (
            field.in_turn(first, ours, peers)
            for ours, peers in ((nullcontext, nullcontext), (field.open, nullcontext), (field.appends, field.appends))
        )
        yield [
            Comparison("a share of the due", "bare SQL", *alone, 1 / 0.97),
            Comparison("while a transaction is open", "bare SQL without", *late, 1 / 0.90),
            Comparison("beside appends", "bare SQL beside them", *busy, 1 / 0.97),
            Comparison("shared by two", "one", field.by(first, second), field.by(first), 1.1),
            Comparison("memory that it takes", "limit", lambda: first.peak - first.idle, LIMIT_MIB, 1.0, "MiB"),
            Comparison("process at its peak", "idle", lambda: first.peak, lambda: first.idle, 1.1, "MiB"),
        ]
        field.must_add_up()


class _Field:
    """What the measurements are made on, and what goes on beside them."""

    def __init__(self, desk: Scratch, share: int, peer: psycopg.Connection[Any]) -> None:
        self.desk, self.share, self.peer = desk, share, peer
        self.moved = self.appended = 0

    def in_turn(self, sweeper: Process, ours: Beside, peers: Beside) -> Pair:
        """Ours and the peer's measurement of a share: the peer's, which comes first, makes both, piece by piece."""
        kept: list[float] = []

        def peer() -> float:
            spent = [0.0, 0.0]
            for number in range(PIECES):
                for who in (0, 1) if number % 2 else (1, 0):
                    self.settle()
                    with (ours if who else peers)():
                        piece = self.share // PIECES
                        spent[who] += self.swept(piece, sweeper) if who else self.bare(piece)
            kept.append(spent[1])
            return spent[0]

        return kept.pop, peer

    def by(self, *sweepers: Process) -> Callable[[], float]:
        """Seconds until the sweepers among whom a share is divided have all ended."""

        def measure() -> float:
            self.settle()
            return self.swept(self.share // len(sweepers), *sweepers)

        return measure

    def swept(self, most: int, *sweepers: Process) -> float:
        """Seconds until each of ``sweepers`` has moved ``most``."""
        for each in sweepers:
            each.ask(f"{most}")
        told = [each.told() for each in sweepers]
        moved = sum(each["moved"] for each in told)
        self.must_be(moved, most * len(sweepers))
        self.moved += moved
        return max(float(each["seconds"]) for each in told)

    def bare(self, most: int) -> float:
        """The sweep's statement, its values and its batches, by psycopg alone; a transaction for each."""
        text, moved, since = statement().encode(), 0, None
        values: dict[str, Any]
        began = time.perf_counter()
        while moved < most:
            values = {"limit": min(BATCH, most - moved), "since": since, "without": []}
            count, since = _row(self.peer.execute(text, values))
            self.peer.commit()
            if not count:
                break
            moved += count
        seconds = time.perf_counter() - began
        self.must_be(moved, most)
        self.moved += moved
        return seconds

    def settle(self) -> None:
        """Read past what was moved before, so that no measurement pays for the one before it."""
        due = f"SELECT id FROM {Elicitation._meta.db_table} WHERE state IN ({LIVE}) ORDER BY deadline LIMIT 1"  # noqa: S608 - our own table
        with self.desk.connect() as connection:
            connection.execute(due.encode())

    @contextmanager
    def open(self) -> Iterator[None]:
        """A transaction that sees the past, so that nothing which dies meanwhile can be cleared away."""
        with self.desk.connect(autocommit=False) as connection:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            connection.execute(f"SELECT id FROM {Elicitation._meta.db_table} LIMIT 1".encode())  # noqa: S608 - our own table
            yield

    @contextmanager
    def appends(self) -> Iterator[None]:
        """Somebody else's entries go onto the ledger at a steady rate."""
        over = threading.Event()

        def append() -> None:
            with self.desk.connect() as connection:
                while not over.wait(APPEND_EVERY_SECONDS):
                    connection.execute(append_one())
                    self.appended += 1

        thread = threading.Thread(target=append)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def must_be(self, moved: int, wanted: int) -> None:
        if moved != wanted:
            raise CannotMeasure(f"`bench sweep` wanted {wanted:,} moved, and {moved:,} were.")

    def must_add_up(self) -> None:
        """Each entry that was moved is on the ledger once, and nobody's append is missing."""
        entries, ledger = Elicitation._meta.db_table, LedgerEntry._meta.db_table
        with self.desk.connect() as connection:
            expired = _row(connection.execute(f"SELECT count(*) FROM {entries} WHERE state = 'EXPIRED'".encode()))  # noqa: S608 - our own table
            told = _row(
                connection.execute(
                    f"SELECT count(*) FILTER (WHERE event = 'deadline'), count(*) FILTER (WHERE event = 'shown'), "  # noqa: S608 - our own table
                    f"count(DISTINCT elicitation_id) FILTER (WHERE event = 'deadline') FROM {ledger}".encode()
                )
            )
        if (*expired, *told) != (self.moved, self.moved, self.appended, self.moved):
            raise CannotMeasure("`bench sweep` found an entry that was moved twice, or not told.")


def _row(cursor: Any) -> tuple[Any, ...]:
    row: tuple[Any, ...] = cursor.fetchone()
    return row
