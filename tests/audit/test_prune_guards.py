"""What the database itself refuses while logs are pruned: an order that the surviving log tells of is the only way."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction

from audit import retention, retention_role
from audit.ledger import Entry, append
from audit.models import Leaf, LedgerEntry, LegalHold, Prune
from audit.triggers import RETENTION_ROLE, SEALED
from elicitation.services import actors, clock
from elicitation.services.retention import HoldReason, order, place_hold
from tests.audit.pruned import AUDITOR, acme, exported, refused_by_the_database, seal_all, write

POSTGRESQL_ONLY = ["TRUNCATE audit_ledgerentry", "TRUNCATE audit_leaf", "TRUNCATE audit_prune CASCADE"]
SQLITE_ONLY = [
    "REPLACE INTO audit_ledgerentry SELECT * FROM audit_ledgerentry LIMIT 1",
    "REPLACE INTO audit_prune SELECT * FROM audit_prune",
]


@pytest.mark.django_db(transaction=True)
def test_a_prune_opens_no_other_way_to_take_an_entry_away() -> None:
    write(300)
    place_hold(acme(), None, AUDITOR, HoldReason.LEGAL)
    write(300)
    LegalHold.objects.update(lifted_at=clock.now())
    exported()
    ordered = order(retention.plan(acme(), 512), actors.shell())
    seal_all()
    beyond = Leaf.objects.get(log=acme(), index=512).entry_id
    statements = [
        f"DELETE FROM audit_ledgerentry WHERE id = {beyond}",
        "UPDATE audit_ledgerentry SET event = 'admit'",
        f'DELETE FROM audit_leaf WHERE "index" = 0 AND log_id = {acme().pk}',
        'UPDATE audit_leaf SET "index" = "index" + 10000',
        "DELETE FROM audit_prune",
        "UPDATE audit_prune SET upto = 600",
        "UPDATE audit_prune SET log_id = log_id + 1",
        "DELETE FROM audit_legalhold",
        "UPDATE audit_legalhold SET elicitation_id = NULL",
    ]
    for statement in statements + (POSTGRESQL_ONLY if connection.vendor == "postgresql" else SQLITE_ONLY):
        with refused_by_the_database(), connection.cursor() as cursor:
            cursor.execute(statement)
    LegalHold.objects.update(lifted_at=None)
    with refused_by_the_database():
        retention._remove(ordered, 0, 256)


@pytest.mark.django_db(transaction=True)
def test_an_order_that_the_ledger_does_not_tell_of_covers_nothing() -> None:
    """Neither one for more than its entry says, nor one of another log."""
    write(600)
    export = exported()
    lying = Prune.objects.create(log=acme(), upto=512, export=export, ordered_at=clock.now())
    for tenant, upto, uid in (("acme", 256, lying.uid), ("acme", 512, uuid4()), ("globex", 512, lying.uid)):
        said = Entry(tenant=tenant, event="pruned", actor_kind="operator", repeat_count=upto, related_id=uid)
        with transaction.atomic():
            append(clock.now(), said)
    seal_all()
    with refused_by_the_database():
        retention._remove(lying, 0, 256)


@pytest.mark.django_db(transaction=True)
def test_an_order_whose_own_entry_would_go_with_the_others_covers_nothing() -> None:
    write(300)
    early = Prune.objects.create(log=acme(), upto=512, export=exported(), ordered_at=clock.now())
    told = Entry(tenant="acme", event="pruned", actor_kind="operator", repeat_count=512, related_id=early.uid)
    with transaction.atomic():
        append(clock.now(), told)
    write(300)
    with refused_by_the_database():
        retention._remove(early, 0, 256)


@pytest.mark.django_db(transaction=True)
def test_what_an_order_covers_goes_on_postgresql_by_its_own_role_alone() -> None:
    """Not even a superuser takes it away; on SQLite there are no roles."""
    write(600)
    exported()
    order(retention.plan(acme(), 512), actors.shell())
    seal_all()
    first = Leaf.objects.get(log=acme(), index=0).entry_id
    statement = f"DELETE FROM audit_ledgerentry WHERE id = {first}"
    if connection.vendor == "postgresql":
        with refused_by_the_database(), connection.cursor() as cursor:
            cursor.execute(statement)
        statement = f"SET LOCAL ROLE {RETENTION_ROLE}; {statement}"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert not LedgerEntry.objects.filter(pk=first).exists()


@pytest.mark.django_db
def test_without_its_role_a_prune_says_in_one_sentence_what_an_administrator_does() -> None:
    assert retention_role.is_ready(connection)
    if connection.vendor == "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION audit_prune_batch(uuid, integer)")
        cursor.execute("CREATE ROLE desk_test_nobody NOLOGIN")
        cursor.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO desk_test_nobody")
        cursor.execute("SET LOCAL ROLE desk_test_nobody")
    with pytest.raises(retention_role.NotSetUp, match=r"GRANT desk_retention TO \"desk_test_nobody\";"):
        retention_role.set_up(connection)
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
    retention_role.set_up(connection)
    assert retention_role.is_ready(connection)


@pytest.mark.django_db
def test_an_owner_who_is_a_member_of_the_role_sets_it_up_and_stays_what_they_were() -> None:
    if connection.vendor == "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION audit_prune_batch(uuid, integer)")
        cursor.execute("CREATE ROLE desk_test_owner NOLOGIN")
        cursor.execute("GRANT desk_retention TO desk_test_owner")
        cursor.execute("GRANT USAGE, CREATE ON SCHEMA public TO desk_test_owner WITH GRANT OPTION")
        for table in (*(guard.table for guard in SEALED), "audit_log"):
            cursor.execute(f"ALTER TABLE {table} OWNER TO desk_test_owner")
        cursor.execute("SET LOCAL ROLE desk_test_owner")
        retention_role.set_up(connection)
        assert retention_role.is_ready(connection)
        cursor.execute("SELECT pg_has_role('desk_test_owner', 'desk_retention', 'MEMBER')")
        assert cursor.fetchone() == (True,)
        cursor.execute("SELECT has_schema_privilege('desk_retention', 'public', 'CREATE')")
        assert cursor.fetchone() == (False,)


@pytest.mark.django_db
def test_a_role_that_was_given_nothing_calls_nothing() -> None:
    if connection.vendor == "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE desk_test_stranger NOLOGIN")
        cursor.execute("SET LOCAL ROLE desk_test_stranger")
    assert not retention_role.is_ready(connection)
    with pytest.raises(DatabaseError, match="permission denied for function"), connection.cursor() as cursor:
        cursor.execute("SELECT audit_prune_batch(%s, 10)", [uuid4()])
