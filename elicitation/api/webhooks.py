"""The address to which providers send their signed events (Standard Webhooks, or Stripe's)."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final
from uuid import UUID

from django.http import HttpResponse, JsonResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import examples, shapes
from elicitation.api.body import parse, read
from elicitation.api.calls import TellingAfterwards, check_moment
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Provider
from elicitation.models.parties import is_slug
from elicitation.policy import identifiers, provider_events
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.provider_events import Fault, Kind, Malformed, Named, Word
from elicitation.policy.webhooks import MALFORMED, Rejected, Scheme, Verified, verify_as
from elicitation.services import clock, deliveries, evidence, keys, outcomes
from elicitation.services.evidence import Received
from elicitation.services.judging import Claim
from elicitation.services.lookup import Person

_HEADERS: Final = {
    "webhook-id": "Standard Webhooks: the delivery's id, the same when it is sent again.",
    "webhook-timestamp": "Standard Webhooks: unix seconds; five minutes' tolerance.",
    "webhook-signature": "Standard Webhooks: `v1,` and the base64 HMAC-SHA256 over id, timestamp and body.",
    "stripe-signature": "Stripe: `t=` and the unix seconds, `v1=` and the hex HMAC-SHA256 over these and the body.",
}
_FAULTS: Final[dict[Fault, tuple[str, str]]] = {
    Fault.MISSING: ("body.missing_member", "A member is missing."),
    Fault.INVALID: ("body.invalid", "This value is not one that the member takes."),
    Fault.SECRET: ("result_ref.secret", "This is shaped like a secret; send an opaque reference."),
    Fault.UNKNOWN_TYPE: ("event.unknown_type", "This type of event is not handled here."),
}


class ProviderEvents(APIView):
    """204 and no body for every authentic, well-formed delivery, whatever became of it; 401 or 400 otherwise."""

    authentication_classes = ()
    permission_classes = ()

    @described(
        "provider_event",
        "A provider's signed event",
        body=(shapes.ProviderEvent, shapes.StripeEvent),
        examples={"The desk's own form": examples.PROVIDER_EVENT, "As Stripe sends it": examples.STRIPE_EVENT},
        parameters=tuple(
            OpenApiParameter(name, str, OpenApiParameter.HEADER, description=what) for name, what in _HEADERS.items()
        ),
        statuses=(204,),
        refusals=(400, 401, 413, 503),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        body = read(request._request)
        provider = Provider.objects.select_related("tenant").filter(slug=slug).first() if is_slug(slug) else None
        scheme = Scheme(provider.scheme) if provider is not None else Scheme.STANDARD
        ring = keys.provider_keys(provider)
        headers = {name.lower(): value for name, value in request._request.headers.items()}
        verdict = verify_as(scheme, headers, body, ring, int(clock.now().timestamp()))
        if provider is None or isinstance(verdict, Rejected):
            return _refused(verdict, provider)
        try:
            verified, word = _read(scheme, verdict, body)
        except Malformed as malformed:
            code, detail = _FAULTS[malformed.fault]
            raise Problem(400, code, detail, at=malformed.at) from None
        received = _told(provider, word)
        deliveries.trace(provider, verified, body, received)
        done = HttpResponse(status=204)
        trespass = received.afterwards if received is not None else None
        return done if trespass is None else TellingAfterwards(done, trespass.record)


def _refused(verdict: Verified | Rejected, provider: Provider | None) -> HttpResponse:
    """The refusal, which says nothing of the provider. Whoever runs an open one learns how often it happens."""
    if isinstance(verdict, Rejected) and verdict.reason in MALFORMED:
        problem = Problem(400, "signature.malformed", "The signature's headers are missing or cannot be read.")
    else:
        detail = (
            "The delivery is not signed with a live key of this provider, or its time is more than five minutes off."
        )
        problem = Problem(401, "signature.rejected", detail)
    reply = JsonResponse(problem.problem, status=problem.status_code, content_type="application/problem+json")
    if problem.status_code == 401:
        reply["WWW-Authenticate"] = "Bearer"
    if provider is None or provider.closed_at is not None or provider.tenant.closed_at is not None:
        return reply
    return TellingAfterwards(reply, partial(deliveries.count_bad_signature, provider))


def _read(scheme: Scheme, verified: Verified, body: bytes) -> tuple[Verified, Word]:
    """The delivery with its id, and what it says. Raises ``Problem``, ``Malformed``."""
    match scheme:
        case Scheme.STANDARD:
            kind = provider_events.standard_kind(parse(body, shapes.EventType).type)
            if kind is Kind.NOT_OURS:
                return verified, provider_events.NOT_OURS
            data = parse(body, shapes.ProviderEvent).data
            at = check_moment(data.occurred_at, "/data/occurred_at")
            subject = Named(data.subject.iss, data.subject.sub) if data.subject else None
            return verified, provider_events.standard(kind, data.elicitation_id, data.result_ref, at, subject)
        case Scheme.STRIPE:
            event = parse(body, shapes.StripeEvent)
            word = provider_events.NOT_OURS  # of another merchant, who writes its own metadata
            if event.account is None:
                word = provider_events.stripe(event.type, event.created, event.data.object)
            return replace(verified, message_id=event.id), word


def _told(provider: Provider, word: Word) -> Received | None:
    """What became of the word; ``None`` for one that is not ours to judge, and must not be sent again."""
    raw = identifiers.parse(word.elicitation_id)
    uid = UUID(bytes=raw) if raw else None
    claim = Claim(word.result_ref, word.occurred_at, Person(*word.subject) if word.subject else None)
    match word.kind:
        case Kind.NOT_OURS:
            return None
        case Kind.FAILED:
            return outcomes.fail(provider, uid, claim)
        case Kind.REVERSED:
            return outcomes.reverse(provider, uid, claim)
        case Kind.COMPLETED:
            return evidence.receive(provider, uid, claim, EvidenceSource.WEBHOOK)
