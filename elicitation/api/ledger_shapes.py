"""What auditors' tools send and get: the ledger's lines, exports, checkpoints and proofs between them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from audit.verify import Format
from elicitation.api.replies import Reply
from elicitation.api.shapes import Id, Moment, Short, Strict

Size = Annotated[int, Meta(ge=0, le=10**18)]


class ExportOrder(Strict, frozen=True, kw_only=True):
    """``from`` and ``to`` are each a time (the first included, the second not) or the size of a checkpoint. Without
    ``to`` the export reaches to the newest checkpoint."""

    format: Format
    start: Size | Moment | None = msgspec.field(name="from", default=None)
    to: Size | Moment | None = None
    event: Short | None = None
    elicitation_id: Id | None = None
    policy_revision: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class ExportReply(Reply, frozen=True, kw_only=True):
    """``state`` is ``waiting``, ``running``, ``ready``, ``failed`` (``problem`` says by what), ``sent`` or ``gone``;
    ``progress`` is in percent. ``download`` is the path of the file once it is ready."""

    id: str
    state: str
    problem: str | None
    progress: int
    size: int
    download: str | None


class LedgerReply(Reply, frozen=True, kw_only=True):
    """``items`` are entries as they were sealed, byte for byte, each with its leaf's ``index``. ``size`` is how many
    leaves are sealed, ``next`` the cursor of the next page."""

    items: list[msgspec.Raw]
    size: int
    next: int | None


class CheckpointItem(Struct, frozen=True, kw_only=True):
    """``note`` is the signed checkpoint (C2SP tlog-checkpoint), ``cosignatures`` the witness's lines for it."""

    size: int
    at: datetime
    note: str
    cosignatures: str


class CheckpointsReply(Reply, frozen=True, kw_only=True):
    """Newest first; ``keys`` are the verifier keys of the log (C2SP signed-note)."""

    origin: str | None
    keys: list[str]
    items: list[CheckpointItem]
    next: int | None


class ConsistencyReply(Reply, frozen=True, kw_only=True):
    """``proof`` (RFC 6962, section 2.1.2; hashes in base64): the log of size ``new`` begins with the one of ``old``."""

    old: int
    new: int
    proof: list[str]


class PublicKey(Struct, frozen=True, kw_only=True):
    """``public_key`` is the Ed25519 key's 32 bytes in base64."""

    kid: str
    public_key: str


class KeysReply(Reply, frozen=True, kw_only=True):
    """The keys that sign every log's checkpoints and exports, the current one first."""

    keys: list[PublicKey]
