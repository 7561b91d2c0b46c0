"""Role by page and action by whose it is: own, another tenant's, nobody's. Whatever is not a person's is not there."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import pytest
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import LedgerEntry, Log
from audit.seal import seal
from elicitation.models import Elicitation, Evidence
from elicitation.services.roles import Role
from elicitation.templatetags.desk import elc
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import signed_in
from tests.elicitation.every_page import (
    ABSENT,
    ABSENT_NUMBER,
    DESK_WIDE,
    PAGES,
    Page,
    addresses,
    draft,
    one_of_each,
)
from tests.people import of_role

pytestmark = pytest.mark.django_db

OWN: Final = "own"
OTHER: Final = "other"
NOBODYS: Final = "absent"
#: A page repeats what was searched for, in links and in words.
_ASKED_FOR: Final = ("tenant=globex", "tenant%3Dglobex")
_NUMBERS = re.compile(r"elc_[a-z2-7]{26}|\d+|csrfmiddlewaretoken\" value=\"[^\"]+|nonce-\S+")


@dataclass(slots=True)
class Two:
    """One of each thing, of acme and of globex."""

    desk: Desk
    own: dict[str, Any]
    other: dict[str, Any]
    policy: dict[str, Any]

    def address(self, name: str, page: Page, whose: str) -> str:
        if not page.about:
            return reverse(name)
        if whose == NOBODYS:
            return reverse(name, args=[ABSENT.get(page.about, ABSENT_NUMBER)])
        things = self.own if whose == OWN else self.other
        thing = (self.policy if page.about in DESK_WIDE else things)[page.about]
        return reverse(name, args=[elc(thing.uid) if isinstance(thing, Elicitation) else thing.pk])

    def marks(self) -> list[str]:
        """Whatever tells of globex: names, slugs, ids."""
        ids = [str(each.uid) for each in self.other.values() if hasattr(each, "uid")]
        return ["globex", "Globex", elc(self.other["entry"].uid), self.other["entry"].uid.hex, *ids]


@pytest.fixture
def two(desk: Desk) -> Two:
    builders.activate(builders.document(tenants=["acme", "globex"]))
    asked = {
        "acme": desk.admit().json()["id"],
        "globex": desk.admit(key=desk.mallory_key, form=True, client=_client("globex-client")).json()["id"],
    }
    while seal(timezone.now()):
        pass
    made = {}
    for tenant in (desk.acme, desk.globex):
        entry = Elicitation.objects.select_related("provider").get(pk=builders.entry_of(asked[tenant.slug]).pk)
        made[tenant.slug] = one_of_each(tenant, entry, Log.objects.get(tenant=tenant.slug))
    made["globex"]["provider"], made["acme"]["provider"] = desk.other_pay, desk.pay
    work = draft()
    return Two(desk, made["acme"], made["globex"], {"draft": work, "revision": work.base})


def _client(name: str) -> dict[str, Any]:
    return {"name": name, "version": "1", "capabilities": {"elicitation": {"form": {}, "url": {}}}}


def _asked(client: Client, page: Page, path: str, method: str = "") -> HttpResponse:
    response: Any = getattr(client, method or page.method)(path, page.data)
    if response.streaming:
        b"".join(response.streaming_content)
    return response  # type: ignore[no-any-return]


def _body(response: Any) -> str:
    """What a person is told, less the numbers that they gave themselves."""
    return _NUMBERS.sub("#", response.content.decode())


def _stored() -> tuple[Any, ...]:
    return (
        list(Elicitation.objects.order_by("pk").values()),
        list(Evidence.objects.order_by("pk").values()),
        list(LedgerEntry.objects.order_by("pk").values_list("pk", flat=True)),
    )


def test_the_table_has_every_address_and_no_other() -> None:
    assert sorted(addresses()) == sorted(PAGES)


@pytest.mark.parametrize("role", list(Role))
def test_each_page_is_open_to_its_roles_for_their_own_tenant_alone(two: Two, role: Role) -> None:
    client = signed_in(of_role(role, two.desk.acme))
    before, wrong = _stored(), []
    for name, page in PAGES.items():
        if name in ("admin:logout", "admin:login"):
            continue
        may = role in page.who and not page.whole
        for whose in (OWN, OTHER, NOBODYS) if page.about else (OWN,):
            path = two.address(name, page, whose)
            there = whose == OWN or (page.about in DESK_WIDE and whose == OTHER)
            # What is one's own is only looked at here: the acts have tests of their own.
            methods = {page.method} if there and may else {"get", "post"}
            for method in methods:
                response = _asked(client, page, path, method)
                if not _as_it_should(response, may, there, page, method):
                    wrong.append((name, whose, method, response.status_code))
    assert wrong == []
    changed = _stored()
    assert changed[:2] == before[:2]
    told = LedgerEntry.objects.filter(pk__in=set(changed[2]) - set(before[2]))
    assert not told.filter(tenant="globex").exists()


def _as_it_should(response: HttpResponse, may: bool, there: bool, page: Page, method: str) -> bool:
    status = response.status_code
    if method != page.method:
        return status in (302, 403, 404, 405)
    if not may:
        return status == 403
    if not there:
        return status == 404 or (status == 302 and response["Location"] == reverse("admin:index"))
    # A file that was never written is not there, and a redirect leads back to the page of one's own thing.
    return status in (200, 302) or (page.about == "file" and status == 404)


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize("method", ["get", "post"])
def test_another_tenants_and_nobodys_are_answered_alike(two: Two, role: Role, method: str) -> None:
    client, wrong = signed_in(of_role(role, two.desk.acme)), []
    for name, page in PAGES.items():
        if not page.about or page.about in DESK_WIDE:
            continue
        told = []
        for whose in (OTHER, NOBODYS):
            response = _asked(client, page, two.address(name, page, whose), method)
            # What it says itself, and what the next page says after it led away.
            told.append((response.status_code, _body(response), _body(client.get("/admin/"))))
        if told[0] != told[1]:
            wrong.append((name, told[0][0], told[1][0]))
    assert wrong == []


@pytest.mark.parametrize("role", list(Role))
def test_no_page_of_a_person_of_one_tenant_tells_of_another(two: Two, role: Role) -> None:
    client, marks, told = signed_in(of_role(role, two.desk.acme)), two.marks(), []
    for name, page in PAGES.items():
        if role not in page.who or page.whole or name == "admin:logout" or page.method == "post":
            continue
        response = _asked(client, page, two.address(name, page, OWN), "get")
        text = response.content.decode() if not response.streaming else ""
        told += [(name, mark) for mark in marks if mark in text]
    assert told == []


@pytest.mark.parametrize("role", list(Role))
def test_filters_and_searches_by_what_is_foreign_find_nothing(two: Two, role: Role) -> None:
    client, found = signed_in(of_role(role, two.desk.acme)), []
    spelled, marks = elc(two.other["entry"].uid), two.marks()
    queries = [
        f"q={spelled}",
        f"q={two.other['decision'].uid}",
        "tenant=globex",
        f"tenant__id__exact={two.desk.globex.pk}",
    ]
    for name, page in PAGES.items():
        if role not in page.who or page.whole or not name.endswith("_changelist"):
            continue
        for query in queries:
            response = client.get(f"{reverse(name)}?{query}", follow=True)
            text = response.content.decode()
            for repeated in (spelled, str(two.other["entry"].uid), str(two.other["decision"].uid), *_ASKED_FOR):
                text = text.replace(repeated, "")
            found += [(name, query, mark) for mark in marks if mark in text]
    assert found == []


@pytest.mark.parametrize("role", list(Role))
def test_without_a_seat_there_is_nothing_to_see(two: Two, role: Role) -> None:
    client, wrong = signed_in(of_role(role)), []
    for name, page in PAGES.items():
        if role not in page.who or page.whole or not page.about or page.about in DESK_WIDE:
            continue
        for whose in (OWN, OTHER):
            response = _asked(client, page, two.address(name, page, whose))
            if not _as_it_should(response, True, False, page, page.method):
                wrong.append((name, whose, response.status_code))
    assert wrong == []


@pytest.mark.parametrize("role", list(Role))
def test_on_the_whole_desk_a_role_is_for_every_tenant(two: Two, role: Role) -> None:
    client, wrong = signed_in(of_role(role, whole_desk=True)), []
    for name, page in PAGES.items():
        if name in ("admin:logout", "admin:login"):
            continue
        for whose in (OWN, OTHER) if page.about else (OWN,):
            response = _asked(client, page, two.address(name, page, whose))
            if not _as_it_should(response, role in page.who, True, page, page.method):
                wrong.append((name, whose, response.status_code))
    assert wrong == []


def test_a_stranger_is_sent_to_sign_in_whatever_there_is(two: Two) -> None:
    client = Client(raise_request_exception=False)
    for name, page in PAGES.items():
        if name in ("admin:login", "admin:logout", "admin:jsi18n"):
            continue
        for whose in (OWN, NOBODYS):
            path = two.address(name, page, whose)
            response = _asked(client, page, path)
            assert response.status_code == 302, name
            assert response["Location"].startswith(f"{reverse('admin:login')}?next={path}")
