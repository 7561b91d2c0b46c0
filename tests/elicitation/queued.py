"""An entry for each queue of what waits."""

from __future__ import annotations

from django.contrib.auth.models import User

from elicitation.admin.waiting import Queue
from elicitation.models import Evidence
from elicitation.services import honouring
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import consented
from tests.steps import act, ask, lose


def late(desk: Desk, number: int) -> str:
    public_id = consented(desk, number)
    act(desk, public_id, "cancel")
    desk.event(public_id, f"pi_{number}")
    return public_id


def one_in(desk: Desk, queue: Queue, number: int) -> str:
    """An entry that waits in ``queue``."""
    match queue:
        case Queue.PROPOSAL:
            public_id = late(desk, number)
            row = Evidence.objects.get(elicitation=builders.entry_of(public_id))
            honouring.propose(builders.entry_of(public_id).uid, row.uid, User.objects.get().pk)
        case Queue.LATE:
            public_id = late(desk, number)
        case Queue.MISSED:
            public_id = ask(desk, number)
            builders.age(public_id, 7200)
        case Queue.WITHDRAWN:
            public_id = consented(desk, number)
            builders.withdraw_destination()
            desk.event(public_id, f"pi_{number}")
            builders.activate()
        case Queue.UNBOUND:
            public_id = consented(desk, number)
            desk.event(public_id, f"pi_{number}", subject=None)
        case Queue.EARLY:
            public_id = ask(desk, number)
            desk.event(public_id, f"pi_{number}")
        case Queue.LOST:
            public_id = ask(desk, number)
            lose(desk, public_id)
        case Queue.UNRESOLVED:
            public_id = ask(desk, number)
            lose(desk, public_id)
            builders.age(public_id, 100_000)
            expiring.expire()
        case Queue.CONFLICT:
            public_id = consented(desk, number)
            desk.event(public_id, f"pi_{number}")
            desk.event(public_id, f"pi_{number}_other")
    return public_id
