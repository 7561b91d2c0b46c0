"""``manage.py check`` says which promise of the configuration is broken."""

from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from config import checks


@pytest.mark.parametrize("name", ["SECRET_KEY", "DESK_DIGEST_KEYS", "DESK_SEAL_KEYS", "DESK_LEDGER_KEYS"])
def test_a_missing_key_is_named_with_what_makes_it(name: str) -> None:
    with override_settings(**{name: ""}):
        (found,) = checks.keys(None)
    assert found.msg == f"{'DESK_SECRET_KEY' if name == 'SECRET_KEY' else name} is not set."
    assert "python3 manage.py up" in (found.hint or "")


@pytest.mark.parametrize("wrong", [{"TIME_ZONE": "Europe/Berlin"}, {"USE_TZ": False}])
def test_time_is_utc(wrong: dict[str, Any]) -> None:
    with override_settings(**wrong):
        assert [found.id for found in checks.utc(None)] == ["config.E002"]


@pytest.mark.parametrize(
    ("option", "value", "promise"),
    [
        ("transaction_mode", "DEFERRED", "IMMEDIATE transactions"),
        ("init_command", "", "a write-ahead log"),
        ("timeout", 1, "a timeout of 5 seconds or more"),
    ],
)
def test_sqlite_writers_queue(option: str, value: object, promise: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL;"}
    sqlite = {"ENGINE": "django.db.backends.sqlite3", "OPTIONS": kept | {option: value}}
    monkeypatch.setitem(settings.DATABASES, "default", sqlite)
    assert [found.msg for found in checks.sqlite_writers(None)] == [f"SQLite is configured without {promise}."]


def test_the_tests_own_configuration_keeps_every_promise() -> None:
    assert not checks.keys(None) + checks.utc(None) + checks.sqlite_writers(None)
