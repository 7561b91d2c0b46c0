"""A machine that drives the database through random histories: after each event the invariants hold, in any order.

Hypothesis shrinks a history that breaks one to the shortest that still does.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from django.db import transaction
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    MultipleResults,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    rule,
    run_state_machine_as_test,
)

from tests.builders import ALICE, BOB
from tests.elicitation.lives import ANSWERS, BY_OPERATORS, PROGRESS, Lives
from tests.elicitation.places import BECOMES, ENDED
from tests.providers.server import ProviderServer

pytestmark = pytest.mark.django_db

DAY: Final = 86_400
#: Most begin where much can still happen.
PLACE: Final = st.sampled_from(
    [place for place in (*BECOMES, *BECOMES, *ENDED) if "proposed" not in place and place != "ACCEPTED"]
)
PERSON: Final = st.sampled_from([ALICE, ALICE, ALICE, BOB, None])
REFERENCE: Final = st.sampled_from(["pi_1", "pi_2", "pi_all", "pi_all"])
OPERATOR: Final = st.sampled_from([0, 1])
AGAIN: Final = st.sampled_from([False, False, True])


def of(act: str, **details: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(st.just(act), st.fixed_dictionaries(details))


REPORTS: Final = of("report", said=st.sampled_from([*ANSWERS, "accept", *PROGRESS, "lost", "retry", "give up"]))
COMPLETIONS: Final = of(
    "complete", name=REFERENCE, subject=PERSON, late=st.sampled_from([False, False, False, True]), again=AGAIN
)
TIME: Final = of(
    "time_passes", seconds=st.sampled_from([20, 400, 4000, DAY + 4000]), swept=st.sampled_from([True, False, False])
)
#: All in one strategy, and so in one rule: Hypothesis leaves rules out of whole histories, and most need the others.
EVENT: Final = st.one_of(
    REPORTS,
    REPORTS,
    REPORTS,
    REPORTS,
    COMPLETIONS,
    COMPLETIONS,
    COMPLETIONS,
    TIME,
    TIME,
    of("ask_again"),
    of("operate", verb=st.sampled_from([*BY_OPERATORS, "close"])),
    of("consume", own=st.sampled_from([True, True, True, False])),
    of("reverse", name=REFERENCE, subject=PERSON, again=AGAIN),
    of("fail", subject=PERSON, again=AGAIN),
    of(
        "know",
        status=st.sampled_from(["completed", "completed", "pending", "failed", "unknown"]),
        subject=PERSON,
        asked=st.sampled_from([True, True, False]),
    ),
    of("propose", which=st.integers(0, 3), proposer=OPERATOR, then=st.sampled_from(["other", "alone", "wait"])),
    of("approve", approver=OPERATOR),
    of("change_policy"),
    of("begin", place=PLACE),
)
ABOUT_NO_ENTRY: Final = ("begin", "change_policy")


@pytest.fixture(scope="module")
def status_server() -> Iterator[ProviderServer]:
    with tempfile.TemporaryDirectory() as folder, ProviderServer(Path(folder)) as server:
        yield server


class Machine(RuleBasedStateMachine):
    ids = Bundle("ids")
    server: ProviderServer

    def __init__(self) -> None:
        super().__init__()
        self.world = transaction.atomic()
        self.world.__enter__()

    def teardown(self) -> None:
        transaction.set_rollback(True)
        self.world.__exit__(None, None, None)

    @initialize(target=ids, first=PLACE, second=PLACE)
    def begin(self, first: str, second: str) -> MultipleResults[str]:
        self.lives = Lives(self.server)
        ids = [self.lives.begin(place) for place in (first, second)]
        return multiple(*(public_id for public_id in ids if public_id))

    @rule(target=ids, public_id=ids, event=EVENT)
    def happen(self, public_id: str, event: tuple[str, dict[str, Any]]) -> MultipleResults[str]:
        """Something happens about an entry. Returns the new one, if it made one."""
        act, details = event
        about = () if act in ABOUT_NO_ENTRY else (public_id,)
        made = getattr(self.lives, act)(*about, **details)
        return multiple(made) if made else multiple()

    @invariant()
    def what_must_hold_holds(self) -> None:
        self.lives.witness.look()


def test_no_history_breaks_an_invariant(
    db: None, status_server: ProviderServer, monkeypatch: pytest.MonkeyPatch, long_run: bool
) -> None:
    for name, value in status_server.trusting.items():
        monkeypatch.setenv(name, value)
    Machine.server = status_server
    examples, steps = (500, 60) if long_run else (15, 50)
    run_state_machine_as_test(
        Machine, settings=settings(deadline=None, print_blob=True, max_examples=examples, stateful_step_count=steps)
    )
