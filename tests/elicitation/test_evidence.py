"""Evidence over the wire: each outcome in the policy's order, what is kept, and that nothing else changed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from audit.models import LedgerEntry
from elicitation.models import Evidence
from elicitation.services.sweeps import expiring as sweeps
from tests import builders
from tests.builders import ALICE, BOB, Desk
from tests.steps import act, apply, complete, consent, consented, outcomes

pytestmark = pytest.mark.django_db


@pytest.fixture
def pending(desk: Desk) -> str:
    return consented(desk)


def test_an_unknown_id_is_ignored_and_leaves_no_trace(desk: Desk) -> None:
    before = LedgerEntry.objects.count()
    assert desk.event("elc_" + "a" * 26).status_code == 204
    assert desk.event("nonsense").status_code == 204
    assert LedgerEntry.objects.count() == before
    assert not Evidence.objects.exists()


def test_another_tenants_provider_is_told_nothing_and_the_owner_is(desk: Desk, pending: str) -> None:
    before = builders.snapshot(pending)
    stranger = desk.event(pending, slug=desk.other_pay.slug, secret=desk.other_secret)
    nobody = desk.event("elc_" + "a" * 26, slug=desk.other_pay.slug, secret=desk.other_secret)
    assert (stranger.status_code, stranger.content) == (nobody.status_code, nobody.content) == (204, b"")
    assert builders.snapshot(pending) == before
    entry = builders.ledger(pending)[-1]
    assert (entry.tenant, entry.outcome, entry.actor_kind) == ("acme", "wrong_tenant_denied", "unknown")
    assert (entry.actor_id, entry.service) == ("", "booking")


@pytest.mark.parametrize(
    ("caller", "logged"), [("sibling_key", "wrong_service_denied"), ("mallory_key", "wrong_tenant_denied")]
)
def test_a_foreign_services_completion_is_unknown_to_it(desk: Desk, pending: str, caller: str, logged: str) -> None:
    before = builders.snapshot(pending)
    body = {"subject": ALICE, "result_ref": "pi_1"}
    foreign = desk.call(f"elicitations/{pending}/completion", body, key=getattr(desk, caller))
    absent = desk.call(f"elicitations/elc_{'a' * 26}/completion", body, key=getattr(desk, caller))
    assert foreign.status_code == absent.status_code == 200
    assert foreign.json() == absent.json()
    assert foreign.json()["outcome"] == "unknown_ignored"
    assert builders.snapshot(pending) == before
    assert outcomes(pending) == [logged]


def test_a_provider_of_the_tenant_that_is_not_the_destinations_is_denied(desk: Desk, pending: str) -> None:
    from elicitation.services import keys, parties

    other = parties.open_provider(desk.acme, "other-pay", "Other")
    secret = keys.create_provider_key(other)
    before = builders.snapshot(pending)
    assert desk.event(pending, slug="other-pay", secret=secret).status_code == 204
    assert builders.snapshot(pending) == before
    assert outcomes(pending) == ["wrong_provider_denied"]


def test_a_service_reports_completion_only_where_the_destination_lists_it(desk: Desk, pending: str) -> None:
    body = {"subject": ALICE, "result_ref": "pi_1"}
    before = builders.snapshot(pending)
    assert desk.call(f"elicitations/{pending}/completion", body).json()["outcome"] == "wrong_provider_denied"
    assert builders.snapshot(pending) == before
    builders.activate(builders.document(sources=["webhook", "server"]))
    assert desk.call(f"elicitations/{pending}/completion", body).json()["outcome"] == "completed"
    assert builders.entry_of(pending).completion_source == "server"


@pytest.mark.parametrize(
    "subject",
    [BOB, {"iss": "https://other.example", "sub": "alice"}, {"iss": "https://id.example", "sub": "Alice"}],
)
def test_another_person_is_denied_and_the_right_one_still_completes(
    desk: Desk, pending: str, subject: dict[str, str]
) -> None:
    before = builders.snapshot(pending)
    for _ in range(5):
        assert desk.event(pending, subject=subject).status_code == 204
    assert builders.snapshot(pending) == before
    assert outcomes(pending) == ["wrong_user_denied"], "five tries are one entry"
    desk.event(pending)
    assert builders.entry_of(pending).state == "COMPLETE"


def test_repeats_of_a_refusal_become_one_closing_entry_when_the_hour_is_over(desk: Desk, pending: str) -> None:
    from elicitation.models import RefusedAttempt

    for _ in range(5):
        desk.event(pending, subject=BOB)
    RefusedAttempt.objects.update(since=timezone.now() - timedelta(hours=1))
    sweeps.expire()
    closing = builders.ledger(pending)[-1]
    assert (closing.event, closing.outcome, closing.repeat_count) == ("refused_again", "wrong_user_denied", 4)
    assert not RefusedAttempt.objects.exists()
    sweeps.expire()
    assert builders.ledger(pending)[-1].pk == closing.pk


def test_an_asserted_binding_needs_no_person(desk: Desk, pending: str) -> None:
    builders.activate(builders.document(binding="asserted"))
    desk.event(pending, subject=None)
    assert builders.entry_of(pending).state == "COMPLETE"


def test_the_same_completion_again_is_a_duplicate(desk: Desk, pending: str) -> None:
    desk.event(pending)
    before = builders.snapshot(pending)
    for _ in range(3):
        assert desk.event(pending).status_code == 204
    assert builders.snapshot(pending) == before
    assert outcomes(pending) == ["completed", "duplicate_ignored"]


def test_another_result_for_a_complete_entry_is_a_conflict_and_kept(desk: Desk, pending: str) -> None:
    desk.event(pending)
    desk.event(pending, "pi_2")
    entry = builders.entry_of(pending)
    assert entry.state == "COMPLETE"
    assert sorted(Evidence.objects.values_list("status", flat=True)) == ["conflict", "used"]
    body = {"subject": ALICE, "operation": builders.operation()}
    assert desk.call(f"elicitations/{pending}/consume", body).json()["result_ref"] == "pi_1"


def test_a_result_that_completed_another_entry_is_not_used_again(desk: Desk, pending: str) -> None:
    desk.event(pending)
    second = desk.admit(operation=builders.operation(question="second")).json()["id"]
    consent(desk, second)
    before = builders.snapshot(second)
    desk.event(second)
    assert builders.snapshot(second) == before
    assert outcomes(second) == ["result_reused_denied"]


def test_a_destination_may_allow_results_to_be_used_again(desk: Desk) -> None:
    builders.activate(builders.document(reuse_results=True))
    for question in ("one", "two"):
        public_id = desk.admit(operation=builders.operation(question=question)).json()["id"]
        consent(desk, public_id)
        desk.event(public_id)
        assert builders.entry_of(public_id).state == "COMPLETE"


def test_evidence_after_the_end_is_kept_as_late(desk: Desk, pending: str) -> None:
    builders.age(pending, 3600)
    assert desk.event(pending).status_code == 204
    entry = builders.entry_of(pending)
    assert (entry.state, entry.late_evidence) == ("EXPIRED", True)
    assert Evidence.objects.get().status == "late"
    assert outcomes(pending) == ["expired_denied"]
    version = entry.version
    desk.event(pending)
    assert Evidence.objects.count() == 1
    assert builders.entry_of(pending).version == version


@pytest.mark.parametrize("end", ["cancel", "decline"])
def test_evidence_for_an_ended_entry_is_kept_as_late(desk: Desk, end: str) -> None:
    public_id = desk.admit().json()["id"]
    if end == "cancel":
        act(desk, public_id, "cancel")
    else:
        body = {"subject": ALICE, "action": "decline", "content": "absent"}
        desk.call(f"elicitations/{public_id}/answer", body)
    desk.event(public_id)
    assert builders.entry_of(public_id).late_evidence
    assert outcomes(public_id) == ["not_pending_denied"]


def test_work_done_after_the_window_is_late_even_when_the_entry_still_waits(desk: Desk, pending: str) -> None:
    act(desk, pending, "lost")
    ends = builders.entry_of(pending).window_ends_at
    desk.event(pending, occurred_at=ends.isoformat())
    assert builders.entry_of(pending).state == "RETRY_REQUIRED"
    assert outcomes(pending) == ["expired_denied"]
    desk.event(pending, "pi_2", occurred_at=(ends - timedelta(microseconds=1)).isoformat())
    assert builders.entry_of(pending).state == "COMPLETE"


def test_a_confirmation_that_comes_late_is_used_while_proof_is_sought(desk: Desk, pending: str) -> None:
    act(desk, pending, "lost")
    builders.age(pending, 3700)
    desk.event(pending)
    assert builders.entry_of(pending).state == "COMPLETE"


def test_url_required_completes_without_a_reported_answer(desk: Desk) -> None:
    public_id = desk.admit(delivery="url_required").json()["id"]
    desk.event(public_id)
    entry = builders.entry_of(public_id)
    assert (entry.state, entry.consent_source, entry.consented_at) == ("COMPLETE", "evidence_only", None)


def test_a_completed_entry_outlives_its_window(desk: Desk, pending: str) -> None:
    desk.event(pending)
    builders.age(pending, 86_400 * 30)
    sweeps.expire()
    assert builders.entry_of(pending).state == "COMPLETE"
    apply(desk, pending)


def test_no_reference_is_stored_in_clear_or_digested_plainly(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    stored = str(builders.snapshot(public_id)) + str([vars(row) for row in builders.ledger(public_id)])
    assert "pi_1" not in stored
    import hashlib

    assert hashlib.sha256(b"pi_1").hexdigest() not in stored


@pytest.mark.parametrize(
    ("result_ref", "status"),
    [("pi_3QabcDEFghiJKL", 204), ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", 400), ("4242 4242 4242 4242", 400)],
)
def test_a_reference_shaped_like_a_secret_is_refused(desk: Desk, pending: str, result_ref: str, status: int) -> None:
    before = builders.snapshot(pending)
    response: Any = desk.event(pending, result_ref)
    assert response.status_code == status
    if status == 400:
        assert response.json()["at"] == "/data/result_ref"
        assert result_ref not in response.content.decode()
        assert builders.snapshot(pending) == before


@pytest.mark.parametrize("ended", [True, False])
def test_each_new_piece_of_evidence_counts_as_a_version_and_a_repeat_does_not(desk: Desk, ended: bool) -> None:
    public_id = desk.admit().json()["id"]
    if ended:
        act(desk, public_id, "cancel")
    for number in range(3):
        before = builders.entry_of(public_id).version
        desk.event(public_id, f"pi_{number}")
        assert builders.entry_of(public_id).version == before + 1
        desk.event(public_id, f"pi_{number}")
        assert builders.entry_of(public_id).version == before + 1
    assert Evidence.objects.count() == 3


def test_each_piece_of_evidence_that_is_stored_has_its_own_ledger_entry(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "cancel")
    for number in range(4):
        desk.event(public_id, f"pi_{number}")
        desk.event(public_id, f"pi_{number}")
    assert outcomes(public_id) == ["not_pending_denied"] * 4


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", "1969-12-31T00:00:00Z"])
def test_a_moment_outside_the_calendar_is_malformed(desk: Desk, pending: str, moment: str) -> None:
    before = builders.snapshot(pending)
    refused = desk.event(pending, occurred_at=moment)
    assert (refused.status_code, refused.json()["at"]) == (400, "/data/occurred_at")
    body = {"subject": ALICE, "result_ref": "pi_1", "occurred_at": moment}
    assert desk.call(f"elicitations/{pending}/completion", body).json()["at"] == "/occurred_at"
    assert builders.snapshot(pending) == before


def test_an_event_that_the_desk_cannot_handle_yet_is_not_acknowledged(desk: Desk, pending: str) -> None:
    body = b'{"type": "elicitation.unheard_of", "data": {}}'
    refused = desk.deliver(body)
    assert (refused.status_code, refused.json()["at"]) == (400, "/type")
