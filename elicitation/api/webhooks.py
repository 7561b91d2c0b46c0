"""The address to which providers send their signed events (Standard Webhooks)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import shapes
from elicitation.api.body import parse, read
from elicitation.api.calls import TellingAfterwards, check_moment, check_reference, person
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Provider
from elicitation.models.parties import is_slug
from elicitation.policy import identifiers
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.webhooks import Rejected, verify
from elicitation.services import clock, evidence, keys
from elicitation.services.evidence import Claim, Trespass

OURS: Final = "elicitation."
COMPLETED: Final = "elicitation.completed"


class ProviderEvents(APIView):
    """204 and no body for every authentic, well-formed delivery, whatever became of it; 401 or 400 otherwise."""

    authentication_classes = ()
    permission_classes = ()

    @described(
        "provider_event",
        "A provider's signed event",
        body=shapes.ProviderEvent,
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
        kind = parse(body, shapes.EventType).type
        if kind.startswith(OURS) and kind != COMPLETED:
            # Not acknowledged: the provider must know that nobody here has taken note of it.
            raise Problem(400, "event.unknown_type", "This type of event is not handled here.", at="/type")
        # Other types are not ours to judge; a provider that sends them need not be told to stop.
        if kind == COMPLETED:
            trespass = self._completed(provider, parse(body, shapes.ProviderEvent).data)
            if trespass is not None:
                return TellingAfterwards(HttpResponse(status=204), trespass)
        return HttpResponse(status=204)

    def _completed(self, provider: Provider, data: shapes.EventData) -> Trespass | None:
        check_reference(data.result_ref, "/data/result_ref")
        raw = identifiers.parse(data.elicitation_id)
        received = evidence.receive(
            provider,
            UUID(bytes=raw) if raw else None,
            Claim(
                data.result_ref,
                check_moment(data.occurred_at, "/data/occurred_at"),
                person(data.subject) if data.subject else None,
            ),
            EvidenceSource.WEBHOOK,
        )
        return received.afterwards
