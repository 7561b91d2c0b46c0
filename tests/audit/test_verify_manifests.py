"""Manifests, checkpoints and stretches that say what is not so, though somebody who has the key signed them."""

from __future__ import annotations

import pytest

from audit.verify import Format, Verdict
from tests.audit.export_files import KEYS, SINCE, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
SHOWN = {3, 4, 9, 20}

every_format = pytest.mark.parametrize("format_", list(Format))


#: What the manifest says though it is not so, signed by somebody who has the key; and what that is called.
LIES: list[tuple[dict[str, object], Verdict]] = [
    ({"count": 24}, Verdict.REMOVED),
    ({"count": 22}, Verdict.INSERTED),
    ({"first": 1}, Verdict.EDITED),
    ({"last": 21}, Verdict.EDITED),
    ({"last": None}, Verdict.EDITED),
    ({"left_out": 1}, Verdict.EDITED),
    ({"pruned": 1}, Verdict.EDITED),
    ({"pruned": -1}, Verdict.EDITED),
    ({"policy_revisions": [7]}, Verdict.EDITED),
    ({"policy_revisions": [7, 8, 9]}, Verdict.EDITED),
    ({"right_edge": []}, Verdict.EDITED),
    ({"right_edge": ["A" * 43 + "="] * 4}, Verdict.EDITED),
    ({"checkpoint": Exporter(LEAVES[:-1]).checkpoint()}, Verdict.EDITED),
    ({"checkpoint": Exporter(LEAVES, origin="desk.example.com/other").checkpoint()}, Verdict.EDITED),
    ({"checkpoint": "none"}, Verdict.EDITED),
    ({"checkpoint": "\ud800\n\n— a AAAAAAAA\n"}, Verdict.EDITED),
    ({"size": 22}, Verdict.EDITED),
    ({"tenant": "globex"}, Verdict.EDITED),
    ({"origin": "desk.example.com/acme\x1b[2J"}, Verdict.EDITED),
    ({"selection": {"mood": "good"}}, Verdict.EDITED),
    ({"schema": 2}, Verdict.EDITED),
    ({"schema": True}, Verdict.EDITED),
    ({"count": "23"}, Verdict.EDITED),
    ({"count": -1}, Verdict.INSERTED),
    ({"policy_revisions": 7}, Verdict.EDITED),
    ({"checkpoint": None}, Verdict.EDITED),
    ({"format": "xlsx"}, Verdict.EDITED),
    ({"end": False}, Verdict.TRUNCATED),
    ({"end": "true"}, Verdict.EDITED),
    ({"mood": "good"}, Verdict.EDITED),
]


@every_format
@pytest.mark.parametrize(("lies", "verdict"), LIES, ids=[str(lies)[:40] for lies, _ in LIES])
def test_a_manifest_that_lies_is_found_out_though_it_is_signed(
    format_: Format, lies: dict[str, object], verdict: Verdict
) -> None:
    for keys in (KEYS, ()):
        report = judge(Exporter(LEAVES, lies=lies).write(format_), keys)
        expected = {verdict, Verdict.INSERTED} if "tenant" in lies else {verdict}
        assert report.verdict in expected, report
        assert "good" not in str(report)
        assert "\x1b" not in str(report)


def test_a_checkpoint_whose_own_signature_does_not_hold_is_found_out_though_the_manifest_does() -> None:
    one, other = (Exporter(leaves).checkpoint() for leaves in (LEAVES, LEAVES[:-1]))
    forged = one.partition("\n\n")[0] + "\n\n" + other.partition("\n\n")[2]
    report = judge(Exporter(LEAVES, lies={"checkpoint": forged}).write(Format.JSONL))
    assert report.verdict is Verdict.EDITED
    assert report.sentences == ("The checkpoint was changed after it was signed.",)


@every_format
def test_a_root_that_the_entries_do_not_give_is_told_from_entries_that_were_changed(format_: Format) -> None:
    other = Exporter([*LEAVES[:-1], entry_line(22, state_to="DECLINED")]).checkpoint()
    report = judge(Exporter(LEAVES, lies={"checkpoint": other}).write(format_))
    assert report.verdict is Verdict.EDITED
    assert report.sentences == ("The entries fit together, but not with the root that the checkpoint states.",)


def test_an_edge_that_is_not_the_checkpoints_places_nothing() -> None:
    """Or who edits an entry could point at another one."""
    lie = Exporter([*LEAVES[:-1], entry_line(22, state_to="DECLINED")]).manifest_of(Format.JSONL)["right_edge"]
    content = Exporter(LEAVES, lies={"right_edge": lie}).write(Format.JSONL)
    lines = content.splitlines(keepends=True)
    lines[4] = lines[4].replace(b"ADMITTED", b"DECLINED")
    report = judge(b"".join(lines))
    assert (report.verdict, report.leaf) == (Verdict.EDITED, None)
    assert "Between leaf 0 and leaf 22" in report.sentences[0]


@pytest.mark.parametrize(("digest", "format_"), [("leaves_digest", Format.JSONL), ("content_digest", Format.CSV)])
def test_a_digest_that_is_another_is_found_out(digest: str, format_: Format) -> None:
    for lie in ("0" * 64, None, 7):
        assert judge(Exporter(LEAVES, lies={digest: lie}).write(format_)).verdict is Verdict.EDITED


@every_format
@pytest.mark.parametrize("flaw", ["hash", "from", "to", "fewer", "more", "count", "early", "beyond"])
def test_what_is_left_out_cannot_be_lied_about(format_: Format, flaw: str) -> None:
    """``from`` 10 and ``to`` 20 tell of the stretch between leaves 9 and 20."""
    export = Exporter(LEAVES, shown=SHOWN, selection=SINCE)
    true = export.stretch(10, 20)
    hashes: list[str] = list(true["hashes"])  # type: ignore[call-overload]
    lie = dict(true)
    match flaw:
        case "hash":
            lie["hashes"] = [hashes[1], hashes[0], *hashes[2:]]
        case "from":
            lie["from"] = 11
        case "to":
            lie["to"] = 21
        case "fewer":
            lie["hashes"] = hashes[1:]
        case "more":
            lie["hashes"] = [*hashes, hashes[0]]
        case "count":
            lie = export.stretch(10, 16)
        case "early":
            lie = {"from": 8, "to": 20, "hashes": [hashes[0], *hashes[2:]]}
        case "beyond":
            lie = {"from": 10, "to": 26, "hashes": [*hashes, hashes[0]]}
    export.stretch = lambda start, stop: lie if start == 10 else Exporter.stretch(export, start, stop)  # type: ignore[method-assign]
    report = judge(export.write(format_))
    assert report.verdict in (Verdict.EDITED, Verdict.REMOVED, Verdict.INSERTED), report
    named = {"count": Verdict.REMOVED, "early": Verdict.INSERTED, "beyond": Verdict.INSERTED}
    assert report.verdict is named.get(flaw, report.verdict)


@every_format
def test_an_entry_that_is_hidden_in_a_selection_is_a_removal(format_: Format) -> None:
    """Its hash stands in its place, so that the root is right: the signed count is not."""
    shown = Exporter(LEAVES, shown=SHOWN, selection=SINCE).write(format_).splitlines(keepends=True)
    hidden = Exporter(LEAVES, shown=SHOWN - {9}, selection=SINCE).write(format_).splitlines(keepends=True)
    report = judge(b"".join([*hidden[:-1], shown[-1]]))
    assert report.verdict is Verdict.REMOVED
