"""The sweep that verifies the ledger."""

from __future__ import annotations

from typing import Final

from audit import nightly
from elicitation.services import clock
from elicitation.services.sweeps.heartbeat import beat

#: Of one pass: a log takes many, and nothing else is held up for long.
SECONDS: Final = 2.0


def verify() -> int:
    """Go on with verifying the logs that are due, once a day or because somebody asked (``audit.nightly``).

    Returns how many leaves and entries were looked at. Touches no entry; what is found is a signal.
    """
    done = nightly.verify(clock.now(), SECONDS)
    beat("verify", done)
    return done
