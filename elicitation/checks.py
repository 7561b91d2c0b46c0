"""System checks for what the database promises: every constraint that the models name, and immutable revisions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig, apps
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

from audit.triggers import Guard

POLICY_REVISION = Guard("elicitation_policyrevision", ("id", "number", "document", "digest", "cases"))


@register(Tags.database)
def promises_are_kept(
    app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for alias in databases or ():
        connection = connections[alias]
        tables = set(connection.introspection.table_names())
        if POLICY_REVISION.table not in tables:
            continue  # before the first migration there is nothing to hold
        absent = POLICY_REVISION.missing(connection)
        for model in apps.get_app_config("elicitation").get_models():
            with connection.cursor() as cursor:
                there = connection.introspection.get_constraints(cursor, model._meta.db_table)
            absent += [item.name for item in model._meta.constraints if item.name not in there]
        messages += [
            Error(
                f"The database does not keep the promise {name}.",
                hint="Restore it from the migrations of elicitation before the desk is used again.",
                id="elicitation.E001",
            )
            for name in absent
        ]
    return messages
