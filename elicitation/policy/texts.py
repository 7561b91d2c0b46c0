"""What a person will read: hidden characters, links, and words that ask for a credential."""

from __future__ import annotations

import re
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.document import Document, Links
from elicitation.policy.place import Findings, Place
from elicitation.policy.shapes import known_secret

#: Characters that turn the reading direction: embeddings, overrides and directed isolates. Marks, and the isolates
#: that translation tools put around a name, turn nothing.
_TURNS: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067")
_PLAIN_CONTROLS: Final = frozenset("\t\n\r")

#: Every repetition is bounded, and none is nested, so that the search is linear. A bare host counts with a path,
#: or alone under a domain that people know as one; the host of an e-mail address does not.
_LINK: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://"
    r"|\b(?:javascript|data|mailto|tel|file|vbscript|intent):\S"
    r"|\bwww\."
    r"|\]\("
    r"|<\s{0,4}a\b"
    r"|(?<![A-Za-z0-9@.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}"
    r"(?:[A-Za-z]{2,24}(?::[0-9]{1,5})?/\S|(?:com|net|org|io|dev|app|co|info|biz|example|test)\b(?![.@]\w))",
    re.IGNORECASE,
)


def hidden_characters(text: str) -> bool:
    """Control characters other than tab and line ends, direction overrides, line separators, surrogates."""
    return any(
        (char < " " and char not in _PLAIN_CONTROLS)
        or "\x7f" <= char <= "\x9f"
        or char in _TURNS
        or "\ud800" <= char <= "\udfff"
        for char in text
    )


def carries_link(text: str) -> bool:
    """Whether a client might make a part of ``text`` clickable: an address, markdown, or HTML."""
    return _LINK.search(text) is not None


def check_text(text: str, place: Place, asks: Rule, document: Document, findings: Findings) -> None:
    """The checks of one text of a form: hidden characters, links, a secret's shape, and whether it asks for a
    credential, which is reported as ``asks``."""
    if hidden_characters(text):
        findings.add(Rule.TEXT_HIDDEN_CHARACTERS, place)
    if carries_link(text):
        denies = document.forms.links is Links.DENY
        findings.add(Rule.FORM_LINK if denies else Rule.FORM_LINK_FLAGGED, place)
    if known_secret(text) is not None:
        findings.add(Rule.FORM_CREDENTIAL_VALUE, place)
    if document.vocabulary.matcher().hit(text) is not None:
        findings.add(asks, place)
