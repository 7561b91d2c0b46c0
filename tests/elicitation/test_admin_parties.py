"""The page of a provider, and the pages of what is not there: what they say, and that they fit a phone."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client

from elicitation.admin import parties
from elicitation.models import Provider, WebhookDelivery
from elicitation.services import clock
from tests.builders import Desk
from tests.elicitation.admin_pages import consented, look, signed_in

pytestmark = pytest.mark.django_db

NOWHERE = "elc_" + "a" * 26


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


def page(provider: Provider) -> str:
    return f"/admin/elicitation/provider/{provider.pk}/change/"


def test_events_that_named_no_entry_are_counted_with_the_last_time(desk: Desk, operator: Client) -> None:
    desk.event(consented(desk))
    assert "Events that named no entry" not in look(operator, page(desk.pay))
    desk.event(NOWHERE)
    desk.deliver(b'{"type": "invoice.sent", "data": {}}')
    newest = WebhookDelivery.objects.latest("pk")
    WebhookDelivery.objects.filter(pk=newest.pk).update(received_at=clock.now() - timedelta(days=1))
    newest.refresh_from_db()
    said = f"2, last at {newest.received_at:%Y-%m-%d %H:%M:%S} UTC"
    shown = look(operator, page(desk.pay))
    assert "Events that named no entry" in shown
    assert said in shown
    assert "Events that named no entry" not in look(operator, page(desk.other_pay))


def test_only_the_newest_events_are_looked_through(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parties, "_DELIVERIES_READ", 2)
    for _ in range(3):
        desk.event(NOWHERE)
    assert "2 of the last 2, last at" in look(operator, page(desk.pay))


def test_the_form_calls_things_by_their_names(desk: Desk, operator: Client) -> None:
    shown = look(operator, page(desk.pay))
    assert ">Address</label>" in shown
    assert 'value="Save"' in shown
    assert 'class="desk-table cards"' in shown


def test_a_page_that_is_refused_or_not_there_brings_the_styles_for_a_phone(desk: Desk, operator: Client) -> None:
    for client, status in ((operator, 404), (signed_in(User.objects.create_user("sam", is_staff=True)), 403)):
        path = "/admin/elicitation/provider/999999/change/" if status == 404 else page(desk.pay)
        shown = look(client, path, status=status)
        assert "admin/css/responsive" in shown
        assert "admin/css/dark_mode" in shown
        assert "desk/desk" in shown
