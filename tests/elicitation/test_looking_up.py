"""Support's one box: an exact id as it was pasted, within the person's tenants, and each look-up on the ledger."""

from __future__ import annotations

import re
from typing import Any, Final
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError
from django.test import Client

from audit.models import LedgerEntry
from elicitation.policy import identifiers
from elicitation.services.roles import Role
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.test_admin_search import PASTES
from tests.people import of_role
from tests.steps import ask, consent, lose

pytestmark = pytest.mark.django_db

BOX: Final = "/admin/lookup/"
OWN_ID: Final = "Qm7xW2kP9tRb4LsV8nHd3ZcJ"


@pytest.fixture
def sam(desk: Desk) -> User:
    """Support of acme."""
    return of_role(Role.SUPPORT, desk.acme, name="sam")


@pytest.fixture
def support(sam: User) -> Client:
    return signed_in(sam)


def answered(client: Client, text: str) -> str:
    response: Any = client.post(BOX, {"pasted": text})
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    return str(response.content.decode())


def found(page: str) -> list[str]:
    return re.findall(r'<h2 id="found-\d+"><code>(elc_[a-z2-7]{26})</code>', page)


def told() -> list[tuple[str, str, str, str]]:
    rows = LedgerEntry.objects.filter(event="looked_up").order_by("pk")
    return [(row.tenant, row.outcome, row.actor_id, row.role) for row in rows]


@pytest.mark.parametrize("paste", PASTES)
def test_an_id_is_found_as_people_paste_it(desk: Desk, support: Client, sam: User, paste: str) -> None:
    wanted, _ = ask(desk, 1), ask(desk, 2)
    uid = builders.entry_of(wanted).uid
    text = paste.format(id=wanted, upper=wanted.upper(), zero_width="\u200b".join(wanted), uuid=uid)
    page = answered(support, text)
    assert found(page) == [wanted]
    assert f"Searched for exactly <code>{wanted}</code>: 1 found." in page
    assert told() == [("acme", "", str(sam.pk), "support")]
    assert LedgerEntry.objects.get(event="looked_up").elicitation_id == uid


def test_several_at_once_and_a_services_own_id(desk: Desk, support: Client) -> None:
    request = builders.admission()["request"] | {"elicitationId": OWN_ID}
    first, second, third = ask(desk, 1), ask(desk, 2), ask(desk, 3, request=request)
    assert found(answered(support, f"{first}, {second}")) == [second, first]
    assert found(answered(support, f"id={OWN_ID}")) == [third]
    assert found(answered(support, OWN_ID[:-1])) == []
    assert found(answered(support, OWN_ID.lower())) == []


def test_the_answer_says_where_it_stands_and_what_happened(desk: Desk, support: Client) -> None:
    public_id = ask(desk, 1)
    lose(desk, public_id)
    page = answered(support, public_id)
    assert "Next step" in page
    assert "the client reported the person" in page
    assert "Counted as lost" in page
    for kept_back in (ALICE["sub"], "alice", builders.PAY_URL, "/start", "flow=pay", "Pay the surcharge"):
        assert kept_back not in page
    assert str(builders.entry_of(public_id).subject.handle) not in page  # type: ignore[union-attr]
    # The link to the page with everything is for who may see that.
    assert f"{public_id}/change/" not in page
    assert f"{public_id}/change/" in answered(signed_in(User.objects.create_superuser("olga")), public_id)


def test_an_answer_faster_than_a_person_reads_is_marked(desk: Desk, support: Client) -> None:
    public_id = ask(desk, 1)
    desk.call(
        f"elicitations/{public_id}/answer",
        {"subject": ALICE, "action": "decline", "content": "absent", "latency_ms": 40},
    )
    assert "probably never shown" in answered(support, public_id)


def test_foreign_and_absent_are_one_answer_and_one_entry(desk: Desk, support: Client, sam: User) -> None:
    foreign = desk.admit(key=desk.mallory_key, form=True).json()["id"]
    absent = identifiers.mint_text(uuid4().bytes)
    pages = [re.sub(r'csrfmiddlewaretoken" value="\w+', "", answered(support, text)) for text in (foreign, absent)]
    pages = [page.replace(text, "#") for page, text in zip(pages, (foreign, absent), strict=True)]
    assert pages[0] == pages[1]
    assert "nothing has this id" in pages[0]
    assert told() == [("desk", "unknown", str(sam.pk), "support")] * 2
    assert not LedgerEntry.objects.filter(event="looked_up").exclude(elicitation_id=None).exists()


@pytest.mark.parametrize("text", ["hello there", "elc_short", "…", "<script>"])
def test_a_text_without_an_id_searches_and_writes_nothing_of_it(desk: Desk, support: Client, text: str) -> None:
    page = answered(support, text)
    assert found(page) == []
    assert "<script>" not in page.replace("<script src", "").split("</head>")[1]


def test_an_empty_box_asks_for_an_id(desk: Desk, support: Client) -> None:
    assert "Paste an id first." in answered(support, "  ")
    assert "Paste an id first." in answered(support, "x" * 3000)
    assert told() == []


def test_the_box_is_on_the_first_page_of_support_and_nothing_else_is(desk: Desk, support: Client) -> None:
    page = look(support, "/admin/")
    assert f'action="{BOX}"' in page
    assert "Waiting for an operator" not in page
    assert look(support, BOX).count("<h2") == 0


def test_a_look_up_that_cannot_be_written_is_not_answered(
    desk: Desk, support: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise DatabaseError("the disk is full")

    public_id = ask(desk, 1)
    consent(desk, public_id)
    monkeypatch.setattr("elicitation.services.looking_up.append", broken)
    assert support.post(BOX, {"pasted": public_id}).status_code == 500


def test_bob_of_another_tenants_support_finds_nothing_of_acmes(desk: Desk) -> None:
    public_id = ask(desk, 1, subject=BOB)
    theirs = signed_in(of_role(Role.SUPPORT, desk.globex, name="gus"))
    assert found(answered(theirs, public_id)) == []
    assert found(answered(theirs, str(builders.entry_of(public_id).uid))) == []
