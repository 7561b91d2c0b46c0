"""What a person will read: hidden characters, links, and words that ask for a credential."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from elicitation.policy.codes import Rule
from elicitation.policy.document import Document, Links
from elicitation.policy.place import Findings, Place
from elicitation.policy.shapes import known_secret
from elicitation.policy.vocabulary import Matcher, detection_copy

#: Control characters other than tab and line ends, surrogates, and characters that turn the reading direction:
#: embeddings, overrides and directed isolates. Marks, and the isolates that translation tools put around a name, turn
#: nothing.
_HIDDEN: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066\u2067\ud800-\udfff]")
#: Without one of these signs there is no link; the last ones are full stops of host names (UTS 46).
_LINK_SIGNS: Final = re.compile("[.:<\\]/\u2024\u3002\ufe52\uff0e\uff61]")

#: Domains that people know as such. A country whose letters are a word or end a file's name (it, is, me, py, sh, …)
#: is none of them: its hosts count with a path only.
_GENERIC: Final = "com|net|org|io|dev|app|co|info|biz|example|test"
_COUNTRY: Final = (
    "ai|au|br|ca|ch|cn|cz|de|dk|edu|eu|fi|fr|gov|gr|hk|hu|ie|jp|kr|mil|mx|nl|nz|pt|ru|sk|tr|tw|ua|uk|xyz|za"
)
_WORD_ENDS: Final = "(?![A-Za-z0-9_])"
#: A bare host counts with a path, or alone under a domain that people know; the host of an e-mail address does not.
#: An address counts with a path that is no length of a network's prefix.
_HOST_TEXT: Final = (
    r"(?<![A-Za-z0-9@.-])(?:"
    r"(?:[A-Za-z0-9-]{1,63}\.){1,8}"
    rf"(?:[A-Za-z]{{2,24}}(?::[0-9]{{1,5}})?/\S|(?:{_GENERIC}){_WORD_ENDS}(?![.@]\w))"
    r"|(?:[A-Za-z0-9-]{1,63}\.){0,6}[A-Za-z0-9-]{3,63}\.(?:(?:co|com|net|org|ac|gov|edu)\.)?"
    rf"(?:{_COUNTRY}){_WORD_ENDS}(?![.@-]\w)"
    r"|(?:localhost|(?:[0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f:.]{2,45}\])"
    r"(?::[0-9]{1,5})?/(?![0-9]{1,2}(?![\w/?#&=%-]))\S"
    r")"
)
_HOST: Final = re.compile(_HOST_TEXT, re.IGNORECASE)
#: Every repetition is bounded, and none is nested, so that the search is linear. Of elements those count that lead
#: somewhere, load or run something, and any with an attribute; ``<name>`` may stand for a name.
_LINK: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{0,20}://"
    r"|\b(?:javascript|data|mailto|tel|file|vbscript|intent):\S"
    r"|\bwww\."
    r"|\]\("
    r"|<\s{0,4}(?:a|img|image|svg|math|script|style|iframe|frame|object|embed|applet|video|audio|form|input|button"
    r"|base|meta)\b"
    r"|<[A-Za-z][A-Za-z0-9:-]{0,20}[\s/]{1,4}[A-Za-z:@-]{1,30}\s{0,4}=|" + _HOST_TEXT,
    re.IGNORECASE,
)
#: The full stop of Chinese and Japanese ends sentences too; only before a known domain it is one of a host.
_STOP: Final = re.compile(f"\u3002(?=(?:{_GENERIC}|{_COUNTRY}){_WORD_ENDS})", re.IGNORECASE)


def hidden_characters(text: str) -> bool:
    """Control characters other than tab and line ends, direction overrides, surrogates."""
    return _HIDDEN.search(text) is not None


def carries_link(text: str) -> bool:
    """Whether a client might make a part of ``text`` clickable: an address, markdown, or HTML. Fullwidth letters,
    lookalikes and other full stops are read as a browser's address bar reads them, or a person."""
    if _LINK_SIGNS.search(text) is None:
        return False
    if _LINK.search(text) is not None:
        return True
    return not text.isascii() and _HOST.search(_STOP.sub(".", detection_copy(text))) is not None


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

    def extension(self, keyword: str, value: object, place: Place) -> None:
        """A keyword of nobody's schema (``x-…``), which is passed on and which some client may show: the texts in
        it, and its own name, are read like any other."""
        for text in (keyword[2:], *texts_within(value)):
            self.check(text, place, Rule.FORM_CREDENTIAL_TEXT)

    def written(self, name: str, place: Place) -> None:
        """The name of a field that a person fills in freely: one named ``credit_card`` asks for its number, where a
        choice of that name does not. A term of two words says too little here: not every card has such a number."""
        term = self.matcher.hit(f"{name} number")
        if term is not None and term.endswith(" number") and term.count(" ") > 1:
            self.findings.add(Rule.FORM_CREDENTIAL_NAME, place)

    def bounded(self, text: str, place: Place, asks: Rule = Rule.FORM_CREDENTIAL_TEXT) -> None:
        """:meth:`check`, and the policy's length for a text of a form."""
        if len(text) > self.document.forms.max_text:
            self.findings.add(Rule.FORM_TEXT_TOO_LONG, place)
        self.check(text, place, asks)


def texts_within(value: object) -> Iterator[str]:
    """Every text of a JSON value, names included. The walk does not recurse."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, (dict, Mapping)):
            left += item.keys()
            left += item.values()
        elif isinstance(item, (list, tuple)):
            left += item


def carries_secret(value: object) -> bool:
    """Whether a JSON value that is passed on, and shown to nobody, holds what is a secret beyond doubt."""
    return any(known_secret(text) is not None for text in texts_within(value))


def check_text(text: str, place: Place, asks: Rule, document: Document, findings: Findings) -> None:
    """:meth:`Reader.check` for a text that stands alone, such as the message."""
    Reader(document, findings).check(text, place, asks)
