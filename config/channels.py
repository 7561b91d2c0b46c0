"""Strict readers of the settings for sending signals out: by e-mail, and as a signed webhook."""

from __future__ import annotations

import base64
import binascii
import os
import re
from typing import Any, Final
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment import read_secret

#: How a mail server is spoken to, by the scheme of its address: the port it usually has, and when TLS begins.
_SCHEMES: Final = {
    "smtp": (25, {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": False}),
    "smtp+tls": (587, {"EMAIL_USE_TLS": True, "EMAIL_USE_SSL": False}),
    "smtps": (465, {"EMAIL_USE_TLS": False, "EMAIL_USE_SSL": True}),
}
#: Seconds for each answer of the mail server.
_EMAIL_TIMEOUT: Final = 5
_MOST_RECIPIENTS: Final = 10
_ADDRESS: Final = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_HOST: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_LOOPBACK: Final = ("127.0.0.1", "::1", "localhost")
_TARGET: Final = re.compile(r"[!\"$-~]*")
_SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - the prefix that Standard Webhooks gives to secrets
_SECRET_BYTES: Final = range(24, 65)


def read_email() -> dict[str, Any]:
    """Django's settings for mail and ``DESK_SIGNAL_EMAILS``, its recipients, of whom there may be none.

    Raises ``ImproperlyConfigured``, which never shows a part of a value.
    """
    recipients, sender = os.environ.get("DESK_SIGNAL_EMAILS"), os.environ.get("DESK_EMAIL_FROM")
    server = read_secret("DESK_EMAIL_URL")
    given = {"DESK_SIGNAL_EMAILS": recipients, "DESK_EMAIL_URL": server or None, "DESK_EMAIL_FROM": sender}
    _all_or_none(given, "E-mail")
    settings: dict[str, Any] = {"EMAIL_TIMEOUT": _EMAIL_TIMEOUT, "DESK_SIGNAL_EMAILS": []}
    if recipients is None or sender is None:
        return settings
    listed = [recipient.strip() for recipient in recipients.split(",")]
    for number, recipient in enumerate(listed, start=1):
        if not _ADDRESS.fullmatch(recipient):
            raise ImproperlyConfigured(f"Recipient {number} of DESK_SIGNAL_EMAILS is not an e-mail address.")
    if len(listed) > _MOST_RECIPIENTS:
        raise ImproperlyConfigured(f"DESK_SIGNAL_EMAILS has more than {_MOST_RECIPIENTS} recipients; use a list's one.")
    if not _ADDRESS.fullmatch(sender.strip()):
        raise ImproperlyConfigured("DESK_EMAIL_FROM is not an e-mail address.")
    return settings | _server(server) | {"DESK_SIGNAL_EMAILS": listed, "DEFAULT_FROM_EMAIL": sender.strip()}


def read_webhook() -> tuple[str, bytes]:
    """Where signals are sent to, and the key that signs them; both empty when there is none.

    Raises ``ImproperlyConfigured``, which never shows a part of a value.
    """
    url, secret = os.environ.get("DESK_SIGNAL_WEBHOOK_URL"), read_secret("DESK_SIGNAL_WEBHOOK_SECRET")
    _all_or_none({"DESK_SIGNAL_WEBHOOK_URL": url, "DESK_SIGNAL_WEBHOOK_SECRET": secret or None}, "The signals' webhook")
    if url is None:
        return "", b""
    return read_address("DESK_SIGNAL_WEBHOOK_URL", url, "https://hooks.example.com/desk"), _key(secret)


def _all_or_none(given: dict[str, str | None], what: str) -> None:
    missing = [name for name, value in given.items() if value is None]
    if missing and len(missing) < len(given):
        raise ImproperlyConfigured(f"{what} also needs {' and '.join(missing)}.")


def _server(url: str) -> dict[str, Any]:
    wrong = ImproperlyConfigured("DESK_EMAIL_URL is not of the form smtp+tls://user:password@host:587.")
    parts = _split(url)
    if parts is None or parts.scheme not in _SCHEMES or parts.path not in ("", "/") or parts.query or parts.fragment:
        raise wrong
    usual, security = _SCHEMES[parts.scheme]
    if not _HOST.fullmatch(parts.hostname or "") or (parts.username is None) is not (parts.password is None):
        raise wrong
    if parts.scheme == "smtp" and parts.password and parts.hostname not in _LOOPBACK:
        raise ImproperlyConfigured("DESK_EMAIL_URL would send its password in the clear; use smtp+tls:// or smtps://.")
    return security | {
        "EMAIL_HOST": parts.hostname,
        "EMAIL_PORT": parts.port or usual,
        "EMAIL_HOST_USER": unquote(parts.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(parts.password or ""),
    }


def read_address(name: str, text: str, example: str) -> str:
    """The https:// address that ``name`` is set to, or http:// on this machine. Raises ``ImproperlyConfigured``."""
    url = text.strip()
    parts = _split(url)
    if (
        parts is None
        or parts.scheme not in ("https", "http")
        or "@" in parts.netloc
        or "#" in url
        or not _HOST.fullmatch(parts.hostname or "")
        or not _TARGET.fullmatch(parts.path + parts.query)
    ):
        raise ImproperlyConfigured(f"{name} is not an address such as {example}.")
    if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
        raise ImproperlyConfigured(f"{name} must be https://; http:// is for this machine alone.")
    return url


def _key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix(_SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_SECRET_PREFIX) or len(key) not in _SECRET_BYTES:
        raise ImproperlyConfigured("DESK_SIGNAL_WEBHOOK_SECRET is not whsec_ and 24 to 64 bytes in base64.")
    return key


def _split(url: str) -> SplitResult | None:
    """The parts of an address, or ``None`` for one that has none: nothing but printable ASCII, a port that is one."""
    if not re.fullmatch(r"[!-~]+", url):
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port, parts.hostname
    except ValueError:
        return None
    return parts
