"""Marks: words that nobody else writes, one for each thing that somebody can fill, and a search that finds them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, Final

from django.db import connection

CANARY: Final = "Xq7CANARYz"


class Marks:
    """``marks("note")`` is a text that stands for the note, always the same; its spellings are told apart."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def __call__(self, what: str) -> str:
        return self.keep(what, f"{CANARY}{len(self._made)}xyz")

    def letters(self, what: str) -> str:
        """A mark of small letters, for places that take nothing else."""
        number = chr(97 + len(self._made) // 26) + chr(97 + len(self._made) % 26)
        return self.keep(what, f"canary{number}{number}zz")

    def digest(self, what: str) -> str:
        """A mark that is the hexadecimal SHA-256 of something secret."""
        return self.keep(what, hashlib.sha256(f"{CANARY}{what}".encode()).hexdigest())

    def keep(self, what: str, text: str) -> str:
        """Let ``text`` be the mark, unless there is one."""
        return self._made.setdefault(what, text)

    def found(self, data: bytes) -> set[str]:
        """What stands in ``data``: plain in any case, in hexadecimal, in base 64 at any offset, or hashed without a
        key."""
        lower = data.lower()
        return {
            what
            for what, text in self._made.items()
            if any(form in (lower if folded else data) for folded, form in _forms(text))
        }

    def of(self, *beginnings: str) -> set[str]:
        """The marks made so far whose names begin so."""
        return {what for what in self._made if what.startswith(beginnings)}


def _forms(text: str) -> Iterator[tuple[bool, bytes]]:
    """Each spelling to look for, and whether it is looked for in lower case."""
    plain = text.encode()
    yield True, plain.lower()
    yield True, plain.hex().encode()
    for before in range(3):
        # The first and the last four characters depend on what stands beside it, unless it fills them.
        stop = -4 if (before + len(plain)) % 3 else None
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield False, encode(b"\0" * before + plain)[4 if before else 0 : stop]
    for kind in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.sha512):
        digest = kind(plain, usedforsecurity=False).digest()
        yield True, digest.hex().encode()
        yield False, base64.b64encode(digest).rstrip(b"=")


def tables() -> dict[str, bytes]:
    """Every row of every table of the database as text, whether or not a model knows it."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}"')
            found[table] = b"\n".join(b"\t".join(map(_told, row)) for row in cursor.fetchall())
    return found


def whole_database() -> bytes:
    """What would be written to disk: on SQLite the file itself, with what was deleted and not yet overwritten."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        return bytes(connection.connection.serialize())
    return b"\n".join(tables().values())


def _told(value: Any) -> bytes:
    if isinstance(value, bytes | memoryview):
        return bytes(value) + b" " + bytes(value).hex().encode()
    return str(value).encode()
