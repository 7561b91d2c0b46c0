"""The bodies of the API, typed. Unknown members are refused, lengths bounded; raw parts are the policy's to judge."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from elicitation.policy.answers import Action, Content
from elicitation.policy.decision import Delivery, Purpose, Wire
from elicitation.services.registry import Progress

Name = Annotated[str, Meta(min_length=1, max_length=200)]
Short = Annotated[str, Meta(max_length=100)]
Identity = Annotated[str, Meta(min_length=1, max_length=512)]
Digest = Annotated[str, Meta(pattern=r"^sha256:[0-9a-f]{64}$")]
Id = Annotated[str, Meta(min_length=1, max_length=64)]
Reference = Annotated[str, Meta(min_length=1, max_length=255)]
Moment = Annotated[datetime, Meta(tz=True)]


class Strict(Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A body that refuses what it does not know."""


class Subject(Strict, frozen=True, kw_only=True):
    iss: Identity
    sub: Identity


class Client(Strict, frozen=True, kw_only=True):
    name: Short
    version: Annotated[str, Meta(max_length=50)] = ""
    capabilities: Any = msgspec.UNSET


class Operation(Strict, frozen=True, kw_only=True):
    """The call that waits: JSON-RPC method (``tools/call``), its target (the tool's name), and the digest of its
    arguments: ``sha256:`` and the hex SHA-256 of their RFC 8785 canonical JSON. ``question`` tells several questions of
    one call apart; ``key`` marks a deliberate repeat; ``request_id`` is recorded and identifies nothing."""

    method: Name
    target: Name
    arguments_digest: Digest
    request_id: Short = ""
    question: Annotated[str, Meta(min_length=1, max_length=100)] = "main"
    key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class Admission(Strict, frozen=True, kw_only=True):
    """One question. ``request`` holds the ``params`` of ``elicitation/create``; the mode may be left out, and the
    purpose chooses it. ``client.capabilities`` are the client's, as it declared them for this request."""

    wire: Wire
    delivery: Delivery
    client: Client
    subject: Subject
    operation: Operation
    purpose: Purpose
    request: dict[str, Any]
    window_seconds: Annotated[int, Meta(ge=1, le=31_536_000)] | None = None
    predecessor: Id | None = None


class ErrorCheck(Strict, frozen=True, kw_only=True):
    wire: Wire
    client: Client
    subject: Subject
    operation: Operation
    purpose: Purpose
    error: Any


class SubjectOnly(Strict, frozen=True, kw_only=True):
    subject: Subject


class ProgressReport(Strict, frozen=True, kw_only=True):
    subject: Subject
    event: Progress


class Answer(Strict, frozen=True, kw_only=True):
    """The client's answer. ``content`` says whether content came along (``present``, ``absent``, or ``dropped`` where
    none may), never what it was. ``latency_ms`` is the time from delivery to answer."""

    subject: Subject
    action: Action
    content: Content
    latency_ms: Annotated[int, Meta(ge=0, le=31_536_000_000)] | None = None


class Completion(Strict, frozen=True, kw_only=True):
    """Evidence by the service itself. ``occurred_at`` is when the work was done."""

    subject: Subject
    result_ref: Reference
    occurred_at: Moment | None = None


class Consumption(Strict, frozen=True, kw_only=True):
    subject: Subject
    operation: Operation


class EventType(Struct, frozen=True):
    """As much of an event as tells whether the rest is for the desk."""

    type: Short


class EventData(Struct, frozen=True, kw_only=True):
    """A provider's own data may say more than is read here. ``elicitation_id`` is the desk's id; ``occurred_at`` is
    when the work was done (without it, arrival counts); ``subject`` is the person who did it."""

    elicitation_id: Id
    result_ref: Reference | None = None
    occurred_at: Moment | None = None
    subject: Subject | None = None


class ProviderEvent(Struct, frozen=True, kw_only=True):
    type: Literal["elicitation.completed", "elicitation.failed", "elicitation.reversed"]
    data: EventData
    timestamp: Moment | None = None


class StripeData(Struct, frozen=True):
    object: dict[str, Any]


class StripeEvent(Struct, frozen=True, kw_only=True):
    """As much of a Stripe event as is read: its id, its type, when it happened (unix seconds, of this century or the
    next), the object it is about, which carries the desk's id in ``metadata.elicitation_id``, and the connected account
    that it is of, if it is not the merchant's own."""

    id: Annotated[str, Meta(pattern=r"^evt_[A-Za-z0-9_]{1,200}$")]
    type: Short
    created: Annotated[int, Meta(ge=946_684_800, lt=7_258_118_400)]
    data: StripeData
    account: Short | None = None
