"""Asking the policy without asking a person: dry runs, checks of an error body, and the catalogue of rules."""

from __future__ import annotations

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import replies, shapes
from elicitation.api.body import decode
from elicitation.api.calls import ServiceView
from elicitation.api.openapi import described
from elicitation.api.views import asked_question, declared
from elicitation.policy.rules import CATALOGUE
from elicitation.services import rehearsal
from elicitation.services.keys import Scope
from elicitation.services.rehearsal import Rehearsed

_REFUSALS = (400, 401, 403, 413, 415, 503)


class Decisions(ServiceView):
    scope = Scope.ADMIT

    @described(
        "decide",
        "Decide a question without registering it",
        body=shapes.Admission,
        reply=replies.DecisionReply,
        refusals=_REFUSALS,
    )
    def post(self, request: Request) -> HttpResponse:
        body = decode(request._request, shapes.Admission)
        return _reply(rehearsal.dry_run(self.service(request), asked_question(body)))


class UrlRequiredErrors(ServiceView):
    scope = Scope.ADMIT

    @described(
        "check_error",
        "Check a -32042 error body before it is sent",
        body=shapes.ErrorCheck,
        reply=replies.DecisionReply,
        refusals=_REFUSALS,
    )
    def post(self, request: Request) -> HttpResponse:
        body = decode(request._request, shapes.ErrorCheck)
        client = (body.client.name, body.client.version)
        return _reply(
            rehearsal.check_error(
                self.service(request), body.wire, body.purpose, declared(body.client), body.error, client
            )
        )


class Rules(APIView):
    """Open to everybody: what the desk judges by is no secret."""

    authentication_classes = ()
    permission_classes = ()

    @described("rules", "Every rule with its source", reply=replies.RulesReply)
    def get(self, request: Request) -> HttpResponse:
        items = [
            replies.RuleReply(
                rule=about.rule,
                title=about.title,
                sources=[str(source) for source in about.sources],
                section=about.section,
                requirements=list(about.requirements),
                advice=about.advice,
                denies=about.denies,
            )
            for about in CATALOGUE
        ]
        return replies.RulesReply(items=items).response()


def _reply(rehearsed: Rehearsed) -> HttpResponse:
    return replies.DecisionReply(
        decision=rehearsed.decision.as_json(), decision_id=str(rehearsed.decision_id), error=rehearsed.error
    ).response()
