"""What is done to an export, what the verifier calls it, and where it says that it is; the untouched twin is green."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from audit.verify import Format, Report, Verdict
from tests.audit.export_files import Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
MANIFEST = -1


@dataclass(frozen=True)
class File:
    """A whole export by its lines; ``entry`` is where a leaf stands among them."""

    lines: tuple[bytes, ...]
    format: Format

    def entry(self, leaf: int) -> int:
        return leaf + (self.format is not Format.OCSF)

    def number(self, leaf: int) -> int:
        """The number of the line in which a leaf stands, as people count."""
        return self.entry(leaf) + 1


Tamper = Callable[[File, list[bytes]], None]


def edit(leaf: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        at = file.entry(leaf)
        lines[at] = lines[at].replace(b"service", b"support")

    return tamper


def respell(leaf: int) -> Tamper:
    """A space where none belongs, or a letter in another spelling."""

    def tamper(file: File, lines: list[bytes]) -> None:
        at = file.entry(leaf)
        lines[at] = lines[at].replace(b"ADMITTED", b"ADMITTED ")

    return tamper


def delete(*leaves: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        for leaf in sorted(leaves, reverse=True):
            del lines[file.entry(leaf)]

    return tamper


def copy(leaf: int, before: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        lines.insert(file.entry(before), lines[file.entry(leaf)])

    return tamper


def move(leaf: int, before: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        line = lines.pop(file.entry(leaf))
        lines.insert(file.entry(before), line)

    return tamper


def swap(one: int, other: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        a, b = file.entry(one), file.entry(other)
        lines[a], lines[b] = lines[b], lines[a]

    return tamper


def insert(before: int, *indexes: int, tenant: str = "acme", instead: bool = False) -> Tamper:
    """Entries that were never sealed, in the file's own format."""

    def tamper(file: File, lines: list[bytes]) -> None:
        made = [entry_line(index, tenant=tenant) for index in indexes]
        foreign = Exporter([*LEAVES[:before], *made], tenant=tenant).write(file.format).splitlines(keepends=True)
        at = file.entry(before)
        lines[at : at + (len(made) if instead else 0)] = foreign[at : at + len(made)]

    return tamper


def renumber(file: File, lines: list[bytes]) -> None:
    """A leaf is taken out and the places of all that follow are closed up."""
    del lines[file.entry(5)]
    for leaf in range(5, SIZE - 1):
        at = file.entry(leaf)
        for spelled in (b'index":%d,', b'index\\":%d,', b"%d,acme"):
            lines[at] = lines[at].replace(spelled % (leaf + 1), spelled % leaf, 1)


def renumber_ids(file: File, lines: list[bytes]) -> None:
    for leaf in range(SIZE):
        at = file.entry(leaf)
        old, new = str(3 * leaf + 17).encode(), str(3 * leaf + 18).encode()
        for spelled in (b'"id":%s,', b'\\"id\\":%s,', b",acme,%s,"):
            lines[at] = lines[at].replace(spelled % old, spelled % new, 1)


def join_two(file: File, lines: list[bytes]) -> None:
    lines += file.lines


def add_a_line(file: File, lines: list[bytes]) -> None:
    lines.append(lines[file.entry(3)])


def cut_the_manifest(file: File, lines: list[bytes]) -> None:
    del lines[MANIFEST]


def cut_the_end(file: File, lines: list[bytes]) -> None:
    del lines[-4:]


def cut_a_line(file: File, lines: list[bytes]) -> None:
    lines[MANIFEST] = lines[MANIFEST][:-20]


def cut_the_last_newline(file: File, lines: list[bytes]) -> None:
    lines[MANIFEST] = lines[MANIFEST][:-1]


def change_the_manifest(old: str, new: str) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        quote = '""' if file.format is Format.CSV else '"'
        was, now = (text.replace('"', quote).encode() for text in (old, new))
        assert was in lines[MANIFEST]
        lines[MANIFEST] = lines[MANIFEST].replace(was, now, 1)

    return tamper


def garble(leaf: int) -> Tamper:
    def tamper(file: File, lines: list[bytes]) -> None:
        lines[file.entry(leaf)] = b"\xff\x00 not an entry\n"

    return tamper


#: What is done; what it is called; the leaf that it is about, and the leaf whose line it stands in, counted as in the
#: untouched file. ``None``: the file does not tell.
MATRIX: list[tuple[str, Tamper, Verdict, int | None, int | None]] = [
    ("an entry edited, in a block of its own", edit(22), Verdict.EDITED, 22, 22),
    ("an entry edited, in a large block", edit(9), Verdict.EDITED, None, None),
    ("an entry spelled otherwise", respell(9), Verdict.EDITED, 9, 9),
    ("a line that is no entry", garble(9), Verdict.EDITED, 9, 9),
    ("the first line that is no entry", garble(0), Verdict.EDITED, 0, 0),
    ("the first entry deleted", delete(0), Verdict.REMOVED, 0, 0),
    ("an entry deleted", delete(9), Verdict.REMOVED, 9, 9),
    ("three entries deleted", delete(9, 10, 11), Verdict.REMOVED, 9, 9),
    ("the last entry deleted", delete(22), Verdict.REMOVED, 22, None),
    ("the last five entries deleted", delete(18, 19, 20, 21, 22), Verdict.REMOVED, 18, None),
    ("all entries deleted", delete(*range(SIZE)), Verdict.REMOVED, 0, None),
    ("an entry twice", copy(9, 10), Verdict.INSERTED, 9, 10),
    ("an entry twice, at the end", copy(9, SIZE), Verdict.INSERTED, 9, SIZE),
    ("a later entry twice", copy(15, 9), Verdict.INSERTED, 15, 9),
    ("an entry made up, in a place that is taken", insert(9, 8), Verdict.INSERTED, 8, 9),
    ("an entry made up, in a place beyond the log", insert(9, 500), Verdict.INSERTED, 500, 9),
    ("entries not sealed yet, at the end", insert(SIZE, 23, 24), Verdict.UNSEALED_TAIL, 23, SIZE),
    ("two entries swapped", swap(9, 15), Verdict.REORDERED, 15, 9),
    ("the first entry last", move(0, 22), Verdict.REORDERED, 1, 0),
    ("the last entry first", move(22, 0), Verdict.REORDERED, 22, 0),
    ("another tenant's entry among them", insert(9, 9, tenant="globex"), Verdict.INSERTED, 9, 9),
    ("another tenant's entries instead", insert(9, 9, 10, tenant="globex", instead=True), Verdict.INSERTED, 9, 9),
    ("another tenant's entry first", insert(0, 0, tenant="globex", instead=True), Verdict.INSERTED, 0, 0),
    ("places closed up after a deletion", renumber, Verdict.EDITED, None, None),
    ("numbers of the database changed", renumber_ids, Verdict.EDITED, None, None),
    ("two exports in one file", join_two, Verdict.INSERTED, None, SIZE + 1),
    ("a line after the manifest", add_a_line, Verdict.INSERTED, None, SIZE + 1),
    ("the manifest cut off", cut_the_manifest, Verdict.TRUNCATED, 22, 22),
    ("the end cut off", cut_the_end, Verdict.TRUNCATED, 19, 19),
    ("the last line cut", cut_a_line, Verdict.TRUNCATED, None, None),
    ("the last newline cut", cut_the_last_newline, Verdict.TRUNCATED, None, None),
    ("no end marker", change_the_manifest('"end":true', '"end":false'), Verdict.TRUNCATED, None, None),
    (
        "the date of the export changed",
        change_the_manifest("2026-11-30T12:3", "2026-11-30T12:4"),
        Verdict.EDITED,
        None,
        None,
    ),
    ("the size changed", change_the_manifest('"size":23', '"size":22'), Verdict.EDITED, None, None),
    ("the count changed", change_the_manifest('"count":23', '"count":24'), Verdict.EDITED, None, None),
    ("the schema changed", change_the_manifest('"schema":1', '"schema":2'), Verdict.EDITED, None, None),
    ("a member more", change_the_manifest('"schema":1', '"schema":1,"note":1'), Verdict.EDITED, None, None),
    ("a member twice", change_the_manifest('"schema":1', '"schema":1,"schema":1'), Verdict.EDITED, None, None),
]


@pytest.fixture(params=list(Format))
def file(request: pytest.FixtureRequest) -> File:
    written = Exporter(LEAVES).write(request.param)
    return File(tuple(written.splitlines(keepends=True)), request.param)


def test_the_untouched_file_is_verified(file: File) -> None:
    assert judge(b"".join(file.lines)).verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("tamper", "verdict", "leaf", "stands"), [row[1:] for row in MATRIX], ids=[row[0] for row in MATRIX]
)
def test_it_is_named_and_placed(
    file: File, tamper: Tamper, verdict: Verdict, leaf: int | None, stands: int | None
) -> None:
    lines = list(file.lines)
    tamper(file, lines)
    assert lines != list(file.lines)
    report = judge(b"".join(lines))
    assert (report.verdict, report.leaf) == (verdict, leaf), report
    assert report.line == (None if stands is None else file.number(stands)), report
    assert says_nothing_of_what_is_there(report)
    assert not judge(b"".join(lines), keys=[]).verdict.good


def test_a_tail_that_is_not_sealed_does_not_stand_in_for_one_that_is_missing(file: File) -> None:
    lines = list(file.lines)
    insert(SIZE, 24, 25)(file, lines)
    delete(21, 22)(file, lines)
    report = judge(b"".join(lines))
    assert (report.verdict, report.leaf, report.line) == (Verdict.REMOVED, 21, file.number(21))
    assert report.sentences == ("Leaves 21 to 22 are missing before this line.",)


def test_what_is_missing_is_told_from_what_comes_later(file: File) -> None:
    lines = list(file.lines)
    swap(10, 11)(file, lines)
    delete(9)(file, lines)
    report = judge(b"".join(lines))
    assert (report.verdict, report.leaf, report.line) == (Verdict.REMOVED, 9, file.number(9))
    assert report.sentences == ("Leaf 9 is missing before this line.",)


def says_nothing_of_what_is_there(report: Report) -> bool:
    said = " ".join(report.sentences)
    return not any(word in said for word in ("globex", "support", "ADMITTED", "not an entry\n", "example.org"))
