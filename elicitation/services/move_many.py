"""The deadline's move for many entries as one PostgreSQL statement; what it writes is what ``move()`` writes."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Final

from django.db import connection, transaction
from django.db.models import Model

from audit.ledger import Entry
from audit.models import LedgerEntry
from elicitation.models import Elicitation, LookupKind, PolicyRevision, Provider, Service, Subject, Tenant
from elicitation.policy.decision import Delivery, Mode
from elicitation.policy.lifecycle import LIVE, Event, State
from elicitation.services import clock
from elicitation.services.actors import SCHEDULER
from elicitation.services.move import ASKED_AFTER_END

#: What all these ledger entries have in common; building it holds the words against the ledger's closed lists.
_SAME: Final = Entry(
    tenant="desk",  # each entry has its own; see below
    event=Event.DEADLINE,
    actor_kind=SCHEDULER.kind,
    actor_id=SCHEDULER.id,
    role=SCHEDULER.role,
    state_to=State.EXPIRED,
    outcome="moved",
)
#: What differs: a column of the ledger, and where the statement has it from. The rest is as in ``_SAME``.
_OWN: Final = {
    "at": "(SELECT at FROM clock)",
    "tenant": "moved.tenant",
    "service": "moved.service",
    "provider": "moved.provider",
    "elicitation_id": "moved.uid",
    "client_id": "moved.client_id",
    "subject": "moved.subject",
    "operation_digest": "split_part(moved.operation_digest, ':', 2)",
    "digest_key_id": "split_part(moved.operation_digest, ':', 1)",
    "wire": "moved.wire",
    "mode": "moved.mode",
    "delivery": "moved.delivery",
    "purpose": "moved.purpose",
    "id_class": "moved.id_class",
    "admission_revision": "moved.revision",
    "state_from": "moved.state_from",
}


@dataclass(frozen=True, slots=True)
class Moved:
    """How many entries a statement moved, and the last of their deadlines."""

    count: int
    until: datetime | None


def expire_many(limit: int, *, since: datetime | None = None, without: Collection[int] = ()) -> Moved:
    """Make the deadline's move of up to ``limit`` overdue entries without held evidence, oldest deadline first.

    One statement: it locks what is due and nobody else holds, updates it, and inserts a ledger entry for each row
    that it moved, all at one time of the database's clock. Entries that were due before ``since`` are passed over,
    so that a sweep need not read again what it has just moved, and so are the numbers in ``without``.
    PostgreSQL only. Raises what the database raises; then nothing has moved.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement(), {"limit": limit, "since": since, "without": list(without)})
        count, until = cursor.fetchone()
    return Moved(count, until)


@cache
def statement() -> str:
    """The text of the statement, with the parameters ``limit``, ``since`` and ``without``."""
    columns = _ledger_columns()
    return f"""
WITH clock AS MATERIALIZED (SELECT {clock.NOW} AS at),
due AS MATERIALIZED (
    SELECT id, state, deadline, tenant_id, service_id, provider_id, subject_id, revision_id
    FROM {_table(Elicitation)}
    WHERE state IN ({", ".join(_quoted(state) for state in sorted(LIVE))})
        AND deadline <= (SELECT at FROM clock)
        AND deadline >= coalesce(%(since)s, '-infinity'::timestamptz)
        AND NOT held_evidence
        AND id <> ALL(%(without)s::bigint[])
    ORDER BY deadline
    LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
),
moved AS (
    UPDATE {_table(Elicitation)} AS entry
    SET state = {_quoted(State.EXPIRED)},
        version = entry.version + 1,
        deadline = NULL,
        unresolved = due.state = {_quoted(State.RETRY_REQUIRED)},
        next_lookup_at = CASE
            WHEN provider.lookup <> {_quoted(LookupKind.NONE)}
                AND entry.mode = {_quoted(Mode.URL)}
                AND (entry.shown_at IS NOT NULL OR entry.consented_at IS NOT NULL OR entry.lost_at IS NOT NULL
                    OR entry.late_evidence OR entry.delivery = {_quoted(Delivery.URL_REQUIRED)})
            THEN (SELECT at FROM clock) + interval '{ASKED_AFTER_END.total_seconds()} seconds'
        END
    FROM due
        JOIN {_table(Tenant)} AS tenant ON tenant.id = due.tenant_id
        JOIN {_table(Service)} AS service ON service.id = due.service_id
        JOIN {_table(PolicyRevision)} AS revision ON revision.id = due.revision_id
        LEFT JOIN {_table(Provider)} AS provider ON provider.id = due.provider_id
        LEFT JOIN {_table(Subject)} AS subject ON subject.id = due.subject_id
    WHERE entry.id = due.id
    RETURNING entry.id, entry.uid, entry.client_id, entry.operation_digest, entry.wire, entry.mode, entry.delivery,
        entry.purpose, entry.id_class, due.state AS state_from, due.deadline AS was_due, tenant.slug AS tenant,
        service.slug AS service, coalesce(provider.slug, '') AS provider, subject.handle AS subject,
        revision.number AS revision
),
written AS (
    INSERT INTO {_table(LedgerEntry)} ({", ".join(_name(column) for column in columns)})
    SELECT {", ".join(columns.values())}
    FROM moved
    ORDER BY moved.was_due, moved.id
    RETURNING 1
)
SELECT (SELECT count(*) FROM written), (SELECT max(deadline) FROM due)
"""  # noqa: S608 - made of our own tables and constants


def _ledger_columns() -> dict[str, str]:
    """Every column of the ledger but its number, with the expression that fills it.

    Raises ``FieldDoesNotExist`` when the ledger has no such column any more.
    """
    for name in _OWN:
        LedgerEntry._meta.get_field(name)
    same = {column.name: getattr(_SAME, column.name) for column in fields(Entry)}
    return {
        field.column: _OWN.get(field.name) or _literal(same.get(field.name, field.get_default()))
        for field in LedgerEntry._meta.concrete_fields
        if field.column is not None and not field.primary_key
    }


def _literal(value: str | int | None) -> str:
    match value:
        case None:
            return "NULL"
        case str():
            return _quoted(value)
        case int():
            return str(value)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(column: str) -> str:
    return f'"{column}"'


def _table(model: type[Model]) -> str:
    return _name(model._meta.db_table)
