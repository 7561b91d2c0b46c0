"""Random histories of two operations: after each event the invariants hold, whatever the order."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from elicitation.models import Elicitation, Evidence
from elicitation.models.evidence import WAITING
from elicitation.policy.lifecycle import LIVE
from elicitation.services import actors, operators
from elicitation.services.move import TransitionRefused
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.test_provider_outcomes import say
from tests.races.test_races import assert_the_ledger_explains

pytestmark = pytest.mark.django_db

REFERENCES = ("pi_1", "pi_2", "pi_3")
VERBS = (
    "ask", "ask", "accept", "accept", "decline", "dismiss", "shown", "lost", "retry", "cancel", "consume", "consume",
    "completed", "completed", "completed", "anonymous", "wrong user", "failed", "reversed", "withdraw", "restore",
    "age", "sweep", "close",
)  # fmt: skip


class History:
    """One random course of events; ``log`` is what to print when an invariant breaks."""

    def __init__(self, desk: Desk, seed: int) -> None:
        self.desk, self.chance, self.log = desk, random.Random(seed), [f"seed {seed}"]
        self.operations = [builders.operation(question=f"{seed}-{number}") for number in range(2)]
        self.ids: list[str] = []
        self.of: dict[str, dict[str, Any]] = {}

    def step(self) -> None:
        verb = self.chance.choice(VERBS) if self.ids else "ask"
        target = self.chance.choice(self.ids[-3:]) if self.ids else ""
        self.log.append(f"{verb} {target}")
        response = getattr(self, "_" + verb.replace(" ", "_"), self._post)(target, verb)
        assert response is None or response.status_code < 500, self.log

    def _ask(self, _: str, verb: str) -> Any:
        operation = self.chance.choice(self.operations)
        delivery = "create" if operation is self.operations[0] else "url_required"
        response = self.desk.admit(operation=operation, delivery=delivery)
        if response.status_code in (200, 201) and response.json()["id"] not in self.of:
            self.ids.append(response.json()["id"])
            self.of[self.ids[-1]] = operation
        return response

    def _post(self, target: str, verb: str) -> Any:
        body: dict[str, Any] = {"subject": ALICE}
        actions = {"accept": "accept", "decline": "decline", "dismiss": "cancel"}
        if verb in actions:
            body, verb = body | {"action": actions[verb], "content": "absent"}, "answer"
        elif verb == "shown":
            body, verb = body | {"event": "shown"}, "progress"
        elif verb == "consume":
            body["operation"] = self.of[target]
        return self.desk.call(f"elicitations/{target}/{verb}", body)

    def _completed(self, target: str, verb: str, **data: Any) -> Any:
        return self.desk.event(target, self.chance.choice(REFERENCES) + target[-4:], **data)

    def _anonymous(self, target: str, verb: str) -> Any:
        return self._completed(target, verb, subject=None)

    def _wrong_user(self, target: str, verb: str) -> Any:
        return self._completed(target, verb, subject=BOB)

    def _failed(self, target: str, verb: str) -> Any:
        return say(self.desk, "failed", target, None)

    def _reversed(self, target: str, verb: str) -> Any:
        return say(self.desk, "reversed", target, self.chance.choice(REFERENCES) + target[-4:])

    def _withdraw(self, *_: str) -> None:
        builders.withdraw_destination()

    def _restore(self, *_: str) -> None:
        builders.activate()

    def _age(self, target: str, verb: str) -> None:
        builders.age(target, self.chance.choice([600, 3600, 90_000]))

    def _sweep(self, *_: str) -> None:
        sweeps.expire()

    def _close(self, target: str, verb: str) -> None:
        try:
            operators.close_late(builders.entry_of(target).uid, actors.operator(1), operators.CloseReason.REFUNDED)
        except TransitionRefused:
            self.log.append("refused")

    def check(self) -> None:
        for entry in Elicitation.objects.all():
            assert_the_ledger_explains(entry)
            rows = Counter(Evidence.objects.filter(elicitation=entry).values_list("status", flat=True))
            complete = entry.state == "COMPLETE"
            assert (rows["used"] == 1) is complete or (complete and rows["reversed"]), (self.log, rows, entry.state)
            assert rows["used"] <= 1, self.log
            assert entry.held_evidence == any(rows[status] for status in WAITING), (self.log, rows, entry.state)
            assert entry.late_evidence == bool(rows["late"]), (self.log, rows, entry.state)
            assert not (entry.held_evidence and entry.state not in LIVE), self.log
            events = Counter(row.event for row in builders.ledger() if row.elicitation_id == entry.uid)
            assert events["consume"] == int(entry.applied_at is not None), self.log
        unfinished = Elicitation.objects.filter(state__in=sorted(LIVE)) | Elicitation.objects.filter(
            state="COMPLETE", applied_at=None
        )
        assert max(Counter(unfinished.values_list("operation_digest", flat=True)).values(), default=0) <= 1, self.log


@pytest.mark.parametrize("seed", range(40))
def test_no_history_breaks_an_invariant(desk: Desk, seed: int) -> None:
    history = History(desk, seed)
    for _ in range(40):
        history.step()
        history.check()
