"""What a person will read: hidden characters, links, and words that ask for a credential."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.document import Document, Links
from elicitation.policy.place import Findings, Place
from elicitation.policy.shapes import known_secret
from elicitation.policy.vocabulary import Matcher

#: Control characters other than tab and line ends, surrogates, and characters that turn the reading direction:
#: embeddings, overrides and directed isolates. Marks, and the isolates that translation tools put around a name, turn
#: nothing.
_HIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067\ud800-\udfff]")
#: Without one of these signs there is no link.
_LINK_SIGNS: Final = re.compile(r"[.:<\]]")

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
    """Control characters other than tab and line ends, direction overrides, surrogates."""
    return _HIDDEN.search(text) is not None


def carries_link(text: str) -> bool:
    """Whether a client might make a part of ``text`` clickable: an address, markdown, or HTML."""
    return _LINK_SIGNS.search(text) is not None and _LINK.search(text) is not None


@dataclass(slots=True)
class Reader:
    """Reads the texts of one form. Made once for it, as finding the policy's matcher takes longer than a short text."""

    document: Document
    findings: Findings
    matcher: Matcher = field(init=False)

    def __post_init__(self) -> None:
        self.matcher = self.document.vocabulary.matcher()

    def check(self, text: str, place: Place, asks: Rule) -> None:
        """The checks of one text: hidden characters, links, a secret's shape, and whether it asks for a credential,
        which is reported as ``asks``."""
        if hidden_characters(text):
            self.findings.add(Rule.TEXT_HIDDEN_CHARACTERS, place)
        if carries_link(text):
            denies = self.document.forms.links is Links.DENY
            self.findings.add(Rule.FORM_LINK if denies else Rule.FORM_LINK_FLAGGED, place)
        if known_secret(text) is not None:
            self.findings.add(Rule.FORM_CREDENTIAL_VALUE, place)
        if self.matcher.hit(text) is not None:
            self.findings.add(asks, place)

    def bounded(self, text: str, place: Place, asks: Rule = Rule.FORM_CREDENTIAL_TEXT) -> None:
        """:meth:`check`, and the policy's length for a text of a form."""
        if len(text) > self.document.forms.max_text:
            self.findings.add(Rule.FORM_TEXT_TOO_LONG, place)
        self.check(text, place, asks)


def check_text(text: str, place: Place, asks: Rule, document: Document, findings: Findings) -> None:
    """:meth:`Reader.check` for a text that stands alone, such as the message."""
    Reader(document, findings).check(text, place, asks)
