"""The no-secret ledger: typed columns only, append-only in the database."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models

FORMAT_VERSION = 1


def _word(length: int) -> models.CharField[str, str]:
    return models.CharField(max_length=length, blank=True, default="", editable=False)


class Signal(models.Model):
    """Something that somebody should look at: one open row for a rule and what it is about, which counts.

    What happened is on the ledger; this is the observation. ``about`` is an opaque id, never a name or a value.
    """

    class Status(models.TextChoices):
        OPEN = "open", "open"
        ACKNOWLEDGED = "acknowledged", "acknowledged"
        RESOLVED = "resolved", "resolved"

    tenant = models.CharField(max_length=40)
    rule = models.CharField(max_length=40)
    about = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=12, choices=Status, default=Status.OPEN)
    count = models.PositiveIntegerField(default=1)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        default_permissions: ClassVar = ("view", "review")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["tenant", "rule", "about"],
                condition=~models.Q(status="resolved"),
                name="one_open_signal_of_a_kind",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.rule} × {self.count}"


class Outgoing(models.Model):
    """A signal on its way out by one channel: tried again with back-off, then kept as a dead letter to be sent anew.

    At least once: what was sent just before a crash is sent again, under the same ``uid``.
    """

    class Channel(models.TextChoices):
        EMAIL = "email", "e-mail"
        WEBHOOK = "webhook", "webhook"

    class Status(models.TextChoices):
        WAITING = "waiting", "waiting"
        SENT = "sent", "sent"
        DEAD = "dead", "given up"

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    signal = models.ForeignKey(Signal, on_delete=models.CASCADE, related_name="outgoing")
    channel = models.CharField(max_length=8, choices=Channel)
    status = models.CharField(max_length=8, choices=Status, default=Status.WAITING)
    attempts = models.PositiveIntegerField(default=0)
    problem = models.CharField(max_length=40, blank=True, help_text="What went wrong last, as a code.")
    made_at = models.DateTimeField()
    due_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "outgoing message"
        default_permissions: ClassVar = ("view", "resend")
        indexes: ClassVar = [
            models.Index(fields=["due_at"], condition=models.Q(status="waiting"), name="outgoing_due"),
        ]

    def __str__(self) -> str:
        return f"{self.channel}: {self.status}"


class LedgerEntry(models.Model):
    """One thing that happened. Every column is from a closed list, an internal id or a keyed digest.

    There is no JSON and no free text, so there is nowhere to put a secret. Rows are written by
    ``audit.ledger.append`` alone and never change: triggers in the database refuse it.
    """

    tenant = _word(40)
    at = models.DateTimeField(editable=False)
    event = _word(32)

    elicitation_id = models.UUIDField(null=True, editable=False)
    decision_id = models.UUIDField(null=True, editable=False)
    related_id = models.UUIDField(null=True, editable=False)
    case_id = _word(60)
    service = _word(40)
    provider = _word(40)
    client_id = models.BigIntegerField(null=True, editable=False)
    subject = models.UUIDField(null=True, editable=False)

    operation_digest = _word(64)
    result_digest = _word(64)
    digest_key_id = _word(16)

    wire = _word(10)
    mode = _word(4)
    delivery = _word(16)
    purpose = _word(32)
    negotiated = models.BooleanField(null=True, editable=False)
    binding_class = _word(16)

    state_from = _word(20)
    state_to = _word(20)
    outcome = _word(32)
    expected = _word(20)
    actual = _word(20)
    match = models.BooleanField(null=True, editable=False)

    rule = _word(72)
    rule_source = _word(10)
    place = _word(200)
    reason_code = _word(32)
    id_class = _word(16)

    policy_revision = models.IntegerField(null=True, editable=False)
    policy_digest = _word(71)
    admission_revision = models.IntegerField(null=True, editable=False)
    fixture_digest = _word(71)

    actor_kind = _word(16)
    actor_id = _word(40)
    role = _word(20)
    decided_by = _word(20)
    consent_source = _word(16)
    completion_source = _word(16)

    deadline = models.DateTimeField(null=True, editable=False)
    latency_ms = models.BigIntegerField(null=True, editable=False)
    attempt = models.IntegerField(null=True, editable=False)
    repeat_count = models.IntegerField(null=True, editable=False)
    signing_key_id = _word(16)
    format_version = models.SmallIntegerField(default=FORMAT_VERSION, editable=False)

    class Meta:
        verbose_name = "ledger entry"
        verbose_name_plural = "ledger"
        default_permissions: ClassVar = ("view",)
        indexes: ClassVar = [
            models.Index(fields=["elicitation_id", "id"], name="ledger_elicitation"),  # the timeline of one entry
            models.Index(fields=["tenant", "event", "-id"], name="ledger_tenant_event"),  # an auditor's filter
        ]

    def __str__(self) -> str:
        return f"{self.event} #{self.pk}"
