"""Every sweep by name: what it does in one bounded pass, returning how much that was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from elicitation.services.sweeps.expiring import expire

SWEEPS: Final[dict[str, Callable[[], int]]] = {"expire": expire}
