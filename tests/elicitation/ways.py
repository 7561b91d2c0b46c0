"""The ways in which Alice's elicitation can go, each done by the real services, and what an auditor is told of each."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib.auth.models import User

from elicitation.models import Evidence
from elicitation.policy.lifecycle import State
from elicitation.services import actors, honouring, operators
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import BOB, Desk
from tests.steps import act, apply, complete, consent, say


def pending(desk: Desk, public_id: str) -> None:
    """Nothing happens."""


def agreed_slowly(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="accept", content="absent", latency_ms=9000)


def agreed_at_once(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="accept", content="absent", latency_ms=40)


def lost(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    act(desk, public_id, "lost")


def applied(desk: Desk, public_id: str) -> None:
    complete(desk, public_id)
    apply(desk, public_id)


def reversed_after(desk: Desk, public_id: str) -> None:
    applied(desk, public_id)
    say(desk, "reversed", public_id)


def declined(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="decline", content="absent", latency_ms=9000)


def declined_at_once(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="decline", content="absent", latency_ms=40)


def closed_the_question(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="cancel", content="absent")


def agreed_then_closed(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    act(desk, public_id, "answer", action="cancel", content="absent")


def given_up(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "cancel")


def cancelled_by_an_operator(desk: Desk, public_id: str) -> None:
    operators.cancel(builders.entry_of(public_id).uid, actors.operator(1), CancelReason.SECURITY)


def failed(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    say(desk, "failed", public_id, None)


def withdrawn(desk: Desk, public_id: str) -> None:
    builders.withdraw_destination()
    act(desk, public_id, "answer", action="accept", content="absent", latency_ms=9000)


def expired(desk: Desk, public_id: str) -> None:
    builders.age(public_id, 3600)
    expiring.expire()


def expired_after_a_loss(desk: Desk, public_id: str) -> None:
    lost(desk, public_id)
    builders.age(public_id, 90_000)
    expiring.expire()


def held_early(desk: Desk, public_id: str) -> None:
    desk.event(public_id)


def late(desk: Desk, public_id: str) -> None:
    declined(desk, public_id)
    desk.event(public_id)


def settled_late(desk: Desk, public_id: str) -> None:
    late(desk, public_id)
    operators.close(builders.entry_of(public_id).uid, actors.operator(1), CloseReason.REFUNDED)


def honoured(desk: Desk, public_id: str) -> None:
    late(desk, public_id)
    olga, oscar = (User.objects.create_superuser(name).pk for name in ("olga", "oscar"))
    entry = builders.entry_of(public_id)
    proposal = honouring.propose(entry.uid, Evidence.objects.get(elicitation=entry).uid, olga)
    honouring.approve(proposal.uid, oscar)


def contradicted(desk: Desk, public_id: str) -> None:
    complete(desk, public_id)
    desk.event(public_id, "pi_2")


def somebody_elses(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    desk.event(public_id, subject=BOB)


SAW_NOBODY = "The desk itself saw nobody."
NEVER_SHOWN = "faster than a person reads: it was probably never shown to anybody."
NOT_KNOWN = "Whether the outside work was done, the ledger does not know."
SIGNED = "The provider confirmed the outside work by a signed message."
TAKEN = "The waiting call took the result."
MONEY = "A confirmation came that it could not use: money may have moved."

#: How it went, where it stands, the answers about approval and use in short, and sentences of both.
WAYS: list[tuple[Callable[[Desk, str], None], State, str, str, list[str]]] = [
    (pending, State.ADMITTED, "Not yet", "Not yet", ["No answer has been reported yet.", NOT_KNOWN]),
    (
        agreed_slowly,
        State.CONSENT_PENDING,
        "The client says so",
        "Not yet",
        ["agreed to open the link. That took 9.0 s.", SAW_NOBODY],
    ),
    (agreed_at_once, State.CONSENT_PENDING, "Probably not", "Not yet", [NEVER_SHOWN]),
    (
        lost,
        State.RETRY_REQUIRED,
        "The client says so",
        "Not yet",
        ["It did not say how long that took", "The confirmation was reported as lost.", NOT_KNOWN],
    ),
    (
        complete,
        State.COMPLETE,
        "The client says so",
        "Not yet",
        [SIGNED, "The waiting call has not taken the result yet."],
    ),
    (
        applied,
        State.COMPLETE,
        "The client says so",
        "Yes, once",
        [SIGNED, TAKEN, "What the service did with it, the ledger does not know."],
    ),
    (
        reversed_after,
        State.COMPLETE,
        "The client says so",
        "Once, and taken back",
        [TAKEN, "The provider took the result back."],
    ),
    (
        contradicted,
        State.COMPLETE,
        "The client says so",
        "Not yet",
        ["Another confirmation contradicts what is recorded."],
    ),
    (
        declined,
        State.DECLINED,
        "No",
        "There is no result",
        ["The client says that the person said no. That took 9.0 s.", NOT_KNOWN],
    ),
    (
        declined_at_once,
        State.DECLINED,
        "Nobody decided",
        "There is no result",
        ["said no. That took 0.0 s", NEVER_SHOWN],
    ),
    (late, State.DECLINED, "No", "There is no result", [MONEY]),
    (settled_late, State.DECLINED, "No", "There is no result", [MONEY, "An operator settled outside of the desk"]),
    (
        honoured,
        State.COMPLETE,
        "No",
        "Not yet",
        ["Two operators honoured a confirmation after a no", "not on an answer of the person"],
    ),
    (
        closed_the_question,
        State.CANCELLED,
        "Nobody decided",
        "There is no result",
        ["closed the question without deciding"],
    ),
    (
        agreed_then_closed,
        State.CANCELLED,
        "Agreed, then ended",
        "There is no result",
        ["agreed to open the link", "closed the question without deciding"],
    ),
    (
        given_up,
        State.CANCELLED,
        "Nobody decided",
        "There is no result",
        ["No answer was reported before the service gave it up."],
    ),
    (
        cancelled_by_an_operator,
        State.CANCELLED,
        "Nobody decided",
        "There is no result",
        ["No answer was reported before an operator cancelled it."],
    ),
    (
        failed,
        State.CANCELLED,
        "The client says so",
        "There is no result",
        ["The provider said that the work had failed for good."],
    ),
    (
        withdrawn,
        State.CANCELLED,
        "Too late: the policy had changed",
        "There is no result",
        ["It did not count: the policy then in force no longer admitted the question."],
    ),
    (
        expired,
        State.EXPIRED,
        "Nobody decided",
        "There is no result",
        ["Nobody answered in time. This is not a refusal.", NOT_KNOWN],
    ),
    (
        expired_after_a_loss,
        State.EXPIRED,
        "The client says so",
        "There is no result",
        ["The confirmation was lost and was not found in time: the work may be done."],
    ),
    (
        held_early,
        State.ADMITTED,
        "Not yet",
        "Not yet",
        ["A confirmation came that could not be used then. It was held."],
    ),
    (
        somebody_elses,
        State.CONSENT_PENDING,
        "The client says so",
        "Not yet",
        ["A confirmation named another person and was refused."],
    ),
]
