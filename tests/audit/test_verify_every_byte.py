"""Every byte of a file counts: who changes one, takes one away or puts some in, without a key, gets no good verdict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from audit import verify
from audit.verify import Format, parse_key
from tests.audit.export_files import ABOUT, RING, SINCE, Exporter, entry_line, judge, key_text

#: With one key there is no other signature that would still hold.
ONE = {"current": RING["current"]}
KEY = [parse_key(key_text(ONE).strip())]
#: Short ones: each byte more is some dozens of files more.
BARE: dict[str, Any] = dict.fromkeys(("elicitation_id", "client_id", "negotiated", "place", "latency_ms"))
LEAVES = [entry_line(index, **BARE | {"elicitation_id": str(ABOUT) if index else None}) for index in range(4)]
SURVIVING = [*LEAVES[:-1], entry_line(3, **BARE | {"event": "pruned", "repeat_count": 2})]

LOGS = {
    "whole": Exporter(LEAVES, ring=ONE),
    "selected": Exporter(LEAVES, ring=ONE, shown={1}, selection=SINCE),
    "pruned": Exporter(SURVIVING, ring=ONE, pruned=2),
    "pruned and selected": Exporter(SURVIVING, ring=ONE, pruned=1, shown={2}, selection=SINCE),
}
FILES = {f"{format_}, {kind}": log.write(format_) for kind, log in LOGS.items() for format_ in Format}
FILES["pack"] = Exporter(LEAVES, ring=ONE).pack()

#: What somebody would put in: what says nothing, what a reader would take for a member, a cell or an entry.
FORGED = entry_line(4, **BARE)
PIECES = [b" ", b"\n", b"0", b",x", b'""', b',"event":"shown"', b'"raw_data":"{}",', FORGED, b"," + FORGED[1:-1]]

every_file = pytest.mark.parametrize("content", FILES.values(), ids=FILES)


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures are verified by a library, for there are tens of thousands of files here."""

    def verified(public: bytes, message: bytes, signature: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(public).verify(signature, message)
        except InvalidSignature:
            return False
        return True

    monkeypatch.setattr(verify, "ed25519_verify", verified)


def good(changed: Iterator[bytes], content: bytes) -> list[bytes]:
    """Around the first difference, those that the verifier takes for what the desk wrote."""
    found = [each for each in changed if each != content and judge(each, KEY).verdict.good]
    places = [
        next((at for at, (one, two) in enumerate(zip(each, content, strict=False)) if one != two), 0) for each in found
    ]
    return [each[max(0, at - 30) : at + 30] for each, at in zip(found, places, strict=True)]


@every_file
def test_the_file_itself_is_good(content: bytes) -> None:
    assert judge(content, KEY).verdict.good


@every_file
def test_no_byte_can_be_another(content: bytes) -> None:
    """A letter in its other case, a sign or a digit as its neighbour."""
    others = (bytes([byte ^ (0x20 if chr(byte).isalpha() else 0x01)]) for byte in content)
    assert not good((content[:at] + other + content[at + 1 :] for at, other in enumerate(others)), content)


@every_file
def test_no_byte_can_be_taken_away(content: bytes) -> None:
    assert not good((content[:at] + content[at + 1 :] for at in range(len(content))), content)


@every_file
def test_nothing_can_be_put_in_beside_what_gives_a_line_its_structure(content: bytes) -> None:
    places = sorted({place for found in re.finditer(rb'[{}\[\],"\n]+', content) for place in found.span()})
    assert not good((content[:at] + piece + content[at:] for at in places for piece in PIECES), content)


@every_file
def test_no_line_can_be_there_twice_or_be_missing(content: bytes) -> None:
    lines = content.splitlines(keepends=True)
    twice = (b"".join([*lines[: at + 1], *lines[at:]]) for at in range(len(lines)))
    missing = (b"".join([*lines[:at], *lines[at + 1 :]]) for at in range(len(lines)))
    assert not good(twice, content)
    assert not good(missing, content)
