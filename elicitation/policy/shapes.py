"""Texts that look like secrets or personal data, told by their shape alone. A backstop, not a judge."""

from __future__ import annotations

import base64
import binascii
import re
from itertools import pairwise
from typing import Final

#: Prefixes under which well-known services issue keys and tokens; each needs a body of its own after it.
_KEY: Final = re.compile(
    # A prefix inside a word is none: risk-adjusted holds no sk-.
    r"(?<![A-Za-z0-9])(?:(?:sk_|rk_|sk-|whsec_|ghp_|gho_|ghu_|ghs_|ghr_|github_pat_|glpat-|xox[abeoprs]-|xapp-|npm_|pypi-|AIza|ya29\."
    r"|hf_|dop_v1_|shpat_|shpss_|SG\.|EAACEdEose0cBA|sq0atp-|sq0csp-|AGE-SECRET-KEY-|eyJhbGciOi)[A-Za-z0-9_./+=-]{4,}"
    r"|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{12,}"
    # A client secret looks like the public reference that it belongs to, with a tail.
    r"|(?:pi|seti|cs)_[A-Za-z0-9]{4,64}_secret_[A-Za-z0-9]{4,})"
)
#: Only at the start of a run, so that the search stays linear.
_JWT: Final = re.compile(r"(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*")
_PEM: Final = re.compile(r"-----BEGIN [A-Z0-9 ]{1,40}-----")
_BEARER: Final = re.compile(r"(?:bearer|basic)\s{1,4}[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
#: Bounded on both sides, so that the search stays linear.
_EMAIL: Final = re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_DIGITS: Final = re.compile(r"(?<![0-9A-Za-z_])[0-9](?:[ -]?[0-9]){12,18}(?![0-9A-Za-z_])")
_RUN: Final = re.compile(r"[A-Za-z0-9+/=_-]{20,}")
_HEX: Final = re.compile(r"[0-9a-fA-F]+")
_CREDENTIAL_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://[^/?#\s]{0,256}@")
#: The desk's own ids are made to be seen.
_DESK_ID: Final = re.compile(r"elc_[a-z2-7]{26}")

#: A text longer than this is judged by its beginning; every caller bounds its texts far below it.
_LOOKED_AT: Final = 20_000
_MAX_REFERENCE: Final = 255
#: No shape of a secret is shorter: a key's prefix and four characters; a card's digits, a scheme with credentials.
_SHORTEST_SECRET: Final = 7
_SHORTEST_CARD: Final = 13
_SHORTEST_RANDOM: Final = 20


def known_secret(text: str) -> str | None:
    """The name of the shape when ``text`` carries something that is a secret beyond doubt: a token, a key, a PEM
    block, a URL with credentials, a card number. Source: operator policy (field reports)."""
    if len(text) < _SHORTEST_SECRET:
        return None
    text = text[:_LOOKED_AT]
    if "-----" in text and _PEM.search(text):
        return "pem"
    if "." in text and _is_jwt(text):
        return "jwt"
    if _KEY.search(text):
        return "key"
    if len(text) < _SHORTEST_CARD:
        return None
    if _BEARER.search(text):
        return "authorization_header"
    if "://" in text and _CREDENTIAL_URL.search(text):
        return "url_with_credentials"
    if any(_is_card(match.group()) for match in _DIGITS.finditer(text)):
        return "card"
    return None


def email_shaped(text: str) -> bool:
    """Whether ``text`` carries an e-mail address."""
    return "@" in text and _EMAIL.search(text[:_LOOKED_AT]) is not None


def secret_shaped(text: str) -> str | None:
    """The name of the secret's or personal datum's shape that ``text`` has, or ``None``. Stricter than
    :func:`known_secret`: an e-mail address and a long random run count too, a uuid and the desk's ids do not."""
    # A word of small letters has no shape: every prefix, address and number shows a sign, a digit or a capital.
    if text.isalpha() and text.islower():
        return None
    known = known_secret(text)
    if known is not None:
        return known
    if email_shaped(text):
        return "email"
    if len(text) < _SHORTEST_RANDOM:
        return None
    for match in _RUN.finditer(text[:_LOOKED_AT]):
        run = match.group()
        if _UUID.fullmatch(run) or _DESK_ID.fullmatch(run):
            continue
        if random_looking(run):
            return "random"
    return None


def random_looking(run: str) -> bool:
    """Whether a run of base-64 characters looks drawn rather than written: long, and mixed as words are not."""
    if len(run) >= 32 and _HEX.fullmatch(run) and len(set(run.lower())) >= 8:
        return True
    if len(set(run)) < 10:
        return False
    letters = [char for char in run if char.isalpha()]
    digits = sum(char.isdigit() for char in run)
    # Separators stand between words and numbers; what tells is the change within a word.
    changes = sum(_kind(left) != _kind(right) for left, right in pairwise(run) if left.isalnum() and right.isalnum())
    if digits >= 3 and changes >= len(run) // 4:
        return True
    upper = sum(char.isupper() for char in letters)
    return 0.35 * len(letters) <= upper <= 0.65 * len(letters) and changes >= len(run) // 3


def reference_shaped_like_secret(text: str) -> bool:
    """Whether a provider's result reference must be refused: empty, over 255 characters, not printable ASCII
    without white space, or carrying a secret or an address. References such as ``pi_3Qab…`` or a uuid pass."""
    if not 0 < len(text) <= _MAX_REFERENCE or any(not "!" <= char <= "~" for char in text):
        return True
    return known_secret(text) is not None or email_shaped(text)


def decoded(text: str) -> str | None:
    """What ``text`` says when read as base 64 (either alphabet, padded or not), if that is printable text."""
    body = text.strip().rstrip("=").replace("-", "+").replace("_", "/")
    if len(body) < 8 or len(body) % 4 == 1 or not body.isascii():
        return None
    try:
        plain = base64.b64decode(body + "=" * (-len(body) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None
    return plain if plain.isprintable() else None


def _kind(char: str) -> int:
    if char.isdigit():
        return 0
    return 1 if char.isupper() else 2


def _is_jwt(text: str) -> bool:
    for match in _JWT.finditer(text):
        head = decoded(match.group().partition(".")[0])
        if head is not None and head.startswith("{"):
            return True
    return False


def _is_card(text: str) -> bool:
    """The Luhn check over 13 to 19 digits (ISO/IEC 7812-1), for the numbers that card networks issue."""
    digits = [int(char) for char in text if char.isdigit()]
    if digits[0] not in (2, 3, 4, 5, 6) or len(set(digits)) == 1:
        return False
    total = 0
    for index, digit in enumerate(reversed(digits)):
        doubled = digit * 2 if index % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0
