"""Deliveries in either scheme, through the whole of the address: what completes, what is refused, what is counted."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from elicitation.api import examples
from elicitation.models import BadSignature, Evidence, KeyUse, Provider, SignatureScheme, Tenant, WebhookDelivery
from elicitation.policy.webhooks import Scheme
from elicitation.services import deliveries, keys
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.stripe_events import (
    INTENT,
    SECRET,
    charge,
    event,
    intent,
    send,
    session,
    signature,
    speaks_stripe,
)
from tests.elicitation.test_asking_again import act, consent
from tests.races.test_races import at_once

pytestmark = pytest.mark.django_db


def pending(desk: Desk) -> str:
    public_id: str = desk.admit().json()["id"]
    consent(desk, public_id)
    return public_id


def test_the_columns_words_are_those_of_the_policy() -> None:
    assert set(SignatureScheme.values) == set(Scheme)


@pytest.mark.parametrize("kind", ["session", "session later", "intent"])
def test_a_payment_at_stripe_completes(desk: Desk, kind: str) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    body = {
        "session": event("checkout.session.completed", session(public_id)),
        "session later": event("checkout.session.async_payment_succeeded", session(public_id)),
        "intent": event("payment_intent.succeeded", intent(public_id)),
    }[kind]
    reply = send(desk, body)
    assert (reply.status_code, reply.content) == (204, b"")
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.completion_source) == ("COMPLETE", "webhook")
    taken = desk.call(f"elicitations/{public_id}/consume", {"subject": ALICE, "operation": builders.operation()}).json()
    assert (taken["outcome"], taken["result_ref"]) == ("applied", INTENT)


@pytest.mark.parametrize("doubtful", ["a payer's reference", "another merchant"])
def test_what_the_merchant_did_not_write_completes_nothing(desk: Desk, doubtful: str) -> None:
    """A payment link takes its reference from the address, and a connected account writes its own metadata."""
    speaks_stripe(desk)
    public_id = pending(desk)
    body = {
        "a payer's reference": event(
            "checkout.session.completed", session(public_id, metadata={}, client_reference_id=public_id)
        ),
        "another merchant": event("checkout.session.completed", session(public_id), account="acct_other"),
    }[doubtful]
    before = builders.snapshot(public_id)
    assert send(desk, body).status_code == 204
    assert builders.snapshot(public_id) == before


def test_the_events_of_one_payment_are_one_completion(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    send(desk, event("checkout.session.completed", session(public_id)))
    before = builders.snapshot(public_id)
    again = event("payment_intent.succeeded", intent(public_id))
    for _ in range(2):
        assert send(desk, again).status_code == 204
    assert builders.snapshot(public_id) == before
    outcomes = list(WebhookDelivery.objects.order_by("pk").values_list("outcome", flat=True))
    assert outcomes == ["completed", "duplicate_ignored", "duplicate_ignored"]
    digests = list(WebhookDelivery.objects.order_by("pk").values_list("delivery_digest", flat=True))
    assert (digests[1] == digests[2], digests[0] == digests[1]) == (True, False)


def test_a_session_that_is_not_paid_yet_completes_nothing_until_it_is(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    before = builders.snapshot(public_id)
    assert (
        send(desk, event("checkout.session.completed", session(public_id, payment_status="unpaid"))).status_code == 204
    )
    assert builders.snapshot(public_id) == before
    send(desk, event("checkout.session.async_payment_succeeded", session(public_id)))
    assert builders.entry_of(public_id).state == "COMPLETE"


@pytest.mark.parametrize(
    ("type_", "about"),
    [
        ("checkout.session.expired", session),
        ("checkout.session.async_payment_failed", session),
        ("payment_intent.canceled", intent),
    ],
)
def test_what_failed_for_good_at_stripe_ends_the_entry(desk: Desk, type_: str, about: Any) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    assert send(desk, event(type_, about(public_id))).status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.cancelled_by) == ("CANCELLED", "provider")


@pytest.mark.parametrize("type_", ["payment_intent.payment_failed", "payment_intent.processing", "invoice.paid"])
def test_what_is_not_final_or_not_ours_is_taken_and_traced(desk: Desk, type_: str) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    before, entries = builders.snapshot(public_id), len(builders.ledger())
    assert send(desk, event(type_, intent(public_id))).status_code == 204
    assert send(desk, event("checkout.session.completed", session("", metadata={}))).status_code == 204
    assert (builders.snapshot(public_id), len(builders.ledger())) == (before, entries)
    assert set(WebhookDelivery.objects.values_list("outcome", flat=True)) == {"not_ours"}


def test_a_refund_takes_the_completion_back_only_when_it_is_whole(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    send(desk, event("payment_intent.succeeded", intent(public_id)))
    before = builders.snapshot(public_id)
    send(desk, event("charge.refunded", charge(public_id, refunded=False, amount_refunded=1)))
    assert builders.snapshot(public_id) == before
    send(desk, event("charge.refunded", charge(public_id)))
    assert builders.entry_of(public_id).reversed_at is not None


def test_what_happened_at_stripe_counts_from_when_it_happened(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    builders.age(public_id, 3600)
    in_time = int((timezone.now() - timedelta(minutes=55)).timestamp())
    assert send(desk, event("payment_intent.succeeded", intent(public_id), created=in_time)).status_code == 204
    kept = Evidence.objects.get()
    assert kept.occurred_at is not None
    assert (int(kept.occurred_at.timestamp()), kept.status) == (in_time, "late")
    assert builders.entry_of(public_id).state == "EXPIRED"


def test_a_stripe_payment_names_nobody_so_it_waits_where_the_person_must_be_known(desk: Desk) -> None:
    speaks_stripe(desk)
    builders.activate()
    public_id = pending(desk)
    assert send(desk, event("payment_intent.succeeded", intent(public_id))).status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.held_evidence) == ("CONSENT_PENDING", True)


def test_stripe_cannot_speak_of_another_tenants_entry(desk: Desk) -> None:
    speaks_stripe(desk)
    foreign = desk.admit(key=desk.mallory_key, form=True).json()["id"]
    before = builders.snapshot(foreign)
    assert send(desk, event("payment_intent.succeeded", intent(foreign))).status_code == 204
    assert builders.snapshot(foreign) == before
    assert builders.ledger(foreign)[-1].outcome == "wrong_tenant_denied"


@pytest.mark.parametrize(
    ("type_", "about", "changes", "at"),
    [
        ("payment_intent.succeeded", intent("elc_x"), {"id": "pi_1"}, "/id"),
        ("payment_intent.succeeded", intent("elc_x"), {"id": "evt_" + "a" * 300}, "/id"),
        ("payment_intent.succeeded", intent("elc_x"), {"created": "2026-01-31"}, "/created"),
        ("payment_intent.succeeded", intent("elc_x"), {"created": 10**30}, "/created"),
        ("payment_intent.succeeded", intent("elc_x"), {"created": True}, "/created"),
        ("payment_intent.succeeded", intent("elc_x"), {"data": []}, "/data"),
        ("payment_intent.succeeded", intent("elc_x"), {"data": {"object": "pi_1"}}, "/data/object"),
        ("payment_intent.succeeded", intent("elc_x", id=["CANARY"]), {}, "/data/object/id"),
        ("checkout.session.completed", session("elc_x", mode="CANARY"), {}, "/data/object/mode"),
        ("charge.refunded", charge("elc_x", refunded="CANARY"), {}, "/data/object/refunded"),
    ],
)
def test_a_signed_stripe_event_that_is_malformed_is_400_by_place(
    desk: Desk, type_: str, about: dict[str, Any], changes: dict[str, Any], at: str
) -> None:
    speaks_stripe(desk)
    refused = send(desk, event(type_, about, **changes))
    assert (refused.status_code, refused.json()["at"]) == (400, at)
    assert "CANARY" not in refused.content.decode()
    assert not WebhookDelivery.objects.exists()


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"null", b"[" * 999, b"\xff", b'{"id": "evt_1", "id": "evt_2"}', b'{"a": NaN}']
)
def test_a_signed_body_that_is_no_event_is_400(desk: Desk, body: bytes) -> None:
    speaks_stripe(desk)
    assert send(desk, body).status_code == 400


def test_the_example_of_the_docs_can_be_sent(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    about = examples.STRIPE_EVENT["data"]["object"] | {"metadata": {"elicitation_id": public_id}}
    now = {"data": {"object": about}, "created": int(time.time())}
    assert send(desk, json.dumps(examples.STRIPE_EVENT | now).encode()).status_code == 204
    assert builders.entry_of(public_id).state == "COMPLETE"


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
    public_id = pending(desk)
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
    public_id = pending(desk)
    before = builders.snapshot(public_id)
    body = event("payment_intent.succeeded", intent(public_id))
    sent = signature(body, at=int(time.time()) + 60 * minutes)
    assert send(desk, body, sent).status_code == 401
    assert builders.snapshot(public_id) == before


def test_the_other_schemes_signature_is_no_signature(desk: Desk) -> None:
    public_id = pending(desk)
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


@pytest.mark.parametrize("closed", [Provider, Tenant])
def test_a_closed_provider_is_not_counted_and_its_signed_evidence_still_lands(
    desk: Desk, closed: type[Provider] | type[Tenant]
) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    act(desk, public_id, "cancel")
    closed.objects.filter(slug__in=(desk.pay.slug, "acme")).update(closed_at=timezone.now())
    body = event("payment_intent.succeeded", intent(public_id))
    assert send(desk, body, "t=1,v1=" + "a" * 64).status_code == 401
    assert not BadSignature.objects.exists()
    assert send(desk, body).status_code == 204
    assert Evidence.objects.get().status == "late"


def test_nothing_of_a_stripe_delivery_is_kept_to_be_read(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = pending(desk)
    send(desk, event("checkout.session.completed", session(public_id), id="evt_canary1"))
    kept = str([vars(row) for row in (*WebhookDelivery.objects.all(), *Evidence.objects.all(), *builders.ledger())])
    for secret in ("evt_canary1", INTENT, "cs_live", "alice@example.com", SECRET):
        assert secret not in kept
