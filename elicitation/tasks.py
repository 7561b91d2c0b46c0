"""Celery tasks: sweeps over what the database says is due. No arguments, no result but counts."""

from __future__ import annotations

from collections.abc import Callable

from celery import shared_task
from django.db import close_old_connections

from elicitation.services.sweeps.registry import SWEEPS


def _task(name: str, sweep: Callable[[], int]) -> None:
    def run() -> int:
        close_old_connections()
        return sweep()

    shared_task(name=f"elicitation.tasks.{name}", ignore_result=True)(run)


for _name, _sweep in SWEEPS.items():
    _task(_name, _sweep)
