"""PostgreSQL's role for pruning, and the one function that runs as it: nobody else can take an entry away."""

from __future__ import annotations

from typing import Any, Final

from django.db import DatabaseError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper

from audit.triggers import EXPORTS, HOLDS, LEAVES, LEDGER, LOGS, PRUNES, RETENTION_ROLE

FUNCTION: Final = "audit_prune_batch"
#: The next leaves that an order covers, lowest first, as many as are asked for: their entries, then they themselves.
_BODY: Final = """
DECLARE
    its_log bigint;
    first bigint;
    stop bigint;
    gone bigint;
BEGIN
    SELECT log_id, upto INTO its_log, stop FROM audit_prune WHERE uid = its_order;
    SELECT pruned INTO first FROM audit_log WHERE id = its_log;
    stop := least(stop, first + most);
    DELETE FROM audit_ledgerentry WHERE id IN (
        SELECT entry_id FROM audit_leaf WHERE log_id = its_log AND "index" >= first AND "index" < stop);
    DELETE FROM audit_leaf WHERE log_id = its_log AND "index" >= first AND "index" < stop;
    GET DIAGNOSTICS gone = ROW_COUNT;
    RETURN gone;
END
"""
#: A role is there for all databases of a server, and others may make it at the same moment.
_MAKE_ROLE: Final = f"""
DO $$ BEGIN
    IF to_regrole('{RETENTION_ROLE}') IS NULL THEN CREATE ROLE {RETENTION_ROLE} NOLOGIN; END IF;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""
_READY: Final = """
SELECT count(*) = 1 FROM pg_proc JOIN pg_roles ON pg_roles.oid = proowner
WHERE proname = %s AND prosecdef AND rolname = %s AND pronamespace = to_regnamespace(quote_ident(current_schema()))
AND has_function_privilege(pg_proc.oid, 'EXECUTE')
"""


class NotSetUp(Exception):
    """The role or its function is not there, and cannot be made from here. ``str()`` says what to do, in a sentence."""

    def __init__(self, owner: str, *, there: bool) -> None:
        once = f"GRANT {RETENTION_ROLE} TO {owner}" if there else f"CREATE ROLE {RETENTION_ROLE} NOLOGIN ROLE {owner}"
        super().__init__(
            f"On PostgreSQL only the role {RETENTION_ROLE} prunes, and it is not set up: an administrator of the "
            f"database runs once `{once};`, with the role that owns the ledger's tables in the last place, and then "
            "that role runs this command once."
        )


def is_ready(connection: BaseDatabaseWrapper) -> bool:
    """Whether the function is there and runs as the role. On another database than PostgreSQL nothing is needed."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(_READY, [FUNCTION, RETENTION_ROLE])
        return bool(cursor.fetchone()[0])


def set_up(connection: BaseDatabaseWrapper) -> None:
    """Make the role and its function, as far as they are missing. Raises ``NotSetUp``."""
    if is_ready(connection):
        return
    try:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute(_MAKE_ROLE)
            cursor.execute(
                "SELECT current_user, current_schema(), pg_has_role(current_user, %s, 'MEMBER')", [RETENTION_ROLE]
            )
            me, schema, member = cursor.fetchone()
            for statement in _statements(*map(connection.ops.quote_name, (me, schema)), member=member):
                cursor.execute(statement)
    except DatabaseError:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_user, to_regrole(%s) IS NOT NULL", [RETENTION_ROLE])
            me, there = cursor.fetchone()
        raise NotSetUp(connection.ops.quote_name(me), there=there) from None


def try_to_set_up(_apps: Any, schema_editor: Any) -> None:
    """For ``migrations.RunPython``: where this may not be done from here, the command that prunes says so."""
    try:
        set_up(schema_editor.connection)
    except NotSetUp:
        return


def _statements(me: str, schema: str, *, member: bool) -> list[str]:
    """In ``schema``. ``me`` is a member of the role meanwhile, to give it the function, and then only if it was one."""
    made = [
        f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {RETENTION_ROLE}",
        f"GRANT SELECT, DELETE ON {LEDGER.table}, {LEAVES.table} TO {RETENTION_ROLE}",
        f"GRANT SELECT ON {PRUNES.table}, {HOLDS.table}, {EXPORTS.table}, {LOGS} TO {RETENTION_ROLE}",
        f"CREATE OR REPLACE FUNCTION {FUNCTION}(its_order uuid, most integer) RETURNS bigint LANGUAGE plpgsql "
        f"SECURITY DEFINER SET search_path = {schema}, pg_temp AS $${_BODY}$$",
        f"ALTER FUNCTION {FUNCTION}(uuid, integer) OWNER TO {RETENTION_ROLE}",
        f"REVOKE EXECUTE ON FUNCTION {FUNCTION}(uuid, integer) FROM PUBLIC",
        f"GRANT EXECUTE ON FUNCTION {FUNCTION}(uuid, integer) TO {me}",
        f"REVOKE CREATE ON SCHEMA {schema} FROM {RETENTION_ROLE}",
    ]
    return made if member else [f"GRANT {RETENTION_ROLE} TO {me}", *made, f"REVOKE {RETENTION_ROLE} FROM {me}"]
