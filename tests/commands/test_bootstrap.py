"""``manage.py`` before Django: an old Python, a lock or a folder that cannot be used."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment import ROOT

BASE = sys._base_executable  # type: ignore[attr-defined]  # the Python outside .venv, as at a first start


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """As much of a fresh clone as the bootstrap reads, with a lock that nothing can satisfy."""
    shutil.copy(ROOT / "manage.py", tmp_path)
    locks = tmp_path / "config" / "requirements"
    locks.mkdir(parents=True)
    (locks / "runtime.lock").write_text("nothing-of-this-name==1.0 --hash=sha256:" + "0" * 64 + "\n")
    return tmp_path


def run(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(clone), "PIP_NO_INDEX": "1"}
    return subprocess.run(
        [BASE, *arguments], cwd=clone, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_an_old_python_can_read_manage_py_and_is_told_what_is_needed(clone: Path) -> None:
    ast.parse((ROOT / "manage.py").read_text(encoding="utf-8"), feature_version=(3, 6))
    pretend = "import runpy, sys; sys.version_info = (3, 9, 18); sys.argv = ['manage.py', 'up']; "
    told = run(clone, "-c", pretend + "runpy.run_path('manage.py', run_name='__main__')")
    assert told.returncode == 2
    assert told.stderr == "Elicitation Desk needs Python 3.11 or newer; this is 3.9.\n"


def test_a_lock_that_cannot_be_installed_is_one_sentence_that_says_where_to_look(clone: Path) -> None:
    told = run(clone, "manage.py", "up")
    assert told.returncode == 2
    first, last = told.stderr.splitlines()
    assert first == "Installing config/requirements/runtime.lock into .venv (first time only) ..."
    assert last == ("config/requirements/runtime.lock could not be installed; what pip said is in .venv/install.log.")
    assert "nothing-of-this-name" in (clone / ".venv" / "install.log").read_text()
    assert not (clone / ".venv" / "installed-runtime").exists()


def test_an_environment_that_cannot_be_made_is_one_sentence(clone: Path) -> None:
    (clone / ".venv").write_text("in the way")
    told = run(clone, "manage.py", "up")
    assert told.returncode == 2
    assert ".venv cannot be made in " in told.stderr.splitlines()[-1]
    assert "Traceback" not in told.stderr


def test_a_lock_that_is_not_there_is_one_sentence(clone: Path) -> None:
    (clone / "config" / "requirements" / "runtime.lock").unlink()
    told = run(clone, "manage.py", "up")
    assert told.returncode == 2
    assert told.stderr == "config/requirements/runtime.lock cannot be read (No such file or directory).\n"
