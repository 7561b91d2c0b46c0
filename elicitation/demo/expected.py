"""What each flow of the demo must show: the outcomes that the tools returned, in order, and the final state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Flow:
    """One flow. ``on_ledger`` is an outcome that the entry's ledger must hold beside its transitions."""

    name: str
    story: str
    happened: tuple[str, ...]
    state: str
    on_ledger: str = ""


FLOWS: Final = (
    Flow("form", "a form, answered and used", ("accepted", "applied"), "ACCEPTED"),
    Flow(
        "payment",
        "consent, signed completion, used once",
        ("consented", "applied", "already_applied", "1 effect"),
        "COMPLETE",
    ),
    Flow("declined", "the person says no", ("declined",), "DECLINED"),
    Flow(
        "lost",
        "the confirmation is lost, then sent again",
        ("consented", "RETRY_REQUIRED", "no_lookup", "applied"),
        "COMPLETE",
    ),
    Flow(
        "wrong_user",
        "somebody else pays, then the right person",
        ("consented", "CONSENT_PENDING", "applied"),
        "COMPLETE",
        on_ledger="wrong_user_denied",
    ),
    Flow(
        "abandoned",
        "nobody pays, the service gives up",
        ("consented", "CONSENT_PENDING", "CANCELLED", "not_complete"),
        "CANCELLED",
    ),
)
