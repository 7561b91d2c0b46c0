#!/usr/bin/env python3
"""The desk's entry: makes .venv where a command needs it, then hands over to Django or pytest.

Standard library only, and syntax that an old Python can still read, so that it can say that it is too old.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
LOCKS = ROOT / "config" / "requirements"
NAMES = ("runtime", "dev", "demo")


class CannotStart(Exception):
    """One sentence for the person at the terminal."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def venv_python(folder: Path) -> str:
    return str(folder / "bin" / "python")


def digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def installed(folder: Path, name: str) -> bool:
    """Whether ``folder`` holds exactly what the lock asks for."""
    try:
        return (folder / f"installed-{name}").read_text() == digest(LOCKS / f"{name}.lock") and os.access(
            venv_python(folder), os.X_OK
        )
    except OSError:
        return False


def install(folder: Path, name: str) -> None:
    """Make or complete the virtual environment in ``folder`` from a hashed lock."""
    import fcntl

    lock = LOCKS / f"{name}.lock"
    try:
        guard = lock.open()
    except OSError as problem:
        raise CannotStart(f"{lock.relative_to(ROOT)} cannot be read ({problem.strerror}).") from None
    with guard:
        fcntl.flock(guard, fcntl.LOCK_EX)  # a second start waits for the first instead of mixing with it
        if installed(folder, name):
            return
        say(f"Installing {lock.relative_to(ROOT)} into {folder.name} (first time only) ...")
        try:
            make_venv(folder)
            code = run_pip(folder, lock)
        except (OSError, ValueError, subprocess.CalledProcessError) as problem:
            reason = getattr(problem, "strerror", None) or str(problem)
            raise CannotStart(f"{folder.name} cannot be made in {ROOT} ({reason}).") from None
        if code != 0:
            log = folder / "install.log"
            raise CannotStart(
                f"{lock.relative_to(ROOT)} could not be installed; what pip said is in {log.relative_to(ROOT)}."
            )
        (folder / f"installed-{name}").write_text(digest(lock))


def make_venv(folder: Path) -> None:
    """An environment, new or as it is, that no longer claims to be complete."""
    import shutil
    import venv

    if not os.access(venv_python(folder), os.X_OK):
        if folder.is_dir():
            shutil.rmtree(str(folder))
        venv.create(str(folder), with_pip=False, symlinks=True)
    for name in NAMES:
        if (folder / f"installed-{name}").exists():
            (folder / f"installed-{name}").unlink()


def run_pip(folder: Path, lock: Path) -> int:
    """pip's exit code. What it says goes to install.log; modules are compiled when they are first imported."""
    options = ["--require-hashes", "--no-deps", "--no-compile", "--no-input", "--disable-pip-version-check"]
    with (folder / "install.log").open("wb") as out:
        return subprocess.call(
            [*pip_for(folder), "install", *options, "--requirement", str(lock)],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=str(folder),
        )


def pip_for(folder: Path) -> "list[str]":
    """The command for a pip that installs into ``folder``.

    The pip of the Python that made it, where there is one: a copy of its own would cost seconds at the first start.
    """
    base = getattr(sys, "_base_executable", None) or sys.executable
    probe = "import pip; raise SystemExit(tuple(int(part) for part in pip.__version__.split('.')[:2]) < (22, 3))"
    if subprocess.call([base, "-I", "-c", probe], stderr=subprocess.DEVNULL) == 0:  # 22.3 knows --python
        return [base, "-I", "-m", "pip", "--python", venv_python(folder)]
    subprocess.check_output([venv_python(folder), "-m", "ensurepip"], stderr=subprocess.STDOUT)
    return [venv_python(folder), "-m", "pip"]


def environment_for(command: str) -> None:
    """Continue in .venv with what ``command`` needs; returns when this process is already there."""
    if command == "test":
        if not installed(VENV, "dev"):
            install(VENV, "dev")
    elif not (installed(VENV, "runtime") or installed(VENV, "dev")):
        if command != "up" and not VENV.exists() and can_import_django():
            return  # a container or an environment of the operator's own
        install(VENV, "runtime")
    if os.path.realpath(sys.prefix) != os.path.realpath(str(VENV)):
        python = venv_python(VENV)
        os.execv(python, [python, str(ROOT / "manage.py"), *sys.argv[1:]])  # noqa: S606 - our own interpreter


def can_import_django() -> bool:
    import importlib.util

    return importlib.util.find_spec("django") is not None


def main() -> None:
    command = sys.argv[1] if len(sys.argv) > 1 else "help"
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:2])
        raise CannotStart(f"Elicitation Desk needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {found}.")
    environment_for(command)
    if command == "test":
        os.chdir(str(ROOT))
        python = venv_python(VENV)
        os.execv(python, [python, "-m", "pytest", *sys.argv[2:]])  # noqa: S606 - our own interpreter
    from config.main import run

    run(sys.argv)


if __name__ == "__main__":
    try:
        main()
    except CannotStart as problem:
        say(str(problem))
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
