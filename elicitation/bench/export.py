"""``export``: a whole log as the desk exports it beside ``psql`` that copies the same columns to a file."""

from __future__ import annotations

import filecmp
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo

from audit import line
from audit.models import Export, Leaf, LedgerEntry
from audit.verify import Format, Verdict, parse_key
from audit.verify import verify as proven
from elicitation.bench.export_server import Server, server
from elicitation.bench.frame import CannotMeasure, Comparison
from elicitation.bench.ledger_desk import TENANT, fill
from elicitation.bench.on_demand import Process, must_tell_memory, process
from elicitation.bench.scratch import Scratch, scratch

#: Sized so that a measurement lasts a few seconds; the long form is 10,000,000.
EXPORT_ROWS: Final = 250_000
LIMIT_MIB: Final = 64.0

#: How libpq calls the parts of an address in the environment.
_VARIABLES: Final = {info.keyword.decode(): info.envvar.decode() for info in Conninfo.get_defaults() if info.envvar}


@contextmanager
def export(rows: int = EXPORT_ROWS, note: Callable[[str], None] | None = None) -> Iterator[Sequence[Comparison]]:
    """A scratch database of ``rows`` sealed entries, exported by a worker's sweep; also ordered and fetched over HTTP.

    Both sides write a file and wait until it is on the disk. What was exported last in each format must verify.
    ``note`` is told how far the filling has come. Raises ``CannotMeasure``.
    """
    must_tell_memory("export")
    if shutil.which("psql") is None:
        raise CannotMeasure("`bench export` needs psql on the PATH.")
    with scratch("export") as desk, ExitStack() as ends:
        web = ends.enter_context(server(desk, TENANT))
        with process(desk, "elicitation.bench.ledger_worker") as sealer:
            for progress in fill(desk, sealer, rows):
                if note is not None:
                    note(f"export: {progress}")
        worker = ends.enter_context(process(desk, "elicitation.bench.ledger_worker"))
        field = _Field(desk, worker, web)
        yield [
            *field.comparisons(Format.CSV, 1 / 0.95),
            *field.comparisons(Format.JSONL, 1.0),
            Comparison("memory that it takes", "limit", lambda: worker.peak - worker.idle, LIMIT_MIB, 1.0, "MiB"),
        ]
        field.must_verify()


class _Field:
    """Who exports, who serves, and what was exported last in each format."""

    def __init__(self, desk: Scratch, worker: Process, web: Server) -> None:
        self.desk, self.worker, self.web = desk, worker, web
        self.last: dict[Format, Path] = {}
        #: So that no address stands among the arguments, which every user of the machine can read.
        address = conninfo_to_dict(desk.url)
        self.environment = os.environ | {_VARIABLES[name]: str(value) for name, value in address.items()}

    def comparisons(self, format_: Format, at_most: float) -> Iterator[Comparison]:
        name = format_.upper()
        beside = f"psql \\copy of {name}"
        yield Comparison(name, beside, lambda: self.exported(format_), lambda: self.copied(format_), at_most)
        yield Comparison(
            f"{name} over HTTP", beside, lambda: self.fetched(format_), lambda: self.copied(format_), at_most
        )

    def exported(self, format_: Format) -> float:
        """Seconds from the order, given in the worker, until its file is whole."""
        began = time.perf_counter()
        uid = self.worker.does(f"order {TENANT} {format_}")["uid"]
        made = self.made(uid)
        seconds = time.perf_counter() - began
        self.keep(format_, made)
        return seconds

    def fetched(self, format_: Format) -> float:
        """Seconds from the order, given over HTTP, until the last byte was read by whoever gave it."""
        file = self.desk.folder / "fetched"
        began = time.perf_counter()
        uid = self.web.order(format_)
        made = self.made(uid)
        self.web.fetch(uid, file)
        seconds = time.perf_counter() - began
        if not filecmp.cmp(made, file, shallow=False):
            raise CannotMeasure("`bench export` was sent something else over HTTP than was exported.")
        file.unlink()
        self.keep(format_, made)
        return seconds

    def copied(self, format_: Format) -> float:
        """Seconds until ``psql`` has written the same columns in the order of the leaves, and they are on the disk."""
        columns = ", ".join(['l."index"', *(f'e."{field.column}"' for field in line.FIELDS)])
        select = (
            f"SELECT {columns} FROM {Leaf._meta.db_table} l JOIN {LedgerEntry._meta.db_table} e "  # noqa: S608 - our own tables
            f"ON e.id = l.entry_id WHERE e.tenant = '{TENANT}' ORDER BY l.\"index\""
        )
        if format_ is Format.CSV:
            how = "CSV"
        else:
            how, select = "TEXT", f"SELECT row_to_json(line) FROM ({select}) AS line"  # noqa: S608 - our own tables
        file = self.desk.folder / "copied"
        command = ["psql", "-qXc", f"\\copy ({select}) TO '{file}' (FORMAT {how})"]
        began = time.perf_counter()
        done = subprocess.run(command, env=self.environment, capture_output=True, check=False)  # noqa: S603 - psql of the PATH
        with file.open("rb") as written:
            os.fsync(written.fileno())
        seconds = time.perf_counter() - began
        if done.returncode != 0:
            raise CannotMeasure("`bench export` could not copy by psql.")
        file.unlink()
        return seconds

    def made(self, uid: str) -> Path:
        """The file of an export, once the worker has made it."""
        told = self.worker.does(f"export {uid}")
        if told["status"] != Export.Status.READY:
            raise CannotMeasure(f"`bench export` made an export that ended as {told['status']}.")
        return Path(told["file"])

    def keep(self, format_: Format, made: Path) -> None:
        """Keep the last file of each format."""
        if format_ in self.last:
            self.last[format_].unlink()
        self.last[format_] = made

    def must_verify(self) -> None:
        """Raises ``CannotMeasure`` unless each of the last files is verified."""
        keys = [parse_key(key) for key in self.worker.does(f"keys {TENANT}")["keys"]]
        for format_, file in self.last.items():
            verdict = proven(file, keys).verdict
            if verdict is not Verdict.VERIFIED:
                raise CannotMeasure(f"`bench export` made a file in {format_} that is {verdict}.")
