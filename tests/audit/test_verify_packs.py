"""Evidence packs: one elicitation's entries, each with its path to the root."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from audit.verify import Verdict
from tests.audit.export_files import ABOUT, KEYS, ORIGIN, Exporter, entry_line, judge

LEAVES = [entry_line(index, elicitation_id=str(ABOUT) if index % 4 == 1 else None) for index in range(23)]
LOG = Exporter(LEAVES)
INDEXES = [1, 5, 9, 13, 17, 21]

Pack = dict[str, Any]


def tampered(change: Callable[[Pack], object]) -> bytes:
    pack = json.loads(LOG.pack())
    change(pack)
    return json.dumps(pack, separators=(",", ":")).encode() + b"\n"


def test_a_pack_shows_its_entries_and_not_that_there_are_no_others() -> None:
    report = judge(LOG.pack())
    assert report.verdict is Verdict.SELECTION
    assert report.sentences[0] == (
        f"6 entries of {ORIGIN}, about elicitation {ABOUT}, are as they were sealed under the checkpoint of size 23."
    )
    assert report.sentences[-1].startswith("Not shown: whether other leaves are about it too")


def test_a_pack_needs_a_key_that_the_auditor_brought() -> None:
    assert judge(LOG.pack(), keys=[]).verdict is Verdict.UNKNOWN_SIGNER
    assert judge(Exporter(LEAVES, ring={"stranger": bytes(32)}).pack()).verdict is Verdict.WRONG_KEY
    assert judge(LOG.pack(), KEYS[1:]).verdict is Verdict.SELECTION


def test_a_pack_that_was_saved_in_another_spelling_is_not_the_download_any_more() -> None:
    report = judge(json.dumps(json.loads(LOG.pack()), indent=1, ensure_ascii=False).encode())
    assert report.verdict is Verdict.EDITED
    assert "keep the download as it came" in str(report)


def test_the_pack_of_an_elicitation_without_entries_is_empty() -> None:
    report = judge(Exporter(LEAVES[:1]).pack())
    assert report.verdict is Verdict.SELECTION
    assert report.sentences[0].startswith("0 entries")


def entry(at: int) -> Callable[[Pack], Pack]:
    return lambda pack: pack["entries"][at]


def swap(pack: Pack) -> None:
    entries = pack["entries"]
    entries[1], entries[2] = entries[2], entries[1]


def no_line(pack: Pack) -> None:
    pack["entries"][1]["line"] = None


TAMPERING: list[tuple[str, Callable[[Pack], object], Verdict, int | None]] = [
    (
        "an entry edited",
        lambda pack: entry(1)(pack).update(line=LEAVES[5].decode().replace("service", "support")),
        Verdict.EDITED,
        5,
    ),
    ("a path of another entry", lambda pack: entry(1)(pack).update(proof=entry(2)(pack)["proof"]), Verdict.EDITED, 5),
    ("a path cut short", lambda pack: entry(1)(pack)["proof"].pop(), Verdict.EDITED, 5),
    ("an entry deleted", lambda pack: pack["entries"].pop(1), Verdict.REMOVED, None),
    ("all entries deleted", lambda pack: pack["entries"].clear(), Verdict.REMOVED, None),
    ("an entry twice", lambda pack: pack["entries"].insert(1, entry(1)(pack)), Verdict.INSERTED, 5),
    ("two entries swapped", swap, Verdict.REORDERED, 5),
    ("an entry of another place", lambda pack: entry(1)(pack).update(index=6), Verdict.INSERTED, 6),
    (
        "an entry of another elicitation",
        lambda pack: entry(1)(pack).update(index=6, line=LEAVES[6].decode()),
        Verdict.INSERTED,
        6,
    ),
    (
        "an entry of another tenant",
        lambda pack: entry(1)(pack).update(line=entry_line(5, tenant="globex", elicitation_id=str(ABOUT)).decode()),
        Verdict.INSERTED,
        5,
    ),
    (
        "an entry beyond the checkpoint",
        lambda pack: entry(5)(pack).update(index=40, line=entry_line(40, elicitation_id=str(ABOUT)).decode()),
        Verdict.UNSEALED_TAIL,
        40,
    ),
    ("another elicitation", lambda pack: pack.update(elicitation_id="0"), Verdict.INSERTED, 1),
    ("an elicitation that is none", lambda pack: pack.update(elicitation_id="\x1b[2J"), Verdict.EDITED, None),
    ("a place that is true", lambda pack: entry(0)(pack).update(index=True), Verdict.INSERTED, None),
    ("a place that is a text", lambda pack: entry(1)(pack).update(index="\x1b[2K5"), Verdict.INSERTED, None),
    ("another date", lambda pack: pack.update(made_at="yesterday"), Verdict.EDITED, None),
    ("another count", lambda pack: pack.update(count=7), Verdict.REMOVED, None),
    ("another size", lambda pack: pack.update(size=22), Verdict.EDITED, None),
    (
        "another checkpoint",
        lambda pack: pack.update(checkpoint=Exporter(LEAVES[:22]).checkpoint(), size=22),
        Verdict.EDITED,
        1,
    ),
    ("a member more", lambda pack: pack.update(mood="good"), Verdict.EDITED, None),
    ("a member less", lambda pack: pack.pop("tenant"), Verdict.EDITED, None),
    ("no signatures", lambda pack: pack.update(signatures=[]), Verdict.WRONG_KEY, None),
    ("signatures that are none", lambda pack: pack.update(signatures=["signed"]), Verdict.EDITED, None),
    ("a line that is none", no_line, Verdict.EDITED, None),
    ("a size that is none", lambda pack: pack.update(size=None), Verdict.EDITED, None),
    ("entries that are none", lambda pack: pack.update(entries={"index": 1}), Verdict.EDITED, None),
    ("an origin with an escape sequence", lambda pack: pack.update(origin="\x1b[2J"), Verdict.EDITED, None),
    ("an origin that is none", lambda pack: pack.update(origin=7), Verdict.EDITED, None),
]


@pytest.mark.parametrize(
    ("change", "verdict", "leaf"), [row[1:] for row in TAMPERING], ids=[row[0] for row in TAMPERING]
)
def test_what_is_done_to_a_pack_is_named_and_placed(
    change: Callable[[Pack], object], verdict: Verdict, leaf: int | None
) -> None:
    report = judge(tampered(change))
    assert (report.verdict, report.leaf) == (verdict, leaf), report
    assert not any(word in str(report) for word in ("globex", "support", "mood", "\x1b"))
    assert not judge(tampered(change), keys=[]).verdict.good


def test_the_untouched_twin_is_verified() -> None:
    assert judge(tampered(lambda pack: None)).verdict is Verdict.SELECTION


def test_a_pack_that_is_cut_anywhere_is_truncated() -> None:
    content = LOG.pack()
    for cut in range(64, len(content) - 1, 97):
        assert judge(content[:cut]).verdict in (Verdict.TRUNCATED, Verdict.EDITED)
        assert judge(content[:cut]).verdict is Verdict.TRUNCATED or content[cut - 1] == ord("}")


def test_a_count_that_lies_is_found_out_though_it_is_signed() -> None:
    assert judge(LOG.pack(count=7)).verdict is Verdict.REMOVED
    assert judge(LOG.pack(count=5)).verdict is Verdict.INSERTED


def test_a_pack_of_another_kind_is_not_judged_by_this_ones_rules() -> None:
    report = judge(LOG.pack(evidence_pack=2))
    assert report.verdict is Verdict.EDITED
    assert "of another kind than 1" in report.sentences[0]
