"""What needs a second person before it is done."""

from __future__ import annotations

from typing import ClassVar
from uuid import uuid4

from django.conf import settings
from django.db import models
from django.db.models import F, Q


class HonourProposal(models.Model):
    """One operator's proposal to honour evidence that the entry could not use; another operator's yes carries it out.

    It is about one piece of evidence and one ``version`` of the entry: whatever happens to the entry voids it.
    """

    class Status(models.TextChoices):
        OPEN = "open", "open"
        APPROVED = "approved", "approved"
        WITHDRAWN = "withdrawn", "withdrawn"
        VOID = "void", "void"

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    elicitation = models.ForeignKey("elicitation.Elicitation", on_delete=models.PROTECT, related_name="proposals")
    evidence = models.ForeignKey("elicitation.Evidence", on_delete=models.PROTECT, related_name="proposals")
    version = models.PositiveIntegerField()
    status = models.CharField(max_length=10, choices=Status, default=Status.OPEN)
    proposed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    proposed_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        default_permissions: ClassVar = ("view",)
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["elicitation"], condition=Q(status="open"), name="one_open_proposal_of_an_entry"
            ),
            models.CheckConstraint(
                condition=~Q(status="approved") | (Q(decided_by__isnull=False) & ~Q(decided_by=F("proposed_by"))),
                name="honoured_by_two_people",
            ),
        ]

    def __str__(self) -> str:
        return f"proposal {self.pk} ({self.status})"
