"""Every sweep leaves a heartbeat, whether there was something to do or not: else ``/readyz`` calls it late."""

from __future__ import annotations

import pytest

from elicitation.models import Heartbeat
from elicitation.services import clock
from elicitation.services.sweeps.registry import SWEEPS
from tests.builders import Desk
from tests.steps import ask

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("name", SWEEPS)
def test_a_sweep_leaves_its_own_heartbeat(name: str, desk: Desk) -> None:
    for _ in range(2):
        began = clock.now()
        SWEEPS[name]()
        assert Heartbeat.objects.get(name=name).at >= began
        ask(desk)
