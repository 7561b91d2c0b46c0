"""Who works at the desk: of which tenants a person sees anything."""

from __future__ import annotations

from uuid import uuid4

from django.conf import settings
from django.db import models


class Seat(models.Model):
    """A person's seat at the desk: the tenants that it is bound to, or the whole desk.

    What somebody may do is said by groups (:mod:`elicitation.services.roles`), about whose rows by the seat. Without
    one a person sees nothing of any tenant. The ledger names the person by ``uid``.
    """

    uid = models.UUIDField(unique=True, default=uuid4, editable=False)
    person = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="seat")
    whole_desk = models.BooleanField(default=False)
    tenants = models.ManyToManyField("elicitation.Tenant", blank=True, related_name="seats")

    class Meta:
        default_permissions = ()

    def __str__(self) -> str:
        return f"seat of {self.person_id}"
