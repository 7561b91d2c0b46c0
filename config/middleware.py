"""What every response and every request gets: security headers that Django 5.2 lacks, and one line in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from config.errors import bad_request
from config.logging import current_request

Handler = Callable[[HttpRequest], HttpResponseBase]
log: Final = logging.getLogger("config.request")
QUIET: Final = frozenset({"healthz", "readyz"})


class RequestLog:
    """One JSON line for each request: method, route pattern, status, duration and the caller's slugs.

    Never the path, the query or a header: they carry ids and tokens. The formatter reads method, route and caller from
    the request at hand, so that other lines of the same request carry them too; it is forgotten at both ends, because
    threads are used again.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        current_request.set(request)
        started = time.perf_counter()
        try:
            response = self.get_response(request)
            duration = round((time.perf_counter() - started) * 1000, 1)
            # Static files and probes answer to no route of ours, or to one that is asked all the time.
            match = request.resolver_match
            quiet = response.status_code < 400 and (match is None or match.route in QUIET)
            level = logging.DEBUG if quiet else logging.INFO
            log.log(level, "request", extra={"status": response.status_code, "duration_ms": duration})
            return response
        finally:
            current_request.set(None)


class ContentSecurityPolicy:
    """Sends ``settings.SECURE_CSP`` (Django 6's name), and ``no-store`` unless a view or WhiteNoise said otherwise."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response
        policy: dict[str, list[str]] = settings.SECURE_CSP
        self.header = "; ".join(f"{directive} {' '.join(sources)}" for directive, sources in policy.items())

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", self.header)
        response.headers.setdefault("Cache-Control", "no-store")
        return response


class NoNul:
    """Refuses an address with a NUL in path or query: nobody means one, and PostgreSQL stores none."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if "\x00" in request.path_info or "%00" in request.META.get("QUERY_STRING", ""):
            return bad_request(request, SuspiciousOperation())
        return self.get_response(request)
