"""Places in the life of an entry, and the events that lead there: a state, and what makes the entry special."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from elicitation.policy.lifecycle import State
from elicitation.services import clock
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import ALICE, Desk
from tests.steps import act, consent

#: Where each place is once its deadline has passed.
BECOMES: Final = {
    "ADMITTED": "EXPIRED",
    "ADMITTED held": "RETRY_REQUIRED held",
    "ADMITTED unbound": "RETRY_REQUIRED unbound",
    "ADMITTED url_required": "EXPIRED",
    "ADMITTED url_required unbound": "RETRY_REQUIRED unbound",
    "CONSENT_PENDING": "EXPIRED answered",
    "CONSENT_PENDING url_required": "EXPIRED answered",
    "CONSENT_PENDING unbound": "EXPIRED waited answered",
    "CONSENT_PENDING late": "EXPIRED late answered",
    "RETRY_REQUIRED": "EXPIRED unresolved answered",
    "RETRY_REQUIRED url_required": "EXPIRED unresolved url_required",
    "RETRY_REQUIRED held": "EXPIRED waited",
    "RETRY_REQUIRED unbound": "EXPIRED waited",
    "RETRY_REQUIRED withdrawn": "EXPIRED waited answered withdrawn",
    "RETRY_REQUIRED withdrawn proposed": "EXPIRED waited answered withdrawn",
}
ENDED: Final = (
    "COMPLETE",
    "COMPLETE url_required",
    "COMPLETE conflict",
    "ACCEPTED",
    "DECLINED",
    "DECLINED url_required",
    "DECLINED late",
    "DECLINED late proposed",
    "CANCELLED",
    "CANCELLED url_required",
    "CANCELLED late",
    "CANCELLED late proposed",
    "EXPIRED",
    "EXPIRED url_required",
    "EXPIRED unresolved answered",
    "EXPIRED unresolved url_required",
    "EXPIRED late",
    "EXPIRED late proposed",
)


def reach(desk: Desk, place: str, result: str = "pi_1", other: str = "pi_2", **asked: Any) -> str:
    """An entry of Alice's at ``place``. ``result`` is what the provider confirms, ``other`` what contradicts it."""
    state, *special = place.split()
    delivery = "url_required" if "url_required" in special else "create"
    asked |= {"form": state == State.ACCEPTED, "delivery": delivery}
    public_id: str = desk.admit(**asked).json()["id"]
    match State(state):
        case State.ADMITTED:
            _send_what_waits(desk, public_id, special, result)
        case State.ACCEPTED:
            act(desk, public_id, "answer", action="accept", content="present")
        case State.CONSENT_PENDING:
            consent(desk, public_id)
            _send_what_waits(desk, public_id, special, result)
        case State.RETRY_REQUIRED if "withdrawn" in special:
            consent(desk, public_id)
            builders.withdraw_destination()
            desk.event(public_id, result)
        case State.RETRY_REQUIRED if special and delivery == "create":
            _send_what_waits(desk, public_id, special, result)
            assert desk.admit(**asked).json()["id"] == public_id  # asking again makes it a retry
        case State.RETRY_REQUIRED:
            _lose(desk, public_id, delivery)
        case State.COMPLETE:
            if delivery == "create":
                consent(desk, public_id)
            desk.event(public_id, result)
            if "conflict" in special:
                desk.event(public_id, other)
        case State.DECLINED:
            act(desk, public_id, "answer", action="decline", content="absent")
            _send_what_waits(desk, public_id, special, result)
        case State.CANCELLED:
            act(desk, public_id, "cancel")
            _send_what_waits(desk, public_id, special, result)
        case State.EXPIRED:
            if "unresolved" in special:
                _lose(desk, public_id, delivery)
            builders.age(public_id, 100_000)
            expiring.expire()
            _send_what_waits(desk, public_id, special, result)
    assert builders.entry_of(public_id).state == state
    return public_id


def _lose(desk: Desk, public_id: str, delivery: str) -> None:
    if delivery == "create":
        consent(desk, public_id)
    act(desk, public_id, "lost")


def _send_what_waits(desk: Desk, public_id: str, special: list[str], result: str) -> None:
    ended = State(builders.entry_of(public_id).state).terminal
    if "unbound" in special:
        desk.event(public_id, result, subject=None)
    elif "late" in special and not ended:
        desk.event(public_id, result, occurred_at=(clock.now() + timedelta(days=30)).isoformat())
    elif special and special[0] in ("held", "late"):
        desk.event(public_id, result, subject=ALICE)
