"""Asking the policy without asking a person: dry runs, checks of an error, and the catalogue."""

from __future__ import annotations

import pytest
from django.test import Client

from elicitation.models import Decision, Elicitation
from elicitation.policy.rules import CATALOGUE
from tests import builders
from tests.builders import ALICE, Desk

pytestmark = pytest.mark.django_db


def test_a_dry_run_decides_as_an_admission_would_and_registers_nothing(desk: Desk) -> None:
    entries = len(builders.ledger())
    good = desk.call("decisions", builders.admission())
    bad = desk.call("decisions", builders.admission(purpose="choice"))
    assert (good.status_code, bad.status_code) == (200, 200)
    assert (good.json()["decision"]["outcome"], bad.json()["decision"]["outcome"]) == ("admit", "deny")
    assert bad.json()["decision"]["rule"] == desk.admit(purpose="choice").json()["code"]
    assert not Elicitation.objects.exists()
    assert len(builders.ledger()) == entries + 1, "the real denial alone"
    row = Decision.objects.get(uid=good.json()["decision_id"])
    assert (row.kind, row.outcome) == ("dry_run", "admit")


def error(*entries: object, **changes: object) -> dict[str, object]:
    body = {"code": -32042, "message": "URL elicitation required", "data": {"elicitations": list(entries)}}
    return {
        "wire": "2025-11-25",
        "client": builders.admission()["client"],
        "subject": ALICE,
        "operation": builders.operation(),
        "purpose": "payment",
        "error": body | changes,
    }


def test_an_admitted_questions_error_passes_its_own_check(desk: Desk) -> None:
    admitted = desk.admit(delivery="url_required").json()
    assert admitted["error"]["code"] == -32042
    checked = desk.call("url-required-errors", error() | {"error": admitted["error"]})
    assert checked.json()["decision"]["outcome"] == "admit", checked.json()
    assert checked.json()["error"] == admitted["error"]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        (error(), "error.list_missing"),
        (error({"mode": "form"}), "error.entry_mode"),
        (error(code=-32603), "error.code"),
        (error(data={"url": builders.PAY_URL, "elicitationId": "elc_4e7f3b45"}), "error.flat"),
        (error() | {"wire": "2026-07-28"}, "error.not_in_wire"),
    ],
)
def test_an_error_that_must_not_be_sent_is_denied(desk: Desk, body: dict[str, object], rule: str) -> None:
    decision = desk.call("url-required-errors", body).json()["decision"]
    assert (decision["outcome"], rule in [finding["rule"] for finding in decision["findings"]]) == ("deny", True)


def test_the_rules_are_open_to_everybody_with_their_sources() -> None:
    items = Client().get("/api/v1/rules").json()["items"]
    assert [item["rule"] for item in items] == [str(about.rule) for about in CATALOGUE]
    assert all(item["sources"] and (item["section"] or item["sources"] == ["operator"]) for item in items)
