"""Work that a caller must not notice: done in another thread, on a connection of its own, once the reply has gone."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from django.db import close_old_connections, connections

logger = logging.getLogger(__name__)


@cache
def _pool() -> ThreadPoolExecutor:
    """One thread in each process, made when first needed: not before a server forks."""
    return ThreadPoolExecutor(1, thread_name_prefix="afterwards")


def later(work: Callable[[], None]) -> Future[None]:
    """Do ``work`` soon; a failure is logged. What is still waiting when the process ends is done first."""
    return _pool().submit(_done, work)


def _done(work: Callable[[], None]) -> None:
    close_old_connections()
    try:
        work()
    except Exception:
        logger.exception("work after a reply failed")
    finally:
        connections.close_all()
