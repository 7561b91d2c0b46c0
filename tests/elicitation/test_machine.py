"""A machine that drives the database through random histories: after each event the invariants hold, in any order.

Hypothesis shrinks a history that breaks one to the shortest that still does.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from audit.models import LedgerEntry
from elicitation.models import Elicitation, Evidence
from elicitation.models.evidence import WAITING
from elicitation.policy.lifecycle import LIVE
from elicitation.services import actors, clock, honouring, operators
from elicitation.services.move import TransitionRefused
from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import ALICE, BOB
from tests.elicitation.asked import can_be_asked
from tests.elicitation.test_provider_outcomes import say
from tests.providers.server import ProviderServer, says
from tests.races.test_races import assert_the_ledger_explains

pytestmark = pytest.mark.django_db

REFERENCES = st.sampled_from(["pi_1", "pi_2"])
DAY = 86_400


@pytest.fixture(scope="module")
def status_server() -> Iterator[ProviderServer]:
    with tempfile.TemporaryDirectory() as folder, ProviderServer(Path(folder)) as server:
        yield server


class Life(RuleBasedStateMachine):
    """Two operations of Alice's, one pushed and one in an error, and everybody who may say something about them."""

    ids = Bundle("ids")
    server: ProviderServer

    def __init__(self) -> None:
        super().__init__()
        self.world = transaction.atomic()
        self.world.__enter__()
        self.desk = builders.open_desk()
        can_be_asked(self.desk.pay, self.server)
        self.server.script(says({"status": "unknown"}))
        self.operators = [User.objects.create_user(name).pk for name in ("olga", "oscar")]
        self.operations: dict[str, dict[str, Any]] = {}
        self.overdue: str | None = None

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.world.__exit__(None, None, None)

    def call(self, public_id: str, verb: str, **body: Any) -> None:
        """A service's call about an entry; whether it was overdue is remembered for the invariant."""
        self._look(public_id)
        reply = self.desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE} | body)
        assert reply.status_code < 500

    def _look(self, public_id: str) -> None:
        deadline = builders.entry_of(public_id).deadline
        self.overdue = public_id if deadline is not None and deadline <= clock.now() else None

    def ask(self, delivery: str) -> Any:
        operation = builders.operation(question=delivery.replace("_", "-"))
        reply = self.desk.admit(operation=operation, delivery=delivery)
        assert reply.status_code < 500
        if reply.status_code not in (200, 201) or reply.json()["id"] in self.operations:
            return multiple()
        self.operations[reply.json()["id"]] = operation
        return reply.json()["id"]

    @initialize(target=ids)
    def begin(self) -> Any:
        return self.ask("create")

    @rule(target=ids, delivery=st.sampled_from(["create", "url_required"]))
    def ask_again(self, delivery: str) -> Any:
        self.overdue = None
        return self.ask(delivery)

    @rule(public_id=ids, action=st.sampled_from(["accept", "accept", "decline", "cancel"]))
    def answer(self, public_id: str, action: str) -> None:
        self.call(public_id, "answer", action=action, content="absent")

    @rule(public_id=ids, event=st.sampled_from(["delivered", "shown", "call_ended"]))
    def progress(self, public_id: str, event: str) -> None:
        self.call(public_id, "progress", event=event)

    @rule(public_id=ids, verb=st.sampled_from(["lost", "cancel"]))
    def give_up(self, public_id: str, verb: str) -> None:
        self.call(public_id, verb)

    @rule(public_id=ids)
    def retry(self, public_id: str) -> None:
        self.call(public_id, "retry")

    @rule(public_id=ids)
    def consume(self, public_id: str) -> None:
        self.call(public_id, "consume", operation=self.operations[public_id])

    @rule(
        public_id=ids,
        reference=REFERENCES,
        subject=st.sampled_from([ALICE, ALICE, ALICE, BOB, None]),
        after=st.sampled_from([None, None, None, timedelta(days=30)]),
    )
    def complete(self, public_id: str, reference: str, subject: Any, after: timedelta | None) -> None:
        """``after``: the provider says that the work was done so much later."""
        self._look(public_id)
        more = {"subject": subject} | ({"occurred_at": (clock.now() + after).isoformat()} if after else {})
        assert self.desk.event(public_id, reference + public_id[-4:], **more).status_code == 204

    @rule(public_id=ids, reference=REFERENCES)
    def reverse(self, public_id: str, reference: str) -> None:
        self._look(public_id)
        assert say(self.desk, "reversed", public_id, reference + public_id[-4:]).status_code == 204

    @rule(public_id=ids)
    def fail(self, public_id: str) -> None:
        self._look(public_id)
        assert say(self.desk, "failed", public_id, None).status_code == 204

    @rule(public_id=ids, status=st.sampled_from(["completed", "completed", "pending", "failed", "unknown"]))
    def provider_knows(self, public_id: str, status: str) -> None:
        result = {"result_ref": f"pi_1{public_id[-4:]}", "subject": ALICE} if status == "completed" else {}
        self.server.about(public_id, says({"status": status} | result))

    @rule()
    def expire(self) -> None:
        self.overdue = None
        expiring.expire()

    @rule()
    def reconcile(self) -> None:
        self.overdue = None
        reconciling.reconcile()

    @rule(withdrawn=st.booleans())
    def change_policy(self, withdrawn: bool) -> None:
        self.overdue = None
        if withdrawn:
            builders.withdraw_destination()
        else:
            builders.activate()

    @rule(public_id=ids, seconds=st.sampled_from([20, 400, 4000, DAY + 4000]))
    def time_passes(self, public_id: str, seconds: int) -> None:
        self.overdue = None
        builders.age(public_id, seconds)

    @rule(public_id=ids)
    def close(self, public_id: str) -> None:
        self._look(public_id)
        try:
            operators.close(builders.entry_of(public_id).uid, actors.operator(1), operators.CloseReason.REFUNDED)
        except TransitionRefused:
            entry = builders.entry_of(public_id)
            assert entry.state in LIVE or not (entry.late_evidence or entry.unresolved)

    @rule(public_id=ids, proposer=st.sampled_from([0, 1]), approver=st.sampled_from([0, 1, 1]))
    def honour(self, public_id: str, proposer: int, approver: int) -> None:
        """Somebody proposes to honour what was kept last, if anything was, and somebody approves."""
        self._look(public_id)
        row = Evidence.objects.filter(elicitation=builders.entry_of(public_id)).last()
        if row is None:
            self.overdue = None
            return
        try:
            proposal = honouring.propose(row.elicitation.uid, row.uid, self.operators[proposer])
            honouring.approve(proposal.uid, self.operators[approver])
        except honouring.NotHonoured:
            return
        assert proposer != approver
        assert builders.entry_of(public_id).completion_source == "operator"

    @invariant()
    def every_entry_is_as_its_ledger_says(self) -> None:
        for entry in Elicitation.objects.all():
            assert_the_ledger_explains(entry)
            events = Counter(LedgerEntry.objects.filter(elicitation_id=entry.uid).values_list("event", flat=True))
            assert events["consume"] == int(entry.applied_at is not None)

    @invariant()
    def nothing_is_complete_without_its_evidence_or_twice(self) -> None:
        for entry in Elicitation.objects.all():
            rows = Counter(Evidence.objects.filter(elicitation=entry).values_list("status", flat=True))
            assert rows["used"] <= 1
            if entry.state == "COMPLETE":
                assert rows["used"] == 1 or rows["reversed"]
                assert (entry.completed_at is None, entry.result_digest is None) == (False, False)
            else:
                assert rows["used"] == 0
                assert (entry.completed_at, entry.result_digest) == (None, None)

    @invariant()
    def what_waits_is_flagged_and_only_that(self) -> None:
        for entry in Elicitation.objects.all():
            rows = Counter(Evidence.objects.filter(elicitation=entry).values_list("status", flat=True))
            assert entry.held_evidence == any(rows[status] for status in WAITING)
            assert entry.late_evidence == bool(rows["late"])
            assert not (entry.held_evidence and entry.state not in LIVE)
            assert not (entry.unresolved and entry.state != "EXPIRED")

    @invariant()
    def one_question_of_an_operation_is_open(self) -> None:
        unfinished = Elicitation.objects.filter(state__in=sorted(LIVE)) | Elicitation.objects.filter(
            state="COMPLETE", applied_at=None
        )
        assert max(Counter(unfinished.values_list("operation_digest", flat=True)).values(), default=0) <= 1

    @invariant()
    def at_its_deadline_it_is_over(self) -> None:
        """Whatever happened to an overdue entry, it happened after its end."""
        if self.overdue is not None:
            assert builders.entry_of(self.overdue).state not in ("ADMITTED", "CONSENT_PENDING")


def test_no_history_breaks_an_invariant(
    db: None, status_server: ProviderServer, monkeypatch: pytest.MonkeyPatch, long_run: bool
) -> None:
    for name, value in status_server.trusting.items():
        monkeypatch.setenv(name, value)
    Life.server = status_server
    examples, steps = (500, 60) if long_run else (25, 50)
    run_state_machine_as_test(
        Life, settings=settings(deadline=None, print_blob=True, max_examples=examples, stateful_step_count=steps)
    )
