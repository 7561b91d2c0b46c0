"""Thousands of deliveries that nobody should send, in both schemes: never a fault of ours, never a value repeated,
and the true one still completes.

``--hypothesis-profile=long`` sends as many as the address is held to.
"""

from __future__ import annotations

import json
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, Final
from urllib.parse import quote

import pytest
from django.test import Client

from elicitation.models import BadSignature, WebhookDelivery
from elicitation.policy.document import lay_over
from elicitation.policy.webhooks import secret_bytes, sign
from elicitation.services import parties
from tests import builders
from tests.builders import BOB, Desk
from tests.elicitation.stripe_events import charge, event, intent, send, session, set_up, signature
from tests.steps import consent

pytestmark = pytest.mark.django_db

SHORT, LONG = 1_000, 50_000
#: Stands in every value that a reply could repeat.
CANARY: Final = "CANARY7h3q"

TEXTS: Final = (
    "", " ", "0", "-1", "NaN", "null", "9" * 5000, "٣", "é\xff", "v1,", "v1=", "t=,v1=", "t=NaN,v1=" + "a" * 64,
    ",".join(["v1=" + "a" * 64] * 500), "v1," + "A" * 44, "%00", "\x7f", "=", ",,,,", "v0=" + "a" * 64, CANARY,
    "sha256=\xe9" + CANARY, "t=" + "9" * 15 + ",v1=" + "a" * 64,
)  # fmt: skip
VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, -1, 1.5, 10**31, "", CANARY, CANARY * 100, [], [CANARY], {}, {CANARY: CANARY}, [[[[[[]]]]]], "elc_",
    "elc_" + "a" * 26, "ELC_" + "A" * 26, "\u202e" + CANARY, "x" * 300, "pi_1_secret_" + CANARY, "2026-02-31T25:00:00Z",
)  # fmt: skip
RAW: Final = (
    b"", b" ", b"\xff" + CANARY.encode(), b"[" * 60_000, b"{" * 40, b'"' + CANARY.encode() + b'"', b"null", b"[]",
    b"\xef\xbb\xbf{}", b'{"type": NaN}', b'{"type": 1e999}', b'{"type": "' + b"9" * 70_000 + b'"}',
    b'{"type": "\\u0000"}', b'{"type": "\\ud800"}', b"{}{}", b"type=x&data=y",
    b'{"' + CANARY.encode() + b'": 1, "' + CANARY.encode() + b'": 2}',
)  # fmt: skip


def standard_event(public_id: str, type_: str = "elicitation.completed") -> dict[str, Any]:
    data = {"elicitation_id": public_id, "result_ref": f"pi_{CANARY}", "subject": dict(BOB), "occurred_at": None}
    return {"type": type_, "timestamp": "2026-01-31T12:00:00Z", "data": data}


def nested(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Every object in the body, itself first."""
    found, waiting = [], [body]
    while waiting:
        here = waiting.pop()
        found.append(here)
        waiting += [value for value in here.values() if isinstance(value, dict)]
    return found


def spoilt(pick: random.Random, body: dict[str, Any]) -> bytes:
    """The body with one member changed, dropped, renamed or named twice; or something that is no body at all."""
    how = pick.randrange(6)
    if how == 0:
        return pick.choice(RAW)
    here = pick.choice(nested(body))
    name = pick.choice(sorted(here)) if here else CANARY
    match how:
        case 1:
            here.pop(name, None)
        case 2:
            here[CANARY] = here.pop(name, None)
        case 3:
            text = json.dumps(body)
            return text.replace(f'"{name}":', f'"{name}": "{CANARY}", "{name}":', 1).encode()
        case _:
            here[name] = deepcopy(pick.choice(VALUES))
    return json.dumps(body).encode()[: pick.choice((None, None, None, -1, 40))]


def strange(pick: random.Random, headers: dict[str, str]) -> dict[str, str]:
    """The headers with one of them gone, strange, cut or doubled, or with the other scheme's beside."""
    name = pick.choice(sorted(headers))
    match pick.randrange(5):
        case 0:
            return {kept: value for kept, value in headers.items() if kept != name}
        case 1:
            return headers | {name: pick.choice(TEXTS)}
        case 2:
            return headers | {name: headers[name][: pick.randrange(len(headers[name]))]}
        case 3:
            return headers | {name: headers[name] + pick.choice((",", " ", "=")) + headers[name]}
        case _:
            more = ("stripe-signature", "webhook-id", "webhook-timestamp", "webhook-signature")
            return headers | {pick.choice(more): pick.choice(TEXTS)}


Says = Callable[[random.Random, str], dict[str, Any]]
Signs = Callable[[bytes, int], dict[str, str]]


class Sender:
    """One provider: how it signs, and what it says of entries that are not its own."""

    def __init__(self, slug: str, signs: Signs, says: Says, about: str) -> None:
        self.slug = slug
        self._signs = signs
        self._says = says
        self._about = ("elc_" + "a" * 26, about)

    def delivery(self, pick: random.Random) -> tuple[dict[str, str], bytes]:
        body = self._says(pick, pick.choice(self._about))
        sent = json.dumps(body).encode()
        match pick.randrange(5):
            case 0:  # an honest signature under a strange body
                sent = spoilt(pick, body)
                return self._signs(sent, 0), sent
            case 1:  # strange headers
                return strange(pick, self._signs(sent, 0)), sent
            case 2:  # signed at another time
                return self._signs(sent, pick.choice((-360, 360, -(10**9), 10**9))), sent
            case 3:  # another body than the one that was signed
                return self._signs(sent, 0), spoilt(pick, body)
            case _:  # everything at once
                return strange(pick, self._signs(sent, 0)), spoilt(pick, body)


def standard_sender(desk: Desk, about: str) -> Sender:
    key = secret_bytes(desk.pay_secret)
    assert key is not None

    def signs(body: bytes, late: int) -> dict[str, str]:
        at, name = int(time.time()) + late, f"msg_{CANARY}"
        signed = sign(name, at, body, key)
        return {"webhook-id": name, "webhook-timestamp": str(at), "webhook-signature": signed}

    def says(pick: random.Random, public_id: str) -> dict[str, Any]:
        types = ("elicitation.completed", "elicitation.failed", "elicitation.reversed", f"elicitation.{CANARY}", "x.y")
        return standard_event(public_id, pick.choice(types))

    return Sender(desk.pay.slug, signs, says, about)


def stripe_sender(slug: str, about: str) -> Sender:
    def signs(body: bytes, late: int) -> dict[str, str]:
        return {"stripe-signature": signature(body, at=int(time.time()) + late)}

    def says(pick: random.Random, public_id: str) -> dict[str, Any]:
        types = (
            "checkout.session.completed", "checkout.session.async_payment_succeeded", "checkout.session.expired",
            "payment_intent.succeeded", "payment_intent.canceled", "charge.refunded", f"payment_intent.{CANARY}",
        )  # fmt: skip
        of = pick.choice((session, intent, charge))
        whole: dict[str, Any] = json.loads(event(pick.choice(types), of(public_id), livemode=CANARY))
        return whole

    return Sender(slug, signs, says, about)


def two_providers(desk: Desk) -> tuple[str, str, str]:
    """A pending entry at a provider of the desk's own form, one at Stripe, and the slug of the latter."""
    stripe = parties.open_provider(desk.acme, "stripe-pay", "Stripe")
    set_up(stripe)
    theirs = {"origin": "https://checkout.example.net", "provider": stripe.slug, "binding": "asserted"}
    both = [builders.DESTINATION, builders.DESTINATION | theirs]
    builders.activate(lay_over(builders.document(), {"destinations": both}))
    ids = []
    for number, origin in enumerate((builders.ORIGIN, "https://checkout.example.net")):
        request = {"mode": "url", "message": "Pay the surcharge", "url": f"{origin}/start?flow=pay"}
        asked = desk.admit(operation=builders.operation(question=str(number)), request=request)
        ids.append(asked.json()["id"])
        consent(desk, ids[-1])
    return ids[0], ids[1], stripe.slug


def as_sent(headers: Mapping[str, str]) -> dict[str, str]:
    """What a server makes of header bytes: latin-1, as WSGI has it."""
    return {name: value.encode("utf-8").decode("latin-1") for name, value in headers.items()}


def test_no_hostile_delivery_is_a_fault_or_an_echo_and_a_true_one_still_completes(
    desk: Desk, long_run: bool, record_property: Callable[[str, object], None]
) -> None:
    ours, at_stripe, slug_of_stripe = two_providers(desk)
    before = builders.snapshot(ours), builders.snapshot(at_stripe)
    senders = (standard_sender(desk, about=at_stripe), stripe_sender(slug_of_stripe, about=ours))
    pick = random.Random(20_260_131)
    client = Client(raise_request_exception=False)
    logging.disable(logging.INFO)  # one line for each request is not what is tried here
    seen: Counter[int] = Counter()
    total = LONG if long_run else SHORT
    try:
        for number in range(total):
            headers, body = senders[number % 2].delivery(pick)
            slug = senders[number % 2].slug if pick.randrange(10) else pick.choice(("nobody", CANARY, quote("é")))
            reply = client.post(
                f"/api/v1/providers/{slug}/events", body, content_type="application/json", headers=as_sent(headers)
            )
            seen[reply.status_code] += 1
            assert reply.status_code in (204, 400, 401, 413), (number, reply.status_code, headers, body[:300])
            assert CANARY not in reply.content.decode() + str(reply.headers), number
    finally:
        logging.disable(logging.NOTSET)
    assert min(seen[204], seen[400], seen[401]) > total // 50, seen
    assert (builders.snapshot(ours), builders.snapshot(at_stripe)) == before
    assert WebhookDelivery.objects.count() == seen[204]
    assert 0 < sum(BadSignature.objects.values_list("count", flat=True)) <= seen[400] + seen[401]
    assert desk.event(ours).status_code == 204
    assert send(desk, event("payment_intent.succeeded", intent(at_stripe)), slug=slug_of_stripe).status_code == 204
    assert {builders.entry_of(public_id).state for public_id in (ours, at_stripe)} == {"COMPLETE"}
    record_property("generated deliveries", total)
