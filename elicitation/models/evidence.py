"""What outside services sent: kept when money may have moved, never with a body or a header."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models
from django.db.models import Q


class EvidenceStatus(models.TextChoices):
    """What a piece of evidence waits for, or what became of it."""

    HELD = "held", "held until consent"
    UNBOUND = "unbound", "held: nobody says whose it is"
    WITHDRAWN = "withdrawn", "held: the destination was withdrawn"
    LATE = "late", "late"
    CONFLICT = "conflict", "contradicts the recorded result"
    REVERSED = "reversed", "taken back by the provider"
    CLOSED = "closed", "settled by an operator"
    USED = "used", "completed the elicitation"


#: Kept while the entry lives; turned into late evidence when the entry ends without completion.
WAITING = (EvidenceStatus.HELD, EvidenceStatus.UNBOUND, EvidenceStatus.WITHDRAWN)


class Evidence(models.Model):
    """One result reference for one entry, from one source. The same reference again is the same evidence."""

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    elicitation = models.ForeignKey("elicitation.Elicitation", on_delete=models.PROTECT, related_name="evidence")
    provider = models.ForeignKey("elicitation.Provider", on_delete=models.PROTECT)
    source = models.CharField(max_length=16)
    status = models.CharField(max_length=10, choices=EvidenceStatus)
    result_ref = models.TextField(help_text="Sealed.")
    result_digest = models.CharField(max_length=81)
    subject_given = models.BooleanField()
    occurred_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField()

    class Meta:
        default_permissions: ClassVar = ("view",)
        verbose_name_plural = "evidence"
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["elicitation", "result_digest"], name="evidence_once"),
            models.UniqueConstraint(fields=["elicitation"], condition=Q(status="used"), name="evidence_used_once"),
        ]

    def __str__(self) -> str:
        return f"{self.source}: {self.get_status_display()}"


class WebhookDelivery(models.Model):
    """The trace of an authentic delivery: its id, time, keyed digest, key and outcome. Never its body or headers."""

    provider = models.ForeignKey("elicitation.Provider", on_delete=models.PROTECT, editable=False)
    delivery_digest = models.CharField(max_length=81, editable=False)
    body_digest = models.CharField(max_length=81, editable=False)
    kid = models.CharField(max_length=16, editable=False)
    received_at = models.DateTimeField(editable=False)
    outcome = models.CharField(max_length=32, editable=False)
    elicitation_id = models.UUIDField(null=True, editable=False)

    class Meta:
        default_permissions: ClassVar = ("view",)
        verbose_name_plural = "webhook deliveries"
        indexes: ClassVar = [
            models.Index(fields=["provider", "-id"], name="delivery_of_provider"),  # what a provider sent last
            models.Index(fields=["received_at"], name="delivery_received"),  # forgetting old ones
        ]

    def __str__(self) -> str:
        return f"{self.provider.slug}: {self.outcome}"


class BadSignature(models.Model):
    """Counts deliveries to a provider's address that were not signed with a live key of it, by the hour."""

    provider = models.ForeignKey("elicitation.Provider", on_delete=models.CASCADE, related_name="bad_signatures")
    hour = models.DateTimeField()
    last_at = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)

    class Meta:
        default_permissions: ClassVar = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["provider", "hour"], name="bad_signatures_of_hour"),
        ]

    def __str__(self) -> str:
        return f"{self.provider.slug} × {self.count}"


class RefusedAttempt(models.Model):
    """Counts repeats of a refusal, so that the ledger gets the first and one closing entry, not each.

    One row for a kind of refusal, by one caller, about one entry, in one hour.
    """

    elicitation = models.ForeignKey("elicitation.Elicitation", on_delete=models.CASCADE, related_name="refusals")
    outcome = models.CharField(max_length=32)
    caller = models.CharField(max_length=100)
    since = models.DateTimeField()
    count = models.PositiveIntegerField(default=1)

    class Meta:
        default_permissions: ClassVar = ()
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["elicitation", "outcome", "caller"], name="refusal_counted_once"),
        ]
        indexes: ClassVar = [models.Index(fields=["since"], name="refusal_since")]  # closing the hour

    def __str__(self) -> str:
        return f"{self.outcome} × {self.count}"
