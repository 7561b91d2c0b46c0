"""What is particular to JSON Lines, CSV and OCSF, and files that are cut, garbled or none of them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit import line
from audit.models import LedgerEntry
from audit.verify import PLAIN, Format, Verdict
from tests.audit.export_files import SINCE, Exporter, entry_line, judge

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]

every_format = pytest.mark.parametrize("format_", list(Format))


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
    for other in (
        names.replace(b"event", b"Event"),
        names.replace(b"place", b"pl%ce"),
        names.replace(b"place", b'"place'),
        b"\xef\xbb\xbf" + names,
        b"\n",
    ):
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


def test_beside_the_manifest_in_its_row_stands_nothing() -> None:
    content = Exporter(LEAVES).write(Format.CSV)
    assert content.endswith(b",,,\n")
    assert judge(content[:-2] + b"approved,\n").verdict is Verdict.EDITED


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
    content = Exporter(LEAVES[:5], shown={1, 3}, selection=SINCE).write(format_)
    ends = [at + 1 for at, byte in enumerate(content) if byte == ord("\n")]
    for cut in sorted({*range(0, len(content), 37), *ends, *(end - 1 for end in ends)} - {len(content)}):
        report = judge(content[:cut])
        assert report.verdict in (Verdict.TRUNCATED, Verdict.NOT_AN_EXPORT), cut
        assert report.verdict is Verdict.TRUNCATED or cut < len(content.split(b"\n")[0]), cut


def test_a_line_longer_than_any_entry_is_not_read_into_memory() -> None:
    content = Exporter(LEAVES).write(Format.JSONL).splitlines(keepends=True)
    content[9] = content[9][:-2] + b" " * (3 << 20) + b"}\n"
    report = judge(b"".join(content))
    assert (report.verdict, report.line) == (Verdict.EDITED, 10)
    assert report.sentences == ("This line is longer than any entry's.",)


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


SMALL = {each.value: Exporter(LEAVES[:5], shown={1, 3}, selection=SINCE).write(each) for each in Format}
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
        assert not judge(changed).verdict.good
