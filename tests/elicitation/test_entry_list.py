"""The long lists: whatever is chosen, each page shows what a plain filter would, within the person's tenants."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import product
from typing import Any, Final
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.test import Client

from audit import paging
from audit.models import LedgerEntry
from elicitation.admin import entry_list, ledger
from elicitation.admin.entry_list import AGES, Chosen, first_since
from elicitation.models import Decision, Elicitation
from elicitation.policy import identifiers
from elicitation.policy.lifecycle import LIVE, State
from elicitation.services import clock, scoping
from elicitation.services.move import state_at
from elicitation.services.roles import Role
from elicitation.services.scoping import WHOLE_DESK, Scope
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import LIST, listed, look, signed_in
from tests.people import of_role
from tests.steps import ask

pytestmark = pytest.mark.django_db

DECISIONS: Final = "/admin/elicitation/decision/"
LEDGER: Final = "/admin/audit/ledgerentry/"
SIZE: Final = 7


@pytest.fixture
def many(desk: Desk) -> Desk:
    """Entries of both tenants in every state, some past their deadlines, some with held evidence, up to 60 days old."""
    made = {
        tenant: builders.entry_of(desk.admit(key=key, form=True).json()["id"])
        for tenant, key in (("acme", desk.key), ("globex", desk.mallory_key))
    }
    now = clock.now()
    Elicitation.objects.update(admitted_at=now - timedelta(days=90))
    rows = []
    for number, (tenant, state, over, held) in enumerate(product(made, State, (True, False), (True, False)), start=1):
        pattern = made[tenant]
        live = state in LIVE
        done, ended = state is State.COMPLETE, now - timedelta(hours=25 * (64 - number))
        url = state in (State.CONSENT_PENDING, State.RETRY_REQUIRED, State.COMPLETE) or held or number % 3 == 0
        provider = (desk.pay if tenant == "acme" else desk.other_pay) if url else None
        if state is State.ACCEPTED:
            url, provider = False, None
        fields = {field.attname: getattr(pattern, field.attname) for field in Elicitation._meta.concrete_fields}
        fields |= {
            "id": None,
            "uid": uuid4(),
            "wire_id": None,
            "operation_digest": f"t2:{number:064x}",
            "state": state,
            "mode": "url" if url else "form",
            "purpose": "payment" if url else "choice",
            "provider_id": provider.pk if provider else None,
            "origin": builders.ORIGIN if url else "",
            "path_prefix": "/start" if url else "",
            "admitted_at": ended,
            "window_ends_at": ended + timedelta(hours=1),
            "deadline": (now + timedelta(seconds=-60 if over else 3600)) if live else None,
            "held_evidence": held and state is State.ADMITTED,
            "consented_at": ended if state in (State.CONSENT_PENDING, State.ACCEPTED, State.COMPLETE) else None,
            "consent_source": "answer" if state in (State.CONSENT_PENDING, State.ACCEPTED, State.COMPLETE) else "",
            "completed_at": ended if done else None,
            "completion_source": "webhook" if done else "",
            "result_ref": "sealed" if done else "",
            "result_digest": f"t1:{number:064x}" if done else None,
        }
        rows.append(Elicitation(**fields))
    Elicitation.objects.bulk_create(rows)
    return desk


def every_page(read: Callable[[], paging.Reading], window: int) -> list[int]:
    """All numbers of all pages, in the order shown."""
    found: list[int] = []
    before: int | None = None
    while True:
        part = paging.newest(read(), SIZE, before, window)
        found += part.numbers
        before = part.older
        if before is None:
            return found


def wanted(chosen: Chosen, scope: Scope, now: datetime) -> list[int]:
    """What is to be shown, held row by row against what was chosen."""

    def shown(row: Elicitation) -> bool:
        told = state_at(row, now)
        age = now - row.admitted_at
        aged = True
        if chosen.age:
            _, span, within = AGES[chosen.age]
            aged = age <= span if within else age > span
        return (
            (scope.tenants is None or row.tenant_id in scope.tenants)
            and (not chosen.state or (told in LIVE if chosen.state == "open" else told == chosen.state))
            and all(
                getattr(chosen, name) in ("", str(getattr(row, f"{name}_id")))
                for name in ("tenant", "service", "provider", "client")
            )
            and all(getattr(chosen, name) in ("", getattr(row, name)) for name in ("purpose", "mode"))
            and aged
        )

    return [row.pk for row in Elicitation.objects.order_by("-pk") if shown(row)]


def parties(desk: Desk) -> list[dict[str, str]]:
    client = Elicitation.objects.filter(tenant=desk.acme).values_list("client", flat=True)[0]
    return [
        {},
        {"tenant": str(desk.globex.pk)},
        {"service": str(desk.booking.pk)},
        {"provider": str(desk.pay.pk)},
        {"client": str(client)},
        {"service": str(desk.booking.pk), "provider": str(desk.pay.pk), "tenant": str(desk.acme.pk)},
    ]


@pytest.mark.parametrize("most", [paging.MERGED, 1], ids=["merged", "too many to merge"])
@pytest.mark.parametrize("state", ["", "open", *State])
def test_every_choice_shows_what_a_plain_filter_would(
    many: Desk, state: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_list, "MERGED", most)
    now = clock.now()
    acme = Scope({many.acme.pk: "acme"})
    for scope, party, more in product(
        (WHOLE_DESK, acme, scoping.NOTHING),
        parties(many),
        ({}, {"purpose": "choice"}, {"mode": "url", "age": "older-day"}),
    ):
        if scope is not WHOLE_DESK and party.get("tenant") == str(many.globex.pk):
            continue  # not offered to them, so never chosen
        chosen = Chosen(state=state, **party, **more)
        found = every_page(lambda: entry_list.reading(chosen, scope, now), window=5)  # noqa: B023 - read at once
        assert found == wanted(chosen, scope, now), chosen


@pytest.mark.parametrize("age", list(AGES))
def test_an_age_is_cut_where_the_clock_says(many: Desk, age: str) -> None:
    now = clock.now()
    chosen = Chosen(age=age)
    assert every_page(lambda: entry_list.reading(chosen, WHOLE_DESK, now), window=5) == wanted(chosen, WHOLE_DESK, now)


def test_the_first_row_since_a_moment_is_found_by_few_looks(many: Desk) -> None:
    rows = list(Elicitation.objects.order_by("pk").values_list("pk", "admitted_at"))[2:]
    for number, at in rows:
        assert first_since(at) == number
        assert first_since(at + timedelta(microseconds=1)) > number
    assert first_since(clock.now() + timedelta(days=1)) == rows[-1][0] + 1


def test_a_search_is_held_against_all_that_is_chosen(many: Desk) -> None:
    public_id = ask(many, 1)
    client = signed_in(User.objects.create_superuser("olga"))
    assert listed(look(client, f"{LIST}?q={public_id}&state=ADMITTED&tenant={many.acme.pk}")) == [public_id]
    assert listed(look(client, f"{LIST}?q={public_id}&state=COMPLETE")) == []
    assert listed(look(client, f"{LIST}?q={public_id}&tenant={many.globex.pk}")) == []


def test_a_page_that_ended_early_says_so_and_leads_on(many: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging.newest, "__defaults__", (None, 5))
    client = signed_in(User.objects.create_superuser("olga"))
    page = look(client, f"{LIST}?purpose=choice&provider={many.pay.pk}")
    assert "Nothing matches among the rows that were looked through; older ones may." in page
    assert "Look further back" in page
    assert look(client, f"{LIST}?state=COMPLETE").count("<tr") > 1


def test_another_tenants_service_is_no_choice(many: Desk) -> None:
    client = signed_in(of_role(Role.OPERATOR, many.acme))
    for query in (f"service={many.mallory.pk}", f"provider={many.other_pay.pk}", f"tenant={many.globex.pk}"):
        page = look(client, f"{LIST}?{query}")
        assert "globex" not in page
        assert set(listed(page)) <= {
            identifiers.mint_text(row.uid.bytes) for row in Elicitation.objects.filter(tenant=many.acme)
        }


@pytest.fixture
def acmes(desk: Desk) -> Client:
    for number in range(4):
        ask(desk, number)
        desk.admit(key=desk.mallory_key, form=True)
        desk.admit(purpose="profile")
    return signed_in(of_role(Role.AUDITOR, desk.acme))


@pytest.mark.parametrize("most", [paging.MERGED, 1], ids=["merged", "too many to merge"])
@pytest.mark.parametrize("query", ["", "?event=admit", "?outcome=admit", "?event=refused&outcome=deny"])
def test_the_ledgers_list_is_that_of_ones_tenants(
    acmes: Client, query: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger, "MERGED", most)
    given = dict(part.split("=") for part in query.removeprefix("?").split("&") if part)
    for client, rows in (
        (acmes, LedgerEntry.objects.filter(tenant="acme", **given)),
        (signed_in(User.objects.create_superuser("olga")), LedgerEntry.objects.filter(**given)),
    ):
        response: Any = client.get(f"{LEDGER}{query}")
        shown = [row.pk for row in response.context["cl"].result_list]
        assert shown == list(rows.order_by("-pk").values_list("pk", flat=True)[:50])


@pytest.mark.parametrize("query", ["", "?outcome=deny", "?rule=policy.admitted", "?purpose=payment"])
def test_the_list_of_decisions_is_that_of_ones_tenants(desk: Desk, acmes: Client, query: str) -> None:
    given = dict(part.split("=") for part in query.removeprefix("?").split("&") if part)
    boss = signed_in(User.objects.create_superuser("olga"))
    for client, rows in (
        (acmes, Decision.objects.filter(service__tenant=desk.acme, **given)),
        (boss, Decision.objects.filter(**given)),
    ):
        response: Any = client.get(f"{DECISIONS}{query}")
        shown = [row.pk for row in response.context["cl"].result_list]
        assert shown == list(rows.order_by("-pk").values_list("pk", flat=True)[:50])
    response = boss.get(f"{DECISIONS}?service={desk.mallory.pk}")
    assert {row.service_id for row in response.context["cl"].result_list} == {desk.mallory.pk}


def test_more_parties_than_are_offered_can_still_be_chosen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_list, "_OFFERED", 1)
    public_id = ask(desk, 1)
    client = signed_in(User.objects.create_superuser("olga"))

    assert listed(look(client, f"{LIST}?provider={desk.pay.pk}")) == [public_id]
    assert listed(look(client, f"{LIST}?service={desk.booking.pk}")) == [public_id]
    assert listed(look(client, f"{LIST}?service={desk.mallory.pk}")) == []
