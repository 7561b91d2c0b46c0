"""The ledger of an entry as sentences: every event and every refusal has one."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import vocabulary
from audit.ledger import append
from audit.models import LedgerEntry
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event
from elicitation.services import actors, reviewing
from elicitation.services import timeline as lines
from elicitation.services.move import about
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.proposals import Obstacle
from elicitation.services.status import LookupOutcome
from tests import builders
from tests.builders import ALICE, BOB, Desk

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def sentence(event: str, **columns: object) -> str:
    row = LedgerEntry(at=AT, event=event, actor_kind="service", **columns)
    return lines.SENTENCES[event](row)


def texts(public_id: str) -> list[str]:
    return [line.text for line in lines.timeline(builders.entry_of(public_id))]


def test_every_event_of_the_table_and_every_kind_of_refusal_has_a_sentence_and_nothing_else_has() -> None:
    around = {"lookup", "honour_proposed", "honour_withdrawn", "signal_acknowledged", "signal_resolved"}
    audited = {"looked_up", "exported", "evidence_packed", "hold_placed", "hold_lifted"}
    assert set(lines.SENTENCES) == set(Event) | around | audited | {"refused", "refused_again"}


def test_every_refusal_that_is_noted_on_the_ledger_has_words() -> None:
    never_noted = {EvidenceOutcome.COMPLETED, EvidenceOutcome.UNKNOWN_IGNORED}
    others = {"content_missing", "transition_refused"} | set(Obstacle)
    assert set(lines.REFUSED) == (set(EvidenceOutcome) - never_noted) | others
    assert set(lines.REFUSED) <= vocabulary.OUTCOMES


def test_every_reason_of_a_cancel_has_words() -> None:
    assert set(lines.REASONS) == set(CancelReason)


def test_every_sentence_ends_with_a_full_stop_and_names_no_code() -> None:
    filled = {"outcome": "no_lookup", "attempt": 1, "policy_revision": 3}
    completed = filled | {"outcome": "completed", "completion_source": "webhook"}
    told = [sentence(event, **(completed if event == Event.EVIDENCE else filled)) for event in Event]
    told += [sentence("refused", outcome=outcome) for outcome in lines.REFUSED]
    told += [sentence("refused_again", outcome=outcome, repeat_count=4) for outcome in lines.REFUSED]
    for text in told:
        assert text.endswith("."), text
        assert "_" not in text, text
        assert "None" not in text, text


@pytest.mark.parametrize("source", sorted(vocabulary.COMPLETION_SOURCES))
def test_a_completion_says_where_its_proof_came_from(source: str) -> None:
    assert "confirmed the work" in sentence("evidence", outcome="completed", completion_source=source)


@pytest.mark.parametrize("outcome", sorted(lines.RETRIED))
def test_a_retry_says_what_it_found_also_when_evidence_fails_a_check(outcome: str) -> None:
    said = sentence("retry", outcome=outcome, attempt=2)
    assert said == f"Retry 2: {lines.RETRIED[outcome]}."
    assert "again" not in said


def test_every_outcome_of_a_retry_has_words() -> None:
    out_of_reach = {
        EvidenceOutcome.UNKNOWN_IGNORED,
        EvidenceOutcome.WRONG_TENANT_DENIED,
        EvidenceOutcome.WRONG_SERVICE_DENIED,
    }
    judged = set(LookupOutcome) | (set(EvidenceOutcome) - out_of_reach)
    assert judged <= set(lines.RETRIED) <= vocabulary.OUTCOMES
    assert out_of_reach.isdisjoint(lines.RETRIED)


def test_every_reason_of_a_closing_has_words_on_the_timeline() -> None:
    assert set(lines.CLOSE_REASONS) == set(CloseReason)
    for reason, words in lines.CLOSE_REASONS.items():
        assert sentence("close", reason_code=reason) == f"An operator closed the late evidence: {words}."


def test_every_reason_of_a_resolved_signal_has_words_on_the_timeline() -> None:
    assert set(reviewing.RESOLVE_REASONS) == set(reviewing.ResolveReason)
    for reason, words in reviewing.RESOLVE_REASONS.items():
        said = sentence("signal_resolved", rule="signal.conflicting_result", reason_code=reason)
        assert said == f'An operator resolved the signal "Two results for one elicitation": {words}.'


def test_a_refusal_says_that_something_is_kept_only_where_it_was() -> None:
    bare = sentence("refused", outcome="not_pending_denied", state_to="CANCELLED")
    kept = sentence("refused", outcome="not_pending_denied", state_to="CANCELLED", related_id=uuid4())
    assert ("kept" in bare, "kept as late evidence" in kept) == (False, True)
    unbound = [
        sentence("refused", outcome="unbound_held", state_to=state, related_id=uuid4())
        for state in ("CONSENT_PENDING", "EXPIRED")
    ]
    assert ["came again" in text for text in unbound] == [True, False]
    assert "came after the end" in unbound[1]


def test_evidence_says_what_it_waited_for() -> None:
    assert "person's consent" in sentence("evidence", outcome="held", state_from="ADMITTED")
    assert "desk's page" in sentence("evidence", outcome="held", state_from="CONSENT_PENDING")
    unbound = sentence("evidence", outcome="unbound_held", state_from="CONSENT_PENDING")
    assert unbound == "A confirmation arrived that does not say whose it is. It was held."


def test_a_reversal_says_whether_the_result_had_been_used() -> None:
    assert "took the result back" in sentence("reversal", state_to="COMPLETE")
    assert "had not been used" in sentence("reversal", state_to="CANCELLED")


@pytest.mark.parametrize(
    ("latency", "decided_by", "said"),
    [
        (9_000, "client_asserted", "The person agreed to open the link (answer took 9.0 s)."),
        (240, "probably_not_shown", "The person agreed to open the link (answer took 0.2 s: probably never shown)."),
        (400_000, "client_asserted", "The person agreed to open the link (answer took 6 min 40 s)."),
        (None, "client_asserted", "The person agreed to open the link."),
    ],
)
def test_an_answer_says_how_long_it_took_and_what_that_means(latency: int | None, decided_by: str, said: str) -> None:
    columns = {"mode": "url", "state_from": "ADMITTED", "latency_ms": latency, "decided_by": decided_by}
    assert sentence("answer_accept", **columns) == said


def test_a_loss_says_whether_somebody_reported_it_or_the_schedule_suspects_it() -> None:
    assert "was reported as lost" in sentence("lost")
    suspected = lines.SENTENCES["lost"](LedgerEntry(event="lost", actor_kind="scheduler"))
    assert suspected.startswith("Suspected lost: nothing usable came in the usual time.")
    assert "reported" not in suspected


def test_the_same_word_again_is_not_told_as_a_refusal() -> None:
    assert sentence("refused", outcome="duplicate_ignored") == (
        "The provider said the same again, and it changed nothing."
    )
    again = sentence("refused_again", outcome="duplicate_ignored", repeat_count=3)
    assert again == "3 more times within the hour: the provider said the same again, and it changed nothing."
    assert sentence("refused_again", outcome="duplicate_ignored", repeat_count=1).startswith("Once more within")
    assert sentence("refused", outcome="conflict_denied").startswith("Refused: ")


@pytest.mark.django_db
def test_operators_are_named_in_one_query_and_by_number_once_they_are_erased(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    entry = builders.entry_of(public_id)
    olga, oscar = (User.objects.create_user(name) for name in ("olga", "oscar"))
    for event, actor in (("signal_acknowledged", olga), ("signal_resolved", oscar)):
        columns = {"rule": "signal.conflicting_result", "reason_code": "handled" if actor is oscar else ""}
        append(AT, about(entry, actors.operator(actor.pk), event, **columns))
    append(AT, about(entry, actors.shell(), "honour_withdrawn"))
    with CaptureQueriesContext(connection) as queries:
        by = [line.by for line in lines.timeline(entry)]
    assert by[1:] == ["operator olga", "operator oscar", "the machine's shell"]
    assert len(queries) == 2
    number = olga.pk
    olga.delete()
    assert [line.by for line in lines.timeline(entry)][1:3] == [f"operator {number}", "operator oscar"]


def test_an_operators_reason_is_told_in_words() -> None:
    row = LedgerEntry(event="cancel", actor_kind="operator", reason_code="provider_outage")
    assert lines.SENTENCES["cancel"](row) == "An operator cancelled it: the provider is out of order."


def test_the_deadline_says_whether_a_confirmation_was_held() -> None:
    assert "Nobody answered" in sentence("deadline", state_from="ADMITTED", state_to="EXPIRED")
    told = sentence("deadline", state_from="CONSENT_PENDING", state_to="EXPIRED")
    assert told == "No confirmation that it could use came in time, so it expired. This is not a refusal."
    assert "nobody is sent twice" in sentence("deadline", state_to="RETRY_REQUIRED")


@pytest.mark.django_db
def test_a_payment_reads_as_a_story_oldest_first(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    answer = {"subject": ALICE, "action": "accept", "content": "absent", "latency_ms": 9000}
    assert desk.call(f"elicitations/{public_id}/answer", answer).status_code == 200
    assert desk.event(public_id, subject=BOB).status_code == 204
    assert desk.event(public_id).status_code == 204
    handed = desk.call(f"elicitations/{public_id}/consume", {"subject": ALICE, "operation": builders.operation()})
    assert handed.json()["outcome"] == "applied"
    assert texts(public_id) == [
        "The policy admitted the question (revision 2).",
        "The person agreed to open the link (answer took 9.0 s).",
        "Refused: word about the outside work names another person than the one who was asked.",
        "The provider confirmed the work by a signed message.",
        "The waiting call took the result: it is applied.",
    ]
    by = [line.by for line in lines.timeline(builders.entry_of(public_id))]
    assert by == ["service booking", "the client", "provider example-pay", "provider example-pay", "service booking"]


@pytest.mark.django_db
def test_a_form_reads_as_a_form(desk: Desk) -> None:
    public_id = desk.admit(form=True).json()["id"]
    answer = {"subject": ALICE, "action": "accept", "content": "present", "latency_ms": 200}
    desk.call(f"elicitations/{public_id}/answer", answer)
    assert texts(public_id)[1] == "The person submitted the form (answer took 0.2 s: probably never shown)."


@pytest.mark.django_db
def test_another_entrys_story_is_not_told(desk: Desk) -> None:
    first = desk.admit().json()["id"]
    second = desk.admit(operation=builders.operation(target="other")).json()["id"]
    assert len(texts(first)) == len(texts(second)) == 1
