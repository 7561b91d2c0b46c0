"""The address to which providers send their signed events (Standard Webhooks)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from django.http import HttpResponse
from rest_framework.request import Request
from rest_framework.views import APIView

from elicitation.api import shapes
from elicitation.api.body import MAX_BYTES, parse
from elicitation.api.calls import TellingAfterwards, check_reference, person
from elicitation.api.openapi import described
from elicitation.api.problems import Problem
from elicitation.models import Provider
from elicitation.policy import identifiers
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.webhooks import Rejected, verify
from elicitation.services import clock, evidence, keys
from elicitation.services.evidence import Claim, Trespass

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
        length = request._request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > MAX_BYTES:
            raise Problem(413, "body.too_large", f"The body is larger than {MAX_BYTES} bytes.")
        body = request._request.body
        provider = Provider.objects.select_related("tenant").filter(slug=slug).first()
        ring = keys.provider_keys(provider) if provider is not None else {}
        headers = {name.lower(): value for name, value in request._request.headers.items()}
        verdict = verify(headers, body, ring, int(clock.now().timestamp()))
        if provider is None or isinstance(verdict, Rejected):
            raise Problem(401, "signature.rejected", "The delivery is not signed with a live key of this provider.")
        # Other types are not ours to judge; a provider that sends them need not be told to stop.
        if parse(body, shapes.EventType).type == COMPLETED:
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
            Claim(data.result_ref, data.occurred_at, person(data.subject) if data.subject else None),
            EvidenceSource.WEBHOOK,
        )
        return received.afterwards
