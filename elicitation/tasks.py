"""Celery tasks: sweeps over what the database says is due. No arguments, no result but counts."""

from __future__ import annotations

from celery import shared_task
from django.db import close_old_connections

from elicitation.services.sweeps.registry import SWEEPS


@shared_task(name="elicitation.tasks.expire", ignore_result=True)
def expire() -> int:
    close_old_connections()
    return SWEEPS["expire"]()


@shared_task(name="elicitation.tasks.reconcile", ignore_result=True)
def reconcile() -> int:
    close_old_connections()
    return SWEEPS["reconcile"]()


@shared_task(name="elicitation.tasks.signals", ignore_result=True)
def signals() -> int:
    close_old_connections()
    return SWEEPS["signals"]()


@shared_task(name="elicitation.tasks.deliver", ignore_result=True)
def deliver() -> int:
    close_old_connections()
    return SWEEPS["deliver"]()
