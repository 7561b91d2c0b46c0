"""``seal``: appends while the desk seals beside appends while it does not, and what hashing the tree costs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from itertools import cycle, islice
from typing import Any, Final

import psycopg

from audit.models import LedgerEntry
from audit.verify import Edge, leaf_hash
from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.bench.on_demand import process
from elicitation.bench.scratch import Scratch, scratch
from elicitation.bench.sweep_desk import fill

#: Processes that append, of eight connections each.
PROCESSES: Final = 2
#: How often it seals, as the desk's schedule has it.
EVERY_SECONDS: Final = 3.0
#: Elicitations, of which each connection changes its own.
ROWS: Final = 8_000
#: A measurement lasts for so many of the sealer's turns: each seals what was appended since the one before.
TURNS: Final = 2
#: A round measures appends with sealing and without it so often, in turn, so that a busy moment meets both.
PIECES: Final = 2
#: Lines whose hashing is measured.
LINES: Final = 50_000

_NEXT: Final = f"SELECT last_value FROM {LedgerEntry._meta.db_table}_id_seq"  # noqa: S608 - our own table


@contextmanager
def seal(note: Callable[[str], None] | None = None) -> Iterator[Sequence[Comparison]]:
    """A scratch database, connections that append to it, and a worker that seals it by the desk's schedule.

    At the end every entry must be one leaf, and every checkpoint must state the root over the leaves that it covers.
    ``note`` is told what sealing costs. Raises ``CannotMeasure``.
    """
    with scratch("seal") as desk, ExitStack() as ends:
        for _ in fill(desk, ROWS, 0):
            pass
        field = _Field(desk, ends)
        field.append(sealing=True)
        lines = field.lines()
        yield [
            Comparison("append while it seals", "append", *field.in_turn(), 1 / 0.93),
            Comparison("tree", "SHA-256 of each line", lambda: _tree(lines), lambda: _each(lines), 1 / 0.50),
        ]
        entries = field.must_be_complete()
        if note is not None:
            cost = field.sealing_seconds / field.sealed * 1e6
            note(f"seal: {cost:.1f} µs to seal an entry; {entries:,} entries, each of them one leaf")


class _Field:
    """Who appends, who seals, and what that has come to."""

    def __init__(self, desk: Scratch, ends: ExitStack) -> None:
        self.desk = desk
        self.worker = ends.enter_context(process(desk, "elicitation.bench.ledger_worker"))
        self.worker.does("seal")  # what the migrations wrote
        self.before = self.worker.does("prove")["entries"]
        self.writers = [
            ends.enter_context(process(desk, "elicitation.bench.seal_writer", f"{number}", f"{PROCESSES}"))
            for number in range(PROCESSES)
        ]
        self.connection: psycopg.Connection[Any] = ends.enter_context(desk.connect())
        self.sealed, self.sealing_seconds = 0, 0.0

    def in_turn(self) -> tuple[Callable[[], float], Callable[[], float]]:
        """Seconds for an append with sealing, and without: the latter, which comes first, measures both."""
        kept: list[float] = []

        def without() -> float:
            spent = [0.0, 0.0]
            for number in range(PIECES):
                for sealing in (False, True) if number % 2 else (True, False):
                    spent[sealing] += self.append(sealing=sealing) / PIECES
            kept.append(spent[True])
            return spent[False]

        return kept.pop, without

    def append(self, *, sealing: bool) -> float:
        """Seconds for an append, taken over whole turns of the sealer from the middle between two of them on."""
        every, over = EVERY_SECONDS, threading.Event()
        sealer = threading.Thread(target=self._seal_on_schedule, args=(every, over))
        for each in self.writers:
            each.does("start")
        if sealing:
            sealer.start()
        time.sleep(every / 2)
        began, first = time.perf_counter(), self._appended()
        time.sleep(TURNS * every)
        seconds, appended = time.perf_counter() - began, self._appended() - first
        over.set()
        for each in self.writers:
            if each.does("stop")["failed"]:
                raise CannotMeasure("`bench seal` could not append.")
        if sealing:
            sealer.join()
        self._seal("seal")
        return seconds / appended

    def lines(self) -> list[bytes]:
        """``LINES`` of what was sealed, some of them again where that is fewer."""
        file = self.desk.folder / "lines"
        self.worker.does(f"lines {file} {LINES}")
        found = file.read_bytes().split(b"\n")
        return list(islice(cycle(found), LINES))

    def must_be_complete(self) -> int:
        """How many entries there are. Raises ``CannotMeasure`` unless each that was appended is one leaf."""
        written = self.before + sum(each.does("stop")["written"] for each in self.writers)
        found = self.worker.does("prove")
        if (found["entries"], found["leaves"], found["faults"]) != (written, written, 0):
            raise CannotMeasure("`bench seal` found an entry that was missed, or sealed twice, or a wrong checkpoint.")
        return int(written)

    def _appended(self) -> int:
        row = self.connection.execute(_NEXT.encode()).fetchone()
        assert row is not None
        return int(row[0])

    def _seal_on_schedule(self, every: float, over: threading.Event) -> None:
        while not over.wait(every):
            self._seal("pass")

    def _seal(self, how: str) -> None:
        done = self.worker.does(how)
        self.sealed += done["done"]
        self.sealing_seconds += done["seconds"]


def _tree(lines: Sequence[bytes]) -> float:
    """The processor's seconds for the hashes of the leaves, of the tree over them, and its root."""
    began = time.process_time()
    edge = Edge()
    edge.extend(map(leaf_hash, lines))
    edge.root()
    return time.process_time() - began


def _each(lines: Sequence[bytes]) -> float:
    began = time.process_time()
    for line in lines:
        sha256(line).digest()
    return time.process_time() - began
