"""What the tests of honouring share: entries with evidence that they could not use, and what a refusal leaves."""

from __future__ import annotations

from typing import Any

import pytest

from elicitation.models import Evidence, HonourProposal
from elicitation.policy.lifecycle import State
from elicitation.services import honouring
from elicitation.services.honouring import NotHonoured
from elicitation.services.proposals import Obstacle
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import Desk
from tests.steps import act, consent


def late(desk: Desk, state: State = State.CANCELLED, result: str = "pi_late", **changes: Any) -> str:
    """An entry that ended in ``state``, and a confirmation that came after that."""
    public_id: str = desk.admit(**changes).json()["id"]
    match state:
        case State.DECLINED:
            act(desk, public_id, "answer", action="decline", content="absent")
        case State.EXPIRED:
            consent(desk, public_id)
            builders.age(public_id, 3600)
            expiring.expire()
        case _:
            consent(desk, public_id)
            act(desk, public_id, "cancel")
    assert builders.entry_of(public_id).state == state
    desk.event(public_id, result)
    return public_id


def withdrawn(desk: Desk) -> str:
    """An entry that waits for a retry, with a confirmation for a destination that the policy has withdrawn."""
    public_id: str = desk.admit().json()["id"]
    consent(desk, public_id)
    builders.withdraw_destination()
    desk.event(public_id, "pi_withdrawn")
    assert builders.entry_of(public_id).state == "RETRY_REQUIRED"
    return public_id


def evidence_of(public_id: str) -> Evidence:
    return Evidence.objects.get(elicitation=builders.entry_of(public_id))


def propose(public_id: str, user_id: int) -> HonourProposal:
    return honouring.propose(builders.entry_of(public_id).uid, evidence_of(public_id).uid, user_id)


def everything(public_id: str) -> Any:
    return builders.snapshot(public_id), list(HonourProposal.objects.order_by("pk").values())


def assert_refused(public_id: str, obstacle: Obstacle, call: Any) -> None:
    """The call changes nothing; the ledger gets one refusal with the obstacle's word."""
    before, entries = everything(public_id), len(builders.ledger(public_id))
    with pytest.raises(NotHonoured) as refusal:
        call()
    assert refusal.value.obstacle is obstacle
    assert everything(public_id) == before
    written = builders.ledger(public_id)[entries:]
    assert [(row.event, row.outcome, row.actor_kind) for row in written] == [("refused", obstacle, "operator")]
