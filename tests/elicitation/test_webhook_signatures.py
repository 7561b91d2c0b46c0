"""Signatures at a provider's address: which are good, that a refusal tells nothing, and that refusals are counted."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elicitation.models import BadSignature, KeyUse, Provider, Tenant, WebhookDelivery
from elicitation.services import deliveries, keys
from tests import builders
from tests.builders import Desk
from tests.elicitation.stripe_events import (
    event,
    intent,
    send,
    signature,
    speaks_stripe,
)
from tests.racing import at_once
from tests.steps import consented

pytestmark = pytest.mark.django_db


def test_either_secret_is_good_in_a_rotation_and_the_trace_says_which(desk: Desk) -> None:
    speaks_stripe(desk)
    newer = "whsec_" + "Zr4" * 11
    kid = keys.import_provider_key(desk.pay, newer, KeyUse.WEBHOOK)
    body = event("invoice.paid", {})
    assert send(desk, body, signature(body, newer)).status_code == 204
    assert WebhookDelivery.objects.latest("pk").kid == kid
    assert send(desk, body).status_code == 204
    assert WebhookDelivery.objects.latest("pk").kid != kid
    keys.revoke_provider_keys(desk.pay, kid=kid)
    assert send(desk, body, signature(body, newer)).status_code == 401
    assert send(desk, body).status_code == 204


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ("", 400),
        ("sha256=\xe9", 400),
        ("t=NaN,v1=" + "a" * 64, 400),
        ("t=1,v0=" + "a" * 64, 400),
        ("t=1,v1=" + "a" * 64, 401),
    ],
)
def test_a_strange_stripe_signature_is_refused_and_changes_nothing(desk: Desk, sent: str, status: int) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    before = builders.snapshot(public_id)
    body = event("payment_intent.succeeded", intent(public_id))
    refused = Client().post(
        f"/api/v1/providers/{desk.pay.slug}/events",
        body,
        content_type="application/json",
        headers={"stripe-signature": sent} if sent else {},
    )
    assert refused.status_code == status
    assert builders.snapshot(public_id) == before


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_valid_signature_ages(desk: Desk, minutes: int) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    before = builders.snapshot(public_id)
    body = event("payment_intent.succeeded", intent(public_id))
    sent = signature(body, at=int(time.time()) + 60 * minutes)
    assert send(desk, body, sent).status_code == 401
    assert builders.snapshot(public_id) == before


def test_the_other_schemes_signature_is_no_signature(desk: Desk) -> None:
    public_id = consented(desk)
    before = builders.snapshot(public_id)
    body = event("payment_intent.succeeded", intent(public_id))
    assert send(desk, body, signature(body, desk.pay_secret)).status_code == 401
    speaks_stripe(desk)
    assert desk.event(public_id).status_code == 401
    assert builders.snapshot(public_id) == before


def headers_of_every_kind(desk: Desk, body: bytes) -> list[dict[str, str]]:
    standard = {"webhook-id": "m", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1," + "A" * 44}
    stripe = {"stripe-signature": signature(body, "whsec_nobody")}
    halves = [{name: value for name, value in standard.items() if name != left} for left in standard]
    return [{}, standard, stripe, standard | stripe, {"stripe-signature": "x"}, {"stripe-signature": ""}, *halves]


def test_no_refusal_tells_whether_there_is_a_provider_or_how_it_signs(desk: Desk) -> None:
    speaks_stripe(desk)
    keyless = Provider.objects.create(tenant=desk.acme, slug="keyless", name="", opened_at=timezone.now())
    body = b'{"type": "elicitation.completed"}'
    for headers in headers_of_every_kind(desk, body):
        replies = set()
        for slug in (desk.pay.slug, desk.other_pay.slug, keyless.slug, "nobody", "No-Slug"):
            reply = Client().post(
                f"/api/v1/providers/{slug}/events", body, content_type="application/json", headers=headers
            )
            told = [(name, value) for name, value in reply.items() if name != "Date"]
            replies.add((reply.status_code, reply.content, tuple(sorted(told))))
        assert len(replies) == 1, headers
        assert {reply[0] for reply in replies} <= {400, 401}


def test_a_refusal_asks_the_database_as_much_for_nobody_as_for_somebody(desk: Desk) -> None:
    BadSignature.objects.all().delete()
    keys.revoke_provider_keys(desk.other_pay)
    counts = {}
    Tenant.objects.filter(pk=desk.globex.pk).update(closed_at=timezone.now())  # so that nothing is counted afterwards
    for slug in (desk.other_pay.slug, "nobody"):
        with CaptureQueriesContext(connection) as captured:
            desk.deliver(b"{}", slug=slug)
        counts[slug] = [query["sql"].split()[0] for query in captured]
    assert counts[desk.other_pay.slug] == counts["nobody"]
    assert not BadSignature.objects.exists()


def test_refused_deliveries_to_an_open_provider_are_counted_by_the_hour(desk: Desk) -> None:
    for headers in ({"webhook-id": "another"}, {"webhook-timestamp": "soon"}, {"webhook-timestamp": "0"}):
        assert desk.deliver(b"{}", headers=headers).status_code in (400, 401)
    desk.deliver(b"{}", slug="nobody")
    (row,) = BadSignature.objects.all()
    assert (row.provider, row.count) == (desk.pay, 3)
    assert (row.hour.minute, row.hour.second, row.hour.microsecond) == (0, 0, 0)
    assert row.hour <= row.last_at < row.hour + timedelta(hours=1)
    assert not WebhookDelivery.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_many_refused_at_once_are_each_counted(desk: Desk) -> None:
    calls = [lambda: desk.deliver(b"{}", headers={"webhook-id": "another"}).status_code] * 40
    assert set(at_once(calls, 8)) == {401}
    assert [row.count for row in BadSignature.objects.all()] == [40]


def test_the_next_hour_has_a_row_of_its_own(desk: Desk) -> None:
    deliveries.count_bad_signature(desk.pay)
    BadSignature.objects.update(hour=BadSignature.objects.get().hour - timedelta(hours=1))
    deliveries.count_bad_signature(desk.pay)
    assert [row.count for row in BadSignature.objects.order_by("hour")] == [1, 1]
