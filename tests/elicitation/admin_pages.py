"""What the admin's tests share: an operator who is signed in, entries to look at, and what a page lists."""

from __future__ import annotations

import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from tests import builders
from tests.builders import ALICE, Desk

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


def ask(desk: Desk, number: int, **changes: Any) -> str:
    public_id: str = desk.admit(operation=builders.operation(target=f"tool_{number}"), **changes).json()["id"]
    return public_id


def act(desk: Desk, public_id: str, verb: str, **body: object) -> None:
    assert desk.call(f"elicitations/{public_id}/{verb}", {"subject": ALICE} | body).status_code == 200


def lose(desk: Desk, public_id: str) -> None:
    act(desk, public_id, "answer", action="accept", content="absent")
    act(desk, public_id, "lost")


def listed(page: str) -> list[str]:
    return list(dict.fromkeys(re.findall(r"elicitation/(elc_[a-z2-7]{26})/change/", page)))
