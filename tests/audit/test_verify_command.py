"""The verifier as an auditor runs it: one file, alone, with a key in another file."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from audit import verify
from config.environment import ROOT
from tests.audit.export_files import ORIGIN, Exporter, entry_line, key_text
from tests.audit.test_note import cosigned

LEAVES = [entry_line(index) for index in range(23)]
LOG = Exporter(LEAVES)
NO_NOTE = "a note is a text, an empty line, and signature lines"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What an auditor has: the verifier, an export, a key and a checkpoint."""
    shutil.copy(ROOT / "audit" / "verify.py", tmp_path / "verify.py")
    (tmp_path / "acme.jsonl").write_bytes(LOG.write(verify.Format.JSONL))
    (tmp_path / "acme.vkey").write_text(f"# acme's log\n\n{key_text()}", encoding="utf-8")
    (tmp_path / "kept.note").write_text(LOG.checkpoint(20), encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Isolated: no environment, no packages but Python's own."""
    return subprocess.run(
        [sys.executable, "-I", "-S", "verify.py", *arguments],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_runs_alone_and_says_the_verdict_first(folder: Path) -> None:
    done = run(folder, "acme.jsonl", "--key", "acme.vkey", "--checkpoint", "kept.note")
    assert (done.returncode, done.stderr) == (0, "")
    verdict, *sentences = done.stdout.splitlines()
    assert verdict == "verified"
    assert sentences[0].startswith(f"23 entries of {ORIGIN}, leaves 0 to 22,")
    assert sentences[-1].startswith("Not shown:")


def test_it_runs_as_a_module_of_the_desk(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "audit.verify", str(folder / "acme.jsonl"), "--key", str(folder / "acme.vkey")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "verified")


def test_it_imports_pythons_standard_library_alone_and_nothing_that_reaches_out() -> None:
    tree = ast.parse((ROOT / "audit" / "verify.py").read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    assert not imported & {"socket", "ssl", "http", "urllib", "subprocess", "sqlite3", "pickle", "ctypes", "importlib"}


def test_without_a_key_it_does_not_succeed(folder: Path) -> None:
    done = run(folder, "acme.jsonl")
    assert (done.returncode, done.stdout.splitlines()[0]) == (1, "consistent, signer unknown")


def test_what_is_wrong_is_said_with_its_place(folder: Path) -> None:
    lines = (folder / "acme.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "acme.jsonl").write_bytes(b"".join(lines[:6] + lines[7:]))
    done = run(folder, "acme.jsonl", "--key", "acme.vkey")
    assert done.returncode == 1
    assert done.stdout.splitlines() == ["removed: line 7, leaf 5", "Leaf 5 is missing before this line."]


def test_a_witnesss_file_holds_many_checkpoints_of_many_logs(folder: Path) -> None:
    other = Exporter([entry_line(0)], origin="desk.example.com/other")
    cosigned_one = LOG.checkpoint(10) + cosigned(LOG.checkpoint(10))[0]
    notes = [LOG.checkpoint(3), other.checkpoint(), cosigned_one, LOG.checkpoint(21)]
    for between in ("", "\n"):
        (folder / "witness.notes").write_text(between.join(notes), encoding="utf-8")
        done = run(folder, "acme.jsonl", "--key", "acme.vkey", "--checkpoint", "witness.notes")
        assert done.returncode == 0, done.stderr
        assert "the last of them of size 21." in done.stdout


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("acme.vkey", "", "acme.vkey: no key in it"),
        ("acme.vkey", "# nothing\n", "acme.vkey: no key in it"),
        ("acme.vkey", f"{key_text()}hello\n", "acme.vkey, line 3: not an Ed25519 verifier key"),
        ("acme.vkey", cosigned(LOG.checkpoint())[1], "acme.vkey, line 1: a witness's key, which signs no exports"),
        ("acme.vkey", "\udcff", "acme.vkey: not a text in UTF-8"),
        ("kept.note", "", "kept.note: no checkpoint in it"),
        ("kept.note", "\n\n", "kept.note: no checkpoint in it"),
        ("kept.note", "hello\n", f"kept.note: {NO_NOTE}"),
        ("kept.note", LOG.checkpoint() + "more\n", f"kept.note: {NO_NOTE}"),
        ("kept.note", "x" * 70_000 + LOG.checkpoint(), "kept.note: a checkpoint is not that long"),
        ("kept.note", "\udcff", "kept.note: not a text in UTF-8"),
        (
            "kept.note",
            LOG.checkpoint().replace("\n23\n", "\n-23\n"),
            "kept.note: a checkpoint's size is a plain number",
        ),
    ],
)
def test_what_the_auditor_brought_and_cannot_be_used_is_exit_code_2(
    folder: Path, name: str, content: str, problem: str
) -> None:
    (folder / name).write_text(content, encoding="utf-8", errors="surrogateescape")
    done = run(folder, "acme.jsonl", "--key", "acme.vkey", "--checkpoint", "kept.note")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"could not run: {problem}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ["nothing.jsonl", "--key", "acme.vkey"],
        ["acme.jsonl", "--key", "nothing.vkey"],
        ["acme.jsonl", "--checkpoint", "nothing.note"],
        [".", "--key", "acme.vkey"],
    ],
)
def test_a_file_that_cannot_be_read_is_exit_code_2_and_named(folder: Path, arguments: list[str]) -> None:
    done = run(folder, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    missing = next(argument for argument in arguments if argument.startswith(("nothing", ".")))
    assert done.stderr.startswith(f"could not run: {missing}: ")
    assert done.stderr.count("\n") == 1


def test_a_stream_has_to_be_saved_first(folder: Path) -> None:
    done = subprocess.run(
        [sys.executable, "verify.py", "/dev/stdin"],
        cwd=folder,
        input=(folder / "acme.jsonl").read_bytes(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith(b"could not run: /dev/stdin: ")


def test_help_shows_examples_and_exit_codes(folder: Path) -> None:
    done = run(folder, "--help")
    assert done.returncode == 0
    assert "verify.py acme.jsonl --key acme.vkey" in done.stdout
    assert "Exit code 0: verified" in done.stdout
    assert run(folder).returncode == 2
