"""What the verifier says is plain text, whatever the file holds, and whoever signed it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from audit.verify import Format
from tests.audit.export_files import KEYS, SINCE, Exporter, entry_line, judge

LEAVES = [entry_line(index) for index in range(5)]
LOGS = {
    "whole": Exporter(LEAVES),
    "selected": Exporter(
        LEAVES, shown={1, 3}, selection=SINCE | {"event": "shown", "policy_revision": 7, "from_size": 1}
    ),
    "pruned": Exporter([*LEAVES[:-1], entry_line(4, event="pruned", repeat_count=2)], pruned=2),
}

#: What would steer a terminal, deceive a reader, or be no text of any encoding; and what is no text.
ESCAPES = ["\r\x1b[2Kverified\nIt is signed", "\ud800", "\x9b2J", "\u202e", "\x00", "\xe9"]
NASTY: list[Any] = [*ESCAPES, True, None, -1, 10**4000, 1.5, [], {}, ESCAPES[:1], {"index": ESCAPES[0]}, "9" * 5000]


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where in a JSON something stands."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*at, key)
        yield from places(each, (*at, key))


def with_nasty(said: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with something nasty in each place, one at a time."""
    for *path, last in places(said):
        for nasty in NASTY:
            changed = holder = copy.deepcopy(said)
            for key in path:
                holder = holder[key]
            holder[last] = nasty
            yield changed


def is_plain(content: bytes) -> bool:
    said = "\n".join(str(judge(content, keys)) for keys in (KEYS, KEYS[:1], ()))
    return all(line.isascii() and line.isprintable() for line in said.split("\n"))


def written(said: object) -> bytes:
    return json.dumps(said, separators=(",", ":")).encode() + b"\n"


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_of_a_manifest_signed_or_not(log: Exporter) -> None:
    for lies in with_nasty(log.manifest_of(Format.JSONL)):
        assert is_plain(Exporter(log.leaves, log.shown, log.selection, log.pruned, lies=lies).write(Format.JSONL)), lies
    *lines, last = log.write(Format.JSONL).splitlines(keepends=True)
    for changed in with_nasty({"signatures": json.loads(last)["signatures"]}):
        assert is_plain(b"".join([*lines, written(json.loads(last) | changed)])), changed


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_of_the_other_lines(log: Exporter) -> None:
    lines = log.write(Format.JSONL).splitlines(keepends=True)
    for at, line in enumerate(lines[:-1]):
        for changed in with_nasty(json.loads(line)):
            assert is_plain(b"".join([*lines[:at], written(changed), *lines[at + 1 :]])), changed


def test_of_a_pack_signed_or_not() -> None:
    pack = Exporter(LEAVES).pack()
    for changed in with_nasty(json.loads(pack)):
        assert is_plain(written(changed)), changed
    said = json.loads(pack)
    del said["signatures"]
    for changed in with_nasty(said):
        assert is_plain(Exporter(LEAVES).signed_pack(changed)), changed
