"""Plain error pages, and problem details (RFC 9457) below ``/api/``. They repeat nothing of the request."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template import loader

#: By status: the code that programs read, and what a person should know.
PROBLEMS: Final = {
    HTTPStatus.BAD_REQUEST: ("request.malformed", "The request could not be understood."),
    HTTPStatus.FORBIDDEN: ("request.forbidden", "This is not open to you, or the page was open for too long."),
    HTTPStatus.NOT_FOUND: ("unknown", "There is nothing at this address."),
    HTTPStatus.INTERNAL_SERVER_ERROR: ("internal", "Something went wrong on our side; it has been written down."),
}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _answer(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    return _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    return _answer(request, HTTPStatus.FORBIDDEN)


def _answer(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    code, sentence = PROBLEMS[status]
    if request.path.startswith("/api/"):
        problem = {"type": "about:blank", "title": sentence, "status": status, "code": code}
        return JsonResponse(problem, status=status, content_type="application/problem+json")
    # Without the request, so without context processors: they may need what has just failed.
    page = loader.render_to_string("errors/error.html", {"title": status.phrase, "sentence": sentence})
    return HttpResponse(page, status=status)
