"""Go's own implementation of transparency logs opens our checkpoints and accepts our proofs, and we accept its own."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from audit import note
from audit.merkle import consistency_proof, inclusion_proof
from audit.verify import (
    BadSignature,
    leaf_hash,
    parse_checkpoint,
    parse_key,
    parse_note,
    verify_consistency,
    verify_inclusion,
    verify_note,
)
from tests.audit.export_files import ORIGIN, RING, Exporter, entry_line, key_text

#: Where Debian's golang-golang-x-mod-dev puts it.
SOURCES = Path("/usr/share/gocode")
BUILD_SECONDS = 300
SIZE = 43

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        shutil.which("go") is None or not (SOURCES / "src/golang.org/x/mod/sumdb").is_dir(),
        reason="needs Debian's golang-go and golang-golang-x-mod-dev",
    ),
]

Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Ask:
    """One question to the Go program, and its answer."""
    folder = tmp_path_factory.mktemp("transparency")
    program = folder / "transparency"
    subprocess.run(
        ["go", "build", "-o", str(program), str(Path(__file__).parent / "transparency" / "main.go")],
        env=os.environ
        | {"GO111MODULE": "off", "GOPATH": str(SOURCES), "GOCACHE": str(folder / "cache"), "GOFLAGS": ""},
        check=True,
        timeout=BUILD_SECONDS,
    )

    def asking(about: str, **question: Any) -> dict[str, Any]:
        asked = json.dumps({"Ask": about} | question) + "\n"
        done = subprocess.run([str(program)], input=asked, capture_output=True, text=True, check=True, timeout=60)
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer

    return asking


def text_of(digest: bytes) -> str:
    return base64.b64encode(digest).decode()


def texts_of(digests: list[bytes]) -> list[str]:
    return [text_of(each) for each in digests]


@pytest.fixture(scope="module")
def log() -> Exporter:
    return Exporter([entry_line(index) for index in range(SIZE)])


def test_go_opens_a_checkpoint_with_either_key_of_the_ring_and_with_no_other(ask: Ask, log: Exporter) -> None:
    checkpoint = log.checkpoint()
    keys = key_text().split()
    for key in keys:
        opened = ask("open", Keys=[key], Note=checkpoint)
        assert not opened["Error"]
        assert opened["Text"] == parse_note(checkpoint).text
        assert opened["Signers"] == [int.from_bytes(parse_key(key).key_id, "big")]
    assert len(ask("open", Keys=keys, Note=checkpoint)["Signers"]) == len(RING)
    stranger = note.verifier_key(ORIGIN, bytes(32))
    assert "no verifiable signatures" in ask("open", Keys=[stranger], Note=checkpoint)["Error"]


def test_go_refuses_what_we_refuse_of_a_changed_checkpoint(ask: Ask, log: Exporter) -> None:
    key = key_text().split()[0]
    changed = log.checkpoint().replace(f"\n{SIZE}\n", f"\n{SIZE - 1}\n", 1)
    assert "invalid signature" in ask("open", Keys=[key], Note=changed)["Error"]
    with pytest.raises(BadSignature):
        verify_note(parse_note(changed), [parse_key(key)])


def test_we_open_what_go_signs(ask: Ask) -> None:
    seed = RING["current"]
    key = parse_key(note.verifier_key(ORIGIN, seed))
    secret = f"PRIVATE+KEY+{ORIGIN}+{key.key_id.hex()}+{text_of(bytes([1]) + seed)}"
    text = note.checkpoint_text(ORIGIN, 1, leaf_hash(b"leaf"))
    signed = ask("sign", Text=text, Secret=secret)["Note"]
    assert verify_note(parse_note(signed), [key]) == [key]
    assert parse_checkpoint(parse_note(signed).text).size == 1
    assert signed == note.sign(text, ORIGIN, {"current": seed}), "Ed25519 has one signature for one text"


def test_go_grows_the_same_tree_over_the_same_lines_and_we_accept_its_proofs(ask: Ask, log: Exporter) -> None:
    lines = [leaf.decode() for leaf in log.leaves]
    for index, old in ((0, 1), (17, 20), (SIZE - 1, 32), (31, SIZE - 1)):
        proven = ask("prove", Lines=lines, Size=SIZE, Index=index, Old=old)
        assert proven["Roots"] == [text_of(log.tree_hash(0, size)) for size in range(1, SIZE + 1)]
        record, tree = ([base64.b64decode(each) for each in proven[name] or []] for name in ("Record", "Tree"))
        root = log.tree_hash(0, SIZE)
        assert verify_inclusion(leaf_hash(log.leaves[index]), index, SIZE, record, root)
        assert verify_consistency(old, log.tree_hash(0, old), SIZE, root, tree)
        assert record == inclusion_proof(index, SIZE, log.tree_hash)
        assert tree == consistency_proof(old, SIZE, log.tree_hash)


@pytest.mark.parametrize("size", [1, 2, 7, 8, SIZE])
def test_go_accepts_our_inclusion_proofs_and_refuses_them_for_another_leaf(ask: Ask, log: Exporter, size: int) -> None:
    for index in {0, size // 2, size - 1}:
        asked = {
            "Size": size,
            "Root": text_of(log.tree_hash(0, size)),
            "Index": index,
            "Leaf": text_of(leaf_hash(log.leaves[index])),
            "Proof": texts_of(inclusion_proof(index, size, log.tree_hash)),
        }
        assert not ask("inclusion", **asked)["Error"]
        assert ask("inclusion", **asked | {"Leaf": text_of(leaf_hash(b"another"))})["Error"]


@pytest.mark.parametrize(("old", "new"), [(1, 2), (4, 8), (3, 7), (32, SIZE), (SIZE - 1, SIZE), (SIZE, SIZE)])
def test_go_accepts_our_consistency_proofs_and_refuses_them_for_another_tree(
    ask: Ask, log: Exporter, old: int, new: int
) -> None:
    asked = {
        "Old": old,
        "Was": text_of(log.tree_hash(0, old)),
        "Size": new,
        "Root": text_of(log.tree_hash(0, new)),
        "Proof": texts_of(consistency_proof(old, new, log.tree_hash)),
    }
    assert not ask("consistency", **asked)["Error"]
    assert ask("consistency", **asked | {"Was": text_of(leaf_hash(b"another"))})["Error"]
