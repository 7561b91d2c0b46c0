"""The desk's own contract for status look-ups, for providers that serve one."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from elicitation.providers import reading
from elicitation.providers.answers import Answer, Limits, NoAnswer, Problem, Status

LIMITS: Final = Limits()


class Subject(Struct, frozen=True, kw_only=True):
    iss: reading.Identity
    sub: reading.Identity


class Reply(Struct, frozen=True, kw_only=True):
    status: Literal["completed", "pending", "failed", "unknown"]
    result_ref: str | None = None
    occurred_at: reading.Moment | None = None
    subject: Subject | None = None


def query(elicitation_id: str) -> tuple[tuple[str, str], ...]:
    return (("elicitation_id", elicitation_id),)


def read(body: bytes) -> Answer:
    """The answer in ``{"status", "result_ref"?, "occurred_at"?, "subject"?}``; ``occurred_at`` is RFC 3339 with its
    offset. A completion without a reference, or with one that is shaped like a secret, is malformed. Source: operator
    policy. Raises ``NoAnswer``."""
    reply = reading.read(body, Reply)
    occurred_at = reading.moment(reply.occurred_at) if reply.occurred_at else None
    subject = (reading.identity(reply.subject.iss), reading.identity(reply.subject.sub)) if reply.subject else None
    match Status(reply.status):
        case Status.COMPLETED:
            if reply.result_ref is None:
                raise NoAnswer(Problem.MALFORMED)
            return Answer(Status.COMPLETED, reading.reference(reply.result_ref), occurred_at, subject)
        case Status.FAILED:
            return Answer(Status.FAILED, occurred_at=occurred_at, subject=subject)
        case status:
            return Answer(status)
