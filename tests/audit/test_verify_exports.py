"""What the verifier says of exports that are whole, selected, pruned or empty, and by whose keys."""

from __future__ import annotations

import pytest

from audit import note
from audit.exporting.formats.rendering import revisions_of
from audit.verify import Format, Verdict, VerifierKey, parse_key
from tests.audit.export_files import KEYS, ORIGIN, RING, SINCE, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
SHOWN = {3, 4, 9, 20}
PRUNED = 7
#: The log after a prune of its first seven leaves, which one of its own entries tells of.
SURVIVING = [*LEAVES[:-1], entry_line(SIZE - 1, event="pruned", repeat_count=PRUNED)]

every_format = pytest.mark.parametrize("format_", list(Format))


@every_format
def test_a_whole_export_is_verified_and_says_by_which_keys(format_: Format) -> None:
    report = judge(Exporter(LEAVES).write(format_))
    assert report.verdict is Verdict.VERIFIED
    first, *others, last = report.sentences
    assert first == (
        f"23 entries of {ORIGIN}, leaves 0 to 22, are as they were sealed under the checkpoint of size 23."
    )
    signed = [f"It is signed by the key {ORIGIN}+{key.key_id.hex()}, which you brought." for key in KEYS]
    assert [sentence for sentence in others if "signed" in sentence] == signed
    assert last == (
        "Not shown: whether the log had another history before, which only checkpoints tell that you or a witness "
        "kept; what came after the checkpoint."
    )


@every_format
@pytest.mark.parametrize("key", KEYS, ids=["current", "previous"])
def test_either_key_of_a_rotation_is_enough(format_: Format, key: VerifierKey) -> None:
    assert judge(Exporter(LEAVES).write(format_), [key]).verdict is Verdict.VERIFIED


@every_format
def test_without_a_key_it_is_consistent_at_most(format_: Format) -> None:
    report = judge(Exporter(LEAVES).write(format_), keys=[])
    assert report.verdict is Verdict.UNKNOWN_SIGNER
    assert not report.verdict.good
    assert "Anybody could have made it" in str(report)


@every_format
def test_another_key_is_the_wrong_one(format_: Format) -> None:
    """Also where everything was sealed anew with it."""
    stranger = {"stranger": bytes(32)}
    resealed = Exporter(LEAVES, ring=stranger).write(format_)
    report = judge(resealed)
    assert report.verdict is Verdict.WRONG_KEY
    made = parse_key(note.verifier_key(ORIGIN, bytes(32))).key_id.hex()
    assert made in str(report)
    assert all(key.key_id.hex() in str(report) for key in KEYS)


@every_format
def test_the_key_of_another_log_is_the_wrong_one(format_: Format) -> None:
    other = parse_key(note.verifier_key("desk.example.com/other", RING["current"]))
    report = judge(Exporter(LEAVES).write(format_), [other])
    assert report.verdict is Verdict.WRONG_KEY
    assert "that you brought: none" in str(report)


@every_format
@pytest.mark.parametrize("name", ["desk.example.com/\x9b2J", "desk.example.com/\u202egnp", "d\xe9sk"])
def test_a_log_whose_name_could_deceive_a_reader_is_not_named(format_: Format, name: str) -> None:
    report = judge(Exporter(LEAVES, origin=name).write(format_), keys=[])
    assert report.verdict is Verdict.EDITED
    assert str(report).isascii()


@every_format
def test_a_checkpoint_older_than_the_key_is_vouched_for_by_the_manifest(format_: Format) -> None:
    """A quiet log's last checkpoint is signed by the keys of its day only."""
    before = Exporter(LEAVES, ring={"retired": bytes(32)}).checkpoint()
    written = Exporter(LEAVES, lies={"checkpoint": before}).write(format_)
    assert judge(written).verdict is Verdict.VERIFIED


@every_format
@pytest.mark.parametrize("shown", [SHOWN, {0}, {22}, {0, 22}, set(range(SIZE)), set(range(5, 9)), set()], ids=str)
def test_a_selection_is_a_verified_selection(format_: Format, shown: set[int]) -> None:
    report = judge(Exporter(LEAVES, shown=shown, selection=SINCE).write(format_))
    assert report.verdict is Verdict.SELECTION, report
    assert ", selected by since=2026-11-30T12:00:00.000000Z, " in report.sentences[0]
    assert f"Not shown: {SIZE - len(shown)} leaves that are left out" in report.sentences[-1]
    assert judge(Exporter(LEAVES, shown=shown, selection=SINCE).write(format_), []).verdict is Verdict.UNKNOWN_SIGNER


@every_format
def test_an_export_of_an_empty_log_is_verified(format_: Format) -> None:
    report = judge(Exporter([]).write(format_))
    assert report.verdict is Verdict.VERIFIED
    assert report.sentences[0].startswith(f"0 entries of {ORIGIN}, are")


@every_format
@pytest.mark.parametrize("size", [1, 2, 64, 1500])
def test_logs_of_every_shape_are_verified(format_: Format, size: int) -> None:
    leaves = [entry_line(index) for index in range(size)]
    assert judge(Exporter(leaves).write(format_)).verdict is Verdict.VERIFIED


@every_format
def test_a_pruned_log_says_from_where_it_is_kept_and_what_tells_of_it(format_: Format) -> None:
    report = judge(Exporter(SURVIVING, pruned=PRUNED).write(format_))
    assert report.verdict is Verdict.VERIFIED
    assert "leaves 7 to 22" in report.sentences[0]
    assert "Leaves 0 to 6 are pruned; leaf 22 tells of it." in report.sentences


@every_format
def test_a_prune_that_is_under_way_is_told_by_the_entry_that_ordered_all_of_it(format_: Format) -> None:
    leaves = [*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=PRUNED + 5)]
    report = judge(Exporter(leaves, pruned=PRUNED).write(format_))
    assert report.verdict is Verdict.VERIFIED
    assert "Leaves 0 to 6 are pruned; leaf 22 tells of it." in report.sentences


@every_format
@pytest.mark.parametrize(
    "leaves",
    [
        LEAVES,
        [*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=PRUNED - 1)],
        [*SURVIVING[:-1], LEAVES[-1]],
        [*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=None)],
    ],
    ids=["no entry tells of it", "an entry tells of fewer", "another entry stands there", "it tells of no number"],
)
def test_a_loss_at_the_head_that_no_prune_explains_is_a_removal(format_: Format, leaves: list[bytes]) -> None:
    report = judge(Exporter(leaves, pruned=PRUNED).write(format_))
    assert (report.verdict, report.leaf) == (Verdict.REMOVED, 0)


@every_format
def test_a_selection_of_a_pruned_log_does_not_have_to_show_the_prune(format_: Format) -> None:
    export = Exporter(SURVIVING, shown={9, 12}, selection=SINCE, pruned=PRUNED)
    report = judge(export.write(format_))
    assert report.verdict is Verdict.SELECTION
    assert "what would tell of it is not in this selection" in str(report)


@every_format
def test_what_is_there_was_not_pruned(format_: Format) -> None:
    export = Exporter(SURVIVING, shown={5, 12}, selection=SINCE, pruned=PRUNED)
    assert judge(export.write(format_)).verdict is Verdict.EDITED


@every_format
@pytest.mark.parametrize("shown", [set(range(SIZE)) - {9}, set(range(1, SIZE)), set(range(SIZE - 1))], ids=len)
def test_an_export_that_says_it_is_whole_leaves_nothing_out(format_: Format, shown: set[int]) -> None:
    """Here with hashes that are right, so that the root is too, and signed by the desk itself."""
    export = Exporter(LEAVES, shown=shown, selection=SINCE, lies={"selection": {}}).write(format_)
    export = export.replace(b'"selection":{"since":"2026-11-30T12:00:00.000000Z"}', b'"selection":{}')
    report = judge(export)
    assert (report.verdict, report.leaf) == (Verdict.REMOVED, min(set(range(SIZE)) - shown))


@every_format
def test_a_line_that_ends_in_its_policy_revision_counts_as_any_other(format_: Format) -> None:
    leaf = entry_line(0, actor_kind=None, latency_ms=None)
    assert leaf.endswith(b'"policy_revision":7}')
    assert judge(Exporter([leaf]).write(format_)).verdict is Verdict.VERIFIED
    assert revisions_of([leaf]) == {7}
