"""Selections: each entry in them fits what they say that they are by, and that is told with its values."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from audit.verify import Format, Verdict
from tests.audit.export_files import ABOUT, KEYS, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]

#: Leaves that are left out, whole and in two.
STRETCHES = [(5, 19), (5, 8), (8, 19)]

every_format = pytest.mark.parametrize("format_", list(Format))

#: What is selected by, the leaves that fit it, and one that does not.
SELECTIONS: list[tuple[dict[str, Any], set[int], int]] = [
    ({"since": "2026-11-30T12:00:09.000009Z"}, set(range(9, SIZE)), 8),
    ({"until": "2026-11-30T12:00:09.000009Z"}, set(range(9)), 9),
    ({"since": "2026-11-30T12:00:04.000004Z", "until": "2026-11-30T12:00:09.000009Z"}, set(range(4, 9)), 9),
    ({"from_size": 9}, set(range(9, SIZE)), 8),
    ({"event": "shown"}, set(range(1, SIZE, 3)), 3),
    ({"elicitation_id": str(ABOUT)}, {0, 1, 2}, 3),
    ({"elicitation_id": str(UUID(int=1))}, set(), 3),
    ({"policy_revision": 8}, set(range(8, SIZE)), 7),
    ({"event": "shown", "policy_revision": 8}, set(range(10, SIZE, 3)), 7),
]

every_selection = pytest.mark.parametrize(
    ("selection", "fitting", "other"), SELECTIONS, ids=[str(row[0]) for row in SELECTIONS]
)


@every_format
@every_selection
def test_what_fits_is_a_verified_selection_and_says_by_which_values(
    format_: Format, selection: dict[str, Any], fitting: set[int], other: int
) -> None:
    report = judge(Exporter(LEAVES, fitting, selection).write(format_))
    assert report.verdict is Verdict.SELECTION
    by = ", ".join(f"{name}={value}" for name, value in selection.items())
    assert f", selected by {by}, " in report.sentences[0]


@every_format
@every_selection
def test_an_entry_that_does_not_fit_is_named_though_the_desk_signed_it(
    format_: Format, selection: dict[str, Any], fitting: set[int], other: int
) -> None:
    content = Exporter(LEAVES, {*fitting, other}, selection).write(format_)
    for keys in (KEYS, ()):
        report = judge(content, keys)
        assert (report.verdict, report.leaf) == (Verdict.INSERTED, other)
        assert report.sentences[0].startswith("This entry is none of those selected by ")
    assert report.line is not None
    spelled = f"{other}," if format_ is Format.CSV else f'index":{other},'
    assert spelled.encode() in content.splitlines()[report.line - 1].replace(b"\\", b"")


@every_format
def test_an_entry_without_what_is_selected_by_does_not_fit(format_: Format) -> None:
    leaves = [
        entry_line(0, elicitation_id=None, policy_revision=None),
        entry_line(1, latency_ms=None, policy_revision=7),
    ]
    selections: list[dict[str, object]] = [{"elicitation_id": str(ABOUT)}, {"policy_revision": 7}]
    for selection in selections:
        assert judge(Exporter(leaves, {0, 1}, selection).write(format_)).leaf == 0
        assert judge(Exporter(leaves, {1}, selection).write(format_)).verdict is Verdict.SELECTION


@every_format
@pytest.mark.parametrize("since", ["1-01-01T00:00:00.000000Z", "987-01-01T00:00:00.000000Z"])
def test_the_years_of_antiquity_were_before_the_ledger(format_: Format, since: str) -> None:
    """As the desk spells them on some systems."""
    assert judge(Exporter(LEAVES, {3}, {"since": since}).write(format_)).verdict is Verdict.SELECTION
    assert judge(Exporter(LEAVES, {3}, {"until": since}).write(format_)).verdict is Verdict.INSERTED


@every_format
@pytest.mark.parametrize(
    "selection",
    [
        {"event": True},
        {"event": 7},
        {"event": ""},
        {"event": "two words"},
        {"event": "\x1b[2J"},
        {"event": None},
        {"since": 7},
        {"policy_revision": "8"},
        {"policy_revision": True},
        {"from_size": "9"},
        {"to_size": 9},
        {"mood": "good"},
    ],
    ids=str,
)
def test_what_nobody_can_select_by_is_no_selection(format_: Format, selection: dict[str, Any]) -> None:
    assert judge(Exporter(LEAVES, {3}, selection).write(format_)).verdict is Verdict.EDITED


def test_what_was_tampered_with_is_not_called_a_misfit() -> None:
    content = Exporter(LEAVES, {1, 4}, {"event": "shown"}).write(Format.JSONL)
    assert (
        judge(content.replace(b'"event":"shown","elicitation', b'"event":"admit","elicitation', 1)).verdict
        is Verdict.EDITED
    )


def test_what_is_left_out_is_told_in_one_piece() -> None:
    """The hashes of two are the same, so anybody could cut it."""
    export = Exporter(LEAVES, {4, 19}, {"from_size": 4})
    content = export.write(Format.JSONL)
    whole, one, other = (json.dumps({"left_out": export.stretch(*each)}, separators=(",", ":")) for each in STRETCHES)
    assert whole.encode() in content
    report = judge(content.replace(whole.encode(), f"{one}\n{other}".encode()))
    assert (report.verdict, report.line, report.leaf) == (Verdict.EDITED, 5, 8)
