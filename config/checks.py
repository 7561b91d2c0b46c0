"""System checks for what the configuration promises; the database's promises are checked by the apps that make them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.exceptions import ImproperlyConfigured

from config.environment import SECRETS

MAKE_KEYS: Final = "`python3 manage.py up` makes it; elsewhere set it, or its _FILE, in the environment."


@register(Tags.security)
def keys(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Every secret is there: without one, something would be stored unprotected or not at all."""
    return [
        Error(f"{name} is not set.", hint=MAKE_KEYS, id="config.E001")
        for name in SECRETS
        if not _present("SECRET_KEY" if name == "DESK_SECRET_KEY" else name)
    ]


def _present(setting: str) -> bool:
    try:
        return bool(getattr(settings, setting))
    except ImproperlyConfigured:  # how Django answers for an empty SECRET_KEY
        return False


@register(Tags.compatibility)
def utc(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Deadlines and the ledger are in UTC; the setting must say so, because its default does not."""
    if settings.USE_TZ and settings.TIME_ZONE == "UTC":
        return []
    return [Error("The desk keeps time in UTC.", hint='Set TIME_ZONE = "UTC" and USE_TZ = True.', id="config.E002")]


@register(Tags.compatibility)
def sqlite_writers(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    """Writers on SQLite must queue: with Django's defaults a tenth of concurrent writes fails."""
    database = settings.DATABASES["default"]
    if database["ENGINE"] != "django.db.backends.sqlite3":
        return []
    options = database.get("OPTIONS", {})
    promises = {
        "IMMEDIATE transactions": options.get("transaction_mode") == "IMMEDIATE",
        "a write-ahead log": "journal_mode=wal" in options.get("init_command", "").lower(),
        "a timeout of 5 seconds or more": options.get("timeout", 0) >= 5,
    }
    return [
        Error(f"SQLite is configured without {promise}.", hint="See DATABASES in config/settings.py.", id="config.E003")
        for promise, kept in promises.items()
        if not kept
    ]
