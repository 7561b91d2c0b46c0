"""The settings for sending signals out: read strictly, refused in one sentence that never shows a value."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config import channels, environment
from tests.audit.receivers import KEY, SECRET
from tests.commands.running import manage

EMAIL = {
    "DESK_SIGNAL_EMAILS": "ops@example.com, night@example.com",
    "DESK_EMAIL_URL": "smtp+tls://desk:p%40ss@mail.example.com",
    "DESK_EMAIL_FROM": "desk@example.com",
}
WEBHOOK = {
    "DESK_SIGNAL_WEBHOOK_URL": "https://hooks.example.com/desk?team=1",
    "DESK_SIGNAL_WEBHOOK_SECRET": SECRET,
}
CANARY = "CANARY-7a"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("DESK_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("DESK_STATE_DIR", str(tmp_path))


def set_all(monkeypatch: pytest.MonkeyPatch, values: dict[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    environment.check_names()


def test_without_settings_nobody_is_told() -> None:
    assert channels.read_email() == {"EMAIL_TIMEOUT": 5, "DESK_SIGNAL_EMAILS": []}
    assert channels.read_webhook() == ("", b"")


def test_mail_goes_to_each_recipient_by_the_server_that_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    set_all(monkeypatch, EMAIL)
    assert channels.read_email() == {
        "EMAIL_TIMEOUT": 5,
        "DESK_SIGNAL_EMAILS": ["ops@example.com", "night@example.com"],
        "DEFAULT_FROM_EMAIL": "desk@example.com",
        "EMAIL_HOST": "mail.example.com",
        "EMAIL_PORT": 587,
        "EMAIL_HOST_USER": "desk",
        "EMAIL_HOST_PASSWORD": "p@ss",
        "EMAIL_USE_TLS": True,
        "EMAIL_USE_SSL": False,
    }


@pytest.mark.parametrize(
    ("url", "port", "starttls", "tls"),
    [
        ("smtp://mail.example.com", 25, False, False),
        ("smtp://127.0.0.1:1025", 1025, False, False),
        ("smtp://desk:pass@127.0.0.1", 25, False, False),
        ("smtp://desk:pass@[::1]:25", 25, False, False),
        ("smtps://desk:pass@mail.example.com", 465, False, True),
        ("smtp+tls://mail.example.com:2525/", 2525, True, False),
    ],
)
def test_the_scheme_says_when_tls_begins(
    monkeypatch: pytest.MonkeyPatch, url: str, port: int, starttls: bool, tls: bool
) -> None:
    set_all(monkeypatch, EMAIL | {"DESK_EMAIL_URL": url})
    read = channels.read_email()
    assert (read["EMAIL_PORT"], read["EMAIL_USE_TLS"], read["EMAIL_USE_SSL"]) == (port, starttls, tls)


@pytest.mark.parametrize(
    "url", [WEBHOOK["DESK_SIGNAL_WEBHOOK_URL"], "http://127.0.0.1:8009/x", "http://localhost/", "http://[::1]:80"]
)
def test_a_webhook_is_https_or_on_this_machine(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    set_all(monkeypatch, WEBHOOK | {"DESK_SIGNAL_WEBHOOK_URL": url})
    assert channels.read_webhook() == (url, KEY)


def test_secrets_may_be_in_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("DESK_EMAIL_URL", "DESK_SIGNAL_WEBHOOK_SECRET"):
        (tmp_path / name).write_text((EMAIL | WEBHOOK)[name] + "\n")
    listed = {name: value for name, value in (EMAIL | WEBHOOK).items() if not (tmp_path / name).exists()}
    files = {f"{name}_FILE": str(tmp_path / name) for name in ("DESK_EMAIL_URL", "DESK_SIGNAL_WEBHOOK_SECRET")}
    set_all(monkeypatch, listed | files)
    assert channels.read_email()["EMAIL_HOST_PASSWORD"] == "p@ss"
    assert channels.read_webhook()[1] == KEY


@pytest.mark.parametrize(
    ("without", "sentence"),
    [
        (("DESK_EMAIL_FROM",), "E-mail also needs DESK_EMAIL_FROM."),
        (("DESK_EMAIL_URL",), "E-mail also needs DESK_EMAIL_URL."),
        (("DESK_EMAIL_URL", "DESK_EMAIL_FROM"), "E-mail also needs DESK_EMAIL_URL and DESK_EMAIL_FROM."),
        (("DESK_SIGNAL_EMAILS",), "E-mail also needs DESK_SIGNAL_EMAILS."),
        (("DESK_SIGNAL_WEBHOOK_SECRET",), "The signals' webhook also needs DESK_SIGNAL_WEBHOOK_SECRET."),
        (("DESK_SIGNAL_WEBHOOK_URL",), "The signals' webhook also needs DESK_SIGNAL_WEBHOOK_URL."),
    ],
)
def test_half_a_channel_is_refused(monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...], sentence: str) -> None:
    set_all(monkeypatch, {name: value for name, value in (EMAIL | WEBHOOK).items() if name not in without})
    with pytest.raises(ImproperlyConfigured) as refusal:
        _ = channels.read_email(), channels.read_webhook()
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DESK_SIGNAL_EMAILS", CANARY),
        ("DESK_SIGNAL_EMAILS", f"{CANARY} <ops@example.com>"),
        ("DESK_SIGNAL_EMAILS", "ops@example.com,"),
        ("DESK_SIGNAL_EMAILS", "ops@example.com\r\nBcc: x@example.com"),
        ("DESK_SIGNAL_EMAILS", ""),
        ("DESK_SIGNAL_EMAILS", ",".join(f"{CANARY}{number}@example.com" for number in range(11))),
        ("DESK_EMAIL_FROM", CANARY),
        ("DESK_EMAIL_FROM", ""),
        ("DESK_EMAIL_URL", ""),
        ("DESK_EMAIL_URL", CANARY),
        ("DESK_EMAIL_URL", f"https://desk:{CANARY}@mail.example.com"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@mail.example.com:0x"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@mail.example.com:99999"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@/"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@mail.example.com/path"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@mail.example.com?ssl=1"),
        ("DESK_EMAIL_URL", f"smtp+tls://{CANARY}@mail.example.com"),
        ("DESK_EMAIL_URL", f"smtp+tls://desk:{CANARY}@mail example.com"),
        ("DESK_EMAIL_URL", f"smtp://desk:{CANARY}@mail.example.com"),
        ("DESK_SIGNAL_WEBHOOK_URL", ""),
        ("DESK_SIGNAL_WEBHOOK_URL", f"http://hooks.example.com/{CANARY}"),
        ("DESK_SIGNAL_WEBHOOK_URL", f"https://desk:{CANARY}@hooks.example.com/"),
        ("DESK_SIGNAL_WEBHOOK_URL", f"https://hooks.example.com/#{CANARY}"),
        ("DESK_SIGNAL_WEBHOOK_URL", f"https:///{CANARY}"),
        ("DESK_SIGNAL_WEBHOOK_URL", f"https://hooks.example.com/\u00e9{CANARY}"),
        ("DESK_SIGNAL_WEBHOOK_URL", f"ftp://hooks.example.com/{CANARY}"),
        ("DESK_SIGNAL_WEBHOOK_SECRET", CANARY),
        ("DESK_SIGNAL_WEBHOOK_SECRET", ""),
        ("DESK_SIGNAL_WEBHOOK_SECRET", "whsec_c2hvcnQ="),
        ("DESK_SIGNAL_WEBHOOK_SECRET", SECRET.removeprefix("whsec_")),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_and_not_shown(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    set_all(monkeypatch, EMAIL | WEBHOOK | {name: value})
    with pytest.raises(ImproperlyConfigured) as refusal:
        _ = channels.read_email(), channels.read_webhook()
    said = str(refusal.value)
    assert name in said
    assert CANARY not in said
    assert "c2hvcnQ" not in said


def test_the_start_is_refused_in_one_sentence(tmp_path: Path) -> None:
    started = manage(tmp_path, "up", DESK_SIGNAL_EMAILS="ops@example.com")
    assert (started.returncode, len(started.stderr.splitlines())) == (2, 1)
    assert "E-mail also needs DESK_EMAIL_URL and DESK_EMAIL_FROM." in started.stderr
