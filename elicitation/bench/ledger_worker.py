"""A process that does the ledger's work on demand, by the sweeps that a worker of the desk runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from elicitation.bench.on_demand import serve, set_up

#: Lines that are read at a time.
BATCH: Final = 2000


def main() -> None:
    set_up()
    import elicitation.services.sweeps.registry  # noqa: F401 - what it imports belongs to an idle worker

    works: Final[dict[str, Callable[..., dict[str, Any]]]] = {
        "pass": one_pass,
        "seal": seal,
        "prove": prove,
        "lines": lines,
        "keys": keys,
        "order": order,
        "export": export,
    }

    def work(asked: str) -> dict[str, Any]:
        name, *arguments = asked.split()
        return works[name](*arguments)

    serve(work)


def one_pass() -> dict[str, Any]:
    """What the schedule calls for once."""
    from elicitation.services.sweeps.sealing import seal

    return {"done": seal()}


def seal() -> dict[str, Any]:
    """Seal until nothing is left; ``done`` says how many that were."""
    from elicitation.services.sweeps.sealing import seal

    done = 0
    while some := seal():
        done += some
    return {"done": done}


def prove() -> dict[str, Any]:
    """How many ``entries`` and ``leaves`` there are, and how many ``faults``: entries that are no leaf, leaves out of
    line, and checkpoints that do not state the root over the leaves which they cover."""
    from django.db.models import Exists, OuterRef

    from audit.models import Checkpoint, Leaf, LedgerEntry, Log
    from audit.verify import Edge, leaf_hash

    # NOT EXISTS, for PostgreSQL looks through all leaves again for each entry of a NOT IN.
    faults = LedgerEntry.objects.filter(~Exists(Leaf.objects.filter(entry_id=OuterRef("pk")))).count()
    for log in Log.objects.all():
        roots = {each.size: bytes(each.root) for each in Checkpoint.objects.filter(log=log)}
        edge = Edge()
        for line in _lines(log):
            faults += not line.startswith(b'{"index":%d,' % edge.size)
            edge.append(leaf_hash(line))
            if edge.size in roots:
                faults += roots.pop(edge.size) != edge.root()
        faults += len(roots)
    return {"entries": LedgerEntry.objects.count(), "leaves": Leaf.objects.count(), "faults": faults}


def lines(file: str, most: str) -> dict[str, Any]:
    """Write up to ``most`` lines of all logs into a file."""
    from audit.models import Log

    found = chain.from_iterable(map(_lines, Log.objects.all()))
    Path(file).write_bytes(b"\n".join(islice(found, int(most))))
    return {}


def keys(tenant: str) -> dict[str, Any]:
    """The verifier keys of a tenant's log."""
    from elicitation.services import exports

    return {"keys": exports.verifier_keys(exports.log_of(tenant))}


def order(tenant: str, format_: str) -> dict[str, Any]:
    """Ask for a whole log; says under which ``uid``."""
    from audit.verify import Format
    from elicitation.services import actors, exports

    wanted = exports.Wanted(Format(format_))
    return {"uid": str(exports.ask(exports.log_of(tenant), wanted, actors.shell()).uid)}


def export(uid: str) -> dict[str, Any]:
    """Go on with what was asked for until this export has ended; says in which ``status`` and ``file``."""
    from audit.models import Export
    from elicitation.services import exports
    from elicitation.services.sweeps.exporting import export

    made = Export.objects.get(uid=uid)
    while made.status in (Export.Status.WAITING, Export.Status.RUNNING):
        export()
        made.refresh_from_db()
    return {"status": made.status, "file": str(exports.path_of(made)), "done": made.count}


def _lines(log: Any) -> Iterator[bytes]:
    from audit import tree

    for start in range(0, log.size, BATCH):
        yield from tree.lines(log, start, min(start + BATCH, log.size))


if __name__ == "__main__":
    main()
