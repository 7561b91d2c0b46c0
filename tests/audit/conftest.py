"""Receivers on this machine, and settings that send to them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.audit.receivers import KEY, LOOPBACK, Hook, Mailbox, mail_server, web_server


@pytest.fixture
def mailbox(settings: Any) -> Iterator[Mailbox]:
    with mail_server() as box:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = LOOPBACK, box.port, 5
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "desk@example.com"
        settings.DESK_SIGNAL_EMAILS = ["ops@example.com", "night@example.com"]
        yield box


@pytest.fixture
def hook(settings: Any) -> Iterator[Hook]:
    with web_server() as hook:
        settings.DESK_SIGNAL_WEBHOOK_URL, settings.DESK_SIGNAL_WEBHOOK_SECRET = hook.url, KEY
        yield hook
