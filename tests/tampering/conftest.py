"""What somebody finds who tampers with a log."""

from __future__ import annotations

import pytest
from django.db import connection

from audit.models import LedgerEntry, Log
from tests.audit import exported
from tests.tampering.night import N, look, told
from tests.tampering.owner import SIZE, SIZES


@pytest.fixture
def log(db: None) -> Log:
    """Acme's log, verified, and another tenant's beside it."""
    if connection.vendor == "postgresql":  # a table is not altered while a check of it is put off
        with connection.cursor() as cursor:
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    LedgerEntry.objects.bulk_create([exported.entry(number, tenant="globex") for number in range(5)])
    log = exported.sealed(SIZE, passes=len(SIZES))
    look(log)
    assert log.verdict == N.VERIFIED
    assert not told()
    return log
