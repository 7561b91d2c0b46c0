"""What everybody may do in the lives of a few elicitations, with what must come of it at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, Final
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import F

from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence, HonourProposal, WebhookDelivery
from elicitation.services import actors, clock, honouring, operators, proof
from elicitation.services.actors import Actor
from elicitation.services.honouring import NotHonoured
from elicitation.services.move import TransitionRefused
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import ALICE, BOB
from tests.elicitation.asked import can_be_asked
from tests.elicitation.invariants import LIVE, stored
from tests.elicitation.places import reach
from tests.elicitation.witness import Witness, reference_of
from tests.providers.server import ProviderServer, says
from tests.steps import say

ANSWERS: Final = ("accept", "decline", "cancel")
PROGRESS: Final = ("delivered", "shown", "call_ended")
BY_OPERATORS: Final[dict[str, Callable[[UUID, Actor], object]]] = {
    "lost": operators.mark_lost,
    "retry": operators.retry,
    "give up": partial(operators.cancel, reason=CancelReason.USER_ABANDONED),
    "close": partial(operators.close, reason=CloseReason.REFUNDED),
}


class Lives:
    """Questions to Alice that begin anywhere in their life, and everybody who may say something about them.

    ``operations`` are whose each entry is, ``handed`` what their calls were given. A reference ``pi_all`` is the same
    for all entries, so that it can complete only one of them; the others are each entry's own.
    """

    def __init__(self, server: ProviderServer) -> None:
        self.server = server
        self.desk = builders.open_desk()
        can_be_asked(self.desk.pay, server)
        self.operators = [User.objects.create_user(name).pk for name in ("olga", "oscar")]
        self.operations: dict[str, dict[str, Any]] = {}
        self.handed: dict[str, str] = {}
        self.changes = 0
        self.witness = Witness()

    # Asking

    def begin(self, place: str) -> str | None:
        """Another question, at ``place``; where the policy wants none, nothing."""
        if self.witness.withdrawn:
            return None
        number = len(self.operations)
        operation = builders.operation(question=f"question-{number}")
        result = f"pi_1-{number}"
        public_id = reach(self.desk, place, result, f"pi_2-{number}", operation=operation)
        self.operations[public_id] = operation
        uid = builders.entry_of(public_id).uid
        self.witness.withdrawn = "withdrawn" in place
        self.witness.heard.add((uid, result))
        if not {"unbound", "late"} & set(place.split()):
            self.witness.confirmed.add((uid, result))
        self.witness.time_was_turned()
        return public_id

    def ask_again(self, public_id: str) -> str | None:
        operation, delivery = self.operations[public_id], builders.entry_of(public_id).delivery
        reply = self.desk.admit(operation=operation, delivery=delivery)
        assert reply.status_code in (200, 201, 409, 422)
        if reply.status_code >= 400:
            return None
        said = reply.json()
        entry = builders.entry_of(said["id"])
        if reply.status_code == 200:
            asks = said["state"] in ("ADMITTED", "CONSENT_PENDING") and not entry.held_evidence
            assert asks or said["request"] is None, "nobody is sent to do again what may be done"
            return None
        earlier = Elicitation.objects.filter(operation_digest=entry.operation_digest).exclude(pk=entry.pk)
        assert not earlier.filter(late_evidence=True).exists(), "late evidence is settled before anybody is asked again"
        last = entry.predecessor
        if last is not None and (last.shown_at or last.consented_at or last.lost_at or delivery == "url_required"):
            assert entry.after_visit
            assert last.looked_up_at is not None, "the provider is asked before the person is"
        self.operations[said["id"]] = operation
        return str(said["id"])

    # The person, the service that speaks for her, and operators

    def call(self, public_id: str, verb: str, **body: Any) -> Any:
        self.witness.about(public_id)
        reply = self.desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE} | body)
        assert reply.status_code in (200, 409)
        self.witness.refused = reply.status_code == 409
        return reply.json()

    def report(self, public_id: str, said: str) -> None:
        if said in ANSWERS:
            self.call(public_id, "answer", action=said, content="absent")
        elif said in PROGRESS:
            self.call(public_id, "progress", event=said)
        else:
            self.call(public_id, "cancel" if said == "give up" else said)

    def operate(self, public_id: str, verb: str) -> None:
        try:
            BY_OPERATORS[verb](self.witness.about(public_id), actors.operator(self.operators[0]))
        except TransitionRefused:
            self.witness.refused = True
        entry = builders.entry_of(public_id)
        assert verb != "close" or entry.state in LIVE or not (entry.late_evidence or entry.unresolved)

    def consume(self, public_id: str, own: bool) -> None:
        operation = self.operations[public_id] if own else builders.operation(question="another")
        taken = self.call(public_id, "consume", operation=operation)
        entry = builders.entry_of(public_id)
        if own and entry.state == "COMPLETE":
            assert taken["outcome"] == ("already_applied" if public_id in self.handed else "applied")
            assert taken["result_ref"] == self.handed.setdefault(public_id, reference_of(entry.uid))
            assert taken["reversed"] == (entry.reversed_at is not None)
        else:
            assert (taken["outcome"], taken["result_ref"]) == ("not_complete" if own else "conflict", None)
            self.witness.refused = True

    # The provider

    def named(self, public_id: str, name: str) -> str:
        return name if name == "pi_all" else f"{name}-{list(self.operations).index(public_id)}"

    def kept(self, public_id: str, reference: str) -> Evidence | None:
        entry = builders.entry_of(public_id)
        known = proof.result_digests(entry, reference)
        return Evidence.objects.filter(elicitation=entry, result_digest__in=known).first()

    def deliver(self, public_id: str, kind: str, reference: str | None, again: bool, **data: Any) -> str:
        """What became of a provider's event. ``again``: it is sent twice, as providers do; the repeat changes
        nothing."""
        outcome = self.delivered(public_id, kind, reference, data)
        assert (outcome == "wrong_user_denied") == (data["subject"] is BOB)
        if again:
            before = builders.snapshot(public_id)
            repeated = self.delivered(public_id, kind, reference, data)
            assert builders.snapshot(public_id) == before, "the same event again changes nothing"
            known = {"completed": {"duplicate_ignored"}, "reversed": {"reversed", "duplicate_ignored"}}
            assert repeated in known.get(outcome, {repeated})
        return outcome

    def delivered(self, public_id: str, kind: str, reference: str | None, data: dict[str, Any]) -> str:
        assert say(self.desk, kind, public_id, reference, **data).status_code == 204
        return WebhookDelivery.objects.latest("pk").outcome

    def complete(self, public_id: str, name: str, subject: Any, late: bool, again: bool) -> None:
        """``late``: the provider says that the work was done after every window."""
        uid, reference = self.witness.about(public_id), self.named(public_id, name)
        if subject is not BOB:
            self.witness.heard.add((uid, reference))
        if subject is ALICE and not late:
            self.witness.confirmed.add((uid, reference))
        more = {"occurred_at": (clock.now() + timedelta(days=30)).isoformat()} if late else {}
        outcome = self.deliver(public_id, "completed", reference, again, subject=subject, **more)
        assert outcome != "result_reused_denied" or name == "pi_all"
        lost = self.kept(public_id, reference) is None
        assert not lost or outcome in ("wrong_user_denied", "result_reused_denied"), "nothing is lost"

    def reverse(self, public_id: str, name: str, subject: Any, again: bool) -> None:
        self.witness.about(public_id)
        reference = self.named(public_id, name)
        self.deliver(public_id, "reversed", reference, again, subject=subject)
        entry, row = builders.entry_of(public_id), self.kept(public_id, reference)
        if subject is BOB:
            return
        if row is None:
            assert entry.state == "COMPLETE", "a reversal that comes first is not forgotten"
        elif row.status == "used":
            assert entry.reversed_at is not None
        else:
            assert row.status == "reversed"

    def fail(self, public_id: str, subject: Any, again: bool) -> None:
        uid = self.witness.about(public_id)
        if subject is not BOB:
            self.witness.failed.add(uid)
        self.deliver(public_id, "failed", None, again, subject=subject)

    def know(self, public_id: str, status: str, subject: Any, asked: bool) -> None:
        """What the provider says from now on when it is asked; ``asked``: the reconciler asks at once, about all.

        A reference that it names before the work is done is none yet.
        """
        uid = builders.entry_of(public_id).uid
        reference = self.named(public_id, "pi_1" if status == "completed" else "pi_not_yet")
        if status == "completed" and subject is not BOB:
            self.witness.heard.add((uid, reference))
        if status == "completed" and subject is ALICE:
            self.witness.confirmed.add((uid, reference))
        if status == "failed" and subject is not BOB:
            self.witness.failed.add(uid)
        result = {"result_ref": reference} | ({"subject": subject} if subject else {})
        self.server.about(public_id, says({"status": status} | result))
        if asked:
            losses = LedgerEntry.objects.filter(event="lost")
            known = losses.count()
            Elicitation.objects.exclude(next_lookup_at=None).update(next_lookup_at=clock.now())
            reconciling.reconcile()
            assert losses.count() == known, "a provider that answers knows better than the clock"

    # Time, the policy, and two operators together

    def time_passes(self, public_id: str, seconds: int, swept: bool) -> None:
        builders.age(public_id, seconds)
        proposals = HonourProposal.objects.filter(elicitation=builders.entry_of(public_id))
        proposals.update(expires_at=F("expires_at") - timedelta(seconds=seconds))
        self.witness.time_was_turned()
        if swept:
            expiring.expire()
            assert not any(entry.overdue for entry in stored().values())

    def change_policy(self) -> None:
        """The policy withdraws the destination, or lists it again. That is slow, and happens a few times in a life."""
        self.changes += 1
        if self.changes > 4:
            return
        self.witness.withdrawn = not self.witness.withdrawn
        if self.witness.withdrawn:
            builders.withdraw_destination()
        else:
            builders.activate()

    def propose(self, public_id: str, which: int, proposer: int, then: str) -> None:
        """Propose to honour some evidence. ``then``, before anything else can happen, the ``other`` operator approves
        it, or the proposer ``alone``, or they ``wait``."""
        rows = Evidence.objects.filter(elicitation=builders.entry_of(public_id)).order_by("-pk")
        if not rows:
            return
        row = rows[which % len(rows)]
        try:
            proposal = honouring.propose(self.witness.about(public_id), row.uid, self.operators[proposer])
        except NotHonoured:
            self.witness.refused = True
            return
        row.refresh_from_db()
        assert row.status in ("late", "withdrawn")
        if then == "other":
            honouring.approve(proposal.uid, self.operators[1 - proposer])
        if then == "alone":
            with pytest.raises(NotHonoured):
                honouring.approve(proposal.uid, self.operators[proposer])

    def approve(self, public_id: str, approver: int) -> None:
        """Approve what was proposed last, also when it is over."""
        entry = builders.entry_of(public_id)
        proposal = HonourProposal.objects.filter(elicitation=entry).last()
        if proposal is None:
            return
        self.witness.about(public_id)
        try:
            honouring.approve(proposal.uid, self.operators[approver])
        except NotHonoured:
            self.witness.refused = True
            return
        assert proposal.status == "open"
        assert proposal.proposed_by_id != self.operators[approver]
        assert proposal.version == entry.version, "nothing had happened to the entry since"
        assert clock.now() < proposal.expires_at
