"""What the tests of the policy's pages share: its people, and a draft as they find it."""

from __future__ import annotations

import html
import re
from typing import Any

from django.contrib.auth.models import User
from django.test import Client

from elicitation.admin.editor_fields import Kind, shape
from elicitation.admin.editor_typed import from_document, members
from elicitation.models import PolicyApproval, PolicyDraft
from elicitation.policy.document import Document, parse
from elicitation.services import drafts, revisions
from tests import builders
from tests.elicitation.admin_pages import signed_in
from tests.people import staff

DRAFTS = "/admin/elicitation/policydraft/"
REVISIONS = "/admin/elicitation/policyrevision/"
VIEW = ("view_policydraft", "view_policyrevision")
EDITOR = (*VIEW, "add_policydraft", "change_policydraft")
APPROVER = (*VIEW, "approve_policydraft")


def person(name: str, *rights: str, boss: bool = False) -> User:
    return User.objects.create_superuser(name) if boss else staff(name, *rights)


def client_of(name: str, *rights: str) -> Client:
    return signed_in(person(name, *rights))


def draft_by(
    user: User | None, document: Document | None = None, cases: str = "[]", title: str = "A draft"
) -> PolicyDraft:
    return drafts.begin(title, revisions.active(), document or builders.document(usual_seconds=60), cases, user)


def page_of(draft: PolicyDraft, view: str = "change", query: str = "") -> str:
    return f"{DRAFTS}{draft.pk}/{view}/{query}"


def typed(draft: PolicyDraft, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """The editor's form as a browser would send it back, changed as given; ``[]`` is a box that is not ticked."""
    stored = parse(draft.document)
    fields: dict[str, Any] = {name: [""] for name, _ in members(stored)}
    fields |= {name: value for name, value in from_document(stored, draft.cases).items() if value}
    for name, sample in members(stored):
        if shape(name, sample).kind in (Kind.SWITCH, Kind.CHECKS) and fields[name] == [""]:
            fields[name] = []
    fields |= {"version": [str(draft.version)]} | (changes or {})
    return {name: value for name, value in fields.items() if value != []}


def new_destination(number: int, changes: dict[str, Any] | None = None) -> dict[str, Any]:
    """What is typed for one more destination."""
    fields: dict[str, Any] = {
        "origin": "https://wallet.example.net",
        "provider": "example-pay",
        "tenants": "acme",
        "services": "booking",
        "purposes": ["payment"],
        "paths": "/pay",
        "parameters": "flow = ^[a-z]{1,16}$\r\ne = elicitation_id\r\n",
        "opaque": "",
        "binding": "subject",
        "sources": ["webhook"],
        "usual_seconds": "300",
    } | (changes or {})
    return {f"destinations.{number}.{name}": value for name, value in fields.items()}


def said(response: Any) -> str:
    """The text of a page as a reader takes it in."""
    text: str = html.unescape(re.sub(r"<[^>]+>", " ", response.content.decode()))
    return re.sub(r"\s+", " ", text)


def snapshot() -> tuple[Any, ...]:
    """Everything that a refused attempt must leave as it was."""
    return (
        list(PolicyDraft.objects.order_by("pk").values()),
        revisions.active().number,
        list(PolicyDraft.editors.through.objects.order_by("pk").values()),
        list(PolicyApproval.objects.order_by("pk").values()),
    )


def press(client: Client, draft: PolicyDraft, verb: str, seen: str | None = None) -> Any:
    return client.post(page_of(draft, verb), {"seen": draft.digest if seen is None else seen})


def send(client: Client, draft: PolicyDraft, changes: dict[str, Any], button: str = "save") -> Any:
    return client.post(page_of(draft, "edit"), typed(draft, changes) | {button: button})


def stored(draft: PolicyDraft) -> Document:
    draft.refresh_from_db()
    return parse(draft.document)
