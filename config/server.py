"""The web server: ``python -m config.server HOST PORT`` serves the desk with granian, as measured to be the fastest.

The application is loaded once, before the workers are forked, so that they start at once and share its memory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, Final

from django.conf import settings
from django.urls import get_resolver
from granian.constants import HTTPModes, Interfaces
from granian.log import LogLevels
from granian.server import Server

from config.logging import take_uncaught
from config.processes import GRACE, die_with
from config.wsgi import application

WORKERS: Final = 2
THREADS: Final = 4
#: As long as a database connection may live: a thread that ends takes its connection with it.
IDLE_THREAD_SECONDS: Final = 600


class Load:
    """What a worker does first. A class, because Python 3.14 passes it to the worker by pickling it."""

    def __init__(self) -> None:
        self.server = os.getpid()

    def __call__(self, *_: object) -> Callable[..., Any]:
        die_with(self.server)()
        return application


def main(host: str, port: str) -> None:
    take_uncaught()
    get_resolver().url_patterns  # noqa: B018 - loads every view now, once, instead of in each worker's first request
    Server(
        "config.wsgi:application",
        address=host,
        port=int(port),
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=WORKERS,
        blocking_threads=THREADS,
        blocking_threads_idle_timeout=IDLE_THREAD_SECONDS,
        workers_kill_timeout=int(GRACE) - 2,  # before the supervisor's own patience ends
        log_level=LogLevels.error,  # its warnings at a stop tell of workers that have ended already
        log_dictconfig={**settings.LOGGING, "loggers": {**settings.LOGGING["loggers"]}},
        log_access=False,  # the desk writes a line of its own for each request, without paths
    ).serve(target_loader=Load())


if __name__ == "__main__":
    main(*sys.argv[1:])
