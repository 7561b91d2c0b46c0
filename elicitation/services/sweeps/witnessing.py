"""The sweep that shows checkpoints to outsiders."""

from __future__ import annotations

import logging
import time
from typing import Final

from audit import witness as outsider
from elicitation.services import clock
from elicitation.services.sweeps.heartbeat import beat
from elicitation.services.witnessing import post

#: Of one pass: so many logs, and none begun after so many seconds.
MOST: Final = 100
SECONDS: Final = 3.0

logger = logging.getLogger(__name__)


def witness() -> int:
    """Show the newest checkpoint of each log that has grown: write it to the file, send it to the witness.

    1. Claim a log by the time of the try, so that no other worker shows the same.
    2. Write and send, in no transaction.
    3. Note how far the log is witnessed now, or why not, and when it is tried again.

    Returns how many logs were witnessed. One that fails stops no other.
    """
    stops, done = time.monotonic() + SECONDS, 0
    for log in outsider.due(clock.now(), MOST) if outsider.is_configured() else ():
        if time.monotonic() >= stops:
            break
        try:
            done += outsider.show(log, clock.now(), post)
        except Exception:
            logger.exception("a checkpoint could not be shown")
    beat("witness", done)
    return done
