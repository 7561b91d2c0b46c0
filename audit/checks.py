"""System checks for what the database promises about the ledger; ``migrate`` and ``check --database`` run them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from audit import triggers, wording


@register(Tags.database)
def ledger_is_append_only(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        if triggers.LEDGER.table not in connection.introspection.table_names():
            continue  # before the first migration there is no ledger to guard
        messages += [
            Error(
                f"The ledger's guard {name} is missing or not always on.",
                hint="Restore it as the migrations of audit make it before the desk is used again.",
                id="audit.E001",
            )
            for name in (*triggers.missing(connection), *wording.missing(connection))
        ]
    return messages
