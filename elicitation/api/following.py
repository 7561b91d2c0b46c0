"""Following what happens: waiting for one entry to move, and the feed of completions."""

from __future__ import annotations

import threading
import time
from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from elicitation.api import replies
from elicitation.api.calls import ServiceView, known_id
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.api.views import limit_of
from elicitation.models import Elicitation, Service
from elicitation.services import clock, feed, lookup
from elicitation.services.keys import Scope
from elicitation.services.move import state_at

MAX_WAIT: Final = 20
#: Between two looks, in seconds: one look is one indexed read.
LOOK_EVERY: Final = 0.25
#: A worker process has four threads; the others must stay free for those who act.
WAITING_AT_ONCE: Final = 2
RETRY_AFTER: Final = 2
#: Said in place of a cursor by a reader that begins at the end of the feed.
LATEST: Final = "latest"
CURSOR_DIGITS: Final = 18

_places = threading.BoundedSemaphore(WAITING_AT_ONCE)


class Wait(ServiceView):
    scope = Scope.READ

    @described(
        "wait",
        "One entry, as soon as its state changes or the time is up",
        reply=replies.EntryReply,
        refusals=(400, 401, 403, 404),
        parameters=(OpenApiParameter("seconds", int, description=f"0 to {MAX_WAIT}, {MAX_WAIT} by default."),),
    )
    def get(self, request: Request, public_id: str) -> HttpResponse:
        service, uid = self.service(request), known_id(public_id)
        seconds = _seconds(request.query_params.get("seconds"))
        entry = lookup.own(service, uid)
        if not _places.acquire(blocking=False):
            response = replies.entry_reply(entry, clock.now()).response()
            response["Retry-After"] = str(RETRY_AFTER)
            return response
        try:
            entry = _moved(service, uid, entry, seconds)
        finally:
            _places.release()
        return replies.entry_reply(entry, clock.now()).response()


class Completions(ServiceView):
    scope = Scope.READ

    @described(
        "completions",
        "The service's completed entries, at least once, none skipped",
        reply=replies.FeedReply,
        refusals=(400, 401, 403),
        parameters=(
            OpenApiParameter(
                "after",
                {"type": "string", "pattern": f"^([0-9]{{1,{CURSOR_DIGITS}}}|{LATEST})$"},
                description=f"`next` of the reply before; 0 (as without it) for all; `{LATEST}` to begin at the end: "
                "no items, and a `next` after which everything comes that completes from now on.",
            ),
            OpenApiParameter("limit", int, description="1 to 200, 50 by default."),
        ),
    )
    def get(self, request: Request) -> HttpResponse:
        service, limit = self.service(request), limit_of(request.query_params.get("limit"))
        cursor = request.query_params.get("after", "0")
        if cursor == LATEST:
            return replies.feed_reply([], feed.end(service)).response()
        if not cursor.isascii() or not cursor.isdigit() or len(cursor) > CURSOR_DIGITS:
            raise Problem(400, "query.invalid", f"after is the next of a reply before, or {LATEST}.", at="after")
        return replies.feed_reply(feed.after(service, int(cursor), limit), int(cursor)).response()


def _moved(service: Service, uid: UUID, entry: Elicitation, seconds: int) -> Elicitation:
    """The entry once its state differs from what it is now, or when the time is up."""
    began, until = state_at(entry, clock.now()), time.monotonic() + seconds
    while not began.terminal and time.monotonic() < until:
        time.sleep(LOOK_EVERY)
        entry = lookup.own(service, uid)
        if state_at(entry, clock.now()) is not began:
            break
    return entry


def _seconds(text: str | None) -> int:
    if text is None:
        return MAX_WAIT
    if not text.isascii() or not text.isdigit() or len(text) > 2 or int(text) > MAX_WAIT:
        raise Problem(400, "query.invalid", f"seconds is a number from 0 to {MAX_WAIT}.", at="seconds")
    return int(text)
