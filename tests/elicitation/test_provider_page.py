"""A provider's page in the admin: set up there by whom it is for, on the record, and without its secrets."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from elicitation.models import KeyUse, Provider, ProviderKey
from elicitation.services import keys, parties
from elicitation.services.parties import STRIPE_SEARCH
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.set_up import API_KEY, STATUS_URL, columns, stored
from tests.people import staff

pytestmark = pytest.mark.django_db


def page(provider: Provider) -> str:
    return f"/admin/elicitation/provider/{provider.pk}/change/"


@pytest.fixture
def administrator(desk: Desk) -> Client:
    return signed_in(staff("ada", "view_provider", "change_provider"))


def test_the_page_shows_the_set_up_and_the_keys_but_no_secret(desk: Desk, administrator: Client) -> None:
    kid = keys.import_provider_key(desk.pay, API_KEY, KeyUse.LOOKUP)
    parties.change_provider(desk.pay, lookup="generic", status_url=STATUS_URL)
    shown = look(administrator, page(desk.pay))
    for words in (kid, "status look-up", STATUS_URL, "Standard Webhooks", 'value="Save"'):
        assert words in shown
    for secret in (API_KEY, desk.pay_secret, *(row.sealed_secret for row in ProviderKey.objects.all())):
        assert secret not in shown
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", shown)


def test_an_administrator_sets_a_provider_up_on_the_record(desk: Desk, administrator: Client) -> None:
    sent = {"scheme": "stripe", "lookup": "stripe", "status_url": ""}
    reply = administrator.post(page(desk.pay), sent, follow=True)
    assert "It is set" in reply.content.decode()
    row = columns(desk.pay)
    assert (row["scheme"], row["lookup"], row["status_url"]) == ("stripe", "stripe", STRIPE_SEARCH)
    last = builders.ledger()[-1]
    ada = User.objects.get(username="ada")
    assert (last.event, last.actor_id, last.role) == ("provider_changed", str(ada.pk), "administrator")
    before = stored(desk)
    again = administrator.post(page(desk.pay), sent, follow=True)
    assert "nothing was changed" in again.content.decode()
    assert stored(desk) == before


@pytest.mark.parametrize(
    "sent",
    [
        {"scheme": "standard", "lookup": "generic", "status_url": "http://pay.example.com/"},
        {"scheme": "standard", "lookup": "generic", "status_url": ""},
        {"scheme": "standard", "lookup": "", "status_url": STATUS_URL},
        {"scheme": "other", "lookup": "", "status_url": ""},
        {"scheme": "standard", "lookup": "other", "status_url": ""},
        {},
    ],
)
def test_a_set_up_that_cannot_be_is_told_and_changes_nothing(
    desk: Desk, administrator: Client, sent: dict[str, str]
) -> None:
    before = stored(desk)
    reply = administrator.post(page(desk.pay), sent)
    assert reply.status_code == 200
    assert "Nothing was changed" in reply.content.decode()
    assert stored(desk) == before


def test_only_who_may_change_a_provider_can(desk: Desk) -> None:
    user = staff("olga")
    before = stored(desk)
    client = signed_in(user)
    assert client.get(page(desk.pay)).status_code == 403
    user.user_permissions.set(Permission.objects.filter(codename="view_provider"))
    assert 'value="Save"' not in look(client, page(desk.pay))
    assert client.post(page(desk.pay), {"scheme": "stripe", "lookup": "", "status_url": ""}).status_code == 403
    assert stored(desk) == before


@pytest.mark.parametrize("number", ["999999", "x", "²", "9" * 40])
def test_a_provider_that_is_not_there_has_no_page(desk: Desk, administrator: Client, number: str) -> None:
    assert administrator.get(f"/admin/elicitation/provider/{number}/change/").status_code == 404
