"""Every sweep by name: what it does in one bounded pass, returning how much that was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from elicitation.services.sweeps.delivering import deliver
from elicitation.services.sweeps.expiring import expire
from elicitation.services.sweeps.exporting import export
from elicitation.services.sweeps.reconciling import reconcile
from elicitation.services.sweeps.sealing import seal
from elicitation.services.sweeps.signalling import signals
from elicitation.services.sweeps.verifying import verify
from elicitation.services.sweeps.witnessing import witness

SWEEPS: Final[dict[str, Callable[[], int]]] = {
    "expire": expire,
    "reconcile": reconcile,
    "signals": signals,
    "deliver": deliver,
    "seal": seal,
    "witness": witness,
    "verify": verify,
    "export": export,
}
