"""Marked secrets in every field that a caller can fill: none of them is found in a table, a log line or a reply."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.apps import apps

from config.logging import JsonFormatter
from elicitation.models import Client
from tests import builders
from tests.builders import Desk

pytestmark = pytest.mark.django_db

CANARY = "Xq7CANARYz"


def stored() -> str:
    """Every row of every table, as text, but for the one that holds the names of client programs: erasable."""
    models = [model for model in apps.get_models() if model is not Client]
    return "\n".join(str(row) for model in models for row in model._default_manager.values())


def marked(value: Any, number: list[int]) -> Any:
    """The same structure with a different mark in each text."""
    if isinstance(value, dict):
        return {name: marked(item, number) for name, item in value.items()}
    if isinstance(value, list):
        return [marked(item, number) for item in value]
    if isinstance(value, str):
        number[0] += 1
        return f"{CANARY}{number[0]}"
    return value


ALICE = {"iss": f"https://id.example/{CANARY}", "sub": f"{CANARY}-alice"}
OPERATION = builders.operation(target=f"tool_{CANARY}", key=f"key-{CANARY}", question=f"q-{CANARY}")
FORM = {
    "mode": "form",
    "message": f"Pick a region {CANARY}",
    "requestedSchema": {
        "type": "object",
        "title": f"t {CANARY}",
        "description": f"d {CANARY}",
        "properties": {
            "region": {
                "type": "string",
                "title": f"l {CANARY}",
                "description": f"x {CANARY}",
                "enum": [f"eu {CANARY}", "us"],
                "enumNames": [f"Europe {CANARY}", "US"],
                "default": f"eu {CANARY}",
            }
        },
    },
}
LINK = {"mode": "url", "message": f"Pay {CANARY}", "url": builders.PAY_URL}


def test_no_mark_is_kept_of_any_path_through_the_desk(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    replies = []
    form = desk.admit(form=True, purpose="choice", request=FORM, subject=ALICE, operation=OPERATION)
    link = desk.admit(request=LINK, subject=ALICE, operation=OPERATION | {"question": "second"})
    assert (form.status_code, link.status_code) == (201, 201), (form.json(), link.json())
    for admitted, content in ((form, "present"), (link, "absent")):
        public_id = admitted.json()["id"]
        path = f"elicitations/{public_id}"
        answer = {"subject": ALICE, "action": "accept", "content": content}
        replies.append(desk.call(f"{path}/answer", answer | {CANARY: CANARY}))
        replies.append(desk.call(f"{path}/answer", answer | {"content": {"region": CANARY}}))
        replies.append(desk.call(f"{path}/answer", answer))
        replies.append(desk.event(public_id, f"pi_{CANARY}", subject={"iss": CANARY, "sub": CANARY}))
        replies.append(desk.event(public_id, f"pi_{CANARY}", subject=ALICE, note=CANARY))
        replies.append(desk.call(f"{path}/lost", {"subject": {"iss": CANARY, "sub": CANARY}}))
        replies.append(desk.call(f"{path}?state={CANARY}&cursor={CANARY}", method="GET"))
        replies.append(desk.call(f"elicitations?cursor={CANARY}", method="GET"))
        replies.append(desk.call(f"elicitations/{CANARY}", method="GET"))
        replies.append(desk.call(f"elicitations/{CANARY}/lost", {"subject": ALICE}))
        replies.append(desk.call("elicitations", {}, key=CANARY))
    for place in ("wire", "delivery", "purpose", "subject", "operation", "request", "client", "predecessor"):
        body = builders.admission()
        body[place] = marked(body.get(place) or "x", [0])
        replies.append(desk.call("elicitations", body))
    assert CANARY not in "".join(reply.content.decode() for reply in replies)
    assert "CANARY" not in stored()
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert lines
    assert CANARY not in "\n".join(lines)


def test_a_secret_in_place_of_a_name_or_a_request_id_is_not_kept(desk: Desk) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    client = {"name": secret, "version": secret, "capabilities": {"elicitation": {"url": {}}}}
    assert desk.admit(client=client, operation=builders.operation(request_id=secret)).status_code == 201
    assert secret not in stored()
    assert not Client.objects.filter(name=secret).exists()


@pytest.mark.parametrize(
    "url",
    [
        f"https://consent.example.com/start?flow={CANARY}",
        f"https://consent.example.com/start?api_token={CANARY}",
        f"https://consent.example.com/{CANARY}",
        f"https://{CANARY}.example.com/start",
        f"https://user:{CANARY}@consent.example.com/start",
        f"https://consent.example.com/start#{CANARY}",
        f"javascript:{CANARY}",
        f"https://consent.example.com/start?{CANARY}=1",
    ],
)
def test_no_refused_address_is_kept_or_repeated(desk: Desk, url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    refused = desk.admit(request=LINK | {"url": url})
    assert refused.status_code == 422
    assert CANARY.lower() not in refused.content.decode().lower()
    assert f"='{CANARY}" not in stored()
    lines = [JsonFormatter().format(record) for record in caplog.records]
    assert CANARY not in "\n".join(lines)
