"""Export files and evidence packs as the verifier's comments say that they are, made without the desk: from lines, with
a ring, and with a manifest that lies where a test wants it to."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from audit import line as lines
from audit import note
from audit.merkle import consistency_proof, inclusion_proof
from audit.verify import (
    Checkpoint,
    Consistency,
    Edge,
    Format,
    Report,
    VerifierKey,
    blocks,
    leaf_hash,
    node_hash,
    parse_checkpoint,
    parse_key,
    parse_note,
    verify_file,
)

ORIGIN = "desk.example.com/acme"
RING = {"current": bytes(range(32)), "previous": bytes(range(1, 33))}
ABOUT = UUID("6f1c1a52-8f0e-4d3b-9a57-1c2d3e4f5a6b")
MADE_AT = "2026-11-30T12:30:00.000000Z"
#: A selection that every entry fits.
SINCE: dict[str, object] = {"since": "2026-11-30T12:00:00.000000Z"}


def key_text(ring: Mapping[str, bytes] = RING, origin: str = ORIGIN) -> str:
    """What an auditor is given: a verifier key on each line."""
    return "".join(note.verifier_key(origin, seed) + "\n" for seed in ring.values())


KEYS = tuple(parse_key(vkey) for vkey in key_text().split())


def judge(
    file: bytes, keys: Sequence[VerifierKey] = KEYS, kept: Sequence[str] = (), proofs: Sequence[Consistency] = ()
) -> Report:
    """What the verifier says of a file, to an auditor with these keys, these checkpoints and these proofs of them."""
    return verify_file(io.BytesIO(file), keys, [checkpoint_of(each) for each in kept], proofs)


def checkpoint_of(signed: str) -> Checkpoint:
    return parse_checkpoint(parse_note(signed).text)


def entry_line(index: int, *, tenant: str = "acme", **columns: object) -> bytes:
    """The line of an entry like any other, with other columns where they are given."""
    said: dict[str, object] = {
        "index": index,
        "tenant": tenant,
        "id": 3 * index + 17,
        "format": 1,
        "at": f"2026-11-30T12:00:{index % 60:02}.{index % 1_000_000:06}Z",
        "event": ("admit", "shown", "answer_accept")[index % 3],
        "elicitation_id": str(UUID(int=ABOUT.int + index // 3)),
        "client_id": index % 5,
        "negotiated": index % 2 == 0,
        "state_to": "ADMITTED",
        "place": "/properties/#3/title",
        "policy_revision": 7 + (index >= 8),
        "actor_kind": "service",
        "latency_ms": 40 * index,
    } | columns
    ordered = {name: said[name] for name in lines.NAMES if said.get(name) is not None}
    return json.dumps(ordered, separators=(",", ":")).encode()


@dataclass
class Exporter:
    """Writes the ``leaves`` of a log down; ``lies`` are members of the manifest that are signed though they are not so.

    ``shown`` are the leaves that are there, all of them by default; ``pruned`` of them are kept no more.
    """

    leaves: Sequence[bytes]
    shown: Collection[int] | None = None
    selection: dict[str, object] = field(default_factory=dict)
    pruned: int = 0
    tenant: str = "acme"
    origin: str = ORIGIN
    ring: Mapping[str, bytes] = field(default_factory=lambda: RING)
    lies: dict[str, object] = field(default_factory=dict)

    def write(self, format_: Format) -> bytes:
        """The whole file."""
        writer = {Format.JSONL: self._jsonl, Format.CSV: self._csv, Format.OCSF: self._ocsf}[format_]
        return writer()

    def manifest_of(self, format_: Format) -> dict[str, Any]:
        """The manifest that a file in this format would have, but for its digest of the content."""
        manifest: dict[str, Any] = self._sealed(format_)["manifest"]
        return manifest

    def checkpoint(self, size: int | None = None) -> str:
        """The signed note about the first ``size`` leaves."""
        edge = self._edge(len(self.leaves) if size is None else size)
        return note.sign(note.checkpoint_text(self.origin, edge.size, edge.root()), self.origin, self.ring)

    def pack(self, about: UUID = ABOUT, **lies: object) -> bytes:
        """The evidence pack of one elicitation."""
        size = len(self.leaves)
        entries = [
            {"index": at, "line": leaf.decode(), "proof": _encoded(inclusion_proof(at, size, self.tree_hash))}
            for at, leaf in enumerate(self.leaves)
            if str(about) in leaf.decode()
        ]
        pack = {
            "evidence_pack": 1,
            "origin": self.origin,
            "tenant": self.tenant,
            "elicitation_id": str(about),
            "made_at": MADE_AT,
            "checkpoint": self.checkpoint(),
            "size": size,
            "entries": entries,
            "count": len(entries),
        } | lies
        return self.signed_pack(pack)

    def signed_pack(self, pack: Mapping[str, object]) -> bytes:
        """Whatever somebody who has the keys lets a pack say."""
        text = f"{self.origin}/pack\n{_json(pack)}\n"
        signatures = note.signature_lines(text, self.origin, self.ring)
        return (_json({**pack, "signatures": signatures}) + "\n").encode()

    def consistency(self, old: int) -> Consistency:
        """The proof that the log begins with its first ``old`` leaves."""
        size = len(self.leaves)
        return Consistency(old, size, tuple(consistency_proof(old, size, self.tree_hash)))

    def tree_hash(self, start: int, stop: int) -> bytes:
        """The hash over some of the leaves, straight from its definition (RFC 6962, section 2.1)."""
        if stop - start == 1:
            return leaf_hash(self.leaves[start])
        middle = start + (1 << ((stop - start - 1).bit_length() - 1))
        return node_hash(self.tree_hash(start, middle), self.tree_hash(middle, stop))

    def walk(self) -> Iterable[tuple[int | None, tuple[int, int] | None]]:
        """Each leaf that is there, with what is left out before it; at the end ``None``, with what is left out then."""
        after = 0
        there = range(self.pruned, len(self.leaves)) if self.shown is None else sorted(self.shown)
        for leaf in [*there, len(self.leaves)]:
            yield (leaf if leaf < len(self.leaves) else None), ((after, leaf) if leaf > after else None)
            after = leaf + 1

    def stretch(self, start: int, stop: int) -> dict[str, object]:
        hashes = [self.tree_hash(at << level, at + 1 << level) for level, at in blocks(start, stop)]
        return {"from": start, "to": stop, "hashes": _encoded(hashes)}

    def _edge(self, size: int) -> Edge:
        edge = Edge()
        edge.extend(map(leaf_hash, self.leaves[:size]))
        return edge

    def _sealed(self, format_: Format, content: bytes = b"", neutralised: int = 0) -> dict[str, Any]:
        there = [leaf for leaf, _ in self.walk() if leaf is not None]
        revisions = {json.loads(self.leaves[leaf]).get("policy_revision") for leaf in there} - {None}
        digest = sha256(content).hexdigest()
        leaves = sha256(b"".join(leaf_hash(self.leaves[leaf]) for leaf in there)).hexdigest()
        manifest = {
            "schema": 1,
            "format": format_.value,
            "origin": self.origin,
            "tenant": self.tenant,
            "export": str(UUID(int=1)),
            "made_at": MADE_AT,
            "selection": self.selection,
            "size": len(self.leaves),
            "count": len(there),
            "first": there[0] if there else None,
            "last": there[-1] if there else None,
            "left_out": len(self.leaves) - len(there),
            "pruned": self.pruned,
            **({"content_digest": digest} if format_ is not Format.JSONL else {"leaves_digest": leaves}),
            "policy_revisions": sorted(revisions),
            **({"neutralised": neutralised} if format_ is Format.CSV else {}),
            "checkpoint": self.checkpoint(),
            "right_edge": _encoded(self._edge(len(self.leaves)).hashes),
            "end": True,
        } | self.lies
        signed = f"{self.origin}/export\n{_json(manifest)}\n"
        return {"manifest": manifest, "signatures": note.signature_lines(signed, self.origin, self.ring)}

    def _jsonl(self) -> bytes:
        header = {"origin": self.origin, "tenant": self.tenant, "size": len(self.leaves), "selection": self.selection}
        written = [_json({"ledger_export": 1} | header).encode()]
        for leaf, left_out in self.walk():
            if left_out:
                written.append(_json({"left_out": self.stretch(*left_out)}).encode())
            if leaf is not None:
                written.append(self.leaves[leaf])
        return b"\n".join([*written, _json(self._sealed(Format.JSONL)).encode(), b""])

    def _csv(self) -> bytes:
        gaps = self.selection or self.pruned
        written, neutralised = io.StringIO(), 0
        writer = csv.writer(written, lineterminator="\n")
        writer.writerow([*lines.NAMES, *(["left_out"] if gaps else [])])
        for leaf, left_out in self.walk():
            told = self._cell(left_out) if gaps else []
            if leaf is None:
                content = written.getvalue().encode()
                sealed = _json(self._sealed(Format.CSV, content, neutralised)).replace('"', '""')
                empty = "," * (len(lines.NAMES) - 2 + bool(gaps))
                written.write(f'#manifest,"{sealed}"{empty}' + "".join(f'"{cell}"' for cell in told if cell) + "\n")
                break
            said = json.loads(self.leaves[leaf])
            cells = [_cell(said.get(name)) for name in lines.NAMES]
            neutralised += sum(cell.startswith("'") for cell in cells)
            writer.writerow([*cells, *told])
        return written.getvalue().encode()

    def _cell(self, left_out: tuple[int, int] | None) -> list[str]:
        if not left_out:
            return [""]
        stretch: Any = self.stretch(*left_out)
        return [f"{stretch['from']}-{stretch['to']}:{','.join(stretch['hashes'])}"]

    def _ocsf(self) -> bytes:
        written: list[bytes] = []
        for leaf, left_out in self.walk():
            event: dict[str, Any] = {"class_uid": 6003, "activity_id": 1, "metadata": {"version": "1.8.0"}}
            unmapped: dict[str, object] = {"left_out": self.stretch(*left_out)} if left_out else {}
            if leaf is None:
                before = f'{_json(event)[:-1]},"unmapped":{{"manifest":'
                sealed = self._sealed(Format.OCSF, b"".join(written) + before.encode())
                written.append((before + _json({"": sealed} | unmapped)[4:] + "}\n").encode())
            else:
                event |= {"raw_data": self.leaves[leaf].decode(), "time": 1796040000000 + leaf}
                written.append((_json(event | ({"unmapped": unmapped} if unmapped else {})) + "\n").encode())
        return b"".join(written)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case str() if value[:1] in "=+-@\t\r\uff1d\uff0b\uff0d\uff20":
            return f"'{value}"
        case _:
            return str(value)


def _encoded(hashes: Iterable[bytes]) -> list[str]:
    return [base64.b64encode(each).decode() for each in hashes]


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
