"""The sweep that sends signals out."""

from __future__ import annotations

from typing import Final

from audit.outbox import Channel
from elicitation.services import sending
from elicitation.services.sweeps.heartbeat import beat

#: Of each channel in one pass: so many messages, and no new one after so many seconds, so that a receiver which hangs
#: holds up neither the other channel nor the next sweep. One try takes a quarter of a minute more at the most.
MOST: Final = 50
SECONDS: Final = 3.0


def deliver() -> int:
    """Send the messages that are due.

    1. Claim the one that has been due for longest, for a while, in a transaction of its own.
    2. Send it outside of any transaction.
    3. Note that it was sent; or when it is tried again; or that it is given up.

    Returns how many were sent. Touches nothing but outgoing messages; a message whose sender died is sent again.
    """
    done = sum(sending.deliver(channel, SECONDS, MOST) for channel in Channel)
    beat("deliver", done)
    return done
