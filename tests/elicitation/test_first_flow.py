"""A form and a payment by link, from the question to the applied result, over the API."""

from __future__ import annotations

import pytest

from tests import builders
from tests.builders import ALICE, Desk

pytestmark = pytest.mark.django_db


def test_a_form_is_admitted_answered_and_taken_once(desk: Desk) -> None:
    admitted = desk.admit(form=True)
    assert admitted.status_code == 201, admitted.json()
    public_id = admitted.json()["id"]
    answer = {"subject": ALICE, "action": "accept", "content": "present", "latency_ms": 9000}
    assert desk.call(f"elicitations/{public_id}/answer", answer).json()["state"] == "ACCEPTED"
    taken = {"subject": ALICE, "operation": builders.operation()}
    assert desk.call(f"elicitations/{public_id}/consume", taken).json() == {
        "outcome": "applied",
        "result_ref": None,
        "reversed": False,
    }
    assert desk.call(f"elicitations/{public_id}/consume", taken).json()["outcome"] == "already_applied"
    assert builders.passages(public_id) == [
        ("admit", "", "ADMITTED"),
        ("answer_accept", "ADMITTED", "ACCEPTED"),
        ("consume", "ACCEPTED", "ACCEPTED"),
    ]


def test_a_payment_by_link_is_consented_completed_and_applied_once(desk: Desk) -> None:
    admitted = desk.admit().json()
    public_id = admitted["id"]
    assert admitted["request"] == {
        "mode": "url",
        "message": "Pay the surcharge",
        "url": f"{builders.PAY_URL}&e={public_id}",
        "elicitationId": public_id,
    }
    taken = {"subject": ALICE, "operation": builders.operation()}
    answer = {"subject": ALICE, "action": "accept", "content": "absent"}
    assert desk.call(f"elicitations/{public_id}/answer", answer).json()["state"] == "CONSENT_PENDING"
    assert desk.call(f"elicitations/{public_id}/consume", taken).json()["outcome"] == "not_complete"
    assert desk.event(public_id).status_code == 204
    entry = desk.call(f"elicitations/{public_id}", method="GET").json()
    assert (entry["state"], entry["completion_source"], entry["consent_source"]) == ("COMPLETE", "webhook", "answer")
    assert "pi_1" not in str(entry)
    assert desk.call(f"elicitations/{public_id}/consume", taken).json()["result_ref"] == "pi_1"
    assert desk.call(f"elicitations/{public_id}/consume", taken).json() == {
        "outcome": "already_applied",
        "result_ref": "pi_1",
        "reversed": False,
    }
