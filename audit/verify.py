"""Verifies an exported ledger, or an evidence pack, against a key that the auditor brought. Nothing but Python 3.11's
standard library: no network, no database, nothing of the desk. Read it from top to bottom, then run it.
"""

from __future__ import annotations

import argparse
import base64
import binascii
import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from hashlib import sha256, sha512
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple, NoReturn, TextIO, TypeVar

# --- The Merkle tree (RFC 6962, section 2.1) -------------------------------------------------------------------------

HASH_BYTES: Final = 32
EMPTY_ROOT: Final = sha256(b"").digest()
#: How many leaves are folded at a time: enough to be fast, few enough to stay small.
_BATCH: Final = 1 << 10


def leaf_hash(line: bytes) -> bytes:
    """The hash of one leaf: an entry's canonical bytes, without newline."""
    return sha256(b"\x00" + line).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node over its two children's."""
    return sha256(b"\x01" + left + right).digest()


def blocks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Cuts leaves ``start`` to ``stop - 1`` into complete subtrees, each the largest that is aligned and fits.

    Yields (level, index): the subtree of ``2**level`` leaves from leaf ``index << level`` on.
    """
    while start < stop:
        level = (stop - start).bit_length() - 1
        if start:
            level = min(level, (start & -start).bit_length() - 1)
        yield level, start >> level
        start += 1 << level


@dataclass(slots=True)
class Edge:
    """A tree that grows at its right: the hashes of the complete subtrees that ``size`` leaves decompose into, largest
    first. They are all that is needed to go on, and to tell the root."""

    size: int = 0
    hashes: list[bytes] = field(default_factory=list)

    def append(self, leaf: bytes) -> None:
        """Add one leaf by its hash."""
        self.append_block(0, leaf)

    def append_block(self, level: int, block: bytes) -> None:
        """Add a complete subtree of ``2**level`` leaves by its hash. Raises ``ValueError`` where it is not aligned."""
        number, rest = divmod(self.size, 1 << level)
        if rest:
            raise ValueError("a subtree begins at a multiple of its leaves")
        while number & 1:
            block = node_hash(self.hashes.pop(), block)
            number >>= 1
        self.hashes.append(block)
        self.size += 1 << level

    def extend(self, leaves: Iterable[bytes]) -> None:
        """Add many leaves by their hashes, whole subtrees at a time."""
        coming = iter(leaves)
        while batch := list(islice(coming, _BATCH - self.size % _BATCH)):
            taken = 0
            for level, _ in blocks(self.size, self.size + len(batch)):
                self.append_block(level, _complete(batch[taken : taken + (1 << level)]))
                taken += 1 << level

    def root(self) -> bytes:
        """The root of the tree as it is now."""
        if not self.hashes:
            return EMPTY_ROOT
        *others, root = self.hashes
        for left in reversed(others):
            root = node_hash(left, root)
        return root

    def to_bytes(self) -> bytes:
        """The hashes, joined; with the size, they make the same edge again."""
        return b"".join(self.hashes)

    @classmethod
    def from_bytes(cls, size: int, data: bytes) -> Edge:
        """The edge of ``size`` leaves. Raises ``ValueError`` when ``data`` is not one hash for each of its subtrees."""
        if size < 0 or len(data) != HASH_BYTES * size.bit_count():
            raise ValueError("an edge has one hash for each complete subtree")
        return cls(size, [data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)])


def _complete(hashes: Sequence[bytes]) -> bytes:
    """The root over a power of two of hashes."""
    while len(hashes) > 1:
        pair = iter(hashes)
        hashes = [sha256(b"\x01" + left + right).digest() for left, right in zip(pair, pair, strict=True)]
    return hashes[0]


def verify_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether ``proof`` shows the leaf of this hash at ``index`` of the tree (RFC 9162, section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for sibling in proof:
        if not last:
            return False
        if place & 1 or place == last:
            found = node_hash(sibling, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, sibling)
        place, last = place >> 1, last >> 1
    return not last and found == root


def verify_consistency(old_size: int, old_root: bytes, new_size: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether ``proof`` shows that the new tree begins with the old one (RFC 9162, section 2.1.4.2).

    Of an empty tree nothing needs to be shown: its root is known, and every tree begins with it.
    """
    if not 0 <= old_size <= new_size or (not old_size and old_root != EMPTY_ROOT):
        return False
    if not old_size:
        return not proof
    if old_size == new_size:
        return not proof and old_root == new_root
    path = list(proof) if old_size & (old_size - 1) else [old_root, *proof]
    if not path:
        return False
    place, last = old_size - 1, new_size - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    old = new = path[0]
    for sibling in path[1:]:
        if not last:
            return False
        if place & 1 or place == last:
            old, new = node_hash(sibling, old), node_hash(sibling, new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            new = node_hash(new, sibling)
        place, last = place >> 1, last >> 1
    return not last and old == old_root and new == new_root


# --- Ed25519 (RFC 8032, section 5.1) ---------------------------------------------------------------------------------


class Malformed(ValueError):
    """A key, note, checkpoint or file that is none. Says what is wrong with it, never what it holds."""


_P: Final = 2**255 - 19
_L: Final = 2**252 + 27742317777372353535851937790883648493
_D: Final = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE: Final = pow(2, (_P - 1) // 4, _P)
#: A point as X, Y, Z, T with x = X/Z, y = Y/Z, x*y = T/Z.
_Point = tuple[int, int, int, int]
_NEUTRAL: Final[_Point] = (0, 1, 1, 0)


def _add(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(scalar: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point = _add(point, point)
        scalar >>= 1
    return total


def _encode(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decode(public: bytes) -> _Point:
    """The point of a public key. Raises ``Malformed`` for any but 32 bytes, for a second spelling of a point, and for
    points of small order: with such a key, some signature holds for everything."""
    sign, y = divmod(int.from_bytes(public, "little"), 1 << 255)
    if len(public) != 32 or y >= _P:
        raise Malformed("no canonical Ed25519 key")
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if (x * x - square) % _P:
        raise Malformed("an Ed25519 key that is no point of the curve")
    x = _P - x if x & 1 != sign else x
    point = (x, y, 1, x * y % _P)
    if _encode(_times(8, point)) == _encode(_NEUTRAL):
        raise Malformed("an Ed25519 key of small order")
    return point


_BASE_POINT: Final = _decode((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))


def ed25519_verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether the signature of 64 bytes is the key's over ``message``. Strict: S is below the group's order, and R and
    the key are spelled in the one way that they have. Raises ``Malformed`` for what is no key."""
    key = _decode(public)
    r, s = signature[:32], int.from_bytes(signature[32:], "little")
    if len(signature) != 64 or s >= _L:
        return False
    k = int.from_bytes(sha512(r + public + message).digest(), "little") % _L
    minus = (_P - key[0], key[1], key[2], _P - key[3])
    return _encode(_add(_times(s, _BASE_POINT), _times(k, minus))) == r


# --- Signed notes and checkpoints (C2SP signed-note, tlog-checkpoint) -------------------------------------------------

ED25519: Final = 0x01
#: Witnesses' cosignatures (C2SP tlog-cosignature). Only who watches a log needs them.
COSIGNATURE: Final = 0x04
_DASH: Final = "\u2014 "
_MOST_SIGNATURES: Final = 100
_NO_TEXT: Final = re.compile(r"[\x00-\x09\x0b-\x1f\ud800-\udfff]")


class BadSignature(ValueError):
    """A signature that names a known key and is not that key's. Holds the key."""

    def __init__(self, key: VerifierKey) -> None:
        super().__init__("a signature of a known key does not hold")
        self.key = key


@dataclass(frozen=True, slots=True)
class Signature:
    """A signature line: whose, by which key (4 bytes), and what that key made."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A text, which ends in a newline, and the signatures under it."""

    text: str
    signatures: tuple[Signature, ...]


@dataclass(frozen=True, slots=True)
class VerifierKey:
    """A public key by its name and its id (4 bytes); ``algorithm`` is ``ED25519`` or ``COSIGNATURE``."""

    name: str
    key_id: bytes
    algorithm: int
    public: bytes


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log states of itself: the root (32 bytes) over its first ``size`` leaves."""

    origin: str
    size: int
    root: bytes


@dataclass(frozen=True, slots=True)
class Consistency:
    """What shows that the log of size ``new`` begins with that of size ``old``, as ``verify_consistency`` takes it."""

    old: int
    new: int
    path: tuple[bytes, ...]


def key_id(name: str, algorithm: int, public: bytes) -> bytes:
    """The four bytes that tell the keys of one name apart."""
    return sha256(name.encode() + b"\n" + bytes([algorithm]) + public).digest()[:4]


def parse_key(vkey: str) -> VerifierKey:
    """The key of ``<name>+<8 hex>+<base64>``. Raises ``Malformed``."""
    name, _, rest = vkey.partition("+")
    identity, _, encoded = rest.partition("+")
    material = from_base64(encoded)
    if not _is_name(name) or len(material) != 33 or material[0] not in (ED25519, COSIGNATURE):
        raise Malformed("not an Ed25519 verifier key")
    key = VerifierKey(name, key_id(name, material[0], material[1:]), material[0], material[1:])
    if identity != key.key_id.hex():
        raise Malformed("the key's id is not the one that its name and key give")
    _decode(key.public)
    return key


def parse_note(text: str) -> Note:
    """A signed note, whole. Raises ``Malformed``."""
    if _NO_TEXT.search(text):
        raise Malformed("a note is UTF-8 without control characters")
    body, blank, tail = text.rpartition("\n\n")
    if not blank or not tail.endswith("\n"):
        raise Malformed("a note is a text, an empty line, and signature lines")
    lines = tail[:-1].split("\n")
    if len(lines) > _MOST_SIGNATURES:
        raise Malformed("a note has not that many signatures")
    return Note(body + "\n", tuple(parse_signature(line) for line in lines))


def parse_signature(line: str) -> Signature:
    """A signature line, without its newline. Raises ``Malformed``."""
    name, _, encoded = line.removeprefix(_DASH).partition(" ")
    signature = from_base64(encoded)
    if not line.startswith(_DASH) or not _is_name(name) or len(signature) < 5:
        raise Malformed("not a signature line")
    return Signature(name, signature[:4], signature[4:])


def verify_note(note: Note, keys: Iterable[VerifierKey]) -> list[VerifierKey]:
    """Those of the keys, each an ``ED25519`` one, that signed the note. Signatures of other keys do not count.

    Raises ``BadSignature`` when a signature names one of the keys and does not hold.
    """
    known = {(key.name, key.key_id): key for key in keys if key.algorithm == ED25519}
    signers = []
    for signature in note.signatures:
        key = known.pop((signature.name, signature.key_id), None)
        if key is None:
            continue
        if not ed25519_verify(key.public, note.text.encode(), signature.signature):
            raise BadSignature(key)
        signers.append(key)
    return signers


def parse_checkpoint(text: str) -> Checkpoint:
    """The checkpoint in a note's text; extension lines are allowed, and say nothing. Raises ``Malformed``."""
    lines = text.split("\n")
    if len(lines) < 4 or lines.pop() or not all(lines):
        raise Malformed("a checkpoint is an origin, a size and a root, each on its line")
    origin, size, root = lines[0], lines[1], from_base64(lines[2])
    if not (size.isascii() and size.isdigit()) or len(size) > 19 or size != str(int(size)):
        raise Malformed("a checkpoint's size is a plain number")
    if len(root) != HASH_BYTES:
        raise Malformed("a checkpoint's root has 32 bytes")
    return Checkpoint(origin, int(size), root)


def from_base64(text: str) -> bytes:
    """The bytes of canonical base64. Raises ``Malformed``."""
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise Malformed("not base64") from None
    if base64.b64encode(data).decode() != text:
        raise Malformed("not canonical base64")
    return data


def _is_name(name: str) -> bool:
    return bool(name) and "+" not in name and not any(character.isspace() for character in name)


# --- What the verifier says ------------------------------------------------------------------------------------------


class Verdict(StrEnum):
    """The one word about a file. The first two are exit code 0, every other is 1."""

    VERIFIED = "verified"
    SELECTION = "verified selection"
    UNKNOWN_SIGNER = "consistent, signer unknown"
    NOT_COMPARED = "checkpoint not compared"
    EDITED = "edited"
    REMOVED = "removed"
    REORDERED = "reordered"
    TRUNCATED = "truncated"
    INSERTED = "inserted"
    WRONG_KEY = "wrong key"
    INCONSISTENT = "inconsistent checkpoint"
    UNSEALED_TAIL = "unsealed tail"
    NOT_AN_EXPORT = "not an export"

    @property
    def good(self) -> bool:
        """Whether what the file says was proven, with a key that the auditor brought."""
        return self in (Verdict.VERIFIED, Verdict.SELECTION)


@dataclass(frozen=True, slots=True)
class Report:
    """The verdict and what it rests on, in sentences; where something is wrong, the line of the file and the leaf."""

    verdict: Verdict
    sentences: tuple[str, ...]
    line: int | None = None
    leaf: int | None = None

    def __str__(self) -> str:
        places = ", ".join(f"{what} {at}" for what, at in (("line", self.line), ("leaf", self.leaf)) if at is not None)
        return "\n".join([f"{self.verdict}: {places}" if places else self.verdict, *self.sentences])


class Fault(Exception):
    """What is wrong with a file, and where. Says nothing that stands in it."""

    def __init__(self, verdict: Verdict, *sentences: str, line: int | None = None, leaf: int | None = None) -> None:
        super().__init__(*sentences)
        self.report = Report(verdict, sentences, line, leaf)


class CouldNotRun(Exception):
    """What the auditor brought cannot be used: a file that cannot be read, a key or a checkpoint that is none."""


# --- What an export is -----------------------------------------------------------------------------------------------
#
# A walk over leaves 0 to size - 1 of one log, where size is a checkpoint's. Each leaf is there as its line, or inside
# of a stretch that is left out, told by the hashes of its blocks(). Folding all of it in order gives the root that the
# checkpoint states. Every line of the file ends in a newline.
#
#   JSON Lines  {"ledger_export":1,"origin":…,"tenant":…,"size":…,"selection":{…}}; then lines as they were hashed;
#               {"left_out":{"from":a,"to":b,"hashes":[…]}} where leaves a to b - 1 are left out; at the end SEALED.
#   CSV         the names of the columns, then rows. A last column "left_out", where there is one, holds "a-b:hash,hash"
#               for what is left out before the row. At the end the row "#manifest",SEALED, as wide as the others.
#   OCSF        events: the line in raw_data; in unmapped.left_out {"from":…}, as above, what is left out before it.
#               At the end an event that ends in ,"unmapped":{"manifest":SEALED,"left_out":{…}}}.
#
# SEALED is {"manifest":{…,"end":true},"signatures":[…]}: the signature lines of a note whose text is the origin and
# "/export", and on the next line the manifest's JSON without spaces.
#
# No byte of a file is taken on trust. Lines of entries are hashed; what CSV and OCSF hold before SEALED is under its
# content_digest; everything else, SEALED and what is left out among it, has to be spelled in the one way that it has.
# Signatures are looked at where the auditor brought the key; that there are others is told.


class Format(StrEnum):
    """How an export is written down."""

    JSONL = "jsonl"
    CSV = "csv"
    OCSF = "ocsf"


@dataclass(frozen=True, slots=True)
class Stretch:
    """Leaves ``start`` to ``stop - 1``, which are left out: the hashes of their blocks."""

    start: int
    stop: int
    hashes: tuple[bytes, ...]


class Record(NamedTuple):
    """One line of a file: an entry's canonical bytes, what is left out before it, or the sealed manifest, with the
    bytes of its line that the ``content_digest`` covers."""

    entry: bytes | None = None
    left_out: Stretch | None = None
    sealed: Any = None
    neutralised: int = 0
    covered: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an export says of itself: its members, in the order in which they are signed.

    ``first`` and ``last`` are leaves that are there, ``pruned`` leaves that are not kept any more. JSON Lines have the
    ``leaves_digest`` of all hashes of those that are there; CSV the ``content_digest`` of all bytes before the
    manifest's record, OCSF of all before ``SEALED``; CSV counts the cells that it ``neutralised``.
    """

    schema: int
    format: str
    origin: str
    tenant: str
    export: str
    made_at: str
    selection: dict[str, object]
    size: int
    count: int
    first: int | None
    last: int | None
    left_out: int
    pruned: int
    leaves_digest: str | None = None
    content_digest: str | None = None
    policy_revisions: list[int]
    neutralised: int | None = None
    checkpoint: str
    right_edge: list[str]
    end: bool

    def edge(self) -> Edge:
        """The edge at ``size``, by which an edit is found. Raises ``ValueError`` when it is none."""
        return Edge.from_bytes(self.size, b"".join(map(from_base64, self.right_edge)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """What an evidence pack says, but for its signatures: its members, in the order in which they are signed."""

    evidence_pack: int
    origin: str
    tenant: str
    elicitation_id: str
    made_at: str
    checkpoint: str
    size: int
    entries: list[dict[str, Any]]
    count: int


_Said = TypeVar("_Said", Manifest, Pack)
# Of a file's texts only those are told to its reader that consist of these characters.
_ORIGIN: Final = re.compile(r"[A-Za-z0-9.:_/\[\]-]+")
_WORD: Final = re.compile(r"[A-Za-z0-9_.:/#$-]+")
#: What a selection can be by, and what says so.
_FILTERS: Final[dict[str, type]] = {
    "since": str,
    "until": str,
    "from_size": int,
    "event": str,
    "elicitation_id": str,
    "policy_revision": int,
}


def parse_manifest(given: Any) -> Manifest:
    """A manifest from its JSON. Raises ``Malformed``."""
    manifest = _filled(Manifest, given)
    if manifest.schema != 1:
        raise Malformed("a manifest of another schema than 1, the only one that this verifier knows")
    by = manifest.selection.items()
    if manifest.pruned < 0 or not all(type(value) is _FILTERS.get(name) for name, value in by):
        raise Malformed("a manifest that says what none can say")
    if not all(_WORD.fullmatch(str(value)) for _, value in by):
        raise Malformed("a selection by no word")
    if not all(type(each) is int for each in manifest.policy_revisions):
        raise Malformed("a policy revision is a number")
    try:
        manifest.edge()
    except (TypeError, ValueError):
        raise Malformed("a manifest without the edge at its size") from None
    return manifest


def _filled(kind: type[_Said], given: Any) -> _Said:
    """A manifest or a pack with exactly its members, each of its type. Raises ``Malformed``."""
    try:
        filled = kind(**given)
    except TypeError:
        raise Malformed("other members than are known") from None
    for member in fields(kind):
        kinds = str(member.type).partition("[")[0].split(" | ")
        if type(getattr(filled, member.name)).__name__.removesuffix("Type") not in kinds:
            raise Malformed("a member that is of another type")
    if not _ORIGIN.fullmatch(filled.origin) or not _WORD.fullmatch(filled.tenant):
        raise Malformed("no name of a log, or of a tenant")
    return filled


def _signed(origin: str, kind: str, given: object, lines: Any) -> Note:
    """The note as which a manifest or a pack is signed. Raises ``Malformed``, ``TypeError`` and ``AttributeError``."""
    if type(lines) is not list or len(lines) > _MOST_SIGNATURES:
        raise Malformed("a list of signature lines, and not that many")
    signatures = tuple(map(parse_signature, lines))
    if len({each.key_id for each in signatures}) != len(signatures):
        raise Malformed("each key signs once")
    if not all(each.name == origin and len(each.signature) == 64 for each in signatures):
        raise Malformed("signatures of the log's own keys, and no others")
    return Note(f"{origin}/{kind}\n{canonical(given)}\n", signatures)


def parse_json(data: bytes | str) -> Any:
    """JSON without floats, where no name stands twice: one text, one meaning. Raises ``Malformed``."""
    try:
        return _JSON.decode(data if isinstance(data, str) else data.decode())
    except (ValueError, RecursionError):
        raise Malformed("not JSON") from None


def canonical(value: object) -> str:
    """The JSON that is signed: in ASCII, without spaces, members in the order in which they stand."""
    return json.dumps(value, separators=(",", ":"))


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refuse(_: str) -> NoReturn:
    raise ValueError


_JSON: Final = json.JSONDecoder(object_pairs_hook=_members, parse_float=_refuse, parse_constant=_refuse)


# --- The three formats, each a reader of lines ------------------------------------------------------------------------

Reader = Callable[[bytes], Record]

_JSONL_OPENING: Final = b'{"ledger_export":'
_ENTRY_OPENING: Final = b'{"index":'
_COLUMN: Final = re.compile(r"[a-z_]+")
_CSV_OPENING: Final = b"index,tenant,id,format,at,event,"
#: How a cell begins that a spreadsheet would take for a formula, had it no apostrophe.
_NEUTRALISED: Final = tuple("'" + character for character in "=+-@\t\r\uff1d\uff0b\uff0d\uff20")
#: The columns of a line that stand in it without quotes.
PLAIN: Final = frozenset(
    (
        *("index", "id", "format", "client_id", "negotiated", "match", "policy_revision", "admission_revision"),
        *("latency_ms", "attempt", "repeat_count"),
    )
)


def _read_jsonl(line: bytes) -> Record:
    if line.startswith(_ENTRY_OPENING):
        return Record(entry=line)
    given = parse_json(line)
    if isinstance(given, dict) and "left_out" in given:
        stretch = _stretch(given["left_out"])
        record, spelled = Record(left_out=stretch), canonical({"left_out": _told(stretch)})
    else:
        record = Record(sealed=_sealed_parts(given))
        spelled = canonical(record.sealed)
    if line != spelled.encode():
        raise Malformed("neither an entry, nor what is left out, nor a manifest, or in another spelling")
    return record


def _read_ocsf(line: bytes) -> Record:
    event = parse_json(line)
    try:
        unmapped = event.get("unmapped", {})
        left_out = _stretch(unmapped["left_out"]) if "left_out" in unmapped else None
        if "manifest" not in unmapped:
            return Record(event["raw_data"].encode(), left_out)
    except (AttributeError, KeyError, TypeError, UnicodeEncodeError):
        raise Malformed("not an event of the ledger") from None
    sealed = _sealed_parts(unmapped["manifest"])
    told = f',"left_out":{canonical(_told(left_out))}' if left_out else ""
    ending = f"{canonical(sealed)}{told}}}}}".encode()
    if not line.endswith(ending) or "raw_data" in event:
        raise Malformed("not the event with the manifest")
    return Record(None, left_out, sealed, covered=line.removesuffix(ending))


class _Table:
    """Reads rows of CSV under the names of its columns."""

    def __init__(self, header: bytes) -> None:
        names = self._cells(header)
        if not header.startswith(_CSV_OPENING) or not all(map(_COLUMN.fullmatch, names)):
            raise Malformed("no names of columns")
        self._gaps = names[-1:] == ["left_out"]
        self._spelled = [f'"{name}":%s' if name in PLAIN else f'"{name}":"%s"' for name in names[: -self._gaps or None]]

    def __call__(self, line: bytes) -> Record:
        cells = self._cells(line)
        if len(cells) != len(self._spelled) + self._gaps:
            raise Malformed("a row is as wide as the names of the columns")
        told = cells.pop() if self._gaps else ""
        left_out = _stretch_of_a_cell(told) if told else None
        if cells[0] == "#manifest":
            sealed = _sealed_parts(parse_json(cells[1]))
            quoted = canonical(sealed).replace('"', '""')
            empty = "," * (len(cells) - 2 + self._gaps)
            if line != f'#manifest,"{quoted}"{empty}{_told_in_a_cell(left_out) if left_out else ""}'.encode():
                raise Malformed("beside the manifest stands nothing, and it has one spelling")
            return Record(None, left_out, sealed)
        if '"' in "".join(cells):  # or one cell could pass for two
            raise Malformed("no cell holds a quote")
        neutralised = 0
        if b"'" in line:
            safe, cells = cells, [cell[1:] if cell.startswith(_NEUTRALISED) else cell for cell in cells]
            neutralised = sum(map(str.__ne__, safe, cells))
        said = ",".join([name % cell for name, cell in zip(self._spelled, cells, strict=True) if cell])
        return Record(f"{{{said}}}".encode(), left_out, None, neutralised)

    @staticmethod
    def _cells(line: bytes) -> list[str]:
        try:
            (cells,) = csv.reader((line.decode(),), strict=True)
        except (ValueError, csv.Error):
            raise Malformed("not a row") from None
        return cells


def _sealed_parts(given: Any) -> dict[str, Any]:
    try:
        return {"manifest": given["manifest"], "signatures": given["signatures"]}
    except (KeyError, TypeError):
        raise Malformed("not a manifest with its signatures") from None


def _stretch(given: Any) -> Stretch:
    try:
        start, stop, hashes = given["from"], given["to"], tuple(map(from_base64, given["hashes"]))
    except (KeyError, TypeError):
        raise Malformed("not a stretch that is left out") from None
    if type(start) is not int or type(stop) is not int or not 0 <= start < stop < 1 << 63:
        raise Malformed("a stretch goes from a leaf to a later one")
    if [len(each) for each in hashes] != [HASH_BYTES for _ in blocks(start, stop)]:
        raise Malformed("a stretch has one hash for each of its blocks")
    return Stretch(start, stop, hashes)


def _told(stretch: Stretch) -> dict[str, object]:
    return {"from": stretch.start, "to": stretch.stop, "hashes": _in_base64(stretch.hashes)}


def _told_in_a_cell(stretch: Stretch) -> str:
    return f'"{stretch.start}-{stretch.stop}:{",".join(_in_base64(stretch.hashes))}"'


def _in_base64(hashes: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(each).decode() for each in hashes]


def _stretch_of_a_cell(cell: str) -> Stretch:
    told = re.fullmatch(r"(\d{1,19})-(\d{1,19}):(.*)", cell)
    if told is None:
        raise Malformed("not a stretch that is left out")
    return _stretch({"from": int(told[1]), "to": int(told[2]), "hashes": told[3].split(",")})


_PLACE: Final = re.compile(rb'\{"index":(0|[1-9]\d{0,18}),"tenant":"([^"]*)",')


def _place(record: Record | None) -> tuple[int, bytes] | None:
    """The leaf and the tenant that a record's entry begins with."""
    found = _PLACE.match(record.entry) if record and record.entry else None
    return (int(found[1]), found[2]) if found else None


def _said(line: bytes, name: str) -> str:
    """What a line says under a name, as it stands there but for its quotes; nothing where it does not. No value of a
    ledger's line holds a comma, a quote or a brace."""
    value = line.partition(b',"%s":' % name.encode())[2].partition(b",")[0]
    return value.rstrip(b"}").strip(b'"').decode(errors="replace")


# --- An export as a file ---------------------------------------------------------------------------------------------

_CHUNK: Final = 1 << 18
#: Far more than any that a desk writes, and little enough that reading it takes little memory, whatever it holds.
_LONGEST_LINE: Final = 1 << 18


class _File:
    """An export's file: what its first line and its last one tell, and its entries between them."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.opening = file.readline(_LONGEST_LINE)
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _LONGEST_LINE))
        tail = file.read()
        last = tail[tail.rfind(b"\n", 0, -1) + 1 :]
        self.format = _how(self.opening, last)
        if not tail.endswith(b"\n"):
            raise Fault(Verdict.TRUNCATED, "The file ends in the middle of a line; what should follow is cut off.")
        self.read = self._reader()
        self._start = 0 if self.format is Format.OCSF else len(self.opening)
        self._stop = max(self._start, size - len(last))
        end = self._record(last[:-1])
        if end is None and (b'"manifest":' in last or last.startswith(b"#manifest,")):
            raise Fault(Verdict.EDITED, "The last line is not, byte for byte, a manifest with its signatures.")
        if end is None or end.sealed is None:
            self._stop = size
            raise self._without_end()
        self.end = end

    def batches(self, update: Callable[[bytes], object] | None = None) -> Iterator[tuple[int, list[bytes]]]:
        """The lines between, without their newlines, and the number of the first of each batch."""
        self._file.seek(self._start)
        number, left, rest = 1 if self.format is Format.OCSF else 2, self._stop - self._start, b""
        while left:
            chunk = self._file.read(min(_CHUNK, left))
            if not chunk:
                raise CouldNotRun("the file became shorter while it was read")
            left -= len(chunk)
            if update:
                update(chunk)
            lines = (rest + chunk).split(b"\n")
            rest = lines.pop()
            if len(rest) > _LONGEST_LINE:
                raise Fault(Verdict.EDITED, "This line is longer than any entry's.", line=number + len(lines))
            yield number, lines
            number += len(lines)

    def records(self) -> Iterator[tuple[int, Record | None]]:
        """Each line between, by its number, as far as it is one of an export."""
        for number, lines in self.batches():
            for at, line in enumerate(lines, number):
                yield at, self._record(line)

    def _record(self, line: bytes) -> Record | None:
        try:
            return self.read(line)
        except Malformed:
            return None

    def _reader(self) -> Reader:
        match self.format:
            case Format.JSONL:
                if self.opening.startswith(_ENTRY_OPENING):
                    raise Fault(Verdict.REMOVED, "The first line, which says whose export this is, is missing.", line=1)
                return _read_jsonl
            case Format.CSV:
                try:
                    return _Table(self.opening.removesuffix(b"\n"))
                except Malformed:
                    raise Fault(Verdict.EDITED, "This line does not hold the names of the columns.", line=1) from None
            case Format.OCSF:
                return _read_ocsf

    def _without_end(self) -> Fault:
        number, leaf = 0, None
        for number, record in self.records():
            if record and record.sealed is not None:
                return Fault(Verdict.INSERTED, "Lines follow the manifest, which is the end.", line=number + 1)
            leaf, _ = _place(record) or (leaf, b"")
        sentence = "This is the last line, and it is not a manifest with its end marker; what should follow is cut off."
        return Fault(Verdict.TRUNCATED, sentence, line=number or 1, leaf=leaf)


def _how(first: bytes, last: bytes) -> Format:
    """How an export is written. Raises ``Fault`` when neither of its ends tells."""
    if last.startswith(b'{"manifest":') or first.startswith((_JSONL_OPENING, _ENTRY_OPENING)):
        return Format.JSONL
    if last.startswith(b"#manifest,") or first.startswith(_CSV_OPENING):
        return Format.CSV
    for line in (last, first):
        try:
            _read_ocsf(line.removesuffix(b"\n"))
        except Malformed:
            continue
        return Format.OCSF
    if first and any(opening.startswith(first) for opening in (_JSONL_OPENING, _CSV_OPENING)):
        raise Fault(Verdict.TRUNCATED, "The file ends in its first line; what should follow is cut off.", line=1)
    raise Fault(Verdict.NOT_AN_EXPORT, "This is neither a ledger's export nor an evidence pack.")


# --- The walk over the leaves ----------------------------------------------------------------------------------------

# Nothing is taken back once it is matched: that would take memory.
_LINE: Final = re.compile(rb'\{"index":\d++(?:,"[a-z_]++":(?:"[A-Za-z0-9_.:/#$-]++"|-?\d++|true|false))++\}')
_REVISION: Final = b',"policy_revision":'
_PRUNED: Final = b',"event":"pruned",'


class _Astray(Exception):
    """At ``line`` of the file stands something else than the next leaf."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class _Kept:
    """The checkpoints of one log, as size and root, that the auditor kept, and what came of comparing each at its size.

    ``passed`` are those whose root cannot be told: leaves of a block that is left out lie on both sides. ``strangers``
    counts the checkpoints that are of other logs.
    """

    def __init__(self, checkpoints: Iterable[Checkpoint], origin: str) -> None:
        self.strangers = 0
        self.ahead: list[tuple[int, bytes]] = []
        for checkpoint in checkpoints:
            if checkpoint.origin == origin:
                self.ahead.append((checkpoint.size, checkpoint.root))
            else:
                self.strangers += 1
        self.ahead.sort(reverse=True)
        #: The size of which two were kept that differ.
        self.double = next((one[0] for one, two in pairwise(self.ahead) if one[0] == two[0] and one != two), None)
        self.same: list[int] = []
        self.other: list[int] = []
        self.passed: list[tuple[int, bytes]] = []

    def compare(self, tree: Edge | Checkpoint) -> None:
        """Compare those that the tree reaches."""
        while self.ahead and self.ahead[-1][0] <= tree.size:
            size, kept = self.ahead.pop()
            if size < tree.size:
                self.passed.append((size, kept))
            else:
                root = tree.root if isinstance(tree, Checkpoint) else tree.root()
                (self.same if kept == root else self.other).append(size)

    def prove(self, checkpoint: Checkpoint, proofs: Iterable[Consistency]) -> None:
        """Compare those that were passed and that a proof leads from, to the file's checkpoint. Raises ``Fault``."""
        size, passed, self.passed = checkpoint.size, self.passed, []
        for old, root in passed:
            paths = [each.path for each in proofs if (each.old, each.new) == (old, size)]
            if not paths:
                self.passed.append((old, root))
            elif any(verify_consistency(old, root, size, checkpoint.root, path) for path in paths):
                self.same.append(old)
            else:
                sentence = f"The proof does not lead from the checkpoint of size {old} that you kept to the file's."
                because = "Either it is none, or this is another history of the log."
                raise Fault(Verdict.INCONSISTENT, sentence, because)


class _Walk:
    """Takes up the leaves of a log in order, in flat memory, and keeps what is to be compared with the manifest."""

    def __init__(self, manifest: Manifest, kept: _Kept) -> None:
        self.manifest = manifest
        self.kept = kept
        self.edge = Edge()
        self.count = self.left_out = self.neutralised = 0
        self.first: int | None = None
        self.last: int | None = None
        self.leaves = sha256()
        self.pruned_by: int | None = None
        #: The first entry that is not what the manifest says was selected: its line, its leaf and which filter says so.
        self.misfit: tuple[int, int, str] | None = None
        self._prefix = b'{"index":%d,"tenant":"' + manifest.tenant.encode() + b'",'
        self._left_until = -1
        # Only those that the manifest names are kept, and whether there are others: they may be many.
        self._named = {b"%d" % each for each in manifest.policy_revisions}
        self._revisions: set[bytes] = set()
        self.other_revisions = False
        self._waiting: list[bytes] = []
        kept.compare(self.edge)

    @property
    def position(self) -> int:
        """The next leaf."""
        return self.edge.size + len(self._waiting)

    @property
    def revisions(self) -> list[int]:
        """Those of the manifest's policy revisions that occur."""
        return sorted(map(int, self._revisions))

    def follow(self, number: int, lines: list[bytes], read: Reader) -> None:
        """Take up the lines from ``number`` on. Raises ``_Astray`` at one that is not the next leaf, or ``Fault``."""
        if not self.manifest.selection and self._are_next(lines):  # JSON Lines, whole: no need to read each
            self._waiting += lines
            self._take()
            return
        for at, line in enumerate(lines, number):
            try:
                record = read(line)
            except Malformed:
                raise _Astray(at) from None
            if record.left_out:
                self.leave_out(record.left_out, at)
            if record.entry is not None and self._is_next(record.entry):
                self._hold_to_the_selection(record.entry, at)
                self._waiting.append(record.entry)
                self.neutralised += record.neutralised
            elif record.entry is not None or record.sealed is not None:
                raise _Astray(at)
        self._take()

    def leave_out(self, stretch: Stretch, line: int | None = None) -> None:
        """Take up a stretch by its hashes. Raises ``Fault`` when it is not what follows."""
        self._take()
        start, stop, manifest = stretch.start, stretch.stop, self.manifest
        if start > self.position:
            sentence = f"{_leaves(self.position, start - 1)} missing before the ones that are said to be left out."
            raise Fault(Verdict.REMOVED, sentence, line=line, leaf=self.position)
        if start < self.position or stop > manifest.size:
            sentence = "What is said to be left out here has no place: it is there, or beyond the checkpoint."
            raise Fault(Verdict.INSERTED, sentence, line=line, leaf=start)
        if start == self._left_until:  # anybody could have cut it in two
            raise Fault(Verdict.EDITED, "What is left out here is told in two pieces.", line=line, leaf=start)
        self._left_until = stop
        if not manifest.selection and (start, stop) != (0, manifest.pruned):
            sentence = f"{_leaves(start, stop - 1)} left out of an export that says that it is whole."
            raise Fault(Verdict.REMOVED, sentence, line=line, leaf=start)
        for (level, _), block in zip(blocks(start, stop), stretch.hashes, strict=True):
            self.edge.append_block(level, block)
            self.kept.compare(self.edge)
        self.left_out += stop - start

    def _hold_to_the_selection(self, entry: bytes, line: int) -> None:
        for name, value in self.manifest.selection.items():
            if self.misfit is None and not _fits(entry, self.position, name, value):
                self.misfit = line, self.position, name

    def _is_next(self, line: bytes) -> bool:
        number = self.position
        return number < self.manifest.size and line.startswith(self._prefix % number)

    def _are_next(self, lines: list[bytes]) -> bool:
        numbers = range(self.position, self.position + len(lines))
        return numbers.stop <= self.manifest.size and all(
            map(bytes.startswith, lines, map(self._prefix.__mod__, numbers))
        )

    def _take(self) -> None:
        """Hash the lines that wait."""
        lines, self._waiting = self._waiting, []
        if not lines:
            return
        hashes = [sha256(b"\x00" + line).digest() for line in lines]
        self.leaves.update(b"".join(hashes))
        found = {line.partition(_REVISION)[2].partition(b",")[0].rstrip(b"}") for line in lines}
        self._revisions |= found & self._named
        self.other_revisions |= any(map(bytes.isdigit, found - self._named))
        if self.manifest.pruned and self.pruned_by is None:
            self._look_for_the_prune(lines)
        self.count += len(lines)
        self.first = self.edge.size if self.first is None else self.first
        self.last = self.edge.size + len(lines) - 1
        while self.kept.ahead and (cut := self.kept.ahead[-1][0] - self.edge.size) <= len(hashes):
            self.edge.extend(hashes[:cut])
            hashes = hashes[cut:]
            self.kept.compare(self.edge)
        self.edge.extend(hashes)

    def _look_for_the_prune(self, lines: list[bytes]) -> None:
        for leaf, line in enumerate(lines, self.edge.size):
            told = _said(line, "repeat_count") if _PRUNED in line else ""
            # It may tell of more: a prune goes block by block, and this is of while it was under way.
            if told.isdecimal() and len(told) <= _DIGITS and int(told) >= self.manifest.pruned:
                self.pruned_by = leaf


#: As many as a size has at most.
_DIGITS: Final = 19
#: How long a moment is: 2026-11-30T12:00:00.000000Z.
_MOMENT: Final = 27


def _fits(entry: bytes, leaf: int, name: str, value: Any) -> bool:
    """Whether the entry at this leaf is one that is selected by the filter of this name and value."""
    match name:
        case "since" | "until":  # all spelled alike, so that they compare as texts; but for a year of few digits
            return (_said(entry, "at") < str(value).zfill(_MOMENT)) == (name == "until")
        case "from_size":
            return leaf >= int(value)
        case _:
            return _said(entry, name) == str(value)


def _leaves(first: int, last: int) -> str:
    return f"Leaf {first} is" if first == last else f"Leaves {first} to {last} are"


# --- Verifying an export ---------------------------------------------------------------------------------------------


def verify_export(
    file: BinaryIO, keys: Sequence[VerifierKey], checkpoints: Iterable[Checkpoint], proofs: Sequence[Consistency]
) -> Report:
    """What an export proves by the keys that the auditor brought and the checkpoints that the auditor kept.

    Raises ``Fault`` with what is wrong, ``CouldNotRun``, and what reading a file raises.
    """
    export = _File(file)
    manifest, signed = _manifest(export)
    note, checkpoint = _checkpoint(manifest.checkpoint, manifest.origin, manifest.size)
    walk = _Walk(manifest, _Kept(checkpoints, manifest.origin))
    content = sha256(export.opening if export.format is Format.CSV else b"")
    beside = None if export.format is Format.JSONL else content.update
    try:
        for number, lines in export.batches(beside):
            walk.follow(number, lines, export.read)
    except _Astray as astray:
        raise _out_of_order(export, walk, astray.line) from None
    if export.end.left_out:
        walk.leave_out(export.end.left_out)
    if walk.position != manifest.size or walk.edge.root() != checkpoint.root:
        raise _another_root(export, walk, checkpoint)
    signers = _signers(note, signed, manifest.origin, keys)
    content.update(export.end.covered)
    _hold_to_the_manifest(walk, content.hexdigest() if beside else None)
    walk.kept.prove(checkpoint, proofs)
    compared = _compared(walk.kept, manifest.size)
    good = Verdict.SELECTION if manifest.selection else Verdict.VERIFIED
    sentences = [*_shown(walk), *_vouched(signed, signers), *compared, _not_shown(walk)]
    return Report(good if signers else Verdict.UNKNOWN_SIGNER, tuple(sentences))


def _manifest(export: _File) -> tuple[Manifest, Note]:
    """The manifest, and the note that it is signed as."""
    try:
        given, lines = export.end.sealed["manifest"], export.end.sealed["signatures"]
        manifest = parse_manifest(given)
        signed = _signed(manifest.origin, "export", given, lines)
    except (Malformed, KeyError, TypeError, AttributeError):
        raise Fault(Verdict.EDITED, "The last line holds no manifest of schema 1 with its signatures.") from None
    if manifest.end is not True:
        raise Fault(Verdict.TRUNCATED, "The manifest has no end marker.")
    if manifest.format != export.format:
        raise Fault(Verdict.EDITED, "The manifest is that of an export in another format.")
    header = {"ledger_export": 1} | {name: given[name] for name in ("origin", "tenant", "size", "selection")}
    if export.format is Format.JSONL and export.opening != f"{canonical(header)}\n".encode():
        raise Fault(Verdict.EDITED, "The first line does not say what the manifest says.", line=1)
    return manifest, signed


def _checkpoint(text: str, origin: str, size: int) -> tuple[Note, Checkpoint]:
    try:
        note = parse_note(text)
        checkpoint = parse_checkpoint(note.text)
    except Malformed:
        raise Fault(Verdict.EDITED, "The checkpoint in the file is none.") from None
    if (checkpoint.origin, checkpoint.size) != (origin, size):
        raise Fault(Verdict.EDITED, "The checkpoint in the file is of another log or of another size.")
    return note, checkpoint


def _signers(checkpoint: Note, signed: Note, origin: str, keys: Sequence[VerifierKey]) -> list[VerifierKey]:
    """Which of the keys signed the file itself; none when the auditor brought none. ``checkpoint`` need not be signed
    by them, for it may be older than a key; where it is, that must hold too."""
    mine = [key for key in keys if key.name == origin]
    try:
        what = "The checkpoint"
        verify_note(checkpoint, mine)
        what = "What the file says of itself"
        signers = verify_note(signed, mine)
    except BadSignature:
        raise Fault(Verdict.EDITED, f"{what} was changed after it was signed.") from None
    if keys and not signers:
        made = ", ".join(signature.key_id.hex() for signature in signed.signatures) or "none"
        brought = ", ".join(key.key_id.hex() for key in mine) or "none"
        sentence = f"This is not signed by a key of {origin} that you brought."
        raise Fault(
            Verdict.WRONG_KEY, sentence, f"Keys that signed it: {made}. Keys of this log that you brought: {brought}."
        )
    return signers


def _hold_to_the_manifest(walk: _Walk, content_digest: str | None) -> None:
    """Whether all that the manifest says of what is there is so."""
    manifest = walk.manifest
    if walk.count != manifest.count:
        verdict = Verdict.REMOVED if walk.count < manifest.count else Verdict.INSERTED
        raise Fault(verdict, f"The manifest counts {manifest.count} entries; here are {walk.count}.")
    if content_digest != manifest.content_digest:
        sentence = "Each entry is as it was sealed, but the file is not, byte for byte, what was exported."
        because = (
            "Something else in it was changed, or a program saved it in its own way: keep the download as it came."
        )
        raise Fault(Verdict.EDITED, sentence, because)
    here = {
        "first": walk.first,
        "last": walk.last,
        "left_out": walk.left_out,
        "leaves_digest": walk.leaves.hexdigest() if manifest.format == Format.JSONL else None,
        "policy_revisions": walk.revisions,
        "right_edge": _in_base64(walk.edge.hashes),
        "neutralised": walk.neutralised if manifest.format == Format.CSV else None,
    }
    for name, value in here.items():
        if getattr(manifest, name) != value or (name == "policy_revisions" and walk.other_revisions):
            raise Fault(Verdict.EDITED, f"The manifest says something else than is here: {name}.")
    if walk.misfit:
        line, leaf, name = walk.misfit
        sentence = f"This entry is none of those selected by {name}={manifest.selection[name]}."
        raise Fault(Verdict.INSERTED, sentence, line=line, leaf=leaf)
    if walk.first is not None and walk.first < manifest.pruned:
        raise Fault(Verdict.EDITED, f"The manifest says that leaf {walk.first} was pruned, and it is here.")
    if manifest.pruned and walk.pruned_by is None and not manifest.selection:
        sentence = f"{_leaves(0, manifest.pruned - 1)} missing, and no entry tells that so many were pruned."
        raise Fault(Verdict.REMOVED, sentence, leaf=0)


def _out_of_order(export: _File, walk: _Walk, line: int) -> Fault:
    """What it means that something else than the next leaf stands at ``line``."""
    expected, size = walk.position, walk.manifest.size
    rest = ((number, record) for number, record in export.records() if number >= line)
    _, record = next(rest)
    if record and record.sealed is not None:
        return Fault(Verdict.INSERTED, "Lines follow a manifest, which is the end.", line=line + 1)
    place = _place(record)
    if place is None:
        return Fault(Verdict.EDITED, "This line is not an entry as it was sealed.", line=line, leaf=expected)
    leaf, tenant = place
    if tenant != walk.manifest.tenant.encode():
        return Fault(Verdict.INSERTED, "This line is of another tenant's log.", line=line, leaf=leaf)
    if leaf < expected:
        sentence = f"Leaf {leaf} is there already, or is said to be left out; leaf {expected} is next."
        return Fault(Verdict.INSERTED, sentence, line=line, leaf=leaf)
    if leaf >= size == expected:
        sentence = f"The checkpoint covers {size} leaves: this line, and what follows it, is not sealed under it."
        return Fault(Verdict.UNSEALED_TAIL, sentence, line=line, leaf=leaf)
    again, nearest, comes_in = False, leaf, line
    for number, record in rest:
        later, _ = _place(record) or (-1, b"")
        again = again or later == leaf
        if expected <= later < nearest:
            nearest, comes_in = later, number
    if again or (leaf >= size and nearest == expected):
        sentence = f"Leaf {leaf} has no place here: leaf {expected} is next."
        return Fault(Verdict.INSERTED, sentence, line=line, leaf=leaf)
    if nearest == expected:
        sentence = f"Leaf {expected} should be here; it comes in line {comes_in}."
        return Fault(Verdict.REORDERED, sentence, line=line, leaf=leaf)
    sentence = f"{_leaves(expected, min(nearest, size) - 1)} missing before this line."
    return Fault(Verdict.REMOVED, sentence, line=line, leaf=expected)


def _another_root(export: _File, walk: _Walk, checkpoint: Checkpoint) -> Fault:
    """Where the leaves are not those of the checkpoint, as narrowly as the right edge and the kept checkpoints tell."""
    told, size = walk.manifest.edge(), walk.manifest.size
    differing = _differing(walk.edge, told) if told.root() == checkpoint.root else None
    if walk.position < size and differing is None:
        sentence = f"{_leaves(walk.position, size - 1)} missing at the end."
        return Fault(Verdict.REMOVED, sentence, leaf=walk.position)
    if walk.edge.root() == told.root():
        return Fault(Verdict.EDITED, "The entries fit together, but not with the root that the checkpoint states.")
    first, last = differing or (0, size - 1)
    first = max([first, *(each for each in walk.kept.same if each <= last)])
    last = min([last, *(each - 1 for each in walk.kept.other if each > first)])
    return _edited(export, first, last)


def _edited(export: _File, first: int, last: int) -> Fault:
    """Which of the leaves from ``first`` to ``last`` is not as it was sealed, when the file tells."""
    lines: list[int] = []
    for number, record in export.records():
        leaf, _ = _place(record) or (-1, b"")
        if record and record.entry and first <= leaf <= last:
            if not _LINE.fullmatch(record.entry):
                return Fault(Verdict.EDITED, "This line is not spelled as entries are.", line=number, leaf=leaf)
            lines = [*lines[:1], number]
    if not lines:
        sentence = f"The hashes that stand for what is left out between leaf {first} and leaf {last} were changed."
        return Fault(Verdict.EDITED, sentence)
    if first == last:
        return Fault(Verdict.EDITED, "This entry is not as it was sealed.", line=lines[0], leaf=first)
    sentence = (
        f"Between leaf {first} and leaf {last}, in lines {lines[0]} to {lines[-1]}, something is not as it was sealed."
    )
    narrower = "Checkpoints that you or a witness kept, brought with --checkpoint, narrow the place down."
    return Fault(Verdict.EDITED, sentence, narrower)


def _differing(here: Edge, told: Edge) -> tuple[int, int] | None:
    """The first and the last leaf of the first block that both edges have and that is not the same in both."""
    ours = zip(blocks(0, here.size), here.hashes, strict=True)
    theirs = zip(blocks(0, told.size), told.hashes, strict=True)
    for ((level, index), found), (block, stated) in zip(ours, theirs, strict=False):
        if (level, index) != block:
            return None
        if found != stated:
            return index << level, (index + 1 << level) - 1
    return None


# --- What was proven, in words ---------------------------------------------------------------------------------------


def _compared(kept: _Kept, size: int) -> list[str]:
    """What the kept checkpoints show. Raises ``Fault`` when the log is another one now, or when they show nothing."""
    if kept.other:
        other = min(kept.other)
        same = max([each for each in kept.same if each < other], default=0)
        sentence = f"The checkpoint of size {other} that you kept does not fit: this is another history of the log."
        raise Fault(Verdict.INCONSISTENT, sentence, f"It differs somewhere between leaf {same} and leaf {other - 1}.")
    if kept.double is not None:
        sentence = f"Two checkpoints of size {kept.double} that you brought differ: the log has shown two histories."
        raise Fault(Verdict.INCONSISTENT, sentence)
    if kept.ahead:
        newest = kept.ahead[0][0]
        sentence = f"You kept a checkpoint of size {newest}; this reaches to {size}: take a newer export or pack."
        raise Fault(Verdict.NOT_COMPARED, sentence)
    reached, newest = max(kept.same, default=-1), max([each for each, _ in kept.passed], default=-1)
    if newest > reached:
        sentence = f"The checkpoint of size {newest} that you kept cannot be compared: leaves around it are left out."
        ask = f"Bring the log's proof with --consistency: /api/v1/checkpoints/consistency?old={newest}&new={size}"
        raise Fault(Verdict.NOT_COMPARED, sentence, ask, leaf=newest)
    if not kept.same:
        if kept.strangers:
            raise Fault(Verdict.NOT_COMPARED, "None of the checkpoints that you brought is of this log.")
        return []
    which = f"{len(kept.same):,} of the checkpoints" if kept.passed or kept.strangers else "the checkpoints"
    said = [f"The log begins as it did in {which} that you kept, the last of them of size {reached}."]
    if kept.passed:
        said.append(f"Smaller ones, {len(kept.passed):,} in all, cannot be compared: leaves around them are left out.")
    if kept.strangers:
        said.append(f"Others, {kept.strangers:,} in all, are of other logs and show nothing here.")
    return said


def _vouched(signed: Note, signers: Sequence[VerifierKey]) -> Iterator[str]:
    for key in signers:
        yield f"It is signed by the key {key.name}+{key.key_id.hex()}, which you brought."
    known = [key.key_id for key in signers]
    others = ", ".join(each.key_id.hex() for each in signed.signatures if each.key_id not in known)
    if signers and others:
        yield f"Signatures by keys that you did not bring show nothing: {others}."
    if not signers:
        yield "Anybody could have made it: bring the log's public key with --key, from somewhere else than this file."


def _shown(walk: _Walk) -> Iterator[str]:
    manifest = walk.manifest
    by = ", ".join(f"{name}={value}" for name, value in manifest.selection.items())
    leaves = f"leaf {walk.first}" if walk.count == 1 else f"leaves {walk.first} to {walk.last}"
    which = f", selected by {by}" if by else f", {leaves}" if walk.count else ""
    yield _sealed(walk.count, f"{manifest.origin}{which}", manifest.size)
    if walk.pruned_by is not None:
        yield f"{_leaves(0, manifest.pruned - 1)} pruned; leaf {walk.pruned_by} tells of it."
    elif manifest.pruned:
        yield f"{_leaves(0, manifest.pruned - 1)} said to be pruned; what would tell of it is not in this selection."
    if walk.neutralised:
        yield f"Cells where an apostrophe keeps a spreadsheet from taking them for a formula: {walk.neutralised:,}."
    if manifest.format == Format.OCSF:
        yield "Sealed is what stands in raw_data; the other members are how the desk rendered it."


def _sealed(count: int, what: str, size: int) -> str:
    entries = "1 entry" if count == 1 else f"{count:,} entries"
    they_are = "is as it was" if count == 1 else "are as they were"
    return f"{entries} of {what}, {they_are} sealed under the checkpoint of size {size}."


def _not_shown(walk: _Walk) -> str:
    left_out = f"{walk.left_out:,} leaves that are left out, and so not whether one of them belongs here"
    return f"Not shown: {f'{left_out}; ' if walk.manifest.selection else ''}{_before_and_after(walk.kept)}"


def _before_and_after(kept: _Kept) -> str:
    """A signature alone says what the log's owner says today."""
    another = "whether the log had another history before, which only checkpoints tell that you or a witness kept"
    return f"{'' if kept.same else f'{another}; '}what came after the checkpoint."


# --- Verifying an evidence pack --------------------------------------------------------------------------------------
#
# {"evidence_pack":1,"origin":…,"tenant":…,"elicitation_id":…,"made_at":…,"checkpoint":…,"size":…,
#  "entries":[{"index":…,"line":"…","proof":["hash",…]},…],"count":…,"signatures":[…]}
#
# The signature lines are those of a note whose text is the origin and "/pack", and on the next line the JSON of all
# members before them, without spaces. So is the file, and it ends in a newline.

_PACK: Final = b'"evidence_pack"'
#: Hundreds of entries. A pack is read whole, so a larger one would take much memory, and so would one in which a value
#: begins at more than every sixteenth byte; in a desk's it is about every thirtieth.
LARGEST_PACK: Final = 1 << 20
_BYTES_OF_A_VALUE: Final = 16


def verify_pack(
    file: BinaryIO, keys: Sequence[VerifierKey], checkpoints: Iterable[Checkpoint], proofs: Sequence[Consistency]
) -> Report:
    """What an evidence pack proves: that its entries, all about one elicitation, are in the log.

    Raises ``Fault`` with what is wrong, ``CouldNotRun``, and what reading a file raises.
    """
    data = file.read(LARGEST_PACK + 1)
    if len(data) > LARGEST_PACK:
        raise CouldNotRun(f"a pack of more than {LARGEST_PACK >> 20} MiB: export the elicitation instead")
    if not data.rstrip().endswith(b"}"):
        raise Fault(Verdict.TRUNCATED, "The pack ends in the middle: what came after is cut off.")
    try:
        if _BYTES_OF_A_VALUE * sum(map(data.count, (b",", b"{", b"["))) > len(data):
            raise Malformed("more values than a pack has")
        given = parse_json(data)
        its_own_spelling = data == f"{canonical(given)}\n".encode()
        lines = given.pop("signatures")
        pack = _filled(Pack, given)
        signed = _signed(pack.origin, "pack", given, lines)
        entries = [
            (each["index"], each["line"].encode(), tuple(map(from_base64, each["proof"]))) for each in pack.entries
        ]
        if not _WORD.fullmatch(pack.elicitation_id):
            raise Malformed("no elicitation's id")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Fault(Verdict.EDITED, "This is not, member for member, an evidence pack with its signatures.") from None
    if pack.evidence_pack != 1:
        raise Fault(Verdict.EDITED, "This is an evidence pack of another kind than 1, the only one known here.")
    origin, size = pack.origin, pack.size
    note, checkpoint = _checkpoint(pack.checkpoint, origin, size)
    before = -1
    for number, (leaf, line, proof) in enumerate(entries, 1):
        is_place = type(leaf) is int and _place(Record(line)) == (leaf, pack.tenant.encode())
        if not is_place or _said(line, "elicitation_id") != pack.elicitation_id:
            sentence = f"Entry {number} of the pack is not of this log, or not about this elicitation."
            raise Fault(Verdict.INSERTED, sentence, leaf=leaf if type(leaf) is int else None)
        if leaf <= before:
            verdict = Verdict.INSERTED if leaf == before else Verdict.REORDERED
            raise Fault(verdict, f"Entry {number} of the pack should not come after the one before it.", leaf=leaf)
        if leaf >= size:
            raise Fault(Verdict.UNSEALED_TAIL, f"The checkpoint of size {size} does not cover it.", leaf=leaf)
        if not verify_inclusion(leaf_hash(line), leaf, size, proof, checkpoint.root):
            sentence = f"Entry {number} of the pack, or the proof beside it, does not lead to the checkpoint."
            raise Fault(Verdict.EDITED, sentence, leaf=leaf)
        before = leaf
    if len(entries) != pack.count:
        verdict = Verdict.REMOVED if len(entries) < pack.count else Verdict.INSERTED
        raise Fault(verdict, f"The pack counts {pack.count} entries; here are {len(entries)}.")
    signers = _signers(note, signed, origin, keys)
    if not its_own_spelling:
        sentence = "It says what was packed, but not byte for byte as it was written: keep the download as it came."
        raise Fault(Verdict.EDITED, sentence)
    kept = _Kept(checkpoints, origin)
    kept.compare(checkpoint)
    kept.prove(checkpoint, proofs)
    sentences = [
        _sealed(len(entries), f"{origin}, about elicitation {pack.elicitation_id}", size),
        *_vouched(signed, signers),
        *_compared(kept, size),
        f"Not shown: whether other leaves are about it too; {_before_and_after(kept)}",
    ]
    return Report(Verdict.SELECTION if signers else Verdict.UNKNOWN_SIGNER, tuple(sentences))


# --- The command -----------------------------------------------------------------------------------------------------

#: Far more than a checkpoint with as many signatures as it may have, or a proof, takes.
_LARGEST_NOTE: Final = 1 << 16
_HELP: Final = """\
examples:
  verify.py acme.jsonl --key acme.vkey
  verify.py acme.csv --key acme.vkey --checkpoint kept-in-march.note --checkpoint witness.notes
  verify.py pack.json --key acme.vkey --checkpoint kept-in-march.note --consistency proof.json

A KEYFILE holds verifier keys, <name>+<id>+<base64>, one to a line; what follows a # is not read. Take it from somebody
who knows the log, not from where the export came from. A NOTE is a file with checkpoints that you or a witness kept;
they count because you kept them, so their signatures are not looked at. A PROOF leads from one of them to the file's
checkpoint where the file leaves out what lies between, as packs and selections do: what the log's API answers to
/api/v1/checkpoints/consistency?old=SIZE&new=SIZE, with the size that you kept and the file's.

The first line of the answer is the verdict. Exit code 0: verified, or verified selection. 1: anything else was found,
or nobody vouches for the file. 2: could not run.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Verify the file that the command line names, and say what came of it. Returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="verify.py",
        description="Verifies a ledger's export (JSON Lines, CSV or OCSF) or an evidence pack, without network.",
        epilog=_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="the export or the evidence pack")
    parser.add_argument("--key", metavar="KEYFILE", type=Path, action="append", default=[], help="the log's keys")
    parser.add_argument("--checkpoint", metavar="NOTE", type=Path, action="append", default=[], help="kept checkpoints")
    parser.add_argument("--consistency", metavar="PROOF", type=Path, action="append", default=[], help="proofs of them")
    given = parser.parse_args(arguments)
    try:
        keys = [key for path in given.key for key in read_keys(path)]
        proofs = [read_consistency(path) for path in given.consistency]
        report = verify(given.file, keys, chain.from_iterable(map(read_checkpoints, given.checkpoint)), proofs)
    except CouldNotRun as reason:
        sys.stderr.write(f"could not run: {_visible(str(reason))}\n")
        return 2
    except OSError as error:
        problem = f"{error.filename or given.file}: {error.strerror or 'cannot be read'}"
        sys.stderr.write(f"could not run: {_visible(problem)}\n")
        return 2
    sys.stdout.write(f"{report}\n")
    return 0 if report.verdict.good else 1


def verify(
    path: Path,
    keys: Sequence[VerifierKey],
    checkpoints: Iterable[Checkpoint] = (),
    proofs: Sequence[Consistency] = (),
) -> Report:
    """What a file proves, as ``verify_file`` says. Raises ``CouldNotRun`` and ``OSError``."""
    with path.open("rb") as file:
        return verify_file(file, keys, checkpoints, proofs)


def verify_file(
    file: BinaryIO,
    keys: Sequence[VerifierKey],
    checkpoints: Iterable[Checkpoint] = (),
    proofs: Sequence[Consistency] = (),
) -> Report:
    """What an export or an evidence pack proves by the keys that the auditor brought and the checkpoints that the
    auditor kept, with proofs of these, or what is wrong with it and where.

    Raises ``CouldNotRun`` and what reading a file raises.
    """
    try:
        judge = verify_pack if _PACK in file.read(64) else verify_export
        file.seek(0)
        return judge(file, keys, checkpoints, proofs)
    except Fault as fault:
        return fault.report


def read_keys(path: Path) -> list[VerifierKey]:
    """The keys in a file, one to a line. Raises ``CouldNotRun`` and ``OSError``."""
    keys = []
    for number, line in enumerate(_text(path).splitlines(), 1):
        vkey = line.partition("#")[0].strip()
        if not vkey:
            continue
        try:
            key = parse_key(vkey)
        except Malformed as problem:
            raise CouldNotRun(f"{path}, line {number}: {problem}") from None
        if key.algorithm != ED25519:
            raise CouldNotRun(f"{path}, line {number}: a witness's key, which signs no exports")
        keys.append(key)
    if not keys:
        raise CouldNotRun(f"{path}: no key in it")
    return keys


def read_checkpoints(path: Path) -> Iterator[Checkpoint]:
    """The checkpoints in a file of one or more signed notes, one after another: a witness's file may be large.

    Raises ``CouldNotRun`` and ``OSError``.
    """
    found = False
    try:
        with path.open(encoding="utf-8-sig") as file:
            for text in _notes(file):
                yield parse_checkpoint(parse_note(text).text)
                found = True
    except UnicodeDecodeError:
        raise CouldNotRun(f"{path}: not a text in UTF-8") from None
    except Malformed as problem:
        raise CouldNotRun(f"{path}: {problem}") from None
    if not found:
        raise CouldNotRun(f"{path}: no checkpoint in it")


def _notes(file: TextIO) -> Iterator[str]:
    """Signed notes, of which each ends with its last signature line; between them lines may be empty."""
    note, signed = "", False
    while line := file.readline(_LARGEST_NOTE):
        if signed and not line.startswith(_DASH):
            yield note
            note, signed = "", False
        if note or line != "\n":
            note += line
            signed = line.startswith(_DASH)
        if len(note) > _LARGEST_NOTE:
            raise Malformed("a checkpoint is not that long")
    if note:
        yield note


def read_consistency(path: Path) -> Consistency:
    """A consistency proof as the log's API answers it: ``{"old":…,"new":…,"proof":["hash",…]}``.

    Raises ``CouldNotRun`` and ``OSError``.
    """
    with path.open("rb") as file:
        content = file.read(_LARGEST_NOTE)
    with suppress(Malformed, TypeError):
        match parse_json(content):
            case {"old": int(old), "new": int(new), "proof": list(proof)}:
                return Consistency(old, new, tuple(map(from_base64, proof)))
    raise CouldNotRun(f"{path}: not a consistency proof, as the log's API answers it")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise CouldNotRun(f"{path}: not a text in UTF-8") from None


def _visible(text: str) -> str:
    """A text in which nothing can steer a terminal: names of files come from others, too."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


if __name__ == "__main__":
    sys.exit(main())
