"""Kept checkpoints as files: however they were saved, none is passed over in silence."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from audit.note import signature_lines
from audit.verify import Format, Verdict, main
from tests.audit.export_files import KEYS, ORIGIN, RING, SINCE, Exporter, entry_line, judge, key_text

SIZE = 23
LEAVES = [entry_line(index) for index in range(SIZE)]
LOG = Exporter(LEAVES)
#: The same log, written anew by whoever has the keys; and another log.
ANEW = Exporter([*LEAVES[:9], entry_line(9, state_to="DECLINED"), *LEAVES[10:]])
OTHER = Exporter(LEAVES, origin="desk.example.com/other")
FITS, CONTRADICTS, STRANGE = LOG.checkpoint(3), ANEW.checkpoint(12), OTHER.checkpoint(5)

#: Ways in which an editor or a shell saves a text.
SAVED = {
    "as it came": lambda text: text.encode(),
    "with a byte order mark": lambda text: text.encode("utf-8-sig"),
    "with other newlines": lambda text: text.replace("\n", "\r\n").encode(),
    "with empty lines": lambda text: f"\n\n{text}\n\n".encode(),
}


@pytest.fixture
def said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Said:
    return Said(tmp_path, capsys)


class Said:
    """What the command says to an auditor with an export, the log's keys and files of checkpoints."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.capsys = folder, capsys
        self.keys = key_text().encode()

    def __call__(self, *notes: bytes) -> list[str]:
        (self.folder / "acme.jsonl").write_bytes(LOG.write(Format.JSONL))
        (self.folder / "acme.vkey").write_bytes(self.keys)
        brought = []
        for number, note in enumerate(notes):
            (self.folder / f"{number}.note").write_bytes(note)
            brought += ["--checkpoint", str(self.folder / f"{number}.note")]
        main([str(self.folder / "acme.jsonl"), "--key", str(self.folder / "acme.vkey"), *brought])
        out, err = self.capsys.readouterr()
        return (out or err).splitlines()


@pytest.mark.parametrize("way", SAVED)
def test_one_that_contradicts_is_told_however_it_was_saved(said: Said, way: str) -> None:
    saved = SAVED[way]
    assert said(saved(FITS))[0] == "verified"
    assert said(saved(CONTRADICTS))[0] == "inconsistent checkpoint"
    assert said(saved(CONTRADICTS), FITS.encode())[0] == "inconsistent checkpoint"
    assert said(saved(FITS + CONTRADICTS))[0] == "inconsistent checkpoint"


@pytest.mark.parametrize("way", ["with a byte order mark", "with other newlines"])
def test_a_key_is_read_however_it_was_saved(said: Said, way: str) -> None:
    said.keys = SAVED[way](key_text())
    assert said(FITS.encode())[0] == "verified"


def test_those_of_other_logs_are_counted_and_not_among_those_that_fit(said: Said) -> None:
    *_, ours, others, _ = said(FITS.encode(), STRANGE.encode(), (STRANGE + LOG.checkpoint(20)).encode())
    assert ours == "The log begins as it did in 2 of the checkpoints that you kept, the last of them of size 20."
    assert others == "Others, 2 in all, are of other logs and show nothing here."
    assert said(STRANGE.encode())[0] == "checkpoint not compared"


def test_a_name_that_only_looks_like_the_logs_is_of_another_log(said: Said) -> None:
    """Two files joined by a shell: the second one's byte order mark is in the middle."""
    assert "Others, 1 in all, are of other logs and show nothing here." in said(
        (FITS + "\ufeff" + CONTRADICTS).encode()
    )


def test_those_that_cannot_be_compared_are_not_among_those_that_fit() -> None:
    selected = Exporter(LEAVES, {3, 4, 20}, SINCE).write(Format.JSONL)
    report = judge(selected, kept=[LOG.checkpoint(11), LOG.checkpoint(20)])
    assert report.verdict is Verdict.SELECTION
    assert "as it did in 1 of the checkpoints that you kept, the last of them of size 20." in str(report)
    assert "Smaller ones, 1 in all, cannot be compared" in str(report)


def test_two_of_one_size_contradict_also_where_neither_can_be_compared() -> None:
    """The log showed one history to the auditor and another to the witness."""
    for content in (LOG.pack(), Exporter(LEAVES, {3, 4, 20}, SINCE).write(Format.CSV)):
        report = judge(content, kept=[LOG.checkpoint(11), ANEW.checkpoint(11), LOG.checkpoint()])
        assert report.verdict is Verdict.INCONSISTENT
        assert "Two checkpoints of size 11 that you brought differ" in str(report)
        assert judge(content, kept=[LOG.checkpoint(11), LOG.checkpoint(11), LOG.checkpoint()]).verdict.good


def test_a_signature_that_no_key_was_brought_for_is_told_and_shows_nothing() -> None:
    """Whoever has no key can put in such a line, but no other bytes."""
    one, other = KEYS
    for content in (LOG.write(Format.JSONL), LOG.pack()):
        assert "did not bring" not in str(judge(content))
        report = judge(content, [one])
        assert report.verdict.good
        assert f"Signatures by keys that you did not bring show nothing: {other.key_id.hex()}." in report.sentences


@pytest.mark.parametrize("name", ["pack", *Format])
def test_signatures_are_those_of_the_logs_keys_each_once_and_nothing_beside(name: str) -> None:
    content = LOG.pack() if name == "pack" else LOG.write(Format(name))
    one, _ = signature_lines(f"{ORIGIN}\n", ORIGIN, RING)
    start = content.index(b"[", content.rindex(b"signatures"))
    stop = content.index(b"]", start) + 1
    quoted = '""' if name == Format.CSV else '"'
    lines = json.loads(content[start:stop].decode().replace(quoted, '"'))
    for signatures in (
        [*lines, lines[0]],
        [*lines, one.replace(ORIGIN, "another")],
        [*lines, one[:-8] + "AAAA" + one[-8:]],
        [*lines, one[: len(ORIGIN) + 3 + 12] + "A" * 4],
        dict.fromkeys(lines),
        lines[0],
        [*lines, *[f"\u2014 {ORIGIN} {b64encode(number.to_bytes(68, 'little')).decode()}" for number in range(99)]],
    ):
        spelled = json.dumps(signatures, separators=(",", ":")).replace('"', quoted).encode()
        assert judge(content[:start] + spelled + content[stop:]).verdict is Verdict.EDITED, signatures


def test_a_files_name_cannot_steer_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "\x1b[2Kverified\n\udcff.jsonl")]) == 2
    assert capsys.readouterr().err.endswith("\\x1b[2Kverified\\n\\udcff.jsonl: No such file or directory\n")
