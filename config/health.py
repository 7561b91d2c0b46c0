"""``/healthz``: the process lives. ``/readyz``: it can do its work, each part by name."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe

from audit import triggers
from elicitation.models import Heartbeat
from elicitation.services import clock
from elicitation.services.sweeps.registry import SWEEPS

#: A sweep beats every few seconds; silent for this long, it is not running.
SILENT_AFTER: Final = timedelta(seconds=60)

OK: Final = "ok"


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process answers; asks nothing else, so that a database outage restarts nobody."""
    return JsonResponse({"status": OK})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 when every part is ``ok``, else 503; a part says what is wrong with it, in words of ours."""
    parts = readiness()
    ready = all(state == OK for state in parts.values())
    status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
    return JsonResponse({"status": OK if ready else "not ready", "parts": parts}, status=status)


def readiness() -> dict[str, str]:
    """Each part's name and ``ok``, or what is wrong with it."""
    parts: dict[str, Callable[[], str]] = {"database": _database, "migrations": _migrations, "ledger": _ledger}
    parts |= {f"sweep {name}": lambda name=name: _sweep(name) for name in SWEEPS}  # type: ignore[misc]
    found: dict[str, str] = {}
    for name, probe in parts.items():
        try:
            found[name] = probe()
        except DatabaseError:
            found[name] = "the database does not answer"
    return found


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    return f"{len(missing)} not applied" if missing else OK


def _ledger() -> str:
    missing = triggers.missing(connection)
    return f"{len(missing)} of its triggers are missing" if missing else OK


def _sweep(name: str) -> str:
    beat = Heartbeat.objects.filter(name=name).first()
    if beat is None:
        return "has not run yet"
    silent = clock.now() - beat.at
    return OK if silent < SILENT_AFTER else f"has not run for {int(silent.total_seconds())} s"
