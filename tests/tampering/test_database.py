"""What an owner of the database does to a sealed log is found in the night, told, and seen in every export made of it:
each row is a deed, what the nightly verification says and where, and what an auditor's verifier says."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

import pytest

from audit import nightly
from audit import verify as verifier
from audit.models import Checkpoint, LedgerEntry, Log
from audit.seal import seal
from audit.tree import NotKept
from audit.verify import Format, parse_checkpoint, parse_note
from tests.audit import exported
from tests.tampering import owner
from tests.tampering.night import NIGHT, N, look, told
from tests.tampering.owner import FROM, MIDDLE, SIZE, SIZES, Deed, change, delete, drop_trigger, edit, put_in_place_of

pytestmark = pytest.mark.django_db

V: TypeAlias = verifier.Verdict
HASH: Final = b"\x07" * 32
#: No export can be made: it stops before its end and has no manifest.
CUT_OFF: Final = None

Row = tuple[Deed, N, int | None, V | None]


EDITS: Final[dict[str, Row]] = {
    "a word": (edit("event", "cancel"), N.EDITED, FROM, V.EDITED),
    "a word where there was none": (edit("provider", "example-pay"), N.EDITED, FROM, V.EDITED),
    "no word where there was one": (edit("place", ""), N.EDITED, FROM, V.EDITED),
    "an id": (edit("elicitation_id", "00000000-0000-0000-0000-000000000001"), N.EDITED, FROM, V.EDITED),
    "a time, by a microsecond": (edit("at", "2026-11-30T12:00:00.300001Z"), N.EDITED, FROM, V.EDITED),
    "a yes": (edit("negotiated", False), N.EDITED, FROM, V.EDITED),
    "a number": (edit("latency_ms", 1), N.EDITED, FROM, V.EDITED),
    "a number where there was none": (edit("attempt", 1), N.EDITED, FROM, V.EDITED),
    "the format": (edit("format_version", 2), N.EDITED, FROM, V.EDITED),
    "the tenant": (edit("tenant", "globex"), N.EDITED, MIDDLE, V.INSERTED),
    "the first entry": (edit("event", "cancel", 0), N.EDITED, 0, V.EDITED),
    "the last entry": (edit("event", "cancel", SIZE - 1), N.EDITED, 512, V.EDITED),
    "a text that ends the line's": (owner.past_the_alphabet("place", 'a","b":"c'), N.EDITED, MIDDLE, V.EDITED),
    "a text of two lines": (owner.past_the_alphabet("place", "a\nb"), N.EDITED, MIDDLE, V.EDITED),
    "a formula": (owner.past_the_alphabet("place", "=1+1"), N.EDITED, MIDDLE, V.EDITED),
    "two entries swapped": (owner.swap_contents, N.EDITED, FROM, V.EDITED),
    "one replaced": (owner.replace, N.EDITED, FROM, V.EDITED),
    "one repeated in another's place": (put_in_place_of(MIDDLE, owner.copy), N.EDITED, FROM, V.EDITED),
    "another tenant's in its place": (put_in_place_of(MIDDLE, owner.foreign), N.EDITED, MIDDLE, V.INSERTED),
    "all renumbered with their leaves": (owner.renumber(leaves_too=True), N.EDITED, 0, V.EDITED),
}
REMOVALS: Final[dict[str, Row]] = {
    "the first": (owner.remove(0), N.REMOVED, 0, V.REMOVED),
    "one in the middle": (owner.remove(MIDDLE), N.REMOVED, MIDDLE, V.REMOVED),
    "the last": (owner.remove(SIZE - 1), N.REMOVED, SIZE - 1, CUT_OFF),
    "one with its leaf": (owner.remove(MIDDLE, leaf_too=True), N.REMOVED, MIDDLE, V.REMOVED),
    "one with its leaf, the rest moved up": (owner.remove_and_close_up, N.REMOVED, SIZE - 1, CUT_OFF),
    "the tail with its leaves": (owner.remove(*range(510, SIZE), leaf_too=True), N.REMOVED, 510, CUT_OFF),
    "all renumbered away from their leaves": (owner.renumber(leaves_too=False), N.REMOVED, 0, CUT_OFF),
    "the head, said to be pruned": (owner.say_pruned(remove_too=True), N.REMOVED, 0, V.REMOVED),
    "the head only said to be pruned": (owner.say_pruned(remove_too=False), N.REMOVED, 0, V.REMOVED),
}
INSERTIONS: Final[dict[str, Row]] = {
    # What was written past the sealer is sealed where it is found, and shows when it came; the export is true then.
    "a small number, with no leaf": (lambda _: _inserted(-5), N.UNSEALED, SIZE, V.VERIFIED),
    "past the sealer's mark": (owner.skip_ahead, N.UNSEALED, SIZE, V.VERIFIED),
    "with a leaf in the middle, the rest moved down": (owner.insert_with_leaf, N.CHECKPOINT, None, V.EDITED),
    # The checkpoint does not cover it, so an export does not show it.
    "with the next leaf": (owner.insert_beyond, N.CHECKPOINT, None, V.VERIFIED),
}
LEAVES: Final[dict[str, Row]] = {
    "moved away": (change("audit_leaf", '"index" = 900', f'"index" = {MIDDLE}'), N.CHECKPOINT, None, V.REMOVED),
    "gone": (delete("audit_leaf", f'"index" = {MIDDLE}'), N.REMOVED, MIDDLE, V.REMOVED),
    "the last gone": (delete("audit_leaf", f'"index" = {SIZE - 1}'), N.REMOVED, SIZE - 1, CUT_OFF),
    "two swapped": (owner.swap_leaves, N.EDITED, FROM, V.EDITED),
}
#: The right edge of an export is read from the stored subtrees, so what is wrong with them shows in it.
STORED: Final[dict[str, Row]] = {
    "a subtree's hash": (change("audit_subtree", "hash = %s", "number = 0", HASH), N.SUBTREE, 0, V.EDITED),
    "the next subtree's hash": (change("audit_subtree", "hash = %s", "number = 1", HASH), N.SUBTREE, 256, V.EDITED),
    "a subtree gone": (delete("audit_subtree", "number = 1"), N.SUBTREE, 256, CUT_OFF),
    "a subtree too many": (change("audit_subtree", "number = 2", "number = 1"), N.CHECKPOINT, None, CUT_OFF),
    "the log's edge": (change("audit_log", "edge = %s", "TRUE", HASH * 5), N.CHECKPOINT, None, V.VERIFIED),
    "an edge that is none": (change("audit_log", "edge = %s", "TRUE", b"\x07"), N.CHECKPOINT, None, V.VERIFIED),
    "a smaller size": (change("audit_log", f"size = {SIZE - 1}", "TRUE"), N.CHECKPOINT, None, V.VERIFIED),
    "a larger size": (change("audit_log", f"size = {SIZE + 1}", "TRUE"), N.CHECKPOINT, None, V.VERIFIED),
    "another origin": (
        change("audit_log", "origin = 'desk.example.org/acme'", "TRUE"), N.SIGNATURE, SIZE - 1, V.EDITED),
}  # fmt: skip
_NOTE: Final = f"note = replace(note, '{SIZE}', '{SIZE + 1}')"
CHECKPOINTS: Final[dict[str, Row]] = {
    "its note": (change("audit_checkpoint", _NOTE, f"size = {SIZE}"), N.SIGNATURE, SIZE - 1, V.EDITED),
    # An export is made from the note, so the column beside it does not matter there.
    "its root": (change("audit_checkpoint", "root = %s", f"size = {SIZE}", HASH), N.CHECKPOINT, None, V.VERIFIED),
    "its size": (change("audit_checkpoint", f"size = {SIZE - 1}", f"size = {SIZE}"), N.CHECKPOINT, None, V.EDITED),
    "an earlier root": (change("audit_checkpoint", "root = %s", "size = 400", HASH), N.CHECKPOINT, 399, V.VERIFIED),
    "an earlier size": (change("audit_checkpoint", "size = 399", "size = 400"), N.CHECKPOINT, 398, V.VERIFIED),
    "an older one in its place": (owner.in_place_of_the_newest(owner.older), N.CHECKPOINT, None, V.EDITED),
    "another log's in its place": (owner.in_place_of_the_newest(owner.of_another_log), N.CHECKPOINT, None, V.EDITED),
    "gone": (delete("audit_checkpoint", f"size = {SIZE}"), N.CHECKPOINT, None, V.NOT_COMPARED),
    # The manifest is signed by the same key, over the same root.
    "signed by nobody": (owner.signed_by_nobody, N.SIGNATURE, SIZE - 1, V.VERIFIED),
    "all made anew, without the keys": (owner.another_history, N.SIGNATURE, SIZE - 1, V.INCONSISTENT),
}  # fmt: skip
GUARDS: Final[dict[str, Row]] = {
    "on entries": (drop_trigger("audit_ledgerentry_no_delete"), N.UNGUARDED, None, V.VERIFIED),
    "on leaves": (drop_trigger("audit_leaf_no_update"), N.UNGUARDED, None, V.VERIFIED),
    "on checkpoints": (drop_trigger("audit_checkpoint_no_update"), N.UNGUARDED, None, V.VERIFIED),
    "on prunes": (drop_trigger("audit_prune_no_update"), N.UNGUARDED, None, V.VERIFIED),
    "of the alphabet": (owner.drop_alphabet, N.UNGUARDED, None, V.VERIFIED),
}
#: Whoever has the keys, or puts everything back together, can only be found by what somebody else has kept.
OUTSIDE: Final[dict[str, Row]] = {
    "all made anew, with the keys": (owner.another_history_signed, N.VERIFIED, None, V.INCONSISTENT),
    "everything as it was before": (owner.roll_back, N.VERIFIED, None, V.NOT_COMPARED),
    "an earlier checkpoint gone": (delete("audit_checkpoint", "size = 400"), N.VERIFIED, None, V.VERIFIED),
}
MATRIX: Final = {
    f"{kind}: {name}": row
    for kind, rows in {
        "edited": EDITS,
        "removed": REMOVALS,
        "inserted": INSERTIONS,
        "leaf": LEAVES,
        "stored": STORED,
        "checkpoint": CHECKPOINTS,
        "guard dropped": GUARDS,
        "only outside": OUTSIDE,
    }.items()
    for name, row in rows.items()
}


def _inserted(number: int) -> None:
    owner.insert(number)


def kept(log: Log, *sizes: int) -> tuple[verifier.Checkpoint, ...]:
    """What an auditor has from before."""
    rows = Checkpoint.objects.filter(log=log, size__in=sizes)
    return tuple(parse_checkpoint(parse_note(row.note).text) for row in rows)


def judged(log: Log, format_: Format, folder: Path, brought: tuple[verifier.Checkpoint, ...]) -> V | None:
    try:
        _, content = exported.whole(log, format_)
    except NotKept:
        return CUT_OFF
    return exported.judged(content, log, folder, brought).verdict


@pytest.mark.parametrize("name", MATRIX)
def test_a_log_that_was_tampered_with_is_found_told_and_does_not_verify(log: Log, tmp_path: Path, name: str) -> None:
    deed, verdict, leaf, in_a_file = MATRIX[name]
    keys, brought = exported.keys(log), kept(log, *SIZES[1:])
    deed(log)
    look(log)
    assert (N(log.verdict), log.verdict_leaf) == (verdict, leaf)
    about = f"log-{log.pk}" if leaf is None else f"leaf-{leaf}"
    assert (about in told()) == (verdict is not N.VERIFIED)
    assert {format_: judged(log, format_, tmp_path, brought) for format_ in Format} == dict.fromkeys(Format, in_a_file)
    assert exported.keys(log) == keys or "origin" in name


@pytest.mark.parametrize("format_", Format)
def test_a_log_that_nobody_touched_verifies_and_goes_on(log: Log, tmp_path: Path, format_: Format) -> None:
    brought = kept(log, *SIZES)
    exported.sealed(100)
    look(log)
    assert (N(log.verdict), log.size > SIZE, told()) == (N.VERIFIED, True, set())
    assert judged(log, format_, tmp_path, brought) is V.VERIFIED


@pytest.mark.parametrize("deed", [owner.insert_beyond, change("audit_subtree", "number = 2", "number = 1")])
def test_a_log_that_was_tampered_with_is_not_sealed_and_the_others_are(log: Log, deed: Deed) -> None:
    deed(log)
    LedgerEntry.objects.bulk_create(
        [exported.entry(number, tenant=name) for name in ("acme", "globex") for number in (1, 2)]
    )
    assert seal(NIGHT) == 2
    assert {row.tenant: row.size for row in Log.objects.filter(tenant__in=("acme", "globex"))} == {
        "acme": SIZE,
        "globex": 7,
    }
    assert told() == {f"log-{log.pk}"}


def test_what_was_removed_is_still_named_when_its_entry_is_sealed_late(log: Log) -> None:
    delete("audit_leaf", f'"index" = {MIDDLE}')(log)
    look(log)
    assert told() == {f"leaf-{MIDDLE}", f"leaf-{SIZE}"}
    assert (N(log.verdict), log.verdict_leaf) == (N.REMOVED, MIDDLE)


def test_a_log_that_grows_while_it_is_looked_at_is_no_alarm(log: Log) -> None:
    nightly.request(log, NIGHT)
    stale = nightly._next(NIGHT)
    assert stale is not None
    exported.sealed(10)
    nightly._slice(stale, NIGHT)
    look(log)
    assert (N(log.verdict), told()) == (N.VERIFIED, set())
