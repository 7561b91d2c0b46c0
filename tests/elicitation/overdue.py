"""Many entries that are due, made without asking for each, and one that cannot be moved."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

from django.db import connection

from elicitation.models import Elicitation
from elicitation.services import clock
from tests import builders
from tests.builders import Desk


def like(pattern: Elicitation, **changes: Any) -> Elicitation:
    """Another entry like ``pattern``, of an operation of its own."""
    values = {field.attname: getattr(pattern, field.attname) for field in Elicitation._meta.concrete_fields}
    uid = uuid4()
    own = {"id": None, "uid": uid, "operation_digest": f"t1:{uid.hex * 2}"}
    if values["wire_id"] is not None:
        own["wire_id"] = uid.hex
    return Elicitation.objects.create(**(values | own | changes))


def overdue(desk: Desk, count: int) -> list[Elicitation]:
    """Entries that are due, the oldest deadline first."""
    pattern = builders.entry_of(desk.admit().json()["id"])
    first = clock.now() - timedelta(days=1)
    past = {"admitted_at": first - timedelta(hours=1), "window_ends_at": first}
    return [like(pattern, **past, deadline=first + timedelta(seconds=number)) for number in range(count)]


def refuse_ledger_of(entry: Elicitation) -> None:
    """The database itself refuses this entry's ledger row, for as long as the test lasts."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE FUNCTION bad_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'a bad row'; END $$"
            )
            cursor.execute(
                "CREATE TRIGGER bad_row BEFORE INSERT ON audit_ledgerentry FOR EACH ROW "
                f"WHEN (NEW.elicitation_id = '{entry.uid}') EXECUTE FUNCTION bad_row()"
            )
        else:
            cursor.execute(
                "CREATE TRIGGER bad_row BEFORE INSERT ON audit_ledgerentry "
                f"WHEN NEW.elicitation_id = '{entry.uid.hex}' BEGIN SELECT RAISE(ABORT, 'a bad row'); END"
            )
