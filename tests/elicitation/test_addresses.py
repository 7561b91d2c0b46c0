"""Odd addresses: a 4xx on every page and call, never a 500."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client

from tests.builders import Desk

pytestmark = pytest.mark.django_db

ADDRESSES = [
    "/admin/audit/ledgerentry/?event=%00",
    "/admin/audit/ledgerentry/?event__exact=%00",
    "/admin/elicitation/decision/?outcome=%00",
    "/admin/elicitation/elicitation/?state__exact=%00",
    "/admin/elicitation/elicitation/?q=%00",
    "/admin/%00/",
    "/%00",
    "/api/v1/elicitations/%00",
    "/api/v1/elicitations?cursor=%00",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_nul_in_an_address_is_refused(desk: Desk, address: str) -> None:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("operator"))
    assert client.get(address).status_code in (400, 401)


def test_a_nul_in_a_providers_name_is_no_provider(desk: Desk) -> None:
    response = Client().post("/api/v1/providers/%00/events", b"{}", content_type="application/json")
    assert response.status_code in (400, 401)


@pytest.mark.parametrize("slug", ["é", "A", "a b", "a" * 41, "-"])
def test_a_name_that_no_provider_can_have_is_401(desk: Desk, slug: str) -> None:
    assert desk.deliver(b"{}", slug=slug).status_code == 401


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_methods_that_a_call_does_not_take_are_405(desk: Desk, method: str) -> None:
    headers = {"authorization": f"Bearer {desk.key}"}
    assert Client().generic(method, "/api/v1/elicitations", "{}", headers=headers).status_code in (403, 405)


def test_head_needs_the_scope_of_get(desk: Desk) -> None:
    from elicitation.services import keys

    admit_only = keys.create_service_key(desk.booking, ["admit"])
    assert Client().head("/api/v1/elicitations", headers={"authorization": f"Bearer {admit_only}"}).status_code == 403
    assert Client().head("/api/v1/elicitations", headers={"authorization": f"Bearer {desk.key}"}).status_code == 200


def test_a_body_in_chunks_is_asked_for_its_length(desk: Desk) -> None:
    response = Client().generic(
        "POST",
        "/api/v1/elicitations",
        "",
        headers={"authorization": f"Bearer {desk.key}", "transfer-encoding": "chunked"},
        CONTENT_TYPE="application/json",
    )
    assert (response.status_code, response.json()["code"]) == (411, "body.length_required")


def test_no_list_offers_to_delete_many_at_once() -> None:
    assert "delete_selected" not in [name for name, _ in admin.site.actions]
