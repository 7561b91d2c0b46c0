"""Traces of the desk's own upkeep."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Heartbeat(models.Model):
    """When a scheduled task last ran to its end, and how much it did. Read by ``/readyz``."""

    name = models.CharField(max_length=32, primary_key=True)
    at = models.DateTimeField()
    count = models.PositiveIntegerField(default=0)

    class Meta:
        default_permissions: ClassVar = ()

    def __str__(self) -> str:
        return self.name
