"""Runs a Django command; a mistake of the person at the terminal ends in one sentence, not in a traceback."""

from __future__ import annotations

import os
import sys
from typing import Final

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError, ProgrammingError

from config import environment

#: Commands that read and write nothing of a desk.
WITHOUT_KEYS: Final = frozenset({"help", "version", "bench"})
FIRST: Final = "Start the desk once with `python3 manage.py up`, which sets it up."


def run(argv: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        environment.check_names()
        command = argv[1] if len(argv) > 1 else "help"
        if command not in WITHOUT_KEYS and not {"-h", "--help"} & set(argv):
            if command == "up":
                environment.make_absent_secrets()
            _require_secrets()
        execute_from_command_line(argv)
    except ImproperlyConfigured as problem:
        sys.exit(_fail(str(problem)))
    except (OperationalError, ProgrammingError) as problem:
        first = str(problem).splitlines()[0]
        if isinstance(problem, ProgrammingError) or first.startswith("no such table"):
            sys.exit(_fail(f"The database has not the tables that it should. {FIRST}"))
        sys.exit(_fail(f"The database cannot be used: {first}."))


def _require_secrets() -> None:
    absent = [name for name in environment.SECRETS if not environment.read_secret(name)]
    if absent:
        raise ImproperlyConfigured(f"Not set: {', '.join(absent)}. {FIRST}")


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)  # noqa: T201 - the terminal is where this person looks
    return 2
