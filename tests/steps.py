"""Steps that many tests take: what Alice, the service that asks for her, and the provider do to an entry."""

from __future__ import annotations

import json
from typing import Any

from tests import builders
from tests.builders import ALICE, Desk


def ask(desk: Desk, number: int = 0, **changes: Any) -> str:
    """A new question of Alice's, for an operation of its own by ``number``."""
    public_id: str = desk.admit(operation=builders.operation(target=f"tool_{number}"), **changes).json()["id"]
    return public_id


def act(desk: Desk, public_id: str, verb: str, **body: object) -> Any:
    """The reply to a call about Alice's entry, which has to succeed."""
    response = desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE} | body)
    assert response.status_code == 200, response.json()
    return response.json()


def consent(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="accept", content="absent")


def lose(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    act(desk, public_id, "lost")


def consented(desk: Desk, **changes: Any) -> str:
    """An entry to which Alice has agreed."""
    public_id: str = desk.admit(**changes).json()["id"]
    consent(desk, public_id)
    return public_id


def lost(desk: Desk, **changes: Any) -> str:
    """An entry whose confirmation Alice has reported as lost."""
    public_id: str = desk.admit(**changes).json()["id"]
    lose(desk, public_id)
    return public_id


def complete(desk: Desk, public_id: str) -> None:
    consent(desk, public_id)
    assert desk.event(public_id).status_code == 204


def apply(desk: Desk, public_id: str) -> None:
    assert act(desk, public_id, "consume", operation=builders.operation())["outcome"] == "applied"


def say(
    desk: Desk,
    kind: str,
    public_id: str,
    result_ref: str | None = "pi_1",
    *,
    slug: str = "",
    secret: str = "",
    **data: Any,
) -> Any:
    """The response to a word of the provider's: ``completed``, ``failed`` or ``reversed``."""
    said = {"elicitation_id": public_id, "subject": ALICE} | data
    if result_ref is not None:
        said["result_ref"] = result_ref
    body = json.dumps({"type": f"elicitation.{kind}", "data": said}).encode()
    return desk.deliver(body, slug=slug, secret=secret)


def retry(desk: Desk, public_id: str, **more: Any) -> Any:
    """The response to a retry, whatever it is."""
    return desk.call(f"elicitations/{public_id}/retry", {"subject": ALICE}, **more)


def outcomes(public_id: str) -> list[str]:
    """What became of the evidence about an entry, and of what was refused, in the ledger's order."""
    return [row.outcome for row in builders.ledger(public_id) if row.event in ("refused", "evidence")]
