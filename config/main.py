"""Runs a Django command; a mistake of the person at the terminal ends in one sentence, not in a traceback."""

from __future__ import annotations

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import OperationalError

from config import environment


def run(argv: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        environment.check_names()
        if argv[1:2] == ["up"] and not {"-h", "--help"} & set(argv):
            environment.make_absent_secrets()
        execute_from_command_line(argv)
    except ImproperlyConfigured as problem:
        sys.exit(_fail(str(problem)))
    except OperationalError as problem:
        sys.exit(_fail(f"The database cannot be used: {str(problem).splitlines()[0]}."))


def _fail(sentence: str) -> int:
    print(sentence, file=sys.stderr)  # noqa: T201 - the terminal is where this person looks
    return 2
