"""The address to which providers send their signed events (Standard Webhooks)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import examples, shapes
from elicitation.api.body import parse, read
from elicitation.api.calls import TellingAfterwards, check_moment, check_reference, person
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Provider
from elicitation.models.parties import is_slug
from elicitation.policy import identifiers
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.webhooks import Rejected, verify
from elicitation.services import clock, deliveries, evidence, keys, outcomes
from elicitation.services.evidence import Claim, Received

OURS: Final = "elicitation."
COMPLETED: Final = "elicitation.completed"
FAILED: Final = "elicitation.failed"
REVERSED: Final = "elicitation.reversed"
HANDLED: Final = frozenset({COMPLETED, FAILED, REVERSED})


class ProviderEvents(APIView):
    """204 and no body for every authentic, well-formed delivery, whatever became of it; 401 or 400 otherwise."""

    authentication_classes = ()
    permission_classes = ()

    @described(
        "provider_event",
        "A provider's signed event",
        body=shapes.ProviderEvent,
        example=examples.PROVIDER_EVENT,
        parameters=tuple(
            OpenApiParameter(name, str, OpenApiParameter.HEADER, required=True, description=what)
            for name, what in (
                ("webhook-id", "The delivery's id, the same when it is sent again."),
                ("webhook-timestamp", "Unix seconds; five minutes' tolerance."),
                (
                    "webhook-signature",
                    "`v1,` and the base64 HMAC-SHA256 over id, timestamp and body.",
                ),
            )
        ),
        statuses=(204,),
        refusals=(400, 401, 413, 503),
    )
    def post(self, request: Request, slug: str) -> HttpResponse:
        body = read(request._request)
        provider = Provider.objects.select_related("tenant").filter(slug=slug).first() if is_slug(slug) else None
        ring = keys.provider_keys(provider) if provider is not None else {}
        headers = {name.lower(): value for name, value in request._request.headers.items()}
        verdict = verify(headers, body, ring, int(clock.now().timestamp()))
        if provider is None or isinstance(verdict, Rejected):
            raise Problem(401, "signature.rejected", "The delivery is not signed with a live key of this provider.")
        received = self._heard(provider, body)
        deliveries.trace(provider, verdict, body, received)
        done = HttpResponse(status=204)
        trespass = received.afterwards if received is not None else None
        return done if trespass is None else TellingAfterwards(done, trespass)

    def _heard(self, provider: Provider, body: bytes) -> Received | None:
        """What became of the event; ``None`` for one that is not ours to judge, and must not be sent again."""
        kind = parse(body, shapes.EventType).type
        if not kind.startswith(OURS):
            return None
        if kind not in HANDLED:
            # Not acknowledged: the provider must know that nobody here has taken note of it.
            raise Problem(400, "event.unknown_type", "This type of event is not handled here.", at="/type")
        data = parse(body, shapes.ProviderEvent).data
        raw = identifiers.parse(data.elicitation_id)
        uid = UUID(bytes=raw) if raw else None
        if kind == FAILED:
            return outcomes.fail(provider, uid, _claim(data))
        if data.result_ref is None:
            raise Problem(400, "body.missing_member", "A member is missing.", at="/data/result_ref")
        check_reference(data.result_ref, "/data/result_ref")
        if kind == REVERSED:
            return outcomes.reverse(provider, uid, _claim(data))
        return evidence.receive(provider, uid, _claim(data), EvidenceSource.WEBHOOK)


def _claim(data: shapes.EventData) -> Claim:
    return Claim(
        data.result_ref or "",
        check_moment(data.occurred_at, "/data/occurred_at"),
        person(data.subject) if data.subject else None,
    )
