"""Files made to take the verifier's time or memory: neither grows with what a line, a pack or a witness's file is."""

from __future__ import annotations

import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path

import pytest

from audit.verify import CouldNotRun, Format, verify
from config.environment import ROOT
from tests.audit.export_files import ABOUT, KEYS, ORIGIN, SINCE, Exporter, entry_line, judge

LEAVES = [entry_line(index) for index in range(4)]
LINE = 250_000
LARGEST_PACK = 1 << 20
MOST_KIB = 32 * 1024


def peak(*arguments: Path | str) -> int:
    """The most memory, in KiB, that the verifier holds, whatever it says."""
    script = (
        "import sys; from pathlib import Path; from audit import verify; verify.main(sys.argv[1:]); "
        "print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])"
    )
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(done.stdout.splitlines()[-1])


#: With what a line is filled that a careless search goes through again and again, or keeps.
FILLINGS = [
    b',"event":"pruned",',
    b',"event":"pruned","a":',
    b',"repeat_count":1',
    b',"a":1',
    b"1",
    b",",
    b'"',
    b"{",
    b"}",
]
FILLINGS += [b',"policy_revision":', b',"place":"x"', b"\\", b"'", b'""']


@pytest.mark.parametrize("format_", list(Format))
@pytest.mark.parametrize("filling", FILLINGS, ids=str)
def test_a_long_line_takes_no_longer_than_its_length(format_: Format, filling: bytes) -> None:
    """A fraction of a second; what grows with the square of it takes many."""
    pruned = Exporter([*LEAVES[:3], entry_line(3, event="pruned", repeat_count=2)], pruned=2)
    selected = Exporter(LEAVES, {1, 2}, SINCE)
    for log in (pruned, selected):
        lines = log.write(format_).splitlines(keepends=True)
        for at, line in enumerate(lines):
            middle = len(line) // 2
            lines[at] = line[:middle] + filling * (LINE // len(filling)) + line[middle:]
            began = time.process_time()
            judge(b"".join(lines), keys=[])
            assert time.process_time() - began < 1
            lines[at] = line


def test_memory_stays_flat(tmp_path: Path) -> None:
    """Ten times the entries take not even a mebibyte more."""
    peaks = []
    for size in (2_000, 20_000):
        path = tmp_path / f"{size}.jsonl"
        path.write_bytes(Exporter([entry_line(index) for index in range(size)]).write(Format.JSONL))
        peaks.append(peak(path))
    assert peaks[1] < MOST_KIB
    assert peaks[1] - peaks[0] < 1024


def test_policy_revisions_that_nobody_named_are_not_kept(tmp_path: Path) -> None:
    lines = [b'{"index":%d,"tenant":"acme","id":1}\n' % index for index in range(50_000)]
    opening, *_, last = Exporter(lines).write(Format.JSONL).splitlines(keepends=True)
    for index, line in enumerate(lines):
        many = b"%d" % index if index >= 150 else b"%d" % index * (LINE // 3)
        lines[index] = line.replace(b'"id":1', b'"policy_revision":' + many)
    path = tmp_path / "revisions.jsonl"
    path.write_bytes(b"".join([opening, *lines, last]))
    assert peak(path) < MOST_KIB


@pytest.mark.parametrize(
    "filling", ['"ab",', "[],", "{},", "1000,", '"\\u0061",', "[{}],", '"a text",', '"some text of more",'], ids=str
)
@pytest.mark.parametrize("kind", ["pack", *Format])
def test_what_one_line_holds_takes_little(tmp_path: Path, kind: str, filling: str) -> None:
    log = Exporter(LEAVES, {1}, SINCE)
    content = log.pack() if kind == "pack" else log.write(Format(kind))
    filling = filling.replace('"', '""') if kind == Format.CSV else filling
    size = LARGEST_PACK if kind == "pack" else LINE
    bomb = filling * ((size - 2 * len(content)) // len(filling))
    *lines, last = content.splitlines(keepends=True)
    quoted = f'""x"":[{bomb}0],' if kind == Format.CSV else f'"x":[{bomb}0],'
    at = last.index(b"origin") - (2 if kind == Format.CSV else 1)
    path = tmp_path / "file"
    path.write_bytes(b"".join([*lines, last[:at] + quoted.encode() + last[at:]]))
    assert path.stat().st_size < size
    assert peak(path) < MOST_KIB


def test_a_pack_larger_than_any_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "pack.json"
    path.write_bytes(Exporter(LEAVES).pack() + b" " * LARGEST_PACK)
    with pytest.raises(CouldNotRun, match=r"a pack of more than 1 MiB: export the elicitation instead"):
        verify(path, [])


def test_a_pack_of_nearly_that_size_is_verified_in_little_memory(tmp_path: Path) -> None:
    leaves = [entry_line(at, elicitation_id=str(ABOUT)) for at in range(1_170)]
    path = tmp_path / "pack.json"
    path.write_bytes(Exporter(leaves).pack())
    assert LARGEST_PACK * 0.95 < path.stat().st_size < LARGEST_PACK
    assert verify(path, KEYS).verdict.good
    assert peak(path) < MOST_KIB


def test_a_witnesss_file_is_read_note_by_note(tmp_path: Path) -> None:
    """Here are those of more than a month, by the minute, and as many of another log."""
    export, notes = tmp_path / "acme.jsonl", tmp_path / "witness.notes"
    export.write_bytes(Exporter(LEAVES).write(Format.JSONL))
    _, blank, signatures = Exporter(LEAVES).checkpoint().partition("\n\n")
    root = b64encode(bytes(32)).decode()
    with notes.open("w") as file:
        for size in range(50_000):
            for origin in (ORIGIN, "desk.example.com/other"):
                file.write(f"{origin}\n{size}\n{root}{blank}{signatures}\n")
    assert peak(export, "--checkpoint", notes) < MOST_KIB
