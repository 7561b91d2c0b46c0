"""Celery tasks: sweeps over what the database says is due. No arguments, no result but counts."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from elicitation.services.sweeps.registry import SWEEPS


@shared_task(name="elicitation.tasks.expire", ignore_result=True)
def expire() -> int:
    close_old_connections()
    return SWEEPS["expire"]()
