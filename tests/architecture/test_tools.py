"""The tools that judge the tree, as tests: one command tells whether it is sound."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from config.environment import ROOT

PYTHON = sys.executable
SCRIPTS = Path(PYTHON).parent
TOOLS = {
    "ruff check": [str(SCRIPTS / "ruff"), "check", "--no-cache", "."],
    "ruff format": [str(SCRIPTS / "ruff"), "format", "--no-cache", "--check", "."],
    "mypy": [PYTHON, "-m", "mypy", "manage.py", "config", "elicitation", "audit", "tests"],
    "import contracts": [str(SCRIPTS / "lint-imports"), "--no-cache"],
}
LOCKS = ROOT / "config" / "requirements"


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_finds_nothing(tool: str) -> None:
    found = subprocess.run(TOOLS[tool], cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]


@pytest.mark.django_db
def test_the_migrations_hold_every_change_of_the_models() -> None:
    from django.core.management import call_command

    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def _name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found, requirement
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def _pinned(lock: str) -> set[str]:
    return {
        _name(line) for line in (LOCKS / f"{lock}.lock").read_text(encoding="utf-8").splitlines() if line[:1].isalnum()
    }


@pytest.mark.parametrize("lock", ["runtime", "dev", "demo"])
def test_a_lock_pins_every_line_with_hashes_and_names_no_address(lock: str) -> None:
    text = (LOCKS / f"{lock}.lock").read_text(encoding="utf-8")
    assert not re.search(r"https?://|^--|@ file:", text, re.MULTILINE)
    for requirement in re.findall(r"^[A-Za-z0-9](?:.*\\\n)*.*", text, re.MULTILINE):
        assert re.match(r"[A-Za-z0-9._-]+(\[[a-z,]+\])?==\S+", requirement), requirement
        assert "--hash=sha256:" in requirement, requirement


def test_the_locks_hold_every_dependency_that_the_project_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    runtime = {_name(each) for each in project["project"]["dependencies"]}
    assert runtime <= _pinned("runtime")
    assert _pinned("runtime") <= _pinned("dev")
    assert {_name(each) for each in project["dependency-groups"]["dev"]} <= _pinned("dev")
    assert {_name(each) for each in project["dependency-groups"]["demo"]} <= _pinned("demo")


def test_runtime_and_tests_use_the_same_versions() -> None:
    def versions(lock: str) -> dict[str, str]:
        text = (LOCKS / f"{lock}.lock").read_text(encoding="utf-8")
        return dict(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[a-z,]+\])?==([^\s;\\]+)", text, re.MULTILINE))

    dev = versions("dev")
    assert {name: dev.get(name) for name in versions("runtime")} == versions("runtime")
