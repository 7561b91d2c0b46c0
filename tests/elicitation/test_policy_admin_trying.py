"""The editor's trial: a link, a form or an id held against what is typed, and nothing of it kept."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from elicitation.models import PolicyDraft
from tests.builders import Desk
from tests.elicitation.admin_pages import signed_in
from tests.elicitation.policy_pages import (
    EDITOR,
    draft_by,
    new_destination,
    page_of,
    person,
    said,
    send,
    snapshot,
    stored,
    typed,
)

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a"


@pytest.fixture
def erin(desk: Desk) -> User:
    return person("erin", *EDITOR)


@pytest.fixture
def editor(erin: User) -> Client:
    return signed_in(erin)


@pytest.fixture
def draft(erin: User) -> PolicyDraft:
    return draft_by(erin)


@pytest.mark.parametrize(
    ("button", "needed"),
    [("Try the link", "Fill in the URL"), ("Try the form", "Fill in the schema"), ("Try the id", "Fill in the id")],
)
def test_trying_nothing_says_what_to_fill_in(editor: Client, draft: PolicyDraft, button: str, needed: str) -> None:
    page = editor.post(page_of(draft, "edit"), typed(draft, {}) | {"try": button}).content.decode()
    assert page.count("Fill in the ") == 1
    assert needed in page
    assert "Fill in the " not in send(editor, draft, {}, button="try").content.decode()


def test_a_link_that_nobody_sends_says_who_is_left_blank(editor: Client, draft: PolicyDraft) -> None:
    for changes, said_blank in (
        ({"try.tenant": "", "try.service": "booking"}, "Tenant is left blank"),
        ({"try.tenant": " ", "try.service": ""}, "Tenant and Service are left blank"),
        ({"try.tenant": "acme", "try.service": "booking"}, ""),
    ):
        page = said(send(editor, draft, {"try.url": PAY} | changes, button="try"))
        assert said_blank in page
        assert ("left blank" in page) == bool(said_blank)


PAY = "https://consent.example.com/start?flow=pay"


HERE = {"try.tenant": "acme", "try.service": "booking", "try.url_purpose": "payment"}


LINKS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "admitted": ({"try.url": PAY}, ["Admitted", f'"url": "{PAY}&e=elc_', '"elicitationId": "elc_']),
    "normalised": ({"try.url": PAY.replace("consent", "CONSENT")}, ["Admitted", f'"url": "{PAY}&e=elc_']),
    "new protocol": ({"try.url": PAY, "try.wire": "2026-07-28"}, ["Admitted", f'"url": "{PAY}&e=elc_']),
    "foreign origin": (
        {"try.url": "https://evil.example.net/start"},
        ["Denied", "url.origin_not_listed", "Operator policy", "At /request/url", "Have the policy owner add"],
    ),
    "foreign tenant": ({"try.url": PAY, "try.tenant": "globex"}, ["Denied", "url.origin_not_listed"]),
    "secret": ({"try.url": f"{PAY}&token=x"}, ["Denied", "url.parameter_secret", "url.parameter_not_listed"]),
    "purpose": (
        {"try.url": PAY, "try.url_purpose": "choice"},
        ["Denied", "route.mode_contradicts_purpose", "destination.purpose"],
    ),
}


@pytest.mark.parametrize("kind", LINKS)
def test_a_link_is_tried_with_every_finding_and_what_would_be_sent(
    editor: Client, draft: PolicyDraft, kind: str
) -> None:
    changes, words = LINKS[kind]
    before = snapshot()
    response = send(editor, draft, HERE | changes, button="try")
    assert snapshot() == before
    for text in words:
        assert text in said(response), text


def test_what_is_typed_is_tried_before_it_is_saved(editor: Client, draft: PolicyDraft) -> None:
    wallet = HERE | {"try.url": "https://wallet.example.net/pay?flow=x"}
    assert "Denied" in said(send(editor, draft, wallet, button="try"))
    assert "Admitted" in said(send(editor, draft, wallet | new_destination(1), button="try"))
    assert len(stored(draft).destinations) == 1
    wrong = new_destination(1, {"paths": "pay"})
    response = send(editor, draft, wallet | wrong, button="try")
    assert "nothing can be judged by it yet" in said(response)
    assert "Line 1: Must be a plain path" in said(response)


SCHEMA = '{"type": "object", "properties": {"%s": {"type": "string"}}}'


FORMS: dict[str, tuple[dict[str, str], list[str]]] = {
    "admitted": ({"try.schema": SCHEMA % "region"}, ["Admitted", '"mode": "form"']),
    "credential": (
        {"try.schema": SCHEMA % "apiKey"},
        ["Denied", "form.credential_name", "Protocol 2025-11-25", "At /request/requestedSchema/properties/apiKey"],
    ),
    "message": ({"try.schema": SCHEMA % "x", "try.message": "Your password"}, ["Denied", "form.credential_message"]),
    "purpose": ({"try.schema": SCHEMA % "x", "try.form_purpose": "payment"}, ["Denied", "route.sensitive_in_form"]),
    "no json": ({"try.schema": '{"type":\n "object"'}, ["The schema: not JSON at line 2."]),
    "twice": ({"try.schema": '{"type": 1, "type": 2}'}, ["The schema: a key is written twice in one object."]),
    "no object": ({"try.schema": "[]"}, ["Denied", "form.schema_malformed"]),
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_form_is_tried(editor: Client, draft: PolicyDraft, kind: str) -> None:
    changes, words = FORMS[kind]
    response = send(editor, draft, {"try.message": "Pick one", "try.form_purpose": "choice"} | changes, button="try")
    for text in words:
        assert text in said(response), text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("surcharge-1042", ["Denied", "Sequential", "id.sequential", "Operator policy"]),
        ("Zk3vQ9-tR7xLw2pB8nYd", ["Admitted", "Opaque: opaque and long enough"]),
        ("3f2b8c1e-5d4a-4f6b-9c7d-1a2b3c4d5e6f", ["Admitted", "Uuid4: a random UUID"]),
        ("alice@id.example.com", ["Denied", "id.personal"]),
    ],
)
def test_an_id_is_tried(editor: Client, draft: PolicyDraft, text: str, words: list[str]) -> None:
    response = send(editor, draft, {"try.id": text}, button="try")
    for each in words:
        assert each in said(response), each


def test_an_id_is_held_against_the_length_that_is_typed(editor: Client, draft: PolicyDraft) -> None:
    response = send(editor, draft, {"try.id": "Zk3vQ9-tR7xLw2pB8nYd", "identifiers.min_length": "40"}, button="try")
    assert "id.too_short" in said(response)


def test_nothing_that_is_tried_is_kept_or_logged_even_when_the_rest_is_saved(
    editor: Client, draft: PolicyDraft, caplog: pytest.LogCaptureFixture
) -> None:
    secret = {
        "try.url": f"https://evil.example.net/{CANARY}?password={CANARY}",
        "try.schema": SCHEMA % CANARY,
        "try.message": CANARY,
        "try.id": CANARY,
        "try.tenant": CANARY,
    }
    with caplog.at_level(logging.DEBUG):
        assert CANARY in send(editor, draft, secret, button="try").content.decode()
        assert send(editor, draft, secret, button="save").status_code == 302
    assert CANARY not in caplog.text
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")
            assert CANARY not in str(cursor.fetchall()), table
