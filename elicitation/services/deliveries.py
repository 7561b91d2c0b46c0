"""The trace of authentic webhook deliveries: what came, when, under which key, and what became of it."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F

from elicitation.models import BadSignature, Provider, WebhookDelivery
from elicitation.policy.webhooks import Verified
from elicitation.services import clock, digests
from elicitation.services.evidence import Received

KEPT: Final = timedelta(days=30)


def trace(provider: Provider, verified: Verified, body: bytes, received: Received | None) -> None:
    """Keep the delivery's id and body as keyed digests, so that a repeat can be told, and nothing of it read.

    ``received`` is ``None`` for an event that is not the desk's to judge.
    """
    WebhookDelivery.objects.create(
        provider=provider,
        delivery_digest=digests.candidates(digests.DELIVERY, [provider.slug, verified.message_id])[0],
        body_digest=digests.candidates(digests.DELIVERY, [provider.slug, hashlib.sha256(body).hexdigest()])[0],
        kid=verified.kid,
        received_at=clock.now(),
        outcome=received.outcome if received else "not_ours",
        elicitation_id=received.entry.uid if received and received.entry else None,
    )


def count_bad_signature(provider: Provider) -> None:
    """Count a delivery to the provider's address that was not signed with a live key of it. Nothing else is kept."""
    now = clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    with transaction.atomic():
        row, made = BadSignature.objects.get_or_create(provider=provider, hour=hour, defaults={"last_at": now})
        if not made:
            BadSignature.objects.filter(pk=row.pk).update(count=F("count") + 1, last_at=now)


def forget_old(limit: int) -> int:
    """Delete traces that are older than ``KEPT``, at most ``limit``. Returns how many."""
    old = WebhookDelivery.objects.filter(received_at__lt=clock.now() - KEPT).order_by("pk")
    deleted, _ = WebhookDelivery.objects.filter(pk__in=list(old.values_list("pk", flat=True)[:limit])).delete()
    return deleted
