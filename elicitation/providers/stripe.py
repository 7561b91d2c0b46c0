"""Stripe as a provider: its PaymentIntents are searched for the elicitation's id, which the page put into metadata.

====================================================== ==============================================================
what the matching PaymentIntents say                   answer
====================================================== ==============================================================
at least one ``succeeded``, its charge not fully       ``completed``: the id and time of the earliest of these
refunded (in part, or disputed, is not refunded)
else at least one ``processing``, ``requires_capture`` ``pending``: money is moving
else any other word (``requires_payment_method``,      ``unknown``: nothing has been done, and a person may still
``requires_confirmation``, ``requires_action``)        begin
all ``canceled``, or ``succeeded`` and fully refunded  ``failed``; ``unknown`` when there are more than were sent
none                                                   ``unknown``
====================================================== ==============================================================

Matching means that ``metadata["elicitation_id"]`` is the id, letter for letter: the search itself is more generous.
The search follows writes with a delay, under a minute as a rule and up to an hour when Stripe is disturbed, so that
``unknown`` says little about the last minute. It needs API version 2020-08-27 or later; the version is left to the
account. Its address is ``/v1/payment_intents/search``. Source: Stripe's API reference, "Search PaymentIntents",
"Search", and "The Charge object" (``refunded``).
"""

from __future__ import annotations

from datetime import datetime
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from elicitation.providers import reading
from elicitation.providers.answers import Answer, Limits, Status

MEMBER: Final = "elicitation_id"
MOST: Final = 10
#: One intent with its charge takes some ten kilobytes, and up to sixty with all the metadata that Stripe lets it carry.
LIMITS: Final = Limits(body_bytes=524_288)


class Charge(Struct, frozen=True, kw_only=True):
    created: int
    refunded: bool


class Intent(Struct, frozen=True, kw_only=True):
    """``latest_charge`` is required: without it nobody knows whether the money has gone back."""

    id: str
    status: str
    created: int
    metadata: dict[str, str]
    latest_charge: Charge | None


class Found(Struct, frozen=True, kw_only=True):
    data: list[Intent]
    has_more: bool


class Became(Enum):
    PAID = auto()
    MOVING = auto()
    OPEN = auto()
    UNDONE = auto()


def query(elicitation_id: str) -> tuple[tuple[str, str], ...]:
    return (
        ("query", f"metadata['{MEMBER}']:'{elicitation_id}'"),
        ("limit", str(MOST)),
        ("expand[]", "data.latest_charge"),
    )


def read(body: bytes, elicitation_id: str) -> Answer:
    """The answer in the result of the search, by the table above. Raises ``NoAnswer``."""
    found = reading.read(body, Found)
    matching = [intent for intent in found.data if intent.metadata.get(MEMBER) == elicitation_id]
    fates = {_became(intent) for intent in matching}
    if Became.PAID in fates:
        paid = [intent for intent in matching if _became(intent) is Became.PAID]
        first = min(paid, key=lambda intent: (_paid_at(intent), intent.id))
        return Answer(Status.COMPLETED, reading.reference(first.id), _paid_at(first))
    if Became.MOVING in fates:
        return Answer(Status.PENDING)
    if fates == {Became.UNDONE} and not found.has_more:
        return Answer(Status.FAILED)
    return Answer(Status.UNKNOWN)


def _became(intent: Intent) -> Became:
    match intent.status:
        case "succeeded":
            refunded = intent.latest_charge is not None and intent.latest_charge.refunded
            return Became.UNDONE if refunded else Became.PAID
        case "processing" | "requires_capture":
            return Became.MOVING
        case "canceled":
            return Became.UNDONE
        case _:  # those that wait for somebody, and any word that Stripe may add
            return Became.OPEN


def _paid_at(intent: Intent) -> datetime:
    return reading.unix(intent.latest_charge.created if intent.latest_charge else intent.created)
