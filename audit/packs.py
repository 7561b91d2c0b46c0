"""Evidence packs: the entries about one elicitation, each with the proof that it is in the signed log."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from audit import line, note, tree
from audit.models import Checkpoint, Leaf, LedgerEntry, Log
from audit.verify import canonical


class NothingToPack(LookupError):
    """No sealed entry of the log is about the elicitation: there never was one, or it was pruned."""


def pack(log: Log, elicitation_id: UUID, made_at: datetime, ring: Mapping[str, bytes]) -> bytes:
    """The pack as a file (JSON and a newline), under the newest checkpoint, signed by every key of ``ring``.

    ``audit.verify`` says how it is made up; the proofs are audit paths of RFC 6962. Raises ``NothingToPack``.
    """
    checkpoint = Checkpoint.objects.filter(log=log).order_by("-size").first()
    if checkpoint is None:
        raise NothingToPack
    entries = LedgerEntry.objects.filter(tenant=log.tenant, elicitation_id=elicitation_id).in_bulk()
    places = Leaf.objects.filter(log=log, index__lt=checkpoint.size, entry_id__in=list(entries)).order_by("index")
    leaves = [(leaf.index, entries[leaf.entry_id]) for leaf in places]
    if not leaves:
        raise NothingToPack
    proofs = tree.inclusions(log, [index for index, _ in leaves], checkpoint.size)
    said: dict[str, object] = {
        "evidence_pack": 1,
        "origin": log.origin,
        "tenant": log.tenant,
        "elicitation_id": str(elicitation_id),
        "made_at": f"{made_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        "checkpoint": checkpoint.note,
        "size": checkpoint.size,
        "entries": [
            {
                "index": index,
                "line": line.line(index, entry).decode("ascii"),
                "proof": [base64.b64encode(each).decode() for each in proof],
            }
            for (index, entry), proof in zip(leaves, proofs, strict=True)
        ],
        "count": len(leaves),
    }
    text = f"{log.origin}/pack\n{canonical(said)}\n"
    signed = said | {"signatures": note.signature_lines(text, log.origin, ring)}
    return f"{canonical(signed)}\n".encode()
