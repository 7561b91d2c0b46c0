"""The ledger: append-only by raw SQL too, closed lists, and nowhere to put a secret."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import DatabaseError, connection, models, transaction

from audit import vocabulary
from audit.ledger import Entry, NotAdmissible, append
from audit.models import LedgerEntry
from elicitation.models import PolicyRevision
from elicitation.policy.decision import Delivery, IdClass, Mode, Outcome, Purpose, Wire
from elicitation.policy.destinations import EvidenceSource
from elicitation.policy.evidence import EvidenceOutcome
from elicitation.policy.lifecycle import Event, State
from elicitation.policy.rules import Rule
from elicitation.services.actors import ActorKind
from elicitation.services.operators import CancelReason, CloseReason
from elicitation.services.registry import ConsumeOutcome
from elicitation.services.reviewing import ResolveReason
from elicitation.services.status import LookupOutcome
from tests import builders
from tests.builders import Desk

POSTGRESQL_ONLY = ["TRUNCATE audit_ledgerentry", "TRUNCATE elicitation_policyrevision CASCADE"]
SQLITE_ONLY = [
    "REPLACE INTO audit_ledgerentry SELECT * FROM audit_ledgerentry LIMIT 1",
    "INSERT OR REPLACE INTO audit_ledgerentry SELECT * FROM audit_ledgerentry LIMIT 1",
    "UPDATE OR REPLACE audit_ledgerentry SET id = id + 1",
    "REPLACE INTO elicitation_policyrevision SELECT * FROM elicitation_policyrevision LIMIT 1",
]
EVERYWHERE = [
    "UPDATE audit_ledgerentry SET event = 'cancel'",
    "UPDATE audit_ledgerentry SET tenant = tenant",
    "DELETE FROM audit_ledgerentry",
    "DELETE FROM audit_ledgerentry WHERE id = (SELECT max(id) FROM audit_ledgerentry)",
    "UPDATE elicitation_policyrevision SET document = '{}'",
    "UPDATE elicitation_policyrevision SET number = number + 100",
    "UPDATE elicitation_policyrevision SET digest = ''",
    "DELETE FROM elicitation_policyrevision",
]


def rows() -> list[object]:
    return [*LedgerEntry.objects.order_by("pk").values(), *PolicyRevision.objects.order_by("pk").values()]


@pytest.mark.django_db(transaction=True)
def test_no_statement_rewrites_the_ledger_or_a_revision(desk: Desk) -> None:
    desk.admit()
    before = rows()
    for statement in EVERYWHERE + (POSTGRESQL_ONLY if connection.vendor == "postgresql" else SQLITE_ONLY):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)
        assert rows() == before, statement


@pytest.mark.django_db(transaction=True)
def test_nothing_in_the_orm_rewrites_it_either(desk: Desk) -> None:
    desk.admit()
    before = rows()
    entry = LedgerEntry.objects.earliest("pk")
    attempts = [
        lambda: LedgerEntry.objects.update(event="cancel"),
        lambda: LedgerEntry.objects.all().delete(),
        entry.save,
        entry.delete,
        lambda: LedgerEntry.objects.bulk_update([entry], ["event"]),
    ]
    for attempt in attempts:
        with pytest.raises(DatabaseError), transaction.atomic():
            attempt()
        assert rows() == before


@pytest.mark.django_db
def test_the_triggers_are_on_always_and_a_missing_one_stops_the_system_check() -> None:
    from audit.triggers import LEDGER

    call_command("check", databases=["default"])
    assert LEDGER.missing(connection) == []
    on = f" ON {LEDGER.table}" if connection.vendor == "postgresql" else ""
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TRIGGER {LEDGER.table}_no_delete{on}")
    with pytest.raises(SystemCheckError, match="audit_ledgerentry_no_delete"):
        call_command("check", databases=["default"])


@pytest.mark.django_db
def test_a_dropped_constraint_stops_the_system_check() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX result_used_by_one_entry")
    with pytest.raises(SystemCheckError, match="result_used_by_one_entry"):
        call_command("check", databases=["default"])


@pytest.mark.django_db(transaction=True)
def test_an_entry_is_written_only_in_the_transaction_of_its_change() -> None:
    with pytest.raises(transaction.TransactionManagementError):
        append(datetime.now(UTC), Entry(tenant="desk", event="cancel", actor_kind="operator"))


def test_no_column_admits_free_text() -> None:
    """Every text column is closed or shaped; the rest are numbers, times, booleans and random ids."""
    for field in LedgerEntry._meta.get_fields():
        assert not isinstance(field, models.TextField | models.JSONField | models.BinaryField), field.name
        if isinstance(field, models.CharField):
            assert field.name in {*vocabulary.CLOSED, *vocabulary.SHAPED, "place"}, field.name


def test_an_entry_has_exactly_the_columns_that_are_stored() -> None:
    stored = {field.attname for field in LedgerEntry._meta.concrete_fields} - {"id", "at", "format_version"}
    assert {field.name for field in fields(Entry)} == stored


@pytest.mark.parametrize("column", sorted({*vocabulary.CLOSED, *vocabulary.SHAPED, "place"}))
@pytest.mark.parametrize(
    "value",
    [
        "a secret",
        "sk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "alice@example.com",
        "https://x.example/?t=1",
        "A" * 64,
        "é",
        "\n",
    ],
)
def test_a_value_from_outside_is_refused_by_column_and_not_repeated(column: str, value: str) -> None:
    given: dict[str, Any] = {"tenant": "acme", "event": "cancel", "actor_kind": "operator"} | {column: value}
    with pytest.raises(NotAdmissible) as refused:
        Entry(**given)
    assert refused.value.column == column
    assert value not in str(refused.value)


@pytest.mark.parametrize(
    ("closed", "members"),
    [
        (vocabulary.EVENTS, Event),
        (vocabulary.STATES, State),
        (vocabulary.WIRES, Wire),
        (vocabulary.MODES, Mode),
        (vocabulary.DELIVERIES, Delivery),
        (vocabulary.PURPOSES, Purpose),
        (vocabulary.ID_CLASSES, IdClass),
        (vocabulary.REASON_CODES, [*CancelReason, *CloseReason, *ResolveReason]),
        (vocabulary.ACTOR_KINDS, ActorKind),
        (vocabulary.COMPLETION_SOURCES, EvidenceSource),
        (vocabulary.OUTCOMES, [*Outcome, *EvidenceOutcome, *ConsumeOutcome, *LookupOutcome]),
    ],
)
def test_the_vocabulary_holds_every_word_of_the_policy(closed: frozenset[str], members: Iterable[StrEnum]) -> None:
    assert {str(member) for member in members} <= closed


@pytest.mark.parametrize(
    ("closed", "members"),
    [
        (vocabulary.STATES, State),
        (vocabulary.WIRES, Wire),
        (vocabulary.MODES, Mode),
        (vocabulary.DELIVERIES, Delivery),
        (vocabulary.PURPOSES, Purpose),
        (vocabulary.ID_CLASSES, IdClass),
        (vocabulary.ACTOR_KINDS, ActorKind),
    ],
)
def test_the_vocabulary_holds_no_word_that_the_policy_has_given_up(
    closed: frozenset[str], members: Iterable[StrEnum]
) -> None:
    assert closed == {str(member) for member in members}


def test_every_rule_of_the_policy_fits_the_ledger() -> None:
    assert all(vocabulary.admissible("rule", rule) for rule in Rule)


@pytest.mark.django_db
def test_when_the_ledger_cannot_be_written_nothing_happens(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    public_id = desk.admit().json()["id"]
    before, entries = builders.snapshot(public_id), len(builders.ledger())

    def broken(*_: object) -> None:
        raise DatabaseError("the disk is full")

    monkeypatch.setattr("elicitation.services.move.append", broken)
    monkeypatch.setattr("elicitation.services.admission.append", broken)
    body = {"subject": builders.ALICE, "action": "accept", "content": "absent"}
    for response in (
        desk.call(f"elicitations/{public_id}/answer", body),
        desk.call(f"elicitations/{public_id}/cancel", {"subject": builders.ALICE}),
        desk.admit(operation=builders.operation(question="second")),
    ):
        assert (response.status_code, response.json()["code"]) == (503, "ledger.unavailable")
        assert response["Retry-After"] == "1"
    assert builders.snapshot(public_id) == before
    assert len(builders.ledger()) == entries
