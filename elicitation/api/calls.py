"""What the calls of services share: the view, ids and people from a body, and what is written after the reply."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import shapes
from elicitation.api.problems import Problem
from elicitation.models import Service
from elicitation.policy import identifiers
from elicitation.policy.shapes import reference_shaped_like_secret
from elicitation.services import lookup, questions
from elicitation.services.afterwards import later
from elicitation.services.keys import Scope
from elicitation.services.lookup import Person

EARLIEST: Final = datetime(2000, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(2200, 1, 1, tzinfo=UTC)


class ServiceView(APIView):
    """A call of a service; ``scope`` is what its key must hold."""

    scope: Scope

    def service(self, request: Request) -> Service:
        service = request.user
        assert isinstance(service, Service)
        return service


def known_id(text: str) -> UUID:
    """The entry's id from the path. Raises ``Unknown``: a malformed id is nobody's."""
    raw = identifiers.parse(text)
    if raw is None:
        raise lookup.Unknown
    return UUID(bytes=raw)


def person(subject: shapes.Subject) -> Person:
    return Person(subject.iss, subject.sub)


def operation(shape: shapes.Operation) -> questions.Operation:
    return questions.Operation(
        method=shape.method,
        target=shape.target,
        arguments_digest=shape.arguments_digest,
        question=shape.question,
        key=shape.key,
        request_id=shape.request_id,
    )


class TellingAfterwards(HttpResponse):
    """Writes what the caller must not notice once the reply has been sent: WSGI servers call ``close`` then."""

    def __init__(self, reply: HttpResponse, work: Callable[[], None]) -> None:
        super().__init__(reply.content, status=reply.status_code, headers=dict(reply.headers))
        self._work: Callable[[], None] | None = work

    def close(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            later(work)
        super().close()


def check_moment(moment: datetime | None, at: str) -> datetime | None:
    """A provider's time, in UTC. Raises ``Problem`` (400) for one that no event of ours can have."""
    if moment is None:
        return None
    try:
        in_utc = moment.astimezone(UTC)
    except OverflowError:
        in_utc = None
    if in_utc is None or not EARLIEST <= in_utc < LATEST:
        raise Problem(400, "body.invalid", "This is not a time at which the work can have been done.", at=at)
    return in_utc


def check_reference(text: str, at: str) -> None:
    """A reference is opaque; one that is shaped like a secret is refused. Raises ``Problem`` (400)."""
    if reference_shaped_like_secret(text):
        raise Problem(400, "result_ref.secret", "This is shaped like a secret; send an opaque reference.", at=at)
