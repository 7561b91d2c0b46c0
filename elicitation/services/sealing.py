"""Keeping a secret sealed: AES-256-GCM under a key ring, the key id in clear and authenticated with the purpose."""

from __future__ import annotations

import base64
import binascii
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

_NONCE_BYTES: Final = 12


class Unsealable(Exception):
    """The text was not sealed by this desk for this purpose, or its key is gone."""


def seal(text: str, purpose: str) -> str:
    """``v1.<key id>.<nonce>.<sealed>``, base64url without padding. ``purpose`` must be given again to open it."""
    ring: dict[str, bytes] = settings.DESK_SEAL_KEYS
    if not ring:
        raise ImproperlyConfigured("DESK_SEAL_KEYS is not set; `python3 manage.py up` makes one.")
    kid, key = next(iter(ring.items()))
    nonce = os.urandom(_NONCE_BYTES)
    sealed = AESGCM(key).encrypt(nonce, text.encode(), _clear_part(kid, purpose))
    return f"v1.{kid}.{_encode(nonce)}.{_encode(sealed)}"


def unseal(sealed: str, purpose: str) -> str:
    """The text that was sealed for ``purpose``. Raises ``Unsealable``."""
    version, _, rest = sealed.partition(".")
    parts = rest.split(".")
    if version != "v1" or len(parts) != 3:
        raise Unsealable
    kid, nonce, body = parts
    key: bytes | None = settings.DESK_SEAL_KEYS.get(kid)
    if key is None:
        raise Unsealable
    try:
        return AESGCM(key).decrypt(_decode(nonce), _decode(body), _clear_part(kid, purpose)).decode()
    except (InvalidTag, ValueError, binascii.Error):
        raise Unsealable from None


def _clear_part(kid: str, purpose: str) -> bytes:
    return f"v1.{kid}.{purpose}".encode()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _decode(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
