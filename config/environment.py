"""Strict readers of the environment: a typo, an unknown name or a malformed value stops the start with one sentence."""

from __future__ import annotations

import base64
import binascii
import os
import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.core.exceptions import ImproperlyConfigured

ROOT: Final = Path(__file__).resolve().parent.parent

#: Settings that hold secrets; each may also be given as ``NAME_FILE``, and `up` makes those that are absent.
SECRETS: Final = ("DESK_SECRET_KEY", "DESK_DIGEST_KEYS", "DESK_SEAL_KEYS", "DESK_LEDGER_KEYS")
#: Secrets that a desk can do without; each may also be given as ``NAME_FILE``.
OPTIONAL_SECRETS: Final = ("DESK_EMAIL_URL", "DESK_SIGNAL_WEBHOOK_SECRET")
PLAIN: Final = (
    "DESK_BASE_URL",
    "DESK_ALLOWED_HOSTS",
    "DESK_STATE_DIR",
    "DESK_LOG_LEVEL",
    "DESK_SIGNAL_EMAILS",
    "DESK_EMAIL_FROM",
    "DESK_SIGNAL_WEBHOOK_URL",
    "DESK_WITNESS_URL",
    "DESK_WITNESS_KEY",
    "DESK_WITNESS_FILE",
    "DESK_EXPORT_DIR",
)
KEY_BYTES: Final = 32
SECRET_KEY_LENGTH: Final = 32
_KEY_ID: Final = re.compile(r"[a-z0-9]{1,16}")

Ring = dict[str, bytes]


def check_names() -> None:
    """Refuse ``DESK_*`` names that nothing reads: they are typing errors, and would fail in silence.

    Raises ``ImproperlyConfigured``.
    """
    secret = (*SECRETS, *OPTIONAL_SECRETS)
    known = {*PLAIN, *secret, *(f"{name}_FILE" for name in secret)}
    for name in sorted(os.environ):
        if name.startswith("DESK_") and name not in known:
            raise ImproperlyConfigured(f"{name} is not a setting of the desk; the README lists them.")


def state_dir() -> Path:
    """The folder for the embedded database and the keys that `up` makes."""
    return (ROOT / os.environ.get("DESK_STATE_DIR", "var")).resolve()


def read_secret(name: str) -> str:
    """A secret from ``NAME``, ``NAME_FILE`` or the file that `up` made; empty when there is none.

    Raises ``ImproperlyConfigured`` when it is given twice or its file cannot be read.
    """
    value, file = os.environ.get(name, ""), os.environ.get(f"{name}_FILE", "")
    if value and file:
        raise ImproperlyConfigured(f"{name} and {name}_FILE are both set; set one of them.")
    for given, text in ((name, os.environ.get(name)), (f"{name}_FILE", os.environ.get(f"{name}_FILE"))):
        if text is not None and not text.strip():
            raise ImproperlyConfigured(f"{given} is set, and empty; leave it out or give it a value.")
    if value:
        return value.strip()
    path = Path(file) if file else state_dir() / "keys" / name.lower()
    if not file and not path.exists():
        return ""
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        origin = f"{name}_FILE" if file else name
        raise ImproperlyConfigured(f"The file of {origin} cannot be read.") from None


def read_secret_key() -> str:
    """Django's key: long enough that nobody guesses it. Raises ``ImproperlyConfigured``."""
    key = read_secret("DESK_SECRET_KEY")
    if key and len(key) < SECRET_KEY_LENGTH:
        raise ImproperlyConfigured(f"DESK_SECRET_KEY has fewer than {SECRET_KEY_LENGTH} characters.")
    return key


def read_ring(name: str) -> Ring:
    """A key ring ``kid:base64,kid:base64`` of 32-byte keys, the current one first; empty when there is none.

    Raises ``ImproperlyConfigured``, which never shows a part of the value.
    """
    ring: Ring = {}
    text = read_secret(name)
    for number, item in enumerate(text.split(",") if text else (), start=1):
        kid, _, encoded = item.strip().partition(":")
        if not _KEY_ID.fullmatch(kid):
            raise ImproperlyConfigured(
                f"Key {number} of {name} has no key id of 1 to 16 lower-case letters and digits."
            )
        if kid in ring:
            raise ImproperlyConfigured(f"Key {number} of {name} has the key id of an earlier one.")
        try:
            key = base64.b64decode(encoded, validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != KEY_BYTES:
            raise ImproperlyConfigured(f"Key {number} of {name} is not {KEY_BYTES} bytes in base64.")
        ring[kid] = key
    return ring


def embedded_database() -> Path:
    """The file of the embedded default."""
    return state_dir() / "desk.sqlite3"


def make_absent_secrets() -> list[str]:
    """Make each secret that is set nowhere, under ``keys/`` of the state folder with mode 0600. Returns their names.

    Raises ``ImproperlyConfigured`` when the folder cannot be written, or the desk had its secrets before: another key
    would open nothing that the lost one closed, and vouch for nothing that it signed.
    """
    folder = state_dir() / "keys"
    lost = [name for name in SECRETS if not read_secret(name)] if embedded_database().exists() else []
    if lost:
        raise ImproperlyConfigured(
            f"{', '.join(lost)}: set nowhere, and not in {folder} any more, though this desk has a database. Put back "
            "what was lost; a new key would not do in its place."
        )
    made = []
    try:
        state_dir().mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(exist_ok=True, mode=0o700)
        for name in SECRETS:
            if not read_secret(name):
                _write_new(folder / name.lower(), _FRESH[name]())
                made.append(name)
        probe = state_dir() / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        raise ImproperlyConfigured(
            f"The state folder {state_dir()} cannot be written ({problem.strerror}); set DESK_STATE_DIR."
        ) from None
    return made


def _write_new(path: Path, text: str) -> None:
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return  # another process made it first; its key is the one to use
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(text + "\n")


def _fresh_ring() -> str:
    return f"k{secrets.token_hex(3)}:{base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode('ascii')}"


_FRESH: Final[dict[str, Callable[[], str]]] = {
    "DESK_SECRET_KEY": lambda: secrets.token_urlsafe(50),
    "DESK_DIGEST_KEYS": _fresh_ring,
    "DESK_SEAL_KEYS": _fresh_ring,
    "DESK_LEDGER_KEYS": _fresh_ring,
}


def read_base_url() -> str:
    """Where people and programs reach the desk: an origin without a path. Raises ``ImproperlyConfigured``."""
    value = os.environ.get("DESK_BASE_URL", "http://127.0.0.1:8000").rstrip("/")
    if not re.fullmatch(r"https?://[A-Za-z0-9.\-\[\]:]+", value):
        raise ImproperlyConfigured("DESK_BASE_URL is not an origin such as https://desk.example.com.")
    return value


def read_hosts() -> list[str]:
    """``DESK_ALLOWED_HOSTS``, comma-separated; by default this machine only. Raises ``ImproperlyConfigured``."""
    hosts = [host.strip() for host in os.environ.get("DESK_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",")]
    for number, host in enumerate(hosts, start=1):
        if not re.fullmatch(r"[A-Za-z0-9.\-\[\]:]+", host):
            raise ImproperlyConfigured(f"Host {number} of DESK_ALLOWED_HOSTS is not a host name.")
    return hosts


def read_log_level() -> str:
    """``DESK_LOG_LEVEL``, INFO by default. Raises ``ImproperlyConfigured``."""
    level = os.environ.get("DESK_LOG_LEVEL", "INFO")
    if level not in ("DEBUG", "INFO", "WARNING", "ERROR"):
        raise ImproperlyConfigured("DESK_LOG_LEVEL is not one of DEBUG, INFO, WARNING, ERROR.")
    return level
