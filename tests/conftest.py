"""What every test gets, and what a run must be to count.

``--hypothesis-profile=long`` generates as many inputs as the desk is held to; the counts stand at the end of the run.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection
from django.db.backends.base.operations import BaseDatabaseOperations
from hypothesis import settings as generating

from audit.triggers import SEALED, Guard
from elicitation.checks import POLICY_REVISION
from tests import builders

generating.register_profile("steady", deadline=None, derandomize=True)
generating.register_profile("long", deadline=None, max_examples=5000)


@contextmanager
def _lifted(guard: Guard) -> Iterator[None]:
    """The one place where a trigger is lifted: between tests, so that the next starts empty."""
    postgresql = connection.vendor == "postgresql"
    names = guard.postgresql_names() if postgresql else guard.sqlite_names()
    with connection.cursor() as cursor:
        for name in names:
            on = f" ON {guard.table}" if postgresql else ""
            cursor.execute(f"DROP TRIGGER {name}{on}")
        try:
            yield
        finally:
            for statement in guard.postgresql() if postgresql else guard.sqlite():
                cursor.execute(statement)


@pytest.fixture(autouse=True, scope="session")
def _flush_may_empty_the_ledger() -> Iterator[None]:
    original = type(connection.ops).execute_sql_flush

    def flush(self: BaseDatabaseOperations, sql_list: Iterable[str]) -> None:
        with ExitStack() as lifted:
            for guard in (*SEALED, POLICY_REVISION):
                lifted.enter_context(_lifted(guard))
            original(self, sql_list)
        import_module("elicitation.migrations.0002_first_revision").activate(apps, None)

    type(connection.ops).execute_sql_flush = flush  # type: ignore[method-assign]
    yield
    type(connection.ops).execute_sql_flush = original  # type: ignore[method-assign]


@pytest.fixture(autouse=True)
def _afterwards_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test's transaction is not seen by another thread; the thread itself has a test of its own."""
    monkeypatch.setattr("elicitation.api.calls.later", lambda work: work())


@pytest.fixture
def long_run(pytestconfig: pytest.Config) -> bool:
    """Whether the long profile was asked for."""
    return bool(pytestconfig.getoption("--hypothesis-profile", None) == "long")


@pytest.fixture
def desk(db: None) -> builders.Desk:
    return builders.open_desk()


def _skipped(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return reporter.stats.get("skipped", []) if reporter and os.environ.get("CI") == "true" else []


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: nobody reads that it was not run. (An empty run fails by pytest's code 5.)"""
    if _skipped(session.config) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for report in terminalreporter.stats.get("passed", []):
        for name, count in report.user_properties:
            if name.startswith("generated "):
                terminalreporter.write_line(f"{name}: {count:,}")
    if skipped := _skipped(config):
        terminalreporter.write_line(f"{len(skipped)} skipped: with CI=true that is a failure", red=True)
