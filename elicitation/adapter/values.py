"""The adapter's vocabulary: who asks for which operation, and what became of it. Frozen, so that it can be kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from elicitation.policy import canonical
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import EXPLANATIONS, State

#: The client chooses its request ids; one is recorded for people to read, and identifies nothing.
REQUEST_ID_LENGTH: Final = 100


@dataclass(frozen=True, slots=True)
class Subject:
    """The person, as MCP authorization names them: issuer and subject (R49). Never what a client claims (R50)."""

    iss: str
    sub: str

    def as_json(self) -> dict[str, str]:
        return {"iss": self.iss, "sub": self.sub}


@dataclass(frozen=True, slots=True)
class Operation:
    """The tool call that waits: the same operation, asked again, is the same question.

    ``arguments`` are JSON values; only their digest (RFC 8785, SHA-256) leaves this process. ``question`` tells apart
    several questions of one call. ``key`` marks a deliberate repeat: another key is another operation.
    """

    target: str
    arguments: Mapping[str, object] = field(default_factory=dict, repr=False)
    question: str = "main"
    key: str | None = None
    method: str = "tools/call"

    def as_json(self, request_id: str) -> dict[str, object]:
        """The operation on the wire. Raises ``ValueError`` where ``arguments`` are not JSON."""
        return {
            "method": self.method,
            "target": self.target,
            "arguments_digest": canonical.digest(dict(self.arguments)),
            "request_id": request_id[:REQUEST_ID_LENGTH],
            "question": self.question,
            "key": self.key,
        }


@dataclass(frozen=True, slots=True)
class Ticket:
    """What finishes a question later, also in another process: the desk's id, and who asked for which operation."""

    id: str
    wire_id: str
    subject: Subject
    operation: Operation
    request_id: str


class FormOutcome(StrEnum):
    """What the person did with a form, as the desk recorded it."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    NOT_TAKEN = "not_taken"


class UrlOutcome(StrEnum):
    """What is known after a link was offered. None of these says that the outside work was done."""

    CONSENTED = "consented"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    NOT_TAKEN = "not_taken"
    RETRY_REQUIRED = "retry_required"
    RESULT_WAITING = "result_waiting"


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """A form's answer. ``content`` fits the admitted schema and is there exactly when ``outcome`` is accepted.

    ``NOT_TAKEN``: the question had ended (expired, cancelled) before the answer came; ``state`` says how.
    """

    outcome: FormOutcome
    state: State
    ticket: Ticket
    content: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def explanation(self) -> str:
        return EXPLANATIONS[self.state].explanation


@dataclass(frozen=True, slots=True)
class UrlAnswer:
    """Consent to open a link, or its absence; never completion (R32).

    ``NOT_TAKEN``: the desk did not take the answer, ``state`` says where the question stands. ``RETRY_REQUIRED`` and
    ``RESULT_WAITING``: nobody was asked, because the work may be done, or is: retry, or consume.
    """

    outcome: UrlOutcome
    state: State
    ticket: Ticket

    @property
    def explanation(self) -> str:
        return EXPLANATIONS[self.state].explanation


@dataclass(frozen=True, slots=True)
class Entry:
    """One elicitation as the desk shows it: its state, and one sentence each for the person and for operators."""

    id: str
    state: State
    explanation: str
    next_step: str
    resumable: bool
    cancelled_by: str | None


class MoveOutcome(StrEnum):
    """What ``lost`` and ``cancel`` did."""

    MOVED = "moved"
    REPEATED = "repeated"


class RetryOutcome(StrEnum):
    """What asking held evidence and then the provider gave."""

    COMPLETED = "completed"
    STILL_PENDING = "still_pending"
    FAILED = "failed"
    PROVIDER_UNKNOWN = "provider_unknown"
    UNREACHABLE = "unreachable"
    NO_LOOKUP = "no_lookup"


@dataclass(frozen=True, slots=True)
class Moved:
    """The reply to ``lost`` and ``cancel``."""

    outcome: MoveOutcome
    state: State
    explanation: str
    next_step: str


@dataclass(frozen=True, slots=True)
class Retried:
    """The reply to ``retry``; an evidence outcome where held evidence failed that check."""

    outcome: RetryOutcome | EvidenceOutcome
    state: State
    explanation: str
    next_step: str
    retry_after_seconds: int | None


class ConsumeOutcome(StrEnum):
    """What the waiting operation got. Only the first two carry a result."""

    APPLIED = "applied"
    ALREADY_APPLIED = "already_applied"
    NOT_COMPLETE = "not_complete"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Consumed:
    """The outside result, handed to the operation that waits for it.

    Key the tool's own effect by ``result_ref``: a retry gets the same one. ``reversed``: the provider took it back.
    """

    outcome: ConsumeOutcome
    result_ref: str | None = field(repr=False)
    reversed: bool
