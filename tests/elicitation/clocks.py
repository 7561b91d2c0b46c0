"""Clocks that tests set: the database's, which decides, and the application's, which must not."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from elicitation.services import clock


class _Real(type):
    """So that real times pass for times where the class has been replaced."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


def always(moment: Callable[[], datetime]) -> type[datetime]:
    """A ``datetime`` whose ``now()`` is ``moment``."""

    class Told(datetime, metaclass=_Real):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return moment().astimezone(tz) if tz else moment().astimezone().replace(tzinfo=None)

    return Told


@dataclass
class DatabaseClock:
    """The database's clock, standing still where a test puts it."""

    monkeypatch: pytest.MonkeyPatch

    def stand_at(self, moment: datetime) -> None:
        if connection.vendor == "sqlite":
            self.monkeypatch.setattr(clock, "datetime", always(lambda: moment))
        else:
            with connection.cursor() as cursor:
                cursor.execute("CREATE SCHEMA IF NOT EXISTS standing")
                cursor.execute(
                    "CREATE OR REPLACE FUNCTION standing.clock_timestamp() RETURNS timestamptz LANGUAGE sql "
                    f"AS $$ SELECT '{moment.isoformat()}'::timestamptz $$"
                )
                cursor.execute("SET LOCAL search_path = standing, pg_catalog, public")
        assert clock.now() == moment


def skew(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    """Let the application's own clock go wrong, in every module of the desk that could read it.

    SQLite has no clock but this process's: there the one module that reads it for the database stays right.
    """
    wrong = always(lambda: datetime.now(UTC) + by)
    hands = {**vars(time), "time": lambda: time.time() + by.total_seconds()}
    monkeypatch.setattr(timezone, "now", lambda: wrong.now(UTC))
    for name, module in list(sys.modules.items()):
        ours = name.startswith(("elicitation.", "audit.", "config."))
        if not ours or (module is clock and connection.vendor == "sqlite"):
            continue
        if _is_datetime(getattr(module, "datetime", None)):
            monkeypatch.setattr(module, "datetime", wrong)
        if isinstance(getattr(module, "time", None), ModuleType | SimpleNamespace):
            monkeypatch.setattr(module, "time", SimpleNamespace(**hands))


def _is_datetime(found: object) -> bool:
    return isinstance(found, type) and issubclass(found, datetime)
