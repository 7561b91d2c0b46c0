"""Errors as problem details (RFC 9457) with a stable ``code``; they name the place and never a value."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any, Final

from django.db import DatabaseError, DataError, IntegrityError
from django.http import Http404
from rest_framework.exceptions import APIException, MethodNotAllowed, NotAuthenticated
from rest_framework.response import Response

from audit.ledger import NotAdmissible
from elicitation.services.lookup import Unknown
from elicitation.services.move import Contended, TransitionRefused
from elicitation.services.questions import EvidenceWaiting, OperationConflict, UnknownPredecessor
from elicitation.services.registry import ContentMissing

#: When it is worth asking again after a limit, in seconds: a window usually ends within minutes.
LIMITED_SECONDS: Final = 60

logger = logging.getLogger(__name__)


class Problem(APIException):
    """A refused call: status, stable code, one sentence, and the place in the body where there is one."""

    def __init__(self, status: int, code: str, detail: str, *, at: str | None = None, **more: object) -> None:
        super().__init__(detail, code)
        self.status_code = status
        self.problem: dict[str, object] = {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "code": code,
            "detail": detail,
        }
        if at is not None:
            self.problem["at"] = at
        self.problem.update(more)


def respond(problem: Problem) -> Response:
    response = Response(problem.problem, status=problem.status_code, content_type="application/problem+json")
    if problem.status_code == HTTPStatus.UNAUTHORIZED:
        response["WWW-Authenticate"] = "Bearer"
    if problem.status_code == HTTPStatus.TOO_MANY_REQUESTS:
        response["Retry-After"] = str(LIMITED_SECONDS)
    return response


def handle(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's exception handler: every refusal that the desk knows has its status and code here."""
    match error:
        case Problem():
            return respond(error)
        case Unknown() | Http404():
            return respond(Problem(404, "unknown", "There is no such elicitation."))
        case TransitionRefused():
            return respond(
                Problem(409, "transition.refused", "This cannot happen in the present state.", state=error.state)
            )
        case OperationConflict():
            return respond(
                Problem(409, "operation.conflict", "The operation already asks something else.", at=error.place)
            )
        case EvidenceWaiting():
            detail = (
                "The provider says that the work of the earlier question is under way. Ask again in a while."
                if error.under_way
                else "Evidence of outside work waits for an operator. Do not send the person again."
            )
            return respond(Problem(409, "evidence_waiting", detail, state=error.entry.state))
        case UnknownPredecessor():
            return respond(Problem(400, "predecessor.unknown", "There is no such entry to follow.", at="/predecessor"))
        case ContentMissing():
            detail = "A form is accepted with a content object; an empty one is enough for a confirmation."
            return respond(Problem(422, error.rule, detail, at="/content"))
        case Contended():
            return _later("contended", "Too many events at once on this entry; send the same again.")
        case DataError() | IntegrityError():
            return None  # a fault of ours that sending again does not mend
        case DatabaseError() | NotAdmissible():
            logger.error("the ledger could not be written", exc_info=error)
            return _later(
                "ledger.unavailable", "The ledger cannot be written, so nothing was done; send the same again."
            )
        case NotAuthenticated():
            return respond(Problem(401, "key.missing", "Send a service key as a bearer token."))
        case MethodNotAllowed():
            return respond(Problem(405, "method.not_allowed", "This address does not take this method."))
        case APIException():
            return respond(Problem(error.status_code, "request.refused", "The request cannot be served as it is."))
        case _:
            return None  # a fault of ours: Django answers 500 and logs it


def _later(code: str, detail: str) -> Response:
    response = respond(Problem(503, code, detail))
    response["Retry-After"] = "1"
    return response
