"""The sweep that seals the ledger."""

from __future__ import annotations

import time
from typing import Final

from audit import seal as sealing
from elicitation.services import clock
from elicitation.services.sweeps.heartbeat import beat

#: No pass is begun after so many seconds.
SECONDS: Final = 2.0


def seal() -> int:
    """Seal what the ledger has got since, pass by pass, each a transaction of its own (``audit.seal``).

    Returns how many entries were sealed. Touches no entry; what commits meanwhile is sealed next time.
    """
    stops, sealed = time.monotonic() + SECONDS, 0
    while time.monotonic() < stops and (some := sealing.seal(clock.now())):
        sealed += some
    beat("seal", sealed)
    return sealed
