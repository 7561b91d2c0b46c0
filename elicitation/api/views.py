"""Admission and reading: a question is decided and registered, a service sees its own entries."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from elicitation.api import examples, replies, shapes
from elicitation.api.body import decode
from elicitation.api.calls import ServiceView, known_id, operation
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Elicitation
from elicitation.policy import identifiers, limits
from elicitation.policy.decision import Delivery, Mode, Wire
from elicitation.policy.lifecycle import State
from elicitation.policy.rules import Rule, entry
from elicitation.policy.url_required import build_error, missing_capability
from elicitation.services import admission, clock, lookup, questions
from elicitation.services.keys import Scope
from elicitation.services.lookup import RELATED

MAX_PAGE: Final = 200


class Elicitations(ServiceView):
    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.READ if self.request.method in ("GET", "HEAD") else Scope.ADMIT

    @described(
        "admit",
        "Decide a question and register it",
        body=shapes.Admission,
        example=examples.ADMISSION,
        reply=replies.AdmissionReply,
        statuses=(200, 201),
        refusals=(400, 401, 403, 413, 415, 503, 409, 422, 429),
    )
    def post(self, request: Request) -> HttpResponse:
        body = decode(request._request, shapes.Admission)
        result = admission.admit(self.service(request), asked_question(body))
        if isinstance(result, questions.Denied):
            raise denied(result, body.wire)
        error = None
        if result.request is not None and result.entry.delivery == Delivery.URL_REQUIRED:
            error = build_error([result.request])
        return replies.admission_reply(result, error).response(201 if result.created else 200)

    @described(
        "list",
        "The service's own entries, newest first",
        reply=replies.ListReply,
        refusals=(400, 401, 403),
        parameters=(
            OpenApiParameter("cursor", str, description="`next` of the page before."),
            OpenApiParameter("limit", int, description=f"1 to {MAX_PAGE}, 50 by default."),
            OpenApiParameter("state", str, enum=list(State), description="As stored, before a sweep has run."),
        ),
    )
    def get(self, request: Request) -> HttpResponse:
        rows = Elicitation.objects.filter(service=self.service(request)).select_related(*RELATED, "predecessor")
        state, cursor = request.query_params.get("state"), request.query_params.get("cursor")
        if state is not None:
            if state not in list(State):
                raise Problem(400, "query.invalid", f"state is one of {', '.join(State)}.", at="state")
            rows = rows.filter(state=state)
        if cursor is not None:
            raw = identifiers.parse(cursor)
            last = rows.filter(uid=UUID(bytes=raw)).first() if raw else None
            if last is None:
                raise Problem(400, "query.invalid", "cursor is the next of a page before.", at="cursor")
            rows = rows.filter(pk__lt=last.pk)
        limit = limit_of(request.query_params.get("limit"))
        page = list(rows.order_by("-pk")[: limit + 1])
        now = clock.now()
        following = replies.shown_id(page[limit - 1]) if len(page) > limit else None
        items = [replies.entry_reply(row, now) for row in page[:limit]]
        return replies.ListReply(items=items, next=following).response()


class OneElicitation(ServiceView):
    scope = Scope.READ

    @described("show", "One entry", reply=replies.EntryReply, refusals=(401, 403, 404))
    def get(self, request: Request, public_id: str) -> HttpResponse:
        row = lookup.own(self.service(request), known_id(public_id))
        return replies.entry_reply(row, clock.now()).response()


def asked_question(body: shapes.Admission) -> questions.Question:
    return questions.Question(
        wire=body.wire,
        delivery=body.delivery,
        purpose=body.purpose,
        capabilities=declared(body.client),
        request=body.request,
        client_name=body.client.name,
        client_version=body.client.version,
        iss=body.subject.iss,
        sub=body.subject.sub,
        operation=operation(body.operation),
        window_seconds=body.window_seconds,
        predecessor=_predecessor(body.predecessor),
    )


def declared(client: shapes.Client) -> object:
    """The raw declaration; a client of which none was reported declared nothing."""
    return {} if client.capabilities is msgspec.UNSET else client.capabilities


def denied(denial: questions.Denied, wire: Wire) -> Problem:
    """A denial as 422: the rule is the code. On 2026-07-28 an undeclared mode has its own error object (R6)."""
    decision = denial.decision
    deciding = decision.deciding
    assert deciding is not None
    more: dict[str, Any] = {"decision": decision.as_json(), "decision_id": str(denial.decision_id)}
    undeclared = deciding.rule in (Rule.CAPABILITY_MISSING, Rule.CAPABILITY_MODE_UNDECLARED)
    if wire is Wire.V2026_07_28 and undeclared:
        more["error"] = missing_capability(decision.requested_mode or Mode.FORM)
    status = 429 if deciding.rule in limits.RULES else 422
    return Problem(status, deciding.rule, entry(deciding.rule).advice, at=deciding.at, **more)


def _predecessor(text: str | None) -> UUID | None:
    if text is None:
        return None
    raw = identifiers.parse(text)
    if raw is None:
        raise questions.UnknownPredecessor
    return UUID(bytes=raw)


def limit_of(text: str | None) -> int:
    """The length of a page. Raises ``Problem`` (400)."""
    if text is None:
        return 50
    if not text.isascii() or not text.isdigit() or len(text) > 3 or not 1 <= int(text) <= MAX_PAGE:
        raise Problem(400, "query.invalid", f"limit is a number from 1 to {MAX_PAGE}.", at="limit")
    return int(text)
