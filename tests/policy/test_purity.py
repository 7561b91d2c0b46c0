"""The policy and the drill run without the framework, without a clock and without randomness."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = sorted([*(ROOT / "elicitation/policy").glob("*.py"), *(ROOT / "elicitation/drill").glob("*.py")])

BLOCKED = """
import importlib, pkgutil, sys


class NoFramework:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("django", "rest_framework", "celery", "msgspec", "cryptography"):
            raise ImportError(name)
        return None


sys.meta_path.insert(0, NoFramework())
import elicitation.drill, elicitation.policy

for package in (elicitation.policy, elicitation.drill):
    for module in pkgutil.iter_modules(package.__path__, package.__name__ + "."):
        importlib.import_module(module.name)
from elicitation.drill.runner import load_cases, run
from elicitation.policy.document import DEFAULT_DOCUMENT

report = run(DEFAULT_DOCUMENT, 1, load_cases())
assert report.matched == len(report.cases) == 28
print("pure")
"""


def test_policy_and_drill_run_without_the_framework() -> None:
    ran = subprocess.run(  # the interpreter is our own, and the code stands above
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{BLOCKED}"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("pure\n", "")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_module_imports_nothing_impure(path: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= set(sys.stdlib_module_names) | {"elicitation"}
    assert not imported & {"time", "random", "secrets", "os", "socket", "ssl", "http", "subprocess", "logging", "uuid"}
    assert "pathlib" not in imported or path.parts[-2:] == ("drill", "runner.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_module_reads_no_clock(path: Path) -> None:
    called = {
        node.func.attr
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert not called & {"now", "today", "utcnow", "urandom", "urlopen"}
