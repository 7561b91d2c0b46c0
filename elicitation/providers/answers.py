"""What a look-up can say: the answer, why there was none, and how long and how large it may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Kind(StrEnum):
    """How a provider is asked."""

    GENERIC = "generic"
    STRIPE = "stripe"


class Status(StrEnum):
    """What became of the outside work, in the provider's words; the last one is ours."""

    COMPLETED = "completed"
    PENDING = "pending"
    FAILED = "failed"
    UNKNOWN = "unknown"
    UNREACHABLE = "unreachable"


class Problem(StrEnum):
    """Why there was no answer. A code alone: nothing that the provider sent is in it."""

    NO_KEY = "no_key"  # there is none, or it cannot stand in a header
    NOT_HTTPS = "not_https"  # or no address at all
    CONNECT = "connect"  # no such host, refused, or ended before its reply did
    TLS = "tls"  # the certificate is not trusted, or no TLS is spoken
    TIMEOUT = "timeout"
    REDIRECT = "redirect"  # any 3xx: the key goes to the given address alone
    STATUS_4XX = "status_4xx"  # 404 too: a wrong address would look like that
    STATUS_5XX = "status_5xx"
    ENCODED = "encoded"  # compressed, although it was asked for plain
    TOO_LARGE = "too_large"
    NOT_JSON = "not_json"
    MALFORMED = "malformed"  # JSON, or HTTP, but not what the contract says


@dataclass(frozen=True, slots=True)
class Answer:
    """``result_ref`` is set when and only when ``COMPLETED``; ``occurred_at`` (aware, UTC) and ``subject`` (issuer,
    subject) may be set when ``COMPLETED`` or ``FAILED``; ``problem`` is a :class:`Problem` when ``UNREACHABLE``."""

    status: Status
    result_ref: str | None = None
    occurred_at: datetime | None = None
    subject: tuple[str, str] | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds to connect (to find the host and reach it, and again for the TLS handshake), seconds in total whatever
    the other side does, and bytes of body."""

    connect_seconds: float = 2.0
    total_seconds: float = 5.0
    body_bytes: int = 65_536


class NoAnswer(Exception):
    """The provider gave no answer that can be used."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
