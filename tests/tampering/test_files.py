"""What is done to a file that the desk itself wrote: an export in every format, whole or selected, or an evidence pack.
Deeds and verdicts are those of the verifier's own matrix, so both hold one file plan."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

import pytest

from audit import line as lines
from audit import note, packs, tree
from audit.models import LedgerEntry, Log
from audit.seal import seal
from audit.verify import Consistency, Format, Verdict, VerifierKey, parse_key
from elicitation.services import clock
from tests.audit import exported
from tests.audit.export_files import ABOUT, KEYS, MADE_AT, ORIGIN, RING, Exporter, entry_line, judge
from tests.audit.test_verify_tampering import LEAVES, MATRIX, SIZE, File, delete, edit, says_nothing_of_what_is_there
from tests.tampering.owner import count_on

pytestmark = pytest.mark.django_db

STRANGER: Final = [parse_key(note.verifier_key(ORIGIN, bytes([9] * 32)))]
#: What a selection spells in its own way.
MOMENTS: Final = ("since", "until")
#: The checkpoints that an auditor may have kept.
EARLIER: Final = Exporter(LEAVES).checkpoint(SIZE - 3)
LATER: Final = Exporter([*LEAVES, entry_line(SIZE)]).checkpoint()
OTHER_LEAVES: Final = [*LEAVES[:4], entry_line(4, event="cancel"), *LEAVES[5:]]
OF_ANOTHER_HISTORY: Final = Exporter(OTHER_LEAVES).checkpoint(SIZE - 3)


@pytest.fixture
def log(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Log:
    """The desk's own log of the very entries that the verifier's tests are made of, sealed with the same keys."""
    settings.DESK_BASE_URL, settings.DESK_LEDGER_KEYS = f"https://{ORIGIN.partition('/')[0]}", RING
    monkeypatch.setattr(clock, "now", lambda: datetime.fromisoformat(MADE_AT))
    LedgerEntry.objects.bulk_create(map(entry_of, LEAVES))
    count_on()
    assert seal(clock.now()) > SIZE  # the first revision of the policy has its entry, too
    return Log.objects.get(tenant="acme")


def entry_of(leaf: bytes) -> LedgerEntry:
    """The entry whose line it is."""
    said = json.loads(leaf)
    fields = {name: field.attname for name, field in zip(lines.NAMES[1:], lines.FIELDS, strict=True)}
    return LedgerEntry(**{fields[name]: value for name, value in said.items() if name != "index"})


def written(log: Log, format_: Format, **selection: Any) -> File:
    _, content = exported.whole(log, format_, to_size=SIZE, **selection)
    return File(tuple(content.splitlines(keepends=True)), format_)


@pytest.mark.parametrize("format_", Format)
def test_every_deed_to_an_export_is_named_and_placed(log: Log, format_: Format) -> None:
    file = written(log, format_)
    whole = b"".join(file.lines)
    assert judge(whole).verdict is judge(whole, kept=[EARLIER]).verdict is Verdict.VERIFIED
    for name, tamper, verdict, leaf, stands in MATRIX:
        changed = list(file.lines)
        tamper(file, changed)
        assert changed != list(file.lines), name
        report = judge(b"".join(changed))
        line = None if stands is None else file.number(stands)
        assert (report.verdict, report.leaf, report.line) == (verdict, leaf, line), name
        assert says_nothing_of_what_is_there(report), name
        assert not judge(b"".join(changed), keys=[]).verdict.good, name


def test_the_desk_writes_json_lines_byte_for_byte_as_the_verifiers_tests_do(log: Log) -> None:
    *ours, ending = written(log, Format.JSONL).lines
    *theirs, other = Exporter(LEAVES).write(Format.JSONL).splitlines(keepends=True)
    assert ours == theirs
    manifest, wanted = json.loads(ending)["manifest"], json.loads(other)["manifest"]
    assert manifest == wanted | {"export": manifest["export"]}
    assert list(manifest) == list(wanted)


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize(
    ("keys", "kept", "verdict"),
    [
        (KEYS, [EARLIER], Verdict.VERIFIED),
        (KEYS, [LATER], Verdict.NOT_COMPARED),
        (KEYS, [OF_ANOTHER_HISTORY], Verdict.INCONSISTENT),
        (KEYS, [EARLIER, OF_ANOTHER_HISTORY], Verdict.INCONSISTENT),
        (STRANGER, [], Verdict.WRONG_KEY),
        ([], [EARLIER], Verdict.UNKNOWN_SIGNER),
    ],
)
def test_what_the_auditor_brings_decides(
    log: Log, format_: Format, keys: list[VerifierKey], kept: list[str], verdict: Verdict
) -> None:
    assert judge(b"".join(written(log, format_).lines), keys, kept).verdict is verdict


@pytest.mark.parametrize("format_", Format)
def test_a_selection_that_was_tampered_with_is_none(log: Log, format_: Format) -> None:
    file = written(log, format_, event="shown")  # leaves 1, 4, 7, …
    assert judge(b"".join(file.lines)).verdict is Verdict.SELECTION
    for name, tamper, verdict in (
        ("edited", edit(3), Verdict.EDITED),
        ("the first deleted", delete(0), Verdict.REMOVED),
        ("one deleted", delete(3), Verdict.REMOVED),
        ("another selection's name", _renamed, Verdict.EDITED),
    ):
        changed = list(file.lines)
        tamper(file, changed)
        assert changed != list(file.lines), name
        assert judge(b"".join(changed)).verdict is verdict, name


@pytest.mark.parametrize("format_", Format)
@pytest.mark.parametrize("selection", [{}, {"event": "shown"}], ids=["whole", "selected"])
def test_nothing_can_be_put_beside_what_the_desk_sealed(log: Log, format_: Format, selection: dict[str, str]) -> None:
    """Into the lines that are no entries, by somebody without a key."""
    file = list(written(log, format_, **selection).lines)
    for number, line in enumerate(file):
        if not line.startswith((b'{"ledger_export"', b'{"left_out"')) and b"manifest" not in line:
            continue
        for at in (found.end() for found in re.finditer(rb'[{}\[\],"]+', line)):
            for piece in (b" ", b",x", b',"event":"answer_accept"', b'"raw_data":"{}",', b"," + LEAVES[2][1:-1]):
                changed = b"".join([*file[:number], line[:at] + piece + line[at:], *file[number + 1 :]])
                assert not judge(changed).verdict.good, line[:at][-40:] + piece


@pytest.mark.parametrize("format_", Format)
def test_every_selection_that_the_desk_makes_fits_what_it_says_it_is_by(log: Log, format_: Format) -> None:
    began, middle = datetime(1, 1, 1, tzinfo=UTC), datetime.fromisoformat("2026-11-30T12:00:09.000009Z")
    for selection, count in (
        ({"since": began}, SIZE),
        ({"since": middle}, SIZE - 9),
        ({"until": middle, "event": "shown"}, 3),
        ({"elicitation_id": ABOUT}, 3),
        ({"policy_revision": 8}, SIZE - 8),
    ):
        report = judge(b"".join(written(log, format_, **selection).lines))
        assert report.verdict is Verdict.SELECTION, selection
        assert report.sentences[0].startswith(f"{count} entries of {ORIGIN}, selected by ")
        assert all(f"{name}={selection[name]}" in report.sentences[0] for name in selection if name not in MOMENTS)


def _renamed(_: File, written: list[bytes]) -> None:
    written[:] = [line.replace(b"shown", b"admit") if b"selection" in line else line for line in written]


def edit_entry(pack: dict[str, Any]) -> None:
    pack["entries"][1]["line"] = pack["entries"][1]["line"].replace("service", "support")


def drop(which: int) -> Callable[[dict[str, Any]], None]:
    return lambda pack: pack["entries"].pop(which)


def swap(pack: dict[str, Any]) -> None:
    pack["entries"][0], pack["entries"][1] = pack["entries"][1], pack["entries"][0]


def twice(pack: dict[str, Any]) -> None:
    pack["entries"].insert(1, pack["entries"][0])


def of_another_tenant(pack: dict[str, Any]) -> None:
    pack["entries"][1]["line"] = pack["entries"][1]["line"].replace('"acme"', '"globex"')


def about_another(pack: dict[str, Any]) -> None:
    pack["entries"][1]["line"] = LEAVES[9].decode()


def elsewhere(pack: dict[str, Any]) -> None:
    pack["entries"][1]["index"] += 5


def another_proof(pack: dict[str, Any]) -> None:
    pack["entries"][1]["proof"] = pack["entries"][0]["proof"]


def older_checkpoint(pack: dict[str, Any]) -> None:
    pack["checkpoint"], pack["size"] = EARLIER, SIZE - 3


def fewer_said(pack: dict[str, Any]) -> None:
    pack["entries"].pop()
    pack["count"] -= 1


def unsigned(pack: dict[str, Any]) -> None:
    pack["signatures"] = []


@pytest.mark.parametrize(
    ("deed", "verdict"),
    [
        (edit_entry, Verdict.EDITED),
        (drop(0), Verdict.REMOVED),
        (drop(1), Verdict.REMOVED),
        (drop(-1), Verdict.REMOVED),
        (swap, Verdict.REORDERED),
        (twice, Verdict.INSERTED),
        (of_another_tenant, Verdict.INSERTED),
        (about_another, Verdict.INSERTED),
        (elsewhere, Verdict.INSERTED),
        (another_proof, Verdict.EDITED),
        (older_checkpoint, Verdict.EDITED),
        (fewer_said, Verdict.EDITED),
        (unsigned, Verdict.WRONG_KEY),
    ],
)
def test_every_deed_to_a_pack_is_named(log: Log, deed: Callable[[dict[str, Any]], None], verdict: Verdict) -> None:
    pack = packs.pack(log, ABOUT, clock.now(), RING)
    assert judge(pack).verdict is Verdict.SELECTION
    said = json.loads(pack)
    deed(said)
    assert judge(_written(said)).verdict is verdict
    assert not judge(_written(said), keys=[]).verdict.good


def _written(pack: dict[str, Any]) -> bytes:
    return (json.dumps(pack, separators=(",", ":")) + "\n").encode()


@pytest.mark.parametrize("kind", ["pack", *Format])
def test_the_desk_proves_what_a_pack_or_a_selection_leaves_out(log: Log, kind: str) -> None:
    content = packs.pack(log, ABOUT, clock.now(), RING)
    if kind != "pack":
        content = b"".join(written(log, Format(kind), elicitation_id=ABOUT).lines)
    size = log.size if kind == "pack" else SIZE
    mine, foreign = (Exporter(leaves).checkpoint(13) for leaves in (LEAVES, OTHER_LEAVES))
    proof = Consistency(13, size, tuple(tree.consistency(log, 13, size)))
    assert judge(content, kept=[mine]).verdict is Verdict.NOT_COMPARED
    assert judge(content, kept=[mine], proofs=[proof]).verdict is Verdict.SELECTION
    assert judge(content, kept=[foreign], proofs=[proof]).verdict is Verdict.INCONSISTENT


def test_a_pack_is_held_to_keys_and_checkpoints_too(log: Log) -> None:
    pack = packs.pack(log, ABOUT, clock.now(), RING)
    assert judge(pack[: len(pack) // 2]).verdict is Verdict.TRUNCATED
    assert judge(pack, STRANGER).verdict is Verdict.WRONG_KEY
    assert judge(pack, []).verdict is Verdict.UNKNOWN_SIGNER
    assert judge(pack, kept=[LATER]).verdict is Verdict.NOT_COMPARED
    assert judge(pack, kept=[Exporter(LEAVES).checkpoint()]).verdict is Verdict.SELECTION
