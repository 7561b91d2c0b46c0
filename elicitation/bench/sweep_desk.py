"""What ``bench sweep`` fills its database with: entries of which many are overdue."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from audit.models import LedgerEntry
from elicitation.bench.scratch import Scratch, insert, insertion, take_off
from elicitation.models import Client, Decision, Elicitation, PolicyRevision, Provider, Service, Subject, Tenant

SERVICES: Final = 8
#: Entries asked of one person, on the average.
PER_SUBJECT: Final = 20
#: So many entries are made in one statement.
SLICE: Final = 250_000
LIVE: Final = "'ADMITTED', 'CONSENT_PENDING', 'RETRY_REQUIRED'"

#: One of four entries is a form. Of the links that are due half are admitted, some pending, some lost; what is not
#: due has ended, but for one of twenty, which is live and has time.
_IS_FORM: Final = "n % 4 = 0"
_STATE: Final = """CASE
    WHEN n <= {ended} AND n % 20 <> 1 THEN CASE WHEN n % 4 = 0 THEN 'DECLINED' ELSE 'CANCELLED' END
    WHEN n % 4 = 0 OR n % 2 = 1 THEN 'ADMITTED' WHEN n % 10 = 2 THEN 'RETRY_REQUIRED' ELSE 'CONSENT_PENDING' END"""
_ENDS: Final = "CASE WHEN n <= {ended} THEN now() + interval '30 days' ELSE now() - interval '2 days' END"


def fill(desk: Scratch, rows: int, due: int) -> Iterator[str]:
    """``rows`` entries of several services, of which the last ``due`` are overdue, each with a deadline of its own.

    Indexes and foreign keys come after the rows, as when a dump is restored. Yields how far it has come.
    """
    with desk.connect() as connection:
        subjects = max(1, rows // PER_SUBJECT)
        slug = {"slug": "'bench-' || n", "name": "'Bench'", "opened_at": "now()"}
        services = f"generate_series(1, {SERVICES}) AS n"
        insert(connection, Tenant, slug, services)
        insert(connection, Service, {**slug, "tenant": "n"}, services)
        asked = {"lookup": "CASE WHEN n % 2 = 0 THEN 'generic' ELSE '' END"}
        asked["status_url"] = "CASE WHEN n % 2 = 0 THEN 'https://pay.example.com/status' ELSE '' END"
        insert(connection, Provider, {**slug, **asked, "tenant": "n"}, services)
        insert(connection, Client, {"tenant": "n", "name": "'bench'", "version": "n"}, services)
        who = {"tenant": f"1 + n % {SERVICES}", "digest": "md5(n::text)", "handle": "gen_random_uuid()"}
        insert(connection, Subject, who, f"generate_series(1, {subjects}) AS n")
        insert(connection, Decision, _decision(), services)
        later = take_off(connection, Elicitation._meta.db_table)
        for first in range(1, rows + 1, SLICE):
            last = min(rows, first + SLICE - 1)
            insert(connection, Elicitation, _entry(rows - due, subjects), f"generate_series({first}, {last}) AS n")
            yield f"{last:,} of {rows:,} entries made"
        connection.execute("SET maintenance_work_mem = '256MB'")
        yield "indexes and keys"
        for statement in later:
            connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")


def _decision() -> dict[str, str]:
    given = {"uid": "gen_random_uuid()", "kind": "'admission'", "at": "now()", "service": "n", "client": "n"}
    words = {"wire": "'2025-11-25'", "delivery": "'create'", "purpose": "'payment'", "id_class": "'minted'"}
    flags = dict.fromkeys(("mode_asked", "declared_form", "declared_url"), "true") | {"capability_malformed": "false"}
    return given | words | flags | {"revision": _revision(), "outcome": "'admit'", "rule": "'policy.admitted'"}


def _entry(ended: int, subjects: int) -> dict[str, str]:
    state, ends, service = _STATE.format(ended=ended), _ENDS.format(ended=ended), f"1 + n % {SERVICES}"
    over = f"{ends} + n * interval '1 millisecond'"
    parties = dict.fromkeys(("service", "tenant", "client", "decision"), service)
    times = {"window_ends_at": over, "admitted_at": f"{over} - interval '1 hour'"}
    times["consented_at"] = f"CASE WHEN {state} = 'CONSENT_PENDING' THEN {over} - interval '30 minutes' END"
    times["shown_at"] = f"CASE WHEN n % 3 = 0 THEN {over} - interval '40 minutes' END"
    return {
        **parties,
        **times,
        "uid": "gen_random_uuid()",
        "subject": f"1 + n % {subjects}",
        "provider": f"CASE WHEN {_IS_FORM} THEN NULL ELSE {service} END",
        "origin": f"CASE WHEN {_IS_FORM} THEN '' ELSE 'https://consent.example.com' END",
        "mode": f"CASE WHEN {_IS_FORM} THEN 'form' ELSE 'url' END",
        "purpose": f"CASE WHEN {_IS_FORM} THEN 'choice' ELSE 'payment' END",
        "wire": "'2025-11-25'",
        "wire_id": f"CASE WHEN {_IS_FORM} THEN NULL ELSE 'elc_' || md5(n::text) END",
        "delivery": "CASE WHEN n % 5 = 0 THEN 'url_required' ELSE 'create' END",
        "id_class": "'minted'",
        "operation_digest": "'b1:' || md5(n::text) || md5((-n)::text)",
        "revision": _revision(),
        "state": state,
        "deadline": f"CASE WHEN {state} IN ({LIVE}) THEN {over} END",
    }


def _revision() -> str:
    return f"(SELECT id FROM {PolicyRevision._meta.db_table} WHERE status = 'active')"  # noqa: S608 - our own table


def append_one() -> bytes:
    """Another entry on the ledger, as any event of the desk appends one."""
    given = {"tenant": "'bench-1'", "at": "clock_timestamp()", "event": "'shown'", "actor_kind": "'service'"}
    return insertion(LedgerEntry, {**given, "elicitation_id": "gen_random_uuid()"}, "generate_series(1, 1)").encode()
