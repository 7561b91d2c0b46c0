"""Celery: a static schedule in code, so that nobody can switch a sweep off by a click."""

from __future__ import annotations

import os
from typing import Any, Final

from celery import Celery
from celery.signals import beat_init, setup_logging, worker_process_init

from config.logging import take_uncaught
from config.processes import die_with

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

#: Every sweep of ``elicitation.services.sweeps.registry``, in seconds.
SCHEDULE: Final = {
    "expire": 5.0,
    "reconcile": 5.0,
    "deliver": 5.0,
    "signals": 15.0,
    "seal": 3.0,
    "witness": 10.0,
    "verify": 15.0,
    "export": 2.0,
}

app = Celery("desk")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.conf.beat_schedule = {
    # A tick that nobody took up in time is dropped: the next one does the same work.
    name: {"task": f"elicitation.tasks.{name}", "schedule": seconds, "options": {"expires": seconds}}
    for name, seconds in SCHEDULE.items()
}
app.conf.task_serializer = "json"
app.conf.accept_content = ["json"]
app.conf.worker_hijack_root_logger = False
app.conf.worker_redirect_stdouts = False
app.conf.broker_connection_retry_on_startup = True
app.conf.worker_prefetch_multiplier = 1
# Nobody steers a worker through the broker; and the queue for it is of a kind that newer RabbitMQ refuses.
app.conf.worker_enable_remote_control = False
# Not acknowledged late: a tick is safe to lose, and a worker that holds one when Redis goes away ends (kombu 5.7).
app.conf.task_acks_late = False


@setup_logging.connect
def keep_the_logs(**_: Any) -> None:
    """Celery would add handlers that print whole messages; with this receiver it leaves Django's LOGGING alone."""
    take_uncaught()


@beat_init.connect
def begin_at_once(**_: Any) -> None:
    """The schedule waits for an interval before it sends a task for the first time; a desk that was down has work."""
    for name, seconds in SCHEDULE.items():
        app.tasks[f"elicitation.tasks.{name}"].apply_async(expires=seconds)


@worker_process_init.connect
def end_with_the_worker(**_: Any) -> None:
    """A pool process must not survive a worker that was killed."""
    die_with(os.getppid())()
