"""What happens to an entry, as its service reports it: progress, answer, completion, loss, retry, cancel, consume."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request

from elicitation.api import examples, replies, shapes
from elicitation.api.body import decode
from elicitation.api.calls import (
    ServiceView,
    TellingAfterwards,
    check_moment,
    check_reference,
    known_id,
    operation,
    person,
)
from elicitation.api.openapi import described
from elicitation.policy import identifiers
from elicitation.policy.destinations import EvidenceSource
from elicitation.services import evidence, recovery, registry
from elicitation.services.judging import Claim
from elicitation.services.keys import Scope

COMMON = (400, 401, 403, 413, 415, 503)


class ReportProgress(ServiceView):
    scope = Scope.ANSWER

    @described(
        "progress",
        "The question was delivered or shown, or its call ended",
        body=shapes.ProgressReport,
        reply=replies.EntryReply,
        refusals=(*COMMON, 404),
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
        example=examples.ANSWER,
        reply=replies.EntryReply,
        refusals=(*COMMON, 404, 409, 422),
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


class ReportCompletion(ServiceView):
    scope = Scope.COMPLETE

    @described(
        "completion",
        "Evidence from the service itself, where the destination lists the source `server`",
        body=shapes.Completion,
        reply=replies.OutcomeReply,
        refusals=COMMON,
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.Completion)
        check_reference(body.result_ref, "/result_ref")
        raw = identifiers.parse(public_id)
        received = evidence.receive(
            self.service(request),
            UUID(bytes=raw) if raw else None,
            Claim(body.result_ref, check_moment(body.occurred_at, "/occurred_at"), person(body.subject)),
            EvidenceSource.SERVER,
        )
        reply = replies.outcome_reply(received.outcome, received.entry, received.now).response()
        return TellingAfterwards(reply, received.afterwards.record) if received.afterwards else reply


class ReportLost(ServiceView):
    scope = Scope.ANSWER

    @described(
        "lost",
        "The person says that the work is done, and nothing arrived",
        body=shapes.SubjectOnly,
        reply=replies.OutcomeReply,
        refusals=(*COMMON, 404, 409),
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
        refusals=(*COMMON, 404, 409),
    )
    def post(self, request: Request, public_id: str) -> HttpResponse:
        body = decode(request._request, shapes.SubjectOnly)
        done = recovery.retry(self.service(request), known_id(public_id), person(body.subject))
        pause = None if done.settled else recovery.RETRY_AFTER_SECONDS
        return replies.outcome_reply(done.outcome, done.entry, done.now, pause).response()


class Cancel(ServiceView):
    scope = Scope.ANSWER

    @described(
        "cancel",
        "The service gives the question up",
        body=shapes.SubjectOnly,
        reply=replies.OutcomeReply,
        refusals=(*COMMON, 404, 409),
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
        example=examples.CONSUMPTION,
        reply=replies.ConsumeReply,
        refusals=COMMON,
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
