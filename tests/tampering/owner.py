"""What an owner of the database can do to a sealed log: the guards are lifted, rows are written past the desk, and the
guards are put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.conf import settings
from django.db import connection

from audit import note, tree, wording
from audit.models import Checkpoint, Leaf, LedgerEntry, Log
from audit.triggers import SEALED
from audit.verify import Edge
from tests.audit.pruned import tampering
from tests.audit.sealed import leaf_hashes, tree_hash

#: How a log is when somebody comes to it: so many leaves, under checkpoints of these sizes.
SIZES: Final = (200, 400, 600)
SIZE: Final = SIZES[-1]
#: A leaf in the middle, in the second stored subtree, between the first two checkpoints.
MIDDLE: Final = 300
#: Where an edit there is narrowed down to: the last subtree or checkpoint before it that fits.
FROM: Final = 256

Deed = Callable[[Log], None]


def sql(statement: str, *values: Any) -> None:
    """One statement with the guards lifted."""
    with tampering(*SEALED), connection.cursor() as cursor:
        cursor.execute(statement, values)


def entry_at(leaf: int, log: Log) -> int:
    return Leaf.objects.get(log=log, index=leaf).entry_id


def edit(column: str, value: Any, leaf: int = MIDDLE) -> Deed:
    """Another value in a column of the entry."""

    def do(log: Log) -> None:
        with tampering(*SEALED):
            assert LedgerEntry.objects.filter(pk=entry_at(leaf, log)).update(**{column: value}) == 1

    return do


def past_the_alphabet(column: str, value: str) -> Deed:
    """A text that no line could hold, with the alphabet's guard lifted as well: SQLite's looks at new rows alone."""

    def do(log: Log) -> None:
        if connection.vendor == "sqlite":
            edit(column, value)(log)
            return
        drop_alphabet(log)
        edit(column, value)(log)
        with connection.cursor() as cursor:  # one of the same name that says less
            cursor.execute(f"ALTER TABLE {wording.TABLE} ADD CONSTRAINT {wording.NAME} CHECK (event <> '')")

    return do


def remove(*leaves: int, leaf_too: bool = False) -> Deed:
    """Entries gone, and where asked their leaves."""

    def do(log: Log) -> None:
        gone = list(Leaf.objects.filter(log=log, index__in=leaves).values_list("entry_id", flat=True))
        with tampering(*SEALED):
            LedgerEntry.objects.filter(pk__in=gone).delete()
            if leaf_too:
                Leaf.objects.filter(entry_id__in=gone).delete()

    return do


def remove_and_close_up(log: Log) -> None:
    """One entry gone with its leaf, and all later ones moved up."""
    remove(MIDDLE, leaf_too=True)(log)
    _move(log, range(MIDDLE + 1, SIZE), -1)


def _move(log: Log, leaves: Iterable[int], by: int) -> None:
    with tampering(*SEALED):
        for leaf in leaves:
            Leaf.objects.filter(log=log, index=leaf).update(index=leaf + by)


def insert(number: int, **columns: Any) -> int:
    """An entry under a number of the forger's choice: a copy, with other columns."""
    copied = LedgerEntry.objects.filter(tenant="acme").order_by("pk").values()[MIDDLE]
    entry = LedgerEntry.objects.create(**(copied | {"id": number} | columns))
    count_on()
    return entry.pk


def count_on() -> None:
    """Let the database's own numbers go on behind those that were chosen."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            sequence = f"pg_get_serial_sequence('{wording.TABLE}', 'id')"
            last = f"greatest(nextval({sequence}), (SELECT max(id) FROM {wording.TABLE}))"
            cursor.execute(f"SELECT setval({sequence}, {last})")


def insert_with_leaf(log: Log) -> None:
    """A forged entry in the middle, with a leaf of its own, and all later ones moved down."""
    last = LedgerEntry.objects.latest("pk").pk
    _move(log, reversed(range(MIDDLE, SIZE)), 1)
    Leaf.objects.create(log=log, index=MIDDLE, entry_id=insert(last + 1))


def insert_beyond(log: Log) -> None:
    """A forged entry with the next leaf, which nobody sealed."""
    last = LedgerEntry.objects.latest("pk").pk
    Leaf.objects.create(log=log, index=SIZE, entry_id=insert(last + 1))


def put_in_place_of(leaf: int, entry: Callable[[Log], int]) -> Deed:
    """Another entry under a leaf; its own goes."""

    def do(log: Log) -> None:
        other, own = entry(log), entry_at(leaf, log)
        sql("DELETE FROM audit_leaf WHERE entry_id = %s", other)
        sql("UPDATE audit_leaf SET entry_id = %s WHERE entry_id = %s", other, own)
        sql("DELETE FROM audit_ledgerentry WHERE id = %s", own)

    return do


def foreign(_: Log) -> int:
    """An entry of another tenant's log."""
    return LedgerEntry.objects.filter(tenant="globex").earliest("pk").pk


def copy(_: Log) -> int:
    """A second entry that says what another says."""
    return insert(LedgerEntry.objects.latest("pk").pk + 1)


def swap_contents(log: Log) -> None:
    """Two entries, each with what the other said."""
    first, second = (LedgerEntry.objects.filter(pk=entry_at(leaf, log)) for leaf in (MIDDLE, MIDDLE + 50))
    (one,), (other,) = first.values(), second.values()
    with tampering(*SEALED):
        for rows, said in ((first, other), (second, one)):
            rows.update(**{name: value for name, value in said.items() if name != "id"})


def swap_leaves(log: Log) -> None:
    """Two entries, each under the other's leaf."""
    one, other = entry_at(MIDDLE, log), entry_at(MIDDLE + 50, log)
    for new, old in ((-1, one), (one, other), (other, -1)):
        sql("UPDATE audit_leaf SET entry_id = %s WHERE entry_id = %s", new, old)


def replace(log: Log) -> None:
    """The row written over, as ``REPLACE`` does on SQLite."""
    entry = LedgerEntry.objects.filter(pk=entry_at(MIDDLE, log)).values().get()
    remove(MIDDLE)(log)
    LedgerEntry.objects.create(**entry | {"event": "cancel"})


def renumber(*, leaves_too: bool) -> Deed:
    """All numbers moved up, as a careless restore might."""

    def do(log: Log) -> None:
        by = 1_000_000
        sql("UPDATE audit_ledgerentry SET id = id + %s WHERE tenant = %s", by, log.tenant)
        if leaves_too:
            sql("UPDATE audit_leaf SET entry_id = entry_id + %s WHERE log_id = %s", by, log.pk)

    return do


def change(table: str, setting: str, where: str, *values: Any) -> Deed:
    """Something stored about the log, written anew."""
    column = "id" if table == "audit_log" else "log_id"
    return lambda log: sql(f"UPDATE {table} SET {setting} WHERE {where} AND {column} = %s", *values, log.pk)


def delete(table: str, where: str) -> Deed:
    return lambda log: sql(f"DELETE FROM {table} WHERE log_id = %s AND {where}", log.pk)


def in_place_of_the_newest(other: Callable[[Log], Checkpoint]) -> Deed:
    """The note of another checkpoint, with its root, as if it were the newest."""

    def do(log: Log) -> None:
        row = other(log)
        change("audit_checkpoint", "note = %s, root = %s", f"size = {SIZE}", row.note, bytes(row.root))(log)

    return do


def older(log: Log) -> Checkpoint:
    return Checkpoint.objects.get(log=log, size=SIZES[1])


def of_another_log(_: Log) -> Checkpoint:
    return Checkpoint.objects.filter(log__tenant="globex").latest("size")


def signed_by_nobody(log: Log) -> None:
    """The newest note with the name of another signer."""
    said = Checkpoint.objects.get(log=log, size=SIZE).note.replace("\u2014 ", "\u2014 x")
    change("audit_checkpoint", "note = %s", f"size = {SIZE}", said)(log)


def another_history(log: Log) -> None:
    """An entry edited, and everything that is stored over it made to fit, but for the signatures: the forger has no
    key."""
    edit("event", "cancel")(log)
    _rebuild(log, {"forged": bytes(32)})


def another_history_signed(log: Log) -> None:
    """The same by somebody who has the keys, too: only who kept a checkpoint can tell."""
    edit("event", "cancel")(log)
    _rebuild(log, settings.DESK_LEDGER_KEYS)


def _rebuild(log: Log, ring: dict[str, bytes]) -> None:
    hashes, edge = leaf_hashes(log), Edge()
    for node in tree.grow(edge, hashes):
        where = f"level = {node.level} AND number = {node.number}"
        change("audit_subtree", "hash = %s", where, node.hash)(log)
    change("audit_log", "edge = %s", "TRUE", edge.to_bytes())(log)
    for size in SIZES:
        root = tree_hash(hashes[:size])
        signed = note.sign(note.checkpoint_text(log.origin, size, root), log.origin, ring)
        change("audit_checkpoint", "root = %s, note = %s", f"size = {size}", root, signed)(log)


def roll_back(log: Log) -> None:
    """Everything after the second checkpoint gone, and what is stored as it was then."""
    size = SIZES[1]
    edge = tree.edge(log, size).to_bytes()
    remove(*range(size, SIZE), leaf_too=True)(log)
    delete("audit_checkpoint", f"size > {size}")(log)
    delete("audit_subtree", f"number >= {size // tree.WIDTH}")(log)
    change("audit_log", f"size = {size}, edge = %s", "TRUE", edge)(log)


def say_pruned(*, remove_too: bool) -> Deed:
    """The head said to be pruned, or taken away without an order."""

    def do(log: Log) -> None:
        if remove_too:
            remove(*range(tree.WIDTH), leaf_too=True)(log)
        change("audit_log", f"pruned = {tree.WIDTH}", "TRUE")(log)

    return do


def drop_trigger(name: str) -> Deed:
    def do(_: Log) -> None:
        table = name.partition("_no_")[0]
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TRIGGER {name}" + (f" ON {table}" if connection.vendor == "postgresql" else ""))

    return do


def drop_alphabet(_: Log) -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(f"ALTER TABLE {wording.TABLE} DROP CONSTRAINT {wording.NAME}")
        else:
            cursor.execute(f"DROP TRIGGER {wording.NAME}")


def skip_ahead(log: Log) -> None:
    """The sealer's mark moved past an entry that it has not sealed."""
    number = LedgerEntry.objects.latest("pk").pk + 1
    insert(number)
    sql("UPDATE audit_mark SET through = %s, reached = %s, writers = ''", number + 5, number + 5)
