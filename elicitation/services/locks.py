"""Locks that are not rows: for what several digests stand for while keys are rotated."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection


def hold(candidates: Sequence[str]) -> None:
    """While keys are rotated, processes digest the same thing under different keys, so that no unique column sees it
    twice: hold it until the transaction ends. All processes agree on the least of the ``candidates``.

    With one live key, and on SQLite, which has one writer, there is nothing to hold.
    """
    if len(candidates) > 1 and connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [min(candidates)])
