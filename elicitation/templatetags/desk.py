"""Filters for the desk's pages: strangers' text made visible, times in UTC, spans of time, ids as people paste them."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from elicitation.policy import identifiers

register = template.Library()

#: Control, format, surrogate, private, unassigned characters and line separators: unseen, or able to turn what is seen.
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


@register.filter
def visible(value: object) -> str:
    """``value`` with every hidden character spelled out, such as ``[U+202E]``. To be escaped as any other text."""
    return "".join(
        f"[U+{ord(char):04X}]" if unicodedata.category(char) in _HIDDEN else char
        for char in str("" if value is None else value)
    )


@register.filter
def foreign(value: object) -> SafeString:
    """A name that a stranger chose: :func:`visible`, and unable to turn the direction of its neighbours."""
    return format_html("<bdi>{}</bdi>", visible(value))


@register.filter
def utc(value: datetime | None) -> SafeString | str:
    """A moment to the second, which says that it is UTC; empty for none."""
    if value is None:
        return ""
    value = value.astimezone(UTC)
    return format_html('<time datetime="{}">{} UTC</time>', value.isoformat(), f"{value:%Y-%m-%d %H:%M:%S}")


@register.filter
def span(value: timedelta) -> str:
    """A span of time in at most two units: ``45 s``, ``3 min``, ``2 h 5 min``, ``4 d 3 h``; never below zero."""
    seconds = max(0, int(value.total_seconds()))
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if minutes == 0:
        return f"{seconds} s"
    if hours == 0:
        return f"{minutes} min"
    if days == 0:
        return f"{hours} h {minutes % 60} min"
    return f"{days} d {hours % 24} h"


@register.filter
def elc(uid: UUID) -> str:
    """The desk's spelling of an elicitation's id."""
    return identifiers.mint_text(uid.bytes)


@register.filter
def words(code: str) -> str:
    """A code of a closed list as words: ``RETRY_REQUIRED`` is ``Retry required``."""
    return code.replace("_", " ").capitalize()


@register.filter
def names(name: str, party: object) -> bool:
    """Whether ``name`` says more than the slug that stands for ``party``, such as ``acme/booking``."""
    spelled = str(party).lower()
    return name.strip().lower() not in ("", spelled, spelled.rpartition("/")[2])
