"""What a provider's verified event says about an elicitation: one value, whichever scheme the provider speaks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, NamedTuple, NoReturn

from elicitation.policy.identifiers import PREFIX
from elicitation.policy.shapes import reference_shaped_like_secret

OURS: Final = "elicitation."
MAX_ID: Final = 64

#: Where the parts of Stripe's object stand in its events.
_OBJECT: Final = "/data/object"
#: Stripe's ids; what follows one after ``_secret_`` would be a secret.
_STRIPE_ID: Final = re.compile(r"[a-z]{2,6}_(?:test_|live_)?[A-Za-z0-9]{1,200}")


class Kind(StrEnum):
    """What is said. ``NOT_OURS``: nothing that the desk has to judge, at least not yet."""

    COMPLETED = "completed"
    FAILED = "failed"
    REVERSED = "reversed"
    NOT_OURS = "not_ours"


class Fault(StrEnum):
    """What is wrong with an event that speaks of an elicitation."""

    MISSING = "missing"
    INVALID = "invalid"
    SECRET = "secret"  # noqa: S105 - shaped like one
    UNKNOWN_TYPE = "unknown_type"


class Malformed(ValueError):
    """The event cannot be judged. ``at`` is the place in the body, as a JSON pointer; the value is not told."""

    def __init__(self, fault: Fault, at: str) -> None:
        super().__init__(f"{fault} at {at}")
        self.fault = fault
        self.at = at


class Named(NamedTuple):
    """The person who did the work, as the identity provider knows them."""

    iss: str
    sub: str


@dataclass(frozen=True, slots=True)
class Word:
    """A provider's word. ``elicitation_id`` is as it was sent; ``result_ref`` is empty where the work failed;
    ``occurred_at`` is ``None`` where arrival counts, ``subject`` where nobody is named."""

    kind: Kind
    elicitation_id: str = ""
    result_ref: str = ""
    occurred_at: datetime | None = None
    subject: Named | None = None


NOT_OURS: Final = Word(Kind.NOT_OURS)


class StripeType(StrEnum):
    """The events that say something final about one payment. Source: Stripe, Types of events."""

    SESSION_COMPLETED = "checkout.session.completed"
    SESSION_PAID_LATER = "checkout.session.async_payment_succeeded"
    SESSION_FAILED_LATER = "checkout.session.async_payment_failed"
    SESSION_EXPIRED = "checkout.session.expired"
    INTENT_SUCCEEDED = "payment_intent.succeeded"
    INTENT_CANCELED = "payment_intent.canceled"
    CHARGE_REFUNDED = "charge.refunded"


def standard_kind(type_: str) -> Kind:
    """What an event of this type says. Raises ``Malformed`` for a type that would be ours and is not known: the
    provider must not believe that somebody here has taken note of it."""
    if not type_.startswith(OURS):
        return Kind.NOT_OURS
    try:
        kind = Kind(type_.removeprefix(OURS))
    except ValueError:
        kind = Kind.NOT_OURS
    if kind is Kind.NOT_OURS:
        raise Malformed(Fault.UNKNOWN_TYPE, "/type")
    return kind


def standard(
    kind: Kind,
    elicitation_id: str,
    result_ref: str | None,
    occurred_at: datetime | None = None,
    subject: Named | None = None,
) -> Word:
    """The word of an event in the desk's own form. A failure has no result. Raises ``Malformed``."""
    if kind is Kind.FAILED:
        return Word(kind, elicitation_id, "", occurred_at, subject)
    if result_ref is None:
        raise Malformed(Fault.MISSING, "/data/result_ref")
    return Word(kind, elicitation_id, _opaque(result_ref, "/data/result_ref"), occurred_at, subject)


def stripe(type_: str, created: int, about: Mapping[str, object]) -> Word:
    """The word of a Stripe event: ``created`` in unix seconds, ``about`` its ``data.object``. Raises ``Malformed``.

    Ours is what carries an id of the desk in ``metadata.elicitation_id``. The result is the payment intent's id, so
    that the events of a session and of its intent say the same. No person is named.
    """
    try:
        event = StripeType(type_)
    except ValueError:
        return NOT_OURS
    elicitation_id = _elicitation_id(about)
    if elicitation_id is None:
        return NOT_OURS
    at = datetime.fromtimestamp(created, UTC)
    match event:
        case StripeType.SESSION_COMPLETED if not _settled(about):
            return NOT_OURS  # the session says so again, when the money has come or has not
        case StripeType.SESSION_COMPLETED | StripeType.SESSION_PAID_LATER:
            return Word(Kind.COMPLETED, elicitation_id, _session_result(about), at)
        case StripeType.INTENT_SUCCEEDED:
            return Word(Kind.COMPLETED, elicitation_id, _id(about, "id"), at)
        case StripeType.SESSION_FAILED_LATER | StripeType.SESSION_EXPIRED | StripeType.INTENT_CANCELED:
            return Word(Kind.FAILED, elicitation_id, "", at)
        case StripeType.CHARGE_REFUNDED:
            if not _refunded_whole(about) or about.get("payment_intent") is None:
                return NOT_OURS  # a part was paid back, or it paid for nothing that an event here has completed
            return Word(Kind.REVERSED, elicitation_id, _id(about, "payment_intent"), at)


def _elicitation_id(about: Mapping[str, object]) -> str | None:
    """What stands in the metadata, which the merchant alone writes: a session's ``client_reference_id`` may be the
    payer's own word. Another program may use the same name for its own."""
    metadata = about.get("metadata")
    given = metadata.get("elicitation_id") if isinstance(metadata, Mapping) else None
    return given if isinstance(given, str) and given.startswith(PREFIX) and len(given) <= MAX_ID else None


def _settled(session: Mapping[str, object]) -> bool:
    """Whether a finished session's money has come, or none is due."""
    match session.get("payment_status"):
        case "paid" | "no_payment_required":
            return True
        case "unpaid":
            return False
        case None:
            return _refuse(Fault.MISSING, f"{_OBJECT}/payment_status")
        case _:
            return _refuse(Fault.INVALID, f"{_OBJECT}/payment_status")


def _session_result(session: Mapping[str, object]) -> str:
    """The id of what the session made, by its mode. A session that costs nothing makes no intent: then its own."""
    match session.get("mode"):
        case "payment":
            made = "payment_intent"
        case "setup":
            made = "setup_intent"
        case "subscription":
            made = "subscription"
        case None:
            _refuse(Fault.MISSING, f"{_OBJECT}/mode")
        case _:
            _refuse(Fault.INVALID, f"{_OBJECT}/mode")
    return _id(session, "id" if session.get(made) is None else made)


def _refunded_whole(charge: Mapping[str, object]) -> bool:
    match charge.get("refunded"):
        case bool() as whole:
            return whole
        case None:
            return _refuse(Fault.MISSING, f"{_OBJECT}/refunded")
        case _:
            return _refuse(Fault.INVALID, f"{_OBJECT}/refunded")


def _id(about: Mapping[str, object], member: str) -> str:
    given = about.get(member)
    at = f"{_OBJECT}/{member}"
    if given is None:
        _refuse(Fault.MISSING, at)
    if not isinstance(given, str) or _STRIPE_ID.fullmatch(given) is None:
        _refuse(Fault.INVALID, at)
    return _opaque(given, at)


def _opaque(reference: str, at: str) -> str:
    return _refuse(Fault.SECRET, at) if reference_shaped_like_secret(reference) else reference


def _refuse(fault: Fault, at: str) -> NoReturn:
    raise Malformed(fault, at)
