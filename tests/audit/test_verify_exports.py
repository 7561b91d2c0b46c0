"""What the verifier says of exports that are whole, selected, pruned or empty, and of manifests that lie."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import line, note
from audit.models import LedgerEntry
from audit.verify import PLAIN, Format, Verdict, parse_key
from tests.audit.export_files import KEYS, ORIGIN, RING, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
SHOWN = {3, 4, 9, 20}
EVENT: dict[str, object] = {"event": "admit"}
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
    assert last == "Not shown: what came after the checkpoint."


@every_format
@pytest.mark.parametrize("key", KEYS, ids=["current", "previous"])
def test_either_key_of_a_rotation_is_enough(format_: Format, key: object) -> None:
    assert judge(Exporter(LEAVES).write(format_), [key]).verdict is Verdict.VERIFIED  # type: ignore[list-item]


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
def test_a_checkpoint_older_than_the_key_is_vouched_for_by_the_manifest(format_: Format) -> None:
    """A quiet log's last checkpoint is signed by the keys of its day only."""
    before = Exporter(LEAVES, ring={"retired": bytes(32)}).checkpoint()
    written = Exporter(LEAVES, lies={"checkpoint": before}).write(format_)
    assert judge(written).verdict is Verdict.VERIFIED


@every_format
@pytest.mark.parametrize("shown", [SHOWN, {0}, {22}, {0, 22}, set(range(SIZE)), set(range(5, 9)), set()], ids=str)
def test_a_selection_is_a_verified_selection(format_: Format, shown: set[int]) -> None:
    report = judge(Exporter(LEAVES, shown=shown, selection=EVENT).write(format_))
    assert report.verdict is Verdict.SELECTION, report
    assert "selected by event" in report.sentences[0]
    assert f"Not shown: {SIZE - len(shown)} leaves that are left out" in report.sentences[-1]
    assert judge(Exporter(LEAVES, shown=shown, selection=EVENT).write(format_), []).verdict is Verdict.UNKNOWN_SIGNER


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
@pytest.mark.parametrize(
    "leaves",
    [LEAVES, [*LEAVES[:-1], entry_line(22, event="pruned", repeat_count=PRUNED - 1)], [*SURVIVING[:-1], LEAVES[-1]]],
    ids=["no entry tells of it", "an entry tells of fewer", "another entry stands there"],
)
def test_a_loss_at_the_head_that_no_prune_explains_is_a_removal(format_: Format, leaves: list[bytes]) -> None:
    report = judge(Exporter(leaves, pruned=PRUNED).write(format_))
    assert (report.verdict, report.leaf) == (Verdict.REMOVED, 0)


@every_format
def test_a_selection_of_a_pruned_log_does_not_have_to_show_the_prune(format_: Format) -> None:
    export = Exporter(SURVIVING, shown={9, 12}, selection=EVENT, pruned=PRUNED)
    report = judge(export.write(format_))
    assert report.verdict is Verdict.SELECTION
    assert "what would tell of it is not in this selection" in str(report)


@every_format
def test_what_is_there_was_not_pruned(format_: Format) -> None:
    export = Exporter(SURVIVING, shown={5, 12}, selection=EVENT, pruned=PRUNED)
    assert judge(export.write(format_)).verdict is Verdict.EDITED


@every_format
@pytest.mark.parametrize("shown", [set(range(SIZE)) - {9}, set(range(1, SIZE)), set(range(SIZE - 1))], ids=len)
def test_an_export_that_says_it_is_whole_leaves_nothing_out(format_: Format, shown: set[int]) -> None:
    """Here with hashes that are right, so that the root is too, and signed by the desk itself."""
    export = Exporter(LEAVES, shown=shown, selection=EVENT, lies={"selection": {}}).write(format_)
    export = export.replace(b'"selection":{"event":"admit"}', b'"selection":{}')
    report = judge(export)
    assert (report.verdict, report.leaf) == (Verdict.REMOVED, min(set(range(SIZE)) - shown))


#: What the manifest says though it is not so, signed by somebody who has the key; and what that is called.
LIES: list[tuple[dict[str, object], Verdict]] = [
    ({"count": 24}, Verdict.REMOVED),
    ({"count": 22}, Verdict.INSERTED),
    ({"first": 1}, Verdict.EDITED),
    ({"last": 21}, Verdict.EDITED),
    ({"last": None}, Verdict.EDITED),
    ({"left_out": 1}, Verdict.EDITED),
    ({"pruned": 1}, Verdict.EDITED),
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


@pytest.mark.parametrize(("digest", "format_"), [("leaves_digest", Format.JSONL), ("content_digest", Format.CSV)])
def test_a_digest_that_is_another_is_found_out(digest: str, format_: Format) -> None:
    for lie in ("0" * 64, None, 7):
        assert judge(Exporter(LEAVES, lies={digest: lie}).write(format_)).verdict is Verdict.EDITED


@every_format
@pytest.mark.parametrize("flaw", ["hash", "from", "to", "fewer", "more", "count"])
def test_what_is_left_out_cannot_be_lied_about(format_: Format, flaw: str) -> None:
    """``from`` 10 and ``to`` 20 tell of the stretch between leaves 9 and 20."""
    export = Exporter(LEAVES, shown=SHOWN, selection=EVENT)
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
    export.stretch = lambda start, stop: lie if start == 10 else Exporter.stretch(export, start, stop)  # type: ignore[method-assign]
    report = judge(export.write(format_))
    assert report.verdict in (Verdict.EDITED, Verdict.REMOVED, Verdict.INSERTED), report
    assert report.verdict is {"count": Verdict.REMOVED}.get(flaw, report.verdict)


@every_format
def test_an_entry_that_is_hidden_in_a_selection_is_a_removal(format_: Format) -> None:
    """Its hash stands in its place, so that the root is right: the signed count is not."""
    shown = Exporter(LEAVES, shown=SHOWN, selection=EVENT).write(format_).splitlines(keepends=True)
    hidden = Exporter(LEAVES, shown=SHOWN - {9}, selection=EVENT).write(format_).splitlines(keepends=True)
    report = judge(b"".join([*hidden[:-1], shown[-1]]))
    assert report.verdict is Verdict.REMOVED


def test_the_first_line_of_json_lines_says_what_the_manifest_says() -> None:
    opening, *lines = Exporter(LEAVES).write(Format.JSONL).splitlines(keepends=True)
    for other in (
        opening.replace(b"acme", b"acmes"),
        opening.replace(b"23", b"24"),
        opening.replace(b"{}", b'{"event":"admit"}'),
        opening.replace(b'"ledger_export":1', b'"ledger_export":2'),
        b'{"ledger_export":\n',
        b"\n",
    ):
        report = judge(b"".join([other, *lines]))
        assert (report.verdict, report.line) == (Verdict.EDITED, 1)
    report = judge(b"".join(lines))
    assert (report.verdict, report.line) == (Verdict.REMOVED, 1)


def test_names_of_columns_that_changed_places_or_are_missing_are_found_out() -> None:
    names, *rows = Exporter(LEAVES).write(Format.CSV).splitlines(keepends=True)
    swapped = names.replace(b"service", b"x").replace(b"provider", b"service").replace(b"x", b"provider")
    assert judge(b"".join([swapped, *rows])).verdict is Verdict.EDITED
    swapped = names.replace(b"state_from,state_to", b"state_to,state_from")
    assert judge(b"".join([swapped, *rows])).verdict is Verdict.EDITED
    for other in (names.replace(b"event", b"Event"), b"\xef\xbb\xbf" + names, b"\n"):
        report = judge(b"".join([other, *rows]))
        assert (report.verdict, report.line) == (Verdict.EDITED, 1)
    assert judge(b"".join(rows)).line == 1


def test_a_program_that_saved_the_csv_in_its_own_way_is_told_apart_from_an_edit() -> None:
    content = Exporter(LEAVES).write(Format.CSV)
    *rows, manifest = content.splitlines(keepends=True)
    quoted = b"".join([*(row.replace(b"service", b'"service"') for row in rows), manifest])
    report = judge(quoted)
    assert report.verdict is Verdict.EDITED
    assert "Each entry is as it was sealed" in str(report)
    assert judge(content.replace(b"\n", b"\r\n")).verdict is Verdict.EDITED


def test_one_cell_cannot_pass_for_two() -> None:
    """The line that such a row would give is the sealed one, though a person reads other columns."""
    leaves = [entry_line(0, service="crm", provider="idp")]
    content = Exporter(leaves).write(Format.CSV)
    assert b",crm,idp," in content
    smuggled = content.replace(b",crm,idp,", b',"crm"",""provider"":""idp",,')
    report = judge(smuggled, keys=[])
    assert (report.verdict, report.line) == (Verdict.EDITED, 2)


def test_members_of_an_ocsf_event_beside_the_line_are_as_they_were_exported() -> None:
    content = Exporter(LEAVES).write(Format.OCSF)
    report = judge(content.replace(b'"activity_id":1', b'"activity_id":2', 1))
    assert report.verdict is Verdict.EDITED
    assert "Each entry is as it was sealed" in str(report)


def test_a_neutralised_formula_is_counted_and_a_number_is_not_one() -> None:
    leaves = [entry_line(0, place="-2+3", latency_ms=-5), entry_line(1, place="=1+1"), entry_line(2, place="-")]
    content = Exporter(leaves).write(Format.CSV)
    assert b",'-2+3," in content
    assert b",-5," in content
    report = judge(content)
    assert report.verdict is Verdict.VERIFIED
    assert "taking them for a formula: 3." in str(report)
    assert judge(Exporter(leaves, lies={"neutralised": 2}).write(Format.CSV)).verdict is Verdict.EDITED
    assert judge(content.replace(b",'-2+3,", b",-2+3,")).verdict is Verdict.EDITED
    assert judge(content.replace(b",service,", b",'service,")).verdict is Verdict.EDITED


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"hello\n", b"{}\n", b"[]\n", b'{"index":', b"\x00" * 5000, b"[" * 100_000 + b"\n", b'"raw_data"\n'],
    ids=lambda content: repr(content[:12]),
)
def test_what_is_no_export_is_called_none(content: bytes) -> None:
    expected = {Verdict.NOT_AN_EXPORT} if content != b'{"index":' else {Verdict.TRUNCATED}
    assert judge(content).verdict in expected


@every_format
def test_a_file_that_is_cut_anywhere_is_never_good(format_: Format) -> None:
    content = Exporter(LEAVES[:5], shown={1, 3}, selection=EVENT).write(format_)
    ends = [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]
    for cut in sorted({*range(0, len(content), 37), *ends, *(end - 1 for end in ends)} - {len(content)}):
        report = judge(content[:cut])
        assert report.verdict in (Verdict.TRUNCATED, Verdict.NOT_AN_EXPORT), cut
        assert report.verdict is Verdict.TRUNCATED or cut < len(content.split(b"\n")[0]), cut


@every_format
def test_any_byte_changed_is_noticed(format_: Format) -> None:
    """But in the signatures, where one that holds is enough, and beside an OCSF manifest, where nothing is claimed."""
    content = Exporter(LEAVES[:5], shown={1, 3}, selection=EVENT).write(format_)
    manifest, last = content.index(b"schema"), content.rindex(b"\n", 0, -1)
    for at in range(0, content.index(b"signatures"), 7):
        if last < at < manifest and format_ is Format.OCSF:
            continue
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        assert not judge(changed).verdict.good, content[max(0, at - 20) : at + 20]


def test_a_line_longer_than_any_entry_is_not_read_into_memory() -> None:
    content = Exporter(LEAVES).write(Format.JSONL).splitlines(keepends=True)
    content[9] = content[9][:-2] + b" " * (3 << 20) + b"}\n"
    report = judge(b"".join(content))
    assert (report.verdict, report.line) == (Verdict.EDITED, 10)


def test_the_columns_without_quotes_are_those_that_are_no_texts() -> None:
    texts = {"CharField", "UUIDField", "DateTimeField"}
    plain = {
        name
        for name, column in zip(line.NAMES[1:], line.FIELDS, strict=True)
        if column.get_internal_type() not in texts
    }
    assert plain | {"index"} == PLAIN
    assert len(line.FIELDS) == len(LedgerEntry._meta.concrete_fields)
    assert json.loads(LEAVES[0]).keys() <= set(line.NAMES)


SMALL = {each.value: Exporter(LEAVES[:5], shown={1, 3}, selection=EVENT).write(each) for each in Format}
SMALL["pack"] = Exporter(LEAVES[:5]).pack()
#: What a careless reader would trip over.
PIECES = [
    *(b"\n", b"\r\n", b'"', b",", b"'", b"\\", b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"{", b"[" * 5000),
    *(b"null", b"-1", b"1e400", b"NaN", b"9" * 20, b"9" * 5000, b'"manifest":', b"#manifest,", b"left_out"),
    *(b'{"index":0,"tenant":"acme",', b'"policy_revision":' + b"9" * 5000 + b",", b'{"manifest":{}}\n', b"1-2:"),
]


@pytest.mark.parametrize("name", SMALL)
@given(st.data())
def test_whatever_a_file_holds_there_is_a_verdict_and_it_is_good_only_for_the_file_itself(
    name: str, data: st.DataObject
) -> None:
    content = changed = SMALL[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start, stop = sorted(data.draw(st.integers(0, len(content))) for _ in range(2))
        other = data.draw(st.sampled_from(PIECES) | st.binary(max_size=8) | st.just(content[start:stop]))
        changed = changed[:start] + other + changed[data.draw(st.sampled_from([start, stop])) :]
    assert judge(changed, keys=[]).verdict in Verdict
    if changed.splitlines()[:-1] != content.splitlines()[:-1]:
        assert not judge(changed).verdict.good or name == "pack"  # where a space more says nothing else
