"""The manifest that ends an export: what it shows, under which checkpoint, signed as a note."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from audit import note, tree
from audit.exporting.formats.rendering import Rendering, encoded
from audit.models import Checkpoint, Log
from audit.verify import Format, canonical


def sealed(
    rendering: Rendering,
    log: Log,
    checkpoint: Checkpoint,
    *,
    export: UUID,
    made_at: datetime,
    ring: Mapping[str, bytes],
) -> dict[str, object]:
    """The manifest and its signatures by every key of the ring, as the last record holds them.

    Raises ``audit.tree.NotKept`` when the tree at the checkpoint's size cannot be told any more.
    """
    head, format_ = rendering.head, rendering.format
    said_at = f"{made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
    named = "leaves_digest" if format_ is Format.JSONL else "content_digest"
    digest = rendering.digest.copy()
    digest.update(rendering.ending(said_at))
    manifest = {
        "schema": 1,
        "format": format_.value,
        "origin": head.origin,
        "tenant": head.tenant,
        "export": str(export),
        "made_at": said_at,
        "selection": head.selection,
        "size": head.size,
        "count": rendering.count,
        "first": rendering.first,
        "last": rendering.last,
        "left_out": head.size - rendering.count,
        "pruned": min(log.pruned, head.size),
        named: digest.hexdigest(),
        "policy_revisions": sorted(rendering.revisions),
        **({"neutralised": rendering.neutralised} if format_ is Format.CSV else {}),
        "checkpoint": checkpoint.note,
        "right_edge": encoded(tree.edge(log, head.size).hashes),
        "end": True,
    }
    signed = f"{head.origin}/export\n{canonical(manifest)}\n"
    return {"manifest": manifest, "signatures": note.signature_lines(signed, head.origin, ring)}
