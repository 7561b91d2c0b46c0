"""Checkpoints that the auditor kept, or a witness: the same history, another one, or nothing that can be compared."""

from __future__ import annotations

import pytest

from audit.verify import Format, Verdict
from tests.audit.export_files import ORIGIN, SINCE, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
LOG = Exporter(LEAVES)

every_format = pytest.mark.parametrize("format_", list(Format))


def rewritten(leaf: int) -> Exporter:
    """A log in which one leaf was changed before everything was sealed anew, by whoever has the keys."""
    return Exporter([*LEAVES[:leaf], entry_line(leaf, state_to="DECLINED"), *LEAVES[leaf + 1 :]])


@every_format
@pytest.mark.parametrize("size", range(SIZE + 1))
def test_a_log_that_only_grew_begins_as_it_did_then(format_: Format, size: int) -> None:
    report = judge(LOG.write(format_), kept=[LOG.checkpoint(size)])
    assert report.verdict is Verdict.VERIFIED
    assert f"the last of them of size {size}." in str(report)


@every_format
def test_history_that_was_written_anew_is_inconsistent_with_what_was_kept(format_: Format) -> None:
    """Everything else about the file is right: the entries, the root, the signatures."""
    anew = rewritten(9).write(format_)
    assert judge(anew).verdict is Verdict.VERIFIED
    for size in range(10, SIZE + 1):
        assert judge(anew, kept=[LOG.checkpoint(size)]).verdict is Verdict.INCONSISTENT
    assert judge(anew, kept=[LOG.checkpoint(9)]).verdict is Verdict.VERIFIED


def test_checkpoints_tell_between_which_of_them_history_was_changed() -> None:
    report = judge(rewritten(9).write(Format.JSONL), kept=[LOG.checkpoint(size) for size in (20, 4, 8, 12)])
    assert report.verdict is Verdict.INCONSISTENT
    assert "It differs somewhere between leaf 8 and leaf 11." in report.sentences


def test_the_kept_checkpoint_counts_whether_or_not_the_signer_is_known() -> None:
    anew = rewritten(9).write(Format.JSONL)
    assert judge(anew, keys=[], kept=[LOG.checkpoint(12)]).verdict is Verdict.INCONSISTENT
    assert judge(anew, keys=[], kept=[LOG.checkpoint(8)]).verdict is Verdict.UNKNOWN_SIGNER


@every_format
def test_an_edit_is_placed_between_the_checkpoints_that_still_fit_and_those_that_do_not(format_: Format) -> None:
    edited = LOG.write(format_).replace(b"/properties/#3/title", b"/properties/#4/title")
    lines = LOG.write(format_).splitlines(keepends=True)
    at = 9 + (format_ is not Format.OCSF)
    lines[at] = edited.splitlines(keepends=True)[at]
    edited = b"".join(lines)
    assert "Between leaf 0 and leaf 15" in str(judge(edited))
    assert "Between leaf 8 and leaf 11" in str(judge(edited, kept=[LOG.checkpoint(size) for size in (4, 8, 12, 20)]))
    report = judge(edited, kept=[LOG.checkpoint(size) for size in range(SIZE)])
    assert (report.verdict, report.leaf, report.line) == (Verdict.EDITED, 9, at + 1)


@every_format
def test_an_export_that_does_not_reach_to_what_was_kept_hides_the_rest(format_: Format) -> None:
    """The newest entries were deleted, and an honest checkpoint of before is offered."""
    shorter = Exporter(LEAVES[:20]).write(format_)
    assert judge(shorter).verdict is Verdict.VERIFIED
    report = judge(shorter, kept=[LOG.checkpoint(10), LOG.checkpoint(SIZE)])
    assert report.verdict is Verdict.NOT_COMPARED
    assert "a checkpoint of size 23; this reaches to 20" in str(report)


@every_format
def test_a_checkpoint_inside_of_what_is_left_out_cannot_be_compared(format_: Format) -> None:
    selected = Exporter(LEAVES, shown={3, 4, 20}, selection=SINCE).write(format_)
    report = judge(selected, kept=[LOG.checkpoint(11)])
    assert (report.verdict, report.leaf) == (Verdict.NOT_COMPARED, 11)
    assert not report.verdict.good


@every_format
@pytest.mark.parametrize("size", [0, 2, 3, 4, 5, 6, 8, 16, 20, 21, 22, 23])
def test_a_checkpoint_where_a_block_of_what_is_left_out_ends_can(format_: Format, size: int) -> None:
    selected = Exporter(LEAVES, shown={3, 4, 20}, selection=SINCE).write(format_)
    assert judge(selected, kept=[LOG.checkpoint(size)]).verdict is Verdict.SELECTION
    other = rewritten(0).checkpoint(size)
    assert judge(selected, kept=[other]).verdict is (Verdict.INCONSISTENT if size else Verdict.SELECTION)


@every_format
def test_smaller_checkpoints_need_not_be_compared_where_a_larger_one_fits(format_: Format) -> None:
    """As after a prune, with all that a witness ever saw."""
    pruned = Exporter([*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=7)], pruned=7)
    report = judge(pruned.write(format_), kept=[pruned.checkpoint(size) for size in range(1, SIZE + 1)])
    assert report.verdict is Verdict.VERIFIED
    assert "Smaller ones, 4 in all, cannot be compared" in str(report)
    report = judge(pruned.write(format_), kept=[pruned.checkpoint(5)])
    assert report.verdict is Verdict.NOT_COMPARED


@every_format
def test_checkpoints_of_other_logs_are_passed_over(format_: Format) -> None:
    other = Exporter([entry_line(0)], origin="desk.example.com/other")
    report = judge(LOG.write(format_), kept=[other.checkpoint(), LOG.checkpoint(3)])
    assert report.verdict is Verdict.VERIFIED
    report = judge(LOG.write(format_), kept=[other.checkpoint()])
    assert report.verdict is Verdict.NOT_COMPARED
    assert "None of the checkpoints that you brought is of this log." in report.sentences


def test_two_checkpoints_of_one_size_that_differ_cannot_both_fit() -> None:
    """The log showed one history to the auditor and another to the witness."""
    kept = [LOG.checkpoint(12), rewritten(9).checkpoint(12)]
    assert judge(LOG.write(Format.JSONL), kept=kept).verdict is Verdict.INCONSISTENT
    assert judge(rewritten(9).write(Format.JSONL), kept=kept).verdict is Verdict.INCONSISTENT


def test_a_pack_is_compared_with_a_checkpoint_of_its_own_size_only() -> None:
    assert judge(LOG.pack(), kept=[LOG.checkpoint()]).verdict is Verdict.SELECTION
    assert judge(rewritten(9).pack(), kept=[LOG.checkpoint()]).verdict is Verdict.INCONSISTENT
    assert judge(LOG.pack(), kept=[LOG.checkpoint(5)]).verdict is Verdict.NOT_COMPARED
    assert judge(Exporter(LEAVES[:20]).pack(), kept=[LOG.checkpoint()]).verdict is Verdict.NOT_COMPARED


def test_the_words_name_the_log() -> None:
    assert ORIGIN in str(judge(LOG.write(Format.JSONL), kept=[LOG.checkpoint(3)]))
