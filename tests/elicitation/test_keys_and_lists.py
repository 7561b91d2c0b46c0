"""Who may call what: keys, scopes, closed parties; a service's own list; signatures of webhooks."""

from __future__ import annotations

import json
import re

import pytest
from django.test import Client
from django.utils import timezone

from elicitation.models import Service, ServiceKey, Tenant
from elicitation.services import keys
from elicitation.services.keys import KeyProblem, Scope
from tests import builders
from tests.builders import ALICE, BOB, Desk

pytestmark = pytest.mark.django_db

CALLS = {
    ("POST", "elicitations"): Scope.ADMIT,
    ("GET", "elicitations"): Scope.READ,
    ("GET", "elicitations/{id}"): Scope.READ,
    ("POST", "elicitations/{id}/progress"): Scope.ANSWER,
    ("POST", "elicitations/{id}/answer"): Scope.ANSWER,
    ("POST", "elicitations/{id}/completion"): Scope.COMPLETE,
    ("POST", "elicitations/{id}/lost"): Scope.ANSWER,
    ("POST", "elicitations/{id}/retry"): Scope.ANSWER,
    ("POST", "elicitations/{id}/cancel"): Scope.ANSWER,
    ("POST", "elicitations/{id}/consume"): Scope.CONSUME,
    ("GET", "elicitations/{id}/wait?seconds=0"): Scope.READ,
    ("GET", "completions"): Scope.READ,
    ("POST", "decisions"): Scope.ADMIT,
    ("POST", "url-required-errors"): Scope.ADMIT,
    ("GET", "ledger"): Scope.EXPORT,
    ("POST", "exports"): Scope.EXPORT,
    ("GET", "exports/verifier"): Scope.EXPORT,
    ("GET", "exports/{id}"): Scope.EXPORT,
    ("GET", "exports/{id}/file"): Scope.EXPORT,
    ("GET", "checkpoints"): Scope.EXPORT,
    ("GET", "checkpoints/consistency?old=0&new=0"): Scope.EXPORT,
}


def test_every_route_of_the_api_is_in_this_table_or_signed() -> None:
    from elicitation.api.urls import urlpatterns

    named = re.compile(r"<str:(public_id|export_id)>")
    routes = {named.sub("{id}", str(pattern.pattern)) for pattern in urlpatterns}
    assert {f"v1/{path.partition('?')[0]}" for _, path in CALLS} == routes - {
        "v1/providers/<str:slug>/events",
        "v1/rules",
        "schema/",
        "docs/",
    }


@pytest.mark.parametrize("scope", list(Scope))
def test_a_key_opens_only_what_its_scope_names(desk: Desk, scope: Scope) -> None:
    public_id = desk.admit().json()["id"]
    key = keys.create_service_key(desk.booking, [scope])
    for (method, path), needed in CALLS.items():
        response = desk.call(path.format(id=public_id), {}, method=method, key=key)
        if needed is scope:
            assert response.status_code in (200, 400, 404, 409)
        else:
            assert (response.status_code, response.json()["code"]) == (403, "key.scope")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Basic abc",
        "Bearer desk_000000000000_" + "a" * 43,
        "Bearer desk_é",
        "Bearer x y z",
        "Token {key}",
        "Bearer {key}x",
        "{key}",
    ],
)
def test_no_key_or_a_wrong_one_is_401(desk: Desk, header: str) -> None:
    headers = {"authorization": header.format(key=desk.key)} if header else {}
    for method, path in CALLS:
        response = Client().generic(method, f"/api/v1/{path.format(id='elc_x')}", "{}", headers=headers)
        assert response.status_code == 401
        assert response["WWW-Authenticate"] == "Bearer"
        assert desk.key not in response.content.decode()


def test_a_key_is_kept_as_a_hash_and_revoked_at_once(desk: Desk) -> None:
    row = ServiceKey.objects.get(service=desk.booking)
    assert desk.key.removeprefix(f"desk_{row.prefix}_") not in str(vars(row))
    second = keys.create_service_key(desk.booking, [Scope.READ])
    keys.revoke_service_key(desk.booking, row.prefix)
    assert desk.call("elicitations", method="GET").status_code == 401
    assert desk.call("elicitations", method="GET", key=second).status_code == 200
    with pytest.raises(KeyProblem):
        keys.revoke_service_key(desk.booking, row.prefix)


@pytest.mark.parametrize("scopes", [[], ["everything"], ["admit", "root"]])
def test_a_key_needs_known_scopes(desk: Desk, scopes: list[str]) -> None:
    with pytest.raises(KeyProblem):
        keys.create_service_key(desk.booking, scopes)


@pytest.mark.parametrize("closed", [Service, Tenant])
def test_a_closed_service_or_tenant_opens_nothing(desk: Desk, closed: type[Service] | type[Tenant]) -> None:
    closed.objects.filter(slug__in=("booking", "acme")).update(closed_at=timezone.now())
    assert desk.call("elicitations", method="GET").status_code == 401


def test_a_service_lists_its_own_entries_a_page_at_a_time(desk: Desk) -> None:
    ids = [desk.admit(operation=builders.operation(question=str(n))).json()["id"] for n in range(5)]
    desk.admit(key=desk.sibling_key)
    seen: list[str] = []
    cursor = ""
    for _ in range(3):
        page = desk.call(f"elicitations?limit=2{cursor}", method="GET").json()
        seen += [item["id"] for item in page["items"]]
        cursor = f"&cursor={page['next']}"
    assert seen == list(reversed(ids))
    assert page["next"] is None
    assert desk.call("elicitations?state=COMPLETE", method="GET").json()["items"] == []


def test_a_list_shows_everybodys_entries_to_their_service_and_no_identity(desk: Desk) -> None:
    desk.admit()
    desk.admit(subject=BOB)
    page = desk.call("elicitations", method="GET")
    assert len(page.json()["items"]) == 2
    for secret in ("alice", "bob", "Pay the surcharge", "id.example", "flow"):
        assert secret not in page.content.decode()


def body_of(public_id: str) -> bytes:
    data = {"elicitation_id": public_id, "result_ref": "pi_1", "subject": ALICE}
    return json.dumps({"type": "elicitation.completed", "data": data}).encode()


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"webhook-signature": ""}, 400, "signature.malformed"),
        ({"webhook-signature": "v1,"}, 401, "signature.rejected"),
        ({"webhook-signature": "v1,é"}, 400, "signature.malformed"),
        ({"webhook-signature": "v1," + "A" * 44}, 401, "signature.rejected"),
        ({"webhook-signature": "v2,abc v1a,abc"}, 400, "signature.malformed"),
        ({"webhook-timestamp": ""}, 400, "signature.malformed"),
        ({"webhook-timestamp": "0"}, 401, "signature.rejected"),
        ({"webhook-timestamp": "soon"}, 400, "signature.malformed"),
        ({"webhook-timestamp": "9" * 5000}, 400, "signature.malformed"),
        ({"webhook-id": "another"}, 401, "signature.rejected"),
    ],
)
def test_a_delivery_that_is_not_signed_as_it_should_be_is_refused(
    desk: Desk, headers: dict[str, str], status: int, code: str
) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    before = builders.snapshot(public_id)
    refused = desk.deliver(body_of(public_id), headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert refused["Content-Type"] == "application/problem+json"
    assert builders.snapshot(public_id) == before


def test_an_unknown_provider_and_a_wrong_key_are_not_told_apart(desk: Desk) -> None:
    body = body_of("elc_" + "a" * 26)
    unknown, wrong = desk.deliver(body, slug="nobody"), desk.deliver(body, secret=desk.other_secret)
    assert (unknown.status_code, unknown.json()) == (wrong.status_code, wrong.json())
    assert (unknown.status_code, unknown["WWW-Authenticate"]) == (401, "Bearer")


def test_two_keys_are_good_during_rotation_and_a_revoked_one_is_not(desk: Desk) -> None:
    from elicitation.models import ProviderKey

    newer = keys.create_provider_key(desk.pay)
    body = body_of("elc_" + "a" * 26)
    assert desk.deliver(body).status_code == desk.deliver(body, secret=newer).status_code == 204
    ProviderKey.objects.filter(kid=ProviderKey.objects.earliest("pk").kid).update(revoked_at=timezone.now())
    assert (desk.deliver(body).status_code, desk.deliver(body, secret=newer).status_code) == (401, 204)


def test_an_authentic_event_of_another_type_is_accepted_and_does_nothing(desk: Desk) -> None:
    entries = len(builders.ledger())
    assert desk.deliver(b'{"type": "invoice.paid", "data": {"x": 1}}').status_code == 204
    assert len(builders.ledger()) == entries


def test_a_changed_body_is_401(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    from elicitation.policy.webhooks import secret_bytes, sign

    key = secret_bytes(desk.pay_secret)
    assert key is not None
    import time

    moment = int(time.time())
    headers = {
        "webhook-id": "m1",
        "webhook-timestamp": str(moment),
        "webhook-signature": sign("m1", moment, body_of(public_id), key),
    }
    assert desk.deliver(body_of(public_id) + b" ", headers=headers).status_code == 401
    assert desk.deliver(body_of(public_id), headers=headers).status_code == 204
