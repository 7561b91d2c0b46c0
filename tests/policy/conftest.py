"""Generated inputs are the same in every run, and no slow machine fails one by its clock.

``--hypothesis-profile=long`` generates as many as the policy is held to; the counts stand at the end of the run.
"""

from __future__ import annotations

import pytest
from hypothesis import settings

settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("long", deadline=None, max_examples=5000)
settings.load_profile("steady")


@pytest.fixture
def long_run(pytestconfig: pytest.Config) -> bool:
    """Whether the long profile was asked for."""
    return bool(pytestconfig.getoption("--hypothesis-profile", None) == "long")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for report in terminalreporter.stats.get("passed", []):
        for name, count in report.user_properties:
            if name.startswith("generated "):
                terminalreporter.write_line(f"{name}: {count:,}")
