"""The sweep that raises signals."""

from __future__ import annotations

from elicitation.services import clock, revisions, signalling
from elicitation.services.sweeps.heartbeat import beat


def signals() -> int:
    """Judge every rule of signals by the thresholds of the policy in force.

    Returns how many signals were opened. Touches nothing but signals and their outgoing messages; running it twice
    changes nothing that running it once would not have.
    """
    opened = signalling.judge(revisions.active().document.signals, clock.now())
    beat(signalling.OWN, opened)
    return opened
