"""Deliveries in either scheme, through the whole of the address: what completes, what is refused, what is counted."""

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from elicitation.api import examples
from elicitation.models import BadSignature, Evidence, Provider, SignatureScheme, Tenant, WebhookDelivery
from elicitation.policy.webhooks import Scheme
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
    speaks_stripe,
)
from tests.steps import act, consented

pytestmark = pytest.mark.django_db


def test_the_columns_words_are_those_of_the_policy() -> None:
    assert set(SignatureScheme.values) == set(Scheme)


@pytest.mark.parametrize("kind", ["session", "session later", "intent"])
def test_a_payment_at_stripe_completes(desk: Desk, kind: str) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
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
    public_id = consented(desk)
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
    public_id = consented(desk)
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
    public_id = consented(desk)
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
    public_id = consented(desk)
    assert send(desk, event(type_, about(public_id))).status_code == 204
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.cancelled_by) == ("CANCELLED", "provider")


@pytest.mark.parametrize("type_", ["payment_intent.payment_failed", "payment_intent.processing", "invoice.paid"])
def test_what_is_not_final_or_not_ours_is_taken_and_traced(desk: Desk, type_: str) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    before, entries = builders.snapshot(public_id), len(builders.ledger())
    assert send(desk, event(type_, intent(public_id))).status_code == 204
    assert send(desk, event("checkout.session.completed", session("", metadata={}))).status_code == 204
    assert (builders.snapshot(public_id), len(builders.ledger())) == (before, entries)
    assert set(WebhookDelivery.objects.values_list("outcome", flat=True)) == {"not_ours"}


def test_a_refund_takes_the_completion_back_only_when_it_is_whole(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    send(desk, event("payment_intent.succeeded", intent(public_id)))
    before = builders.snapshot(public_id)
    send(desk, event("charge.refunded", charge(public_id, refunded=False, amount_refunded=1)))
    assert builders.snapshot(public_id) == before
    send(desk, event("charge.refunded", charge(public_id)))
    assert builders.entry_of(public_id).reversed_at is not None


def test_what_happened_at_stripe_counts_from_when_it_happened(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
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
    public_id = consented(desk)
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
    public_id = consented(desk)
    about = examples.STRIPE_EVENT["data"]["object"] | {"metadata": {"elicitation_id": public_id}}
    now = {"data": {"object": about}, "created": int(time.time())}
    assert send(desk, json.dumps(examples.STRIPE_EVENT | now).encode()).status_code == 204
    assert builders.entry_of(public_id).state == "COMPLETE"


@pytest.mark.parametrize("closed", [Provider, Tenant])
def test_a_closed_provider_is_not_counted_and_its_signed_evidence_still_lands(
    desk: Desk, closed: type[Provider] | type[Tenant]
) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    act(desk, public_id, "cancel")
    closed.objects.filter(slug__in=(desk.pay.slug, "acme")).update(closed_at=timezone.now())
    body = event("payment_intent.succeeded", intent(public_id))
    assert send(desk, body, "t=1,v1=" + "a" * 64).status_code == 401
    assert not BadSignature.objects.exists()
    assert send(desk, body).status_code == 204
    assert Evidence.objects.get().status == "late"


def test_nothing_of_a_stripe_delivery_is_kept_to_be_read(desk: Desk) -> None:
    speaks_stripe(desk)
    public_id = consented(desk)
    send(desk, event("checkout.session.completed", session(public_id), id="evt_canary1"))
    kept = str([vars(row) for row in (*WebhookDelivery.objects.all(), *Evidence.objects.all(), *builders.ledger())])
    for secret in ("evt_canary1", INTENT, "cs_live", "alice@example.com", SECRET):
        assert secret not in kept
