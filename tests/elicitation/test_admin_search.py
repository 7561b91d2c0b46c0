"""Search in the admin: exact ids alone, as people paste them, and it says what was searched."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from elicitation.admin import pasted
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import LIST, listed, signed_in
from tests.steps import ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


PASTES = [
    "{id}",
    "  {id}\n",
    '"{id}"',
    "'{id}',",
    "{upper}",
    "https://consent.example.com/start?flow=pay&e={id}#x",
    'level=info msg="evidence" elicitation={id} outcome=held',
    "\u200b{id}\ufeff",
    "{zero_width}",
    "{uuid}",
]


@pytest.mark.parametrize("paste", PASTES)
def test_an_id_is_found_as_people_paste_it(desk: Desk, operator: Client, paste: str) -> None:
    wanted, _ = ask(desk, 1), ask(desk, 2)
    text = paste.format(
        id=wanted,
        upper=wanted.upper(),
        zero_width="\u200b".join(wanted),
        uuid=builders.entry_of(wanted).uid,
    )
    response = operator.get(LIST, {"q": text})
    assert listed(response.content.decode()) == [wanted]
    assert f"Searched for exactly <code>{wanted}</code>" in response.content.decode()


def test_two_ids_at_once_are_both_found(desk: Desk, operator: Client) -> None:
    ids = [ask(desk, number) for number in range(3)]
    page = operator.get(LIST, {"q": f"{ids[0]} and {ids[2]}"}).content.decode()
    assert listed(page) == [ids[2], ids[0]]


def test_a_services_own_id_is_found_exactly_and_its_beginning_finds_nothing(desk: Desk, operator: Client) -> None:
    request = builders.admission()["request"] | {"elicitationId": "Qm7xW2kP9tRb4LsV8nHd3ZcJ"}
    wanted, _ = ask(desk, 1, request=request), ask(desk, 2)
    assert builders.entry_of(wanted).wire_id == "Qm7xW2kP9tRb4LsV8nHd3ZcJ"
    assert listed(operator.get(LIST, {"q": "'Qm7xW2kP9tRb4LsV8nHd3ZcJ'"}).content.decode()) == [wanted]
    for other in ("Qm7xW2kP9tRb4LsV8nHd3Zc", "qm7xw2kp9trb4lsv8nhd3zcj", "%", "payment", wanted[:20]):
        assert listed(operator.get(LIST, {"q": other}).content.decode()) == []


def test_a_paste_of_any_length_is_read_in_bounds() -> None:
    assert len(pasted.read("word " * 100_000).wire) <= 20
    assert pasted.read("elc_" + "z" * 26) == pasted.Pasted((), ("elc_" + "z" * 26,))  # not a canonical spelling
