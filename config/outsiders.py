"""Strict readers of the settings for what leaves the desk about its ledger: the witness, and the folder of exports."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from django.core.exceptions import ImproperlyConfigured

from audit.verify import Malformed, parse_key
from config.channels import read_address
from config.environment import state_dir

#: The signature type of cosignatures (C2SP tlog-cosignature).
COSIGNATURE: Final = 4


def read_witness() -> tuple[str, str, Path | None]:
    """The submission prefix of a witness (C2SP tlog-witness) and its verifier key, and the file to which checkpoints
    are appended; empty, empty and ``None`` for none. Raises ``ImproperlyConfigured``."""
    url, key, file = (os.environ.get(f"DESK_WITNESS_{part}") for part in ("URL", "KEY", "FILE"))
    if (url is None) is not (key is None):
        raise ImproperlyConfigured("DESK_WITNESS_URL and DESK_WITNESS_KEY go together; set both or neither.")
    if url is not None and key is not None:
        url = read_address("DESK_WITNESS_URL", url, "https://witness.example.com").rstrip("/")
        key = _witness_key(key.strip())
    return url or "", key or "", _folder_exists("DESK_WITNESS_FILE", file)


def read_export_dir() -> Path:
    """Where exports are kept until they are fetched: ``DESK_EXPORT_DIR``, or ``exports`` in the state folder."""
    given = os.environ.get("DESK_EXPORT_DIR")
    if given is not None and not Path(given).is_absolute():
        raise ImproperlyConfigured("DESK_EXPORT_DIR is not an absolute path.")
    return Path(given) if given else state_dir() / "exports"


def _witness_key(text: str) -> str:
    try:
        key = parse_key(text)
    except Malformed:
        key = None
    if key is None or key.algorithm != COSIGNATURE:
        raise ImproperlyConfigured("DESK_WITNESS_KEY is not a verifier key for cosignatures, name+id+key.")
    return text


def _folder_exists(name: str, text: str | None) -> Path | None:
    if text is None:
        return None
    path = Path(text)
    if not path.is_absolute() or not path.parent.is_dir() or (name.endswith("_FILE") and path.is_dir()):
        raise ImproperlyConfigured(f"{name} is not the absolute path of a file in a folder that exists.")
    return path
