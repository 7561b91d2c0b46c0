"""What the admin's tests share: an operator who is signed in, entries to look at, and what a page lists."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from elicitation.admin.acting_words import Verb
from tests.builders import Desk
from tests.steps import act, ask

LIST = "/admin/elicitation/elicitation/"


def signed_in(user: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(user)
    return client


def look(client: Client, path: str, status: int = 200) -> str:
    response = client.get(path)
    assert response.status_code == status
    return response.content.decode()


def page_of(public_id: str) -> str:
    return f"{LIST}{public_id}/change/"


def listed(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"elicitation/(elc_[a-z2-7]{26})/change/", page)))


def at(public_id: str, verb: str) -> str:
    return f"{LIST}{public_id}/{verb}/"


def do(client: Client, public_id: str, verb: str, seen: str, **data: str) -> Any:
    return client.post(at(public_id, verb), {"seen": seen} | data)


def offered(page: str) -> list[str]:
    """The verbs that the page of an entry offers; the main one has a star."""
    found = re.findall(rf'<a class="button( default)?" href="[^"]*/({"|".join(Verb)})/"', page)
    return [verb + ("*" if main else "") for main, verb in found]


def consented(desk: Desk, number: int = 1) -> str:
    public_id = ask(desk, number)
    act(desk, public_id, "answer", action="accept", content="absent")
    return public_id


def late(desk: Desk) -> str:
    public_id = consented(desk)
    act(desk, public_id, "cancel")
    desk.event(public_id, "pi_late")
    return public_id
