"""Appending to the ledger: each entry is checked against the vocabulary and written in the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from django.db import transaction

from audit import vocabulary
from audit.models import LedgerEntry

#: Events without a tenant go to the log of this one.
SYSTEM_TENANT = "desk"


class NotAdmissible(ValueError):
    """A column was given something that its closed list does not hold. Names the column, never the value."""

    def __init__(self, column: str) -> None:
        super().__init__(f"the ledger's column {column} does not admit this value")
        self.column = column


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One entry to append, in the columns of :class:`audit.models.LedgerEntry`.

    Raises ``NotAdmissible`` when built with anything outside the closed lists.
    """

    tenant: str
    event: str
    actor_kind: str
    actor_id: str = ""
    role: str = ""
    elicitation_id: UUID | None = None
    decision_id: UUID | None = None
    related_id: UUID | None = None
    case_id: str = ""
    service: str = ""
    provider: str = ""
    client_id: int | None = None
    subject: UUID | None = None
    operation_digest: str = ""
    result_digest: str = ""
    digest_key_id: str = ""
    wire: str = ""
    mode: str = ""
    delivery: str = ""
    purpose: str = ""
    negotiated: bool | None = None
    binding_class: str = ""
    state_from: str = ""
    state_to: str = ""
    outcome: str = ""
    expected: str = ""
    actual: str = ""
    match: bool | None = None
    rule: str = ""
    rule_source: str = ""
    place: str = ""
    reason_code: str = ""
    id_class: str = ""
    policy_revision: int | None = None
    policy_digest: str = ""
    admission_revision: int | None = None
    fixture_digest: str = ""
    decided_by: str = ""
    consent_source: str = ""
    completion_source: str = ""
    deadline: datetime | None = None
    latency_ms: int | None = None
    attempt: int | None = None
    repeat_count: int | None = None
    signing_key_id: str = ""

    def __post_init__(self) -> None:
        for column in fields(self):
            value = getattr(self, column.name)
            if isinstance(value, str) and not vocabulary.admissible(column.name, value):
                raise NotAdmissible(column.name)


def append(at: datetime, *entries: Entry) -> None:
    """Write ``entries``, in order, at ``at`` (the database's clock, UTC).

    Must be called inside the transaction that changes what the entries tell of. Raises what the database raises:
    if the entry cannot be written, the change does not happen.
    """
    if not transaction.get_connection().in_atomic_block:
        raise transaction.TransactionManagementError("the ledger is written in the transaction of the change")
    LedgerEntry.objects.bulk_create(
        LedgerEntry(at=at, **{column.name: getattr(entry, column.name) for column in fields(Entry)})
        for entry in entries
    )
