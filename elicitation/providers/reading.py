"""Reading a provider's JSON: strict about what is read, deaf to what is not, and never repeating a value."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any, Final, NoReturn, TypeVar

import msgspec
from msgspec import Meta

from elicitation.policy.shapes import reference_shaped_like_secret
from elicitation.providers.answers import NoAnswer, Problem

#: The bounds that the API puts on the same values when they come by webhook.
Identity = Annotated[str, Meta(min_length=1, max_length=512)]
Moment = Annotated[datetime, Meta(tz=True)]
EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)

T = TypeVar("T")


def read(body: bytes, shape: type[T]) -> T:
    """``body`` as a ``shape``; members that it does not know are passed over. Raises ``NoAnswer``: ``NOT_JSON``, or
    ``MALFORMED`` when it is JSON but names a member twice, nests without end, or does not fit."""
    try:
        value = json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_constant)
    except RecursionError:
        raise NoAnswer(Problem.MALFORMED) from None
    except ValueError:
        raise NoAnswer(Problem.NOT_JSON) from None
    try:
        return msgspec.convert(value, shape, strict=True)
    except msgspec.ValidationError:
        raise NoAnswer(Problem.MALFORMED) from None


def reference(text: str) -> str:
    """``text``, if it is an opaque reference. Raises ``NoAnswer`` for one that is shaped like a secret."""
    if reference_shaped_like_secret(text):
        raise NoAnswer(Problem.MALFORMED)
    return text


def moment(value: datetime) -> datetime:
    """An aware ``value`` in UTC. Raises ``NoAnswer`` for a time at which the work cannot have been done."""
    try:
        in_utc = value.astimezone(UTC)
    except OverflowError:
        raise NoAnswer(Problem.MALFORMED) from None
    if not EARLIEST <= in_utc < LATEST:
        raise NoAnswer(Problem.MALFORMED)
    return in_utc


def unix(seconds: int) -> datetime:
    """The moment of a unix time. Raises as :func:`moment` does."""
    if not EARLIEST.timestamp() <= seconds < LATEST.timestamp():
        raise NoAnswer(Problem.MALFORMED)
    return datetime.fromtimestamp(seconds, tz=UTC)


def identity(text: str) -> str:
    """An issuer or a subject that can be kept: no NUL and no half of a surrogate pair. Raises ``NoAnswer``."""
    if any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in text):
        raise NoAnswer(Problem.MALFORMED)
    return text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):  # readers differ on which of the two counts
        raise NoAnswer(Problem.MALFORMED)
    return members


def _constant(name: str) -> NoReturn:
    raise ValueError(name)  # NaN and the infinities are not JSON
