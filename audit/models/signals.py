"""Signals, and the messages that carry them out."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models


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
