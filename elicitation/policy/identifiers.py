"""Correlation ids: what kind an offered id is, and the desk's own spelling of 16 random bytes."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.decision import IdClass
from elicitation.policy.shapes import decoded, email_shaped, known_secret

PREFIX: Final = "elc_"
_BODY: Final = re.compile(r"[a-z2-7]{26}")
_MAX_LENGTH: Final = 128
_ALPHABET: Final = re.compile(r"[A-Za-z0-9._~-]+")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-([0-9a-f])[0-9a-f]{3}-([0-9a-f])[0-9a-f]{3}-[0-9a-f]{12}", re.I)
_PHONE: Final = re.compile(r"\+?[0-9]{7,15}")
_COUNTED: Final = re.compile(r"[A-Za-z]{0,12}[0-9]+")
_SPLIT: Final = re.compile(r"[._~-]+")
#: Letters only, and no five consonants in a row: written by a person, as far as a shape can tell.
_CONSONANTS: Final = re.compile(r"[bcdfghjklmnpqrstvwxz]{5}", re.I)
_OBVIOUSLY_SHORT: Final = 4

#: The rule that refuses each class; a class without one is admitted.
REFUSED_BY: Final[dict[IdClass, Rule]] = {
    IdClass.TOO_SHORT: Rule.ID_TOO_SHORT,
    IdClass.STRUCTURED: Rule.ID_STRUCTURED,
    IdClass.SEQUENTIAL: Rule.ID_SEQUENTIAL,
    IdClass.PERSONAL: Rule.ID_PERSONAL,
    IdClass.TOKEN: Rule.ID_TOKEN,
}


def mint_text(raw: bytes) -> str:
    """The desk's spelling of 16 bytes: ``elc_`` and 26 lower-case base-32 characters (RFC 4648, no padding)."""
    if len(raw) != 16:
        raise ValueError("an id is made of 16 bytes")
    return PREFIX + base64.b32encode(raw).decode("ascii").rstrip("=").lower()


def parse(text: str) -> bytes | None:
    """The 16 bytes of an id of the desk, or ``None`` unless ``text`` is exactly their canonical spelling."""
    if not text.startswith(PREFIX) or not _BODY.fullmatch(text[len(PREFIX) :]):
        return None
    try:
        raw = base64.b32decode(text[len(PREFIX) :].upper() + "======")
    except binascii.Error:
        return None
    return raw if mint_text(raw) == text else None


def classify(text: str, min_length: int) -> IdClass:
    """The class of an offered id; ``min_length`` in characters. Of these, three fifths must lie outside words and
    counters, so that a long prefix does not pass for randomness. Source: operator policy, for R17."""
    if not text:
        return IdClass.MISSING
    if parse(text) is not None:
        return IdClass.MINTED
    if known_secret(text) is not None:
        return IdClass.TOKEN
    plain = decoded(text)
    if "@" in text or email_shaped(plain or "") or (_PHONE.fullmatch(text) and text.startswith("+")):
        return IdClass.PERSONAL
    if len(text) < _OBVIOUSLY_SHORT:
        return IdClass.TOO_SHORT
    if len(text) > _MAX_LENGTH or not _ALPHABET.fullmatch(text):
        return IdClass.STRUCTURED
    uuid = _UUID.fullmatch(text)
    if uuid is not None and len(set(text)) > 6:
        return IdClass.UUID4 if uuid[1] == "4" and uuid[2].lower() in "89ab" else IdClass.STRUCTURED
    return _judge_parts(text, min_length)


def _judge_parts(text: str, min_length: int) -> IdClass:
    parts = [part for part in _SPLIT.split(text) if part]
    drawn = [part for part in parts if not _is_word(part) and not _COUNTED.fullmatch(part)]
    if not drawn:
        counted = any(_COUNTED.fullmatch(part) for part in parts)
        return IdClass.SEQUENTIAL if counted else IdClass.STRUCTURED
    characters = "".join(drawn)
    if len(text) < min_length or len(characters) < min_length * 3 // 5:
        return IdClass.TOO_SHORT
    if len(set(characters)) < min(8, len(characters) * 2 // 3):
        return IdClass.STRUCTURED
    return IdClass.OPAQUE


def _is_word(part: str) -> bool:
    if not part.isalpha():
        return False
    inner = part[1:]
    one_case = part.islower() or part.isupper() or inner.islower()
    return len(part) < 3 or (one_case and not _CONSONANTS.search(part))
