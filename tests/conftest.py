"""What every test gets, and what a run must be to count.

``--hypothesis-profile=long`` generates as many inputs as the desk is held to; the counts stand at the end of the run.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Final

import pytest
from django.apps import apps
from django.db import connection, transaction
from django.db.backends.base.operations import BaseDatabaseOperations
from hypothesis import settings as generating

from audit.triggers import SEALED, Guard
from elicitation.checks import POLICY_REVISION
from tests import builders

generating.register_profile("steady", deadline=None, derandomize=True)
generating.register_profile("long", deadline=None, max_examples=5000)


@pytest.fixture(autouse=True, scope="session")
def _commits_need_not_last(request: pytest.FixtureRequest) -> None:
    """What a test commits may go with the machine, so PostgreSQL need not wait for the disk. The crash runs bring
    servers of their own, whose commits last."""
    if not request.config.getoption("markexpr") or "crash" in request.config.getoption("markexpr"):
        request.getfixturevalue("django_db_setup")
        with request.getfixturevalue("django_db_blocker").unblock():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    name = connection.ops.quote_name(connection.settings_dict["NAME"])
                    cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
                connection.close()


#: What the migrations made and no test changes for another: permissions, and the roles that are made of them.
_KEPT: Final = {"django_migrations", "django_content_type", "auth_permission", "auth_group", "auth_group_permissions"}


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


def _filled() -> list[str]:
    """The tables that have rows."""
    with connection.cursor() as cursor:
        names = [
            name
            for name in connection.introspection.django_table_names(only_existing=True, include_views=False)
            if name not in _KEPT
        ]
        cursor.execute(" UNION ALL ".join(f"SELECT '{name}' WHERE EXISTS (SELECT 1 FROM {name})" for name in names))
        return [name for (name,) in cursor.fetchall()]


@pytest.fixture(autouse=True, scope="session")
def _flush_may_empty_the_ledger() -> Iterator[None]:
    """Rows are deleted, from tables that have some: PostgreSQL takes a second to truncate them all."""
    original = type(connection.ops).execute_sql_flush

    def flush(self: BaseDatabaseOperations, sql_list: Iterable[str]) -> None:
        filled = _filled()
        with ExitStack() as lifted, transaction.atomic(), connection.cursor() as cursor:
            for guard in (*SEALED, POLICY_REVISION):
                if guard.table in filled:
                    lifted.enter_context(_lifted(guard))
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL session_replication_role = replica")
            for table in filled:
                cursor.execute(f"DELETE FROM {table}")
            if connection.vendor == "postgresql":
                cursor.execute("SET LOCAL session_replication_role = origin")
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
