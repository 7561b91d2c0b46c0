"""What the benches of the ledger fill their database with: entries as four events of a payment write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from audit.models import LedgerEntry
from elicitation.bench.frame import CannotMeasure
from elicitation.bench.on_demand import Process
from elicitation.bench.scratch import Scratch, insert, take_off

TENANT: Final = "bench"
#: So many entries are made in one statement.
SLICE: Final = 250_000


def fill(desk: Scratch, worker: Process, rows: int) -> Iterator[str]:
    """``rows`` entries of one tenant, each sealed by the desk's own sealer, in ``worker``.

    Yields how far it has come. Raises ``CannotMeasure`` when not every one was sealed.
    """
    worker.does("seal")  # what the migrations wrote
    with desk.connect() as connection:
        connection.execute("SET maintenance_work_mem = '256MB'")
        later = take_off(connection, LedgerEntry._meta.db_table)
        for first in range(1, rows + 1, SLICE):
            last = min(rows, first + SLICE - 1)
            insert(connection, LedgerEntry, columns(f"'{TENANT}'"), f"generate_series({first}, {last}) AS n")
            yield f"{last:,} of {rows:,} entries made"
        for statement in later:
            connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")
        yield "sealing"
        sealed = worker.does("seal")["done"]
        if sealed != rows:
            raise CannotMeasure(f"Of {rows:,} entries {sealed:,} were sealed.")
        connection.execute("VACUUM ANALYZE")


def columns(tenant: str) -> dict[str, str]:
    """The columns of the ``n``-th entry, as SQL: four entries, one after another, tell of one elicitation."""
    return {
        "tenant": tenant,
        "at": "timestamptz '2026-01-01' + n * interval '1.000123 seconds'",
        "event": _in_turn("admit", "answer_accept", "evidence", "consume"),
        "elicitation_id": "md5((n / 4)::text)::uuid",
        "decision_id": "CASE WHEN n % 4 = 0 THEN md5((-n)::text)::uuid END",
        "related_id": "CASE WHEN n % 4 = 2 THEN md5((-n)::text)::uuid END",
        "service": "'booking'",
        "provider": "'example-pay'",
        "client_id": "1 + n % 100",
        "subject": "md5((n / 80)::text)::uuid",
        "operation_digest": "md5((n / 4)::text) || md5((-(n / 4))::text)",
        "result_digest": "CASE WHEN n % 4 > 1 THEN md5((n / 2)::text) || md5((-(n / 2))::text) ELSE '' END",
        "digest_key_id": "'k1a2b3c'",
        "wire": "'2025-11-25'",
        "mode": "'url'",
        "delivery": "'create'",
        "purpose": "'payment'",
        "negotiated": "CASE WHEN n % 4 = 0 THEN true END",
        "binding_class": _in_turn("", "", "verified", ""),
        "state_from": _in_turn("", "ADMITTED", "CONSENT_PENDING", "COMPLETE"),
        "state_to": _in_turn("ADMITTED", "CONSENT_PENDING", "COMPLETE", "COMPLETE"),
        "outcome": _in_turn("admit", "moved", "completed", "applied"),
        "rule": _in_turn("policy.admitted", "", "", ""),
        "rule_source": _in_turn("operator", "", "", ""),
        "id_class": "'minted'",
        "policy_revision": "CASE WHEN n % 4 IN (0, 2) THEN 1 + n / 100000 END",
        "policy_digest": "CASE WHEN n % 4 = 0 THEN 'sha256:' || md5('a') || md5('b') ELSE '' END",
        "admission_revision": "1 + n / 100000",
        "actor_kind": _in_turn("service", "client", "provider", "service"),
        "actor_id": _in_turn("booking", "", "example-pay", "booking"),
        "decided_by": _in_turn("", "person", "", ""),
        "consent_source": _in_turn("", "answer", "", ""),
        "completion_source": _in_turn("", "", "webhook", ""),
        "deadline": "CASE WHEN n % 4 < 2 THEN timestamptz '2026-01-01' + n * interval '1.000123 seconds' END",
        "latency_ms": "CASE WHEN n % 4 = 1 THEN n % 60000 END",
    }


def _in_turn(*words: str) -> str:
    quoted = ", ".join(f"'{word}'" for word in words)
    return f"(ARRAY[{quoted}])[1 + n % 4]"
