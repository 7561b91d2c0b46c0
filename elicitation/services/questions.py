"""What a service asks, and how the registry can answer: the values that go in and out of an admission."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from elicitation.models import Elicitation, Service
from elicitation.policy.decision import Decision, Delivery, Purpose, Wire
from elicitation.services import digests
from elicitation.services.move import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """The waiting call: what makes two questions the same. ``request_id`` is recorded and is no part of it."""

    method: str
    target: str
    arguments_digest: str
    question: str = "main"
    key: str | None = None
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request to ask a person, typed as the API has checked it; ``capabilities`` and ``request`` stay raw."""

    wire: Wire
    delivery: Delivery
    purpose: Purpose
    capabilities: object
    request: Mapping[str, object]
    client_name: str
    client_version: str
    iss: str
    sub: str
    operation: Operation
    window_seconds: int | None = None
    predecessor: UUID | None = None


@dataclass(frozen=True, slots=True)
class Admitted:
    """The entry, and the exact ``params`` to send; ``request`` is ``None`` where nothing may be sent any more."""

    entry: Elicitation
    decision: Decision
    request: dict[str, object] | None
    created: bool
    now: datetime


@dataclass(frozen=True, slots=True)
class Denied:
    decision: Decision
    decision_id: UUID


class NotRegistered(Refusal):
    """The question was not registered for a reason other than the policy."""


class OperationConflict(NotRegistered):
    """The operation has a live entry with another body, or the service's own id belongs to another question."""

    def __init__(self, place: str) -> None:
        super().__init__(place)
        self.place = place


class EvidenceWaiting(NotRegistered):
    """An earlier entry ended, and its outside work was done, or is under way: ask nobody again."""

    def __init__(self, entry: Elicitation, *, under_way: bool = False) -> None:
        super().__init__()
        self.entry = entry
        self.under_way = under_way


class UnknownPredecessor(NotRegistered):
    """The named predecessor is not an entry of this service and person."""


def operation_digests(service: Service, iss: str, sub: str, operation: Operation) -> list[str]:
    """The operation's digest under every live key."""
    return digests.candidates(
        digests.OPERATION,
        [
            service.tenant.slug,
            service.slug,
            operation.method,
            operation.target,
            operation.arguments_digest,
            iss,
            sub,
            operation.question,
            operation.key,
        ],
    )
