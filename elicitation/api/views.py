"""The calls of services: each decodes, asks one service function, and encodes what came of it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import msgspec
from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import replies, shapes
from elicitation.api.body import decode
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Elicitation, Service
from elicitation.policy import identifiers
from elicitation.policy.decision import Decision, Delivery, Mode, Wire
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.lifecycle import State
from elicitation.policy.rules import Rule, entry
from elicitation.policy.shapes import reference_shaped_like_secret
from elicitation.policy.url_required import build_error, missing_capability
from elicitation.services import admission, clock, evidence, lookup, recovery, registry
from elicitation.services.evidence import Claim, Trespass
from elicitation.services.keys import Scope
from elicitation.services.lookup import RELATED, Person

MAX_PAGE: Final = 200
_COMMON: Final = (400, 401, 403, 413, 415, 503)


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


def operation(shape: shapes.Operation) -> admission.Operation:
    return admission.Operation(
        method=shape.method,
        target=shape.target,
        arguments_digest=shape.arguments_digest,
        question=shape.question,
        key=shape.key,
        request_id=shape.request_id,
    )


class Elicitations(ServiceView):
    @property
    def scope(self) -> Scope:  # type: ignore[override]
        return Scope.READ if self.request.method == "GET" else Scope.ADMIT

    @described(
        "admit",
        "Decide a question and register it",
        body=shapes.Admission,
        reply=replies.AdmissionReply,
        statuses=(200, 201),
        refusals=(*_COMMON, 409, 422),
    )
    def post(self, request: Request) -> HttpResponse:
        body = decode(request._request, shapes.Admission)
        capabilities = body.client.capabilities
        question = admission.Question(
            wire=body.wire,
            delivery=body.delivery,
            purpose=body.purpose,
            capabilities={} if capabilities is msgspec.UNSET else capabilities,
            request=body.request,
            client_name=body.client.name,
            client_version=body.client.version,
            iss=body.subject.iss,
            sub=body.subject.sub,
            operation=operation(body.operation),
            window_seconds=body.window_seconds,
            predecessor=_predecessor(body.predecessor),
        )
        result = admission.admit(self.service(request), question)
        if isinstance(result, admission.Denied):
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
        limit = _limit(request.query_params.get("limit"))
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


class ReportProgress(ServiceView):
    scope = Scope.ANSWER

    @described(
        "progress",
        "The question was delivered or shown, or its call ended",
        body=shapes.ProgressReport,
        reply=replies.EntryReply,
        refusals=(*_COMMON, 404),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.ProgressReport)
        done = registry.progress(self.service(request), known_id(public_id), person(body.subject), body.event)
        return replies.entry_reply(done.entry, done.now, done.change).response()


class ReportAnswer(ServiceView):
    scope = Scope.ANSWER

    @described(
        "answer",
        "The client's answer; its content stays with the service",
        body=shapes.Answer,
        reply=replies.EntryReply,
        refusals=(*_COMMON, 404, 409, 422),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.Answer)
        done = registry.answer(
            self.service(request),
            known_id(public_id),
            person(body.subject),
            body.action,
            body.content,
            body.latency_ms,
        )
        return replies.entry_reply(done.entry, done.now, done.change).response()


class TellingAfterwards(HttpResponse):
    """Writes what the caller must not notice once the reply has been sent: WSGI servers call ``close`` then."""

    def __init__(self, reply: HttpResponse, trespass: Trespass) -> None:
        super().__init__(reply.content, status=reply.status_code, content_type=reply["Content-Type"])
        self._trespass: Trespass | None = trespass

    def close(self) -> None:
        trespass, self._trespass = self._trespass, None
        try:
            if trespass is not None:
                trespass.record()
        finally:
            super().close()


class ReportCompletion(ServiceView):
    scope = Scope.COMPLETE

    @described(
        "completion",
        "Evidence from the service itself, where the destination lists the source `server`",
        body=shapes.Completion,
        reply=replies.OutcomeReply,
        refusals=_COMMON,
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.Completion)
        check_reference(body.result_ref, "/result_ref")
        raw = identifiers.parse(public_id)
        received = evidence.receive(
            self.service(request),
            UUID(bytes=raw) if raw else None,
            Claim(body.result_ref, body.occurred_at, person(body.subject)),
            EvidenceSource.SERVER,
        )
        reply = replies.outcome_reply(received.outcome, received.entry, received.now).response()
        return TellingAfterwards(reply, received.afterwards) if received.afterwards else reply


def check_reference(text: str, at: str) -> None:
    """A reference is opaque; one that is shaped like a secret is refused. Raises ``Problem`` (400)."""
    if reference_shaped_like_secret(text):
        raise Problem(400, "result_ref.secret", "This is shaped like a secret; send an opaque reference.", at=at)


class ReportLost(ServiceView):
    scope = Scope.ANSWER

    @described(
        "lost",
        "The person says that the work is done, and nothing arrived",
        body=shapes.SubjectOnly,
        reply=replies.OutcomeReply,
        refusals=(*_COMMON, 404, 409),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.SubjectOnly)
        done = recovery.report_lost(self.service(request), known_id(public_id), person(body.subject))
        return replies.outcome_reply(done.change, done.entry, done.now).response()


class Retry(ServiceView):
    scope = Scope.ANSWER

    @described(
        "retry",
        "Look for the result again; the person does nothing twice",
        body=shapes.SubjectOnly,
        reply=replies.OutcomeReply,
        refusals=(*_COMMON, 404, 409),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.SubjectOnly)
        done = recovery.retry(self.service(request), known_id(public_id), person(body.subject))
        found = done.outcome is recovery.RetryOutcome.COMPLETED
        pause = None if found else recovery.RETRY_AFTER_SECONDS
        return replies.outcome_reply(done.outcome, done.entry, done.now, pause).response()


class Cancel(ServiceView):
    scope = Scope.ANSWER

    @described(
        "cancel",
        "The service gives the question up",
        body=shapes.SubjectOnly,
        reply=replies.OutcomeReply,
        refusals=(*_COMMON, 404, 409),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.SubjectOnly)
        done = recovery.cancel(self.service(request), known_id(public_id), person(body.subject))
        return replies.outcome_reply(done.change, done.entry, done.now).response()


class Consume(ServiceView):
    scope = Scope.CONSUME

    @described(
        "consume",
        "Hand the result to the operation that waits, once",
        body=shapes.Consumption,
        reply=replies.ConsumeReply,
        refusals=_COMMON,
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.Consumption)
        raw = identifiers.parse(public_id)
        if raw is None:
            done = registry.Consumed(registry.ConsumeOutcome.UNKNOWN)
        else:
            done = registry.consume(
                self.service(request), UUID(bytes=raw), person(body.subject), operation(body.operation)
            )
        return replies.ConsumeReply(outcome=done.outcome, result_ref=done.result_ref, reversed=done.reversed).response()


def denied(denial: admission.Denied, wire: Wire) -> Problem:
    """A denial as 422: the rule is the code. On 2026-07-28 an undeclared mode has its own error object (R6)."""
    decision: Decision = denial.decision
    deciding = decision.deciding
    assert deciding is not None
    more: dict[str, Any] = {"decision": decision.as_json(), "decision_id": str(denial.decision_id)}
    undeclared = deciding.rule in (Rule.CAPABILITY_MISSING, Rule.CAPABILITY_MODE_UNDECLARED)
    if wire is Wire.V2026_07_28 and undeclared:
        more["error"] = missing_capability(decision.requested_mode or Mode.FORM)
    return Problem(422, deciding.rule, entry(deciding.rule).advice, at=deciding.at, **more)


def _predecessor(text: str | None) -> UUID | None:
    if text is None:
        return None
    raw = identifiers.parse(text)
    if raw is None:
        raise admission.UnknownPredecessor
    return UUID(bytes=raw)


def _limit(text: str | None) -> int:
    if text is None:
        return 50
    if not text.isascii() or not text.isdigit() or len(text) > 3 or not 1 <= int(text) <= MAX_PAGE:
        raise Problem(400, "query.invalid", f"limit is a number from 1 to {MAX_PAGE}.", at="limit")
    return int(text)
