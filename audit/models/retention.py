"""What may not be pruned, and what was."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.db import models

from audit.models.exports import Export
from audit.models.log import Log


class LegalHold(models.Model):
    """Keeps entries from being pruned: those of one elicitation, or without one the whole log."""

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="holds")
    elicitation_id = models.UUIDField(null=True, blank=True)
    made_at = models.DateTimeField()
    lifted_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "legal hold"
        default_permissions: ClassVar = ("view", "manage")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["log"], condition=models.Q(lifted_at=None, elicitation_id=None), name="one_hold_of_a_log"
            ),
            models.UniqueConstraint(
                fields=["log", "elicitation_id"], condition=models.Q(lifted_at=None), name="one_hold_of_an_elicitation"
            ),
        ]

    def __str__(self) -> str:
        return f"hold {self.uid}"


class Prune(models.Model):
    """An order to remove the leaves before ``upto``, which ``export`` holds in full.

    The database lets entries go only where such an order covers them; the order is on the log that survives.
    """

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    log = models.ForeignKey(Log, on_delete=models.PROTECT, related_name="prunes")
    upto = models.BigIntegerField()
    export = models.ForeignKey(Export, on_delete=models.PROTECT, related_name="+")
    ordered_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions: ClassVar = ("view", "add")

    def __str__(self) -> str:
        return f"up to {self.upto}"
