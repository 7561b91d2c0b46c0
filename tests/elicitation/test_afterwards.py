"""What a caller must not notice is written by another thread, on its own connection."""

from __future__ import annotations

import threading

import pytest

from elicitation.services import afterwards
from tests import builders
from tests.builders import Desk


@pytest.mark.django_db(transaction=True)
def test_a_trespass_is_written_after_the_reply_by_another_thread(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = []
    monkeypatch.setattr("elicitation.api.calls.later", lambda work: waiting.append(afterwards.later(work)))
    public_id = desk.admit().json()["id"]
    assert desk.event(public_id, slug=desk.other_pay.slug, secret=desk.other_secret).status_code == 204
    (future,) = waiting
    future.result(timeout=10)
    assert builders.ledger(public_id)[-1].outcome == "wrong_tenant_denied"


def test_work_runs_in_one_other_thread_and_a_failure_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail() -> None:
        raise RuntimeError

    seen: list[str] = []
    afterwards.later(fail).result(timeout=10)
    afterwards.later(lambda: seen.append(threading.current_thread().name)).result(timeout=10)
    assert seen[0].startswith("afterwards")
    assert "work after a reply failed" in caplog.text
