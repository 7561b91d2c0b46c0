"""Exports of the ledger: what was asked for, how far it has come, and where it can be taken up again."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models

from audit.models.log import Log


class Export(models.Model):
    """An export up to a fixed size of one log.

    ``WAITING`` and ``RUNNING`` ones are carried on by whoever is free: the file so far is good up to ``bytes_done``, if
    it has the ``digest`` still, and ``next_leaf`` is where it goes on. ``READY`` is complete, with manifest and end
    marker; ``FAILED`` says why in ``problem`` and can be resumed. ``SENT`` went out as a stream while it was made and
    is not kept.
    """

    class Format(models.TextChoices):
        JSONL = "jsonl", "JSON Lines"
        CSV = "csv", "CSV"
        OCSF = "ocsf", "OCSF 1.8"

    class Status(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "under way"
        READY = "ready", "ready"
        FAILED = "failed", "stopped"
        SENT = "sent", "sent as a stream"
        GONE = "gone", "not kept any more"

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="exports")
    format = models.CharField(max_length=5, choices=Format)
    size = models.BigIntegerField(help_text="The export reaches to this size, of a checkpoint.")

    since = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    from_size = models.BigIntegerField(null=True)
    to_size = models.BigIntegerField(null=True)
    event = models.CharField(max_length=32, blank=True)
    elicitation_id = models.UUIDField(null=True)
    policy_revision = models.IntegerField(null=True)

    status = models.CharField(max_length=8, choices=Status, default=Status.WAITING)
    problem = models.CharField(max_length=40, blank=True)
    next_leaf = models.BigIntegerField(default=0)
    count = models.BigIntegerField(default=0)
    bytes_done = models.BigIntegerField(default=0)
    digest = models.CharField(max_length=64, blank=True, help_text="SHA-256 of so many bytes of the file.")
    made_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)

    actor_kind = models.CharField(max_length=16)
    actor_id = models.CharField(max_length=40, blank=True)
    role = models.CharField(max_length=20, blank=True)

    class Meta:
        default_permissions: ClassVar = ("view", "add")
        indexes: ClassVar = [
            models.Index(
                fields=["made_at"], condition=models.Q(status__in=("waiting", "running")), name="export_unfinished"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.format}: {self.status}"
