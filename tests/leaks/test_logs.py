"""Nothing that somebody sent, and no text that a library made of it, reaches the log."""

import ast
import io
import json
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path

from config.celery import app
from config.environment import ROOT
from config.logging import FIELDS, JsonFormatter
from config.urls import handler400, handler403, handler404, handler500  # noqa: F401 - Django looks for them here

CANARY = "canary-7f3a"
ALLOWED = {"time", "level", "logger", "event", "pid", "at", "method", "route", "error", *FIELDS}


def fail(request: HttpRequest, secret: str) -> HttpResponse:
    held = secret
    try:
        raise KeyError(CANARY)
    except KeyError as missing:
        raise ValueError(f"cannot use {held}") from missing


def speak(request: HttpRequest) -> HttpResponse:
    logging.getLogger("elicitation.api").info(
        "completion", extra={"outcome": "completed", "url": request.get_full_path()}
    )
    request.desk_caller = {"tenant": "acme", "service": "booking"}  # type: ignore[attr-defined]
    return HttpResponse("done")


urlpatterns = [path("fail/<str:secret>", fail), path("speak", speak)]


class Log:
    def __init__(self, stream: io.StringIO) -> None:
        self.stream = stream

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.text.splitlines()]


@pytest.fixture
def log() -> Iterator[Log]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.addHandler(handler)
    held = Log(stream)
    yield held
    root.removeHandler(handler)
    assert CANARY not in held.text
    for line in held.lines:
        assert set(line) <= ALLOWED


def test_a_librarys_arguments_are_dropped_and_its_template_kept(log: Log) -> None:
    logging.getLogger("django.security").warning("Refused %s", CANARY)
    assert log.lines[0]["event"] == "Refused %s"


@pytest.mark.parametrize("logger", ["django.request", "celery.worker", "urllib3.connectionpool", "_granian", "root"])
def test_a_message_that_was_put_together_before_is_withheld(log: Log, logger: str) -> None:
    logging.getLogger(logger).error(f"Bad thing: {CANARY}")
    assert log.lines[0]["event"] == "withheld"
    assert str(log.lines[0]["at"]).startswith("tests/leaks/test_logs.py:")


def test_an_unknown_librarys_template_is_withheld_although_it_has_arguments(log: Log) -> None:
    logging.getLogger("somebody.else").error(f"{CANARY} %s", "again")
    assert log.lines[0]["event"] == "withheld"


def test_a_message_that_is_no_text_is_withheld(log: Log) -> None:
    logging.getLogger("elicitation").error({"token": CANARY})
    assert log.lines[0]["event"] == "withheld"


def test_our_lines_keep_fields_of_the_list_and_only_in_their_shape(log: Log) -> None:
    extra = {"outcome": f"Bearer {CANARY}", "tenant": "acme", "count": 3, "token": CANARY, "rule": "x" * 101}
    logging.getLogger("elicitation.services").info("moved %s", CANARY, extra=extra)
    line = log.lines[0]
    assert (line["event"], line["outcome"], line["rule"]) == ("moved %s", "withheld", "withheld")
    assert (line["tenant"], line["count"]) == ("acme", 3)


def test_an_exception_is_told_by_class_and_frames(log: Log) -> None:
    with override_settings(ROOT_URLCONF=__name__):
        Client(raise_request_exception=False).post(f"/fail/{CANARY}?q={CANARY}", {"body": CANARY})
    error = next(line for line in log.lines if "error" in line)
    first, cause = cast("list[dict[str, Any]]", error["error"])
    assert (first["class"], cause["class"]) == ("builtins.ValueError", "builtins.KeyError")
    assert any(re.fullmatch(r"tests/leaks/test_logs.py:\d+:fail", frame) for frame in first["frames"])
    assert (error["method"], error["route"]) == ("POST", "/fail/<str:secret>")


def test_every_part_of_a_request_stays_out(log: Log) -> None:
    client = Client(raise_request_exception=False, enforce_csrf_checks=True)
    client.cookies["sessionid"] = CANARY
    headers = {"authorization": f"Bearer {CANARY}", "user-agent": CANARY, "referer": f"https://x.example/{CANARY}"}
    with override_settings(ROOT_URLCONF=__name__):
        client.get(f"/{CANARY}/?token={CANARY}", headers=headers)
        client.post(f"/fail/{CANARY}", CANARY.encode(), content_type=f"text/{CANARY}", headers=headers)
        client.get("/speak", headers={"host": f"{CANARY}.example.com"})
        client.generic(CANARY.upper(), "/speak")
    requests = [line for line in log.lines if line["event"] == "request"]
    assert [line["status"] for line in requests] == [404, 403, 400, 403]
    assert requests[0]["route"] == "none"


def test_one_line_tells_a_request_and_the_next_request_inherits_nothing(log: Log) -> None:
    with override_settings(ROOT_URLCONF=__name__):
        Client().get(f"/speak?{CANARY}")
    logging.getLogger("elicitation").info("later")
    told, request, later = log.lines
    assert told["outcome"] == "completed"
    assert (request["method"], request["route"], request["status"]) == ("GET", "/speak", 200)
    assert (request["tenant"], request["service"]) == ("acme", "booking")
    assert "method" not in later
    assert "tenant" not in later


def test_a_task_is_told_by_name_without_its_arguments(log: Log) -> None:
    @app.task(name="tests.fails")
    def fails(text: str) -> None:
        raise RuntimeError(text)

    fails.apply(args=(CANARY,))
    line = next(line for line in log.lines if line["logger"] == "celery.app.trace")
    assert line["task"] == "tests.fails"
    app.tasks.pop("tests.fails")


def test_a_warnings_text_is_withheld(log: Log) -> None:
    with warnings.catch_warnings():
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # again, because pytest has put its own recorder there
        warnings.showwarning(CANARY, UserWarning, "x.py", 1)
    assert [line["event"] for line in log.lines] == ["withheld"]


def _logged(node: ast.AST) -> ast.expr | None:
    """The message of a logging call."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "logger"), attr=method), args=[message, *_]):
            pass
        case ast.Call(
            func=ast.Attribute(value=ast.Call(func=ast.Attribute(attr="getLogger")), attr=method), args=[message, *_]
        ):
            pass
        case _:
            return None
    return message if method in {"debug", "info", "warning", "error", "exception", "critical"} else None


def test_our_own_code_logs_literals_only() -> None:
    """The formatter trusts our templates, so none may be put together."""
    checked = 0
    for package in ("config", "elicitation", "audit"):
        for file in Path(ROOT, package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if (message := _logged(node)) is not None:
                    checked += 1
                    assert isinstance(message, ast.Constant), f"{file.relative_to(ROOT)}:{message.lineno}"
    assert checked
