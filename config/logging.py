"""JSON log lines made of an allow-list of fields, so that what nobody thought of cannot leak."""

from __future__ import annotations

import json
import logging
import re
import sys
import sysconfig
import threading
import traceback
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from django.http import HttpRequest

#: The request that this thread is working on; kept by ``config.middleware.RequestLog``.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)

#: What a line of ours may add with ``extra``; anything else is dropped.
FIELDS: Final = (
    "status",
    "duration_ms",
    "tenant",
    "service",
    "provider",
    "problem",
    "elicitation",
    "outcome",
    "rule",
    "task",
    "count",
)
OURS: Final = ("config", "elicitation", "audit")
#: Libraries whose templates are literals: with arguments, the bare template says nothing but what happened.
TEMPLATES_OF: Final = ("django", "celery", "kombu")
#: Loggers whose messages without arguments are literals, too.
LITERALS_OF: Final = ("celery.beat", "celery.apps.worker", "celery.worker.consumer.connection")
MAX_FRAMES: Final = 40

#: Codes, slugs and ids; a value of any other shape is not what its field is for.
_PLAIN = re.compile(r"[A-Za-z0-9_.:\-]{1,100}")
_ROOTS: Final = (Path(sysconfig.get_path("purelib")), Path(__file__).resolve().parent.parent)
_STDLIB: Final = Path(sysconfig.get_path("stdlib"))

log: Final = logging.getLogger("config")

Value = str | int | float | list[str]


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: fields of the allow-list, never an interpolated message of somebody else's."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, tz=UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": _event(record),
            "pid": record.process,
        }
        if not _is_of(record.name, OURS):
            line["at"] = f"{_short(record.pathname)}:{record.lineno}"
        line.update(_request_fields())
        for name in FIELDS:
            if name in record.__dict__:
                line[name] = _plain(record.__dict__[name])
        if record.name == "celery.app.trace" and isinstance(record.args, dict):
            line["task"] = _plain(record.args.get("name"))
        if record.exc_info and record.exc_info[1] is not None:
            line["error"] = _errors(record.exc_info[1])
        return json.dumps(line)


def take_uncaught() -> None:
    """Log what nobody caught in this process the same way: a traceback ends with the exception's text."""
    sys.excepthook = lambda kind, error, trace: log.critical("uncaught", exc_info=error)
    threading.excepthook = lambda failure: log.critical("uncaught", exc_info=failure.exc_value)


def _event(record: logging.LogRecord) -> str:
    """The template as its author wrote it, or ``withheld`` where it may already hold somebody's data."""
    if not isinstance(record.msg, str):
        return "withheld"
    known = OURS + LITERALS_OF + (TEMPLATES_OF if record.args else ())
    return record.msg if _is_of(record.name, known) else "withheld"


def _is_of(logger: str, roots: tuple[str, ...]) -> bool:
    return any(logger == root or logger.startswith(f"{root}.") for root in roots)


def _request_fields() -> dict[str, Value]:
    """Method, route pattern and caller of the request at hand."""
    request = current_request.get()
    if request is None:
        return {}
    fields: dict[str, Value] = {"method": _plain(request.method)}
    match = request.resolver_match
    fields["route"] = "/" + match.route if match else "none"
    caller: dict[str, str] = getattr(request, "desk_caller", {})
    for name in ("tenant", "service"):
        if name in caller:
            fields[name] = _plain(caller[name])
    return fields


def _plain(value: object) -> str | int | float:
    if isinstance(value, int | float):
        return value
    text = str(value)
    return text if _PLAIN.fullmatch(text) else "withheld"


def _errors(error: BaseException | None) -> list[dict[str, Value]]:
    """The exception and those behind it: class and frames, without messages, source lines or locals."""
    chain: list[dict[str, Value]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        frames = [
            f"{_short(frame.f_code.co_filename)}:{line}:{frame.f_code.co_name}"
            for frame, line in traceback.walk_tb(error.__traceback__)
        ]
        kind = type(error)
        chain.append({"class": f"{kind.__module__}.{kind.__qualname__}", "frames": frames[-MAX_FRAMES:]})
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return chain


def _short(filename: str) -> str:
    """A file's name from its package on: where the desk is installed is nobody's business."""
    path = Path(filename)
    for root in (*_ROOTS, _STDLIB):
        if path.is_relative_to(root):
            return str(path.relative_to(root))
    return path.name
