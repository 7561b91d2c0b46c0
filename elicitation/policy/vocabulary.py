"""Does a text ask for a credential? Whole words of a detection copy, against terms and exceptions of the policy."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from elicitation.policy.shapes import decoded

#: Letters that a reader takes for Latin ones. Terms are folded alike, so that a Cyrillic term still meets itself.
_LOOKALIKES: Final = dict(
    zip(
        "авекмнорстухѕіјԁɡһԛԝѡӏьАВЕКМНОРСТУХЅІЈԌҺԚԜαβεικνορτυχγωηΑΒΕΖΗΙΚΜΝΟΡΤΥΧıɑɩʏɴʀʟ",
        "abekmhopctyxsijdghqwwlbABEKMHOPCTYXSIJGHQWaBeiKvoptuxywnABEZHIKMNOPTYXiaiynrl",
        strict=True,
    )
)
_FOLD: Final = str.maketrans(_LOOKALIKES)

#: Characters that show nothing, beside the category Cf: fillers, and the grapheme joiner.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")

#: From this length on a term is also found at either end of a compound: ``Benutzerpasswort``, ``userpassword``.
_COMPOUND: Final = 8
#: Spelled-out words (``p-a-s-s``) are joined from this many letters on.
_SPELLED: Final = 3
_PUNCTUATION: Final = ".,;:!?()[]<>\"'`"


def detection_copy(text: str) -> str:
    """The text as the vocabulary reads it, case kept: NFKC, invisible characters and stray marks removed,
    lookalikes folded. The original is never changed."""
    composed = unicodedata.normalize("NFKC", text)
    return "".join(char for char in composed if not _invisible(char)).translate(_FOLD)


def _invisible(char: str) -> bool:
    return char > "~" and (unicodedata.category(char) in ("Cf", "Mn") or char in _INVISIBLE)


def segments(text: str) -> tuple[str, ...]:
    """The words of a name or a sentence, case folded: snake, kebab, camel case, acronyms, digits apart."""
    words: list[str] = []
    word = ""
    copy = detection_copy(text)
    for index, char in enumerate(copy):
        if not char.isalnum():
            if word and not _inner_mark(char):
                words.append(word)
                word = ""
            continue
        if word and _new_word(word[-1], char, copy[index + 1 : index + 2]):
            words.append(word)
            word = ""
        word += char
    if word:
        words.append(word)
    return tuple(_join_spelled([word.casefold() for word in words]))


def _inner_mark(char: str) -> bool:
    """Spacing vowel signs stay inside a word, as Indic scripts write them."""
    return unicodedata.category(char) == "Mc"


def _new_word(previous: str, char: str, following: str) -> bool:
    if previous.isdigit() is not char.isdigit():
        return True
    if char.isupper():
        return previous.islower() or (previous.isupper() and following.islower())
    return False


def _join_spelled(words: list[str]) -> list[str]:
    joined: list[str] = []
    run: list[str] = []
    for word in [*words, ""]:
        if len(word) == 1:
            run.append(word)
            continue
        joined.extend(["".join(run)] if len(run) >= _SPELLED else run)
        run = []
        joined.append(word)
    return joined[:-1]


class Matcher:
    """The terms and exceptions of one policy, made ready for matching."""

    def __init__(self, deny: Iterable[str], allow: Iterable[str]) -> None:
        self._words: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        self._compounds: dict[str, str] = {}
        self._unspaced: dict[str, str] = {}
        for term in deny:
            parts = segments(term)
            fused = "".join(parts)
            for spelling in {parts, (fused,)}:
                self._words.setdefault(spelling[0], []).append((spelling, term))
            if len(fused) >= _COMPOUND and fused.isalpha():
                self._compounds[fused] = term
            if _without_spaces(fused):
                self._unspaced[fused] = term
        self._exceptions: dict[str, list[tuple[str, ...]]] = {}
        for phrase in allow:
            parts = segments(phrase)
            for spelling in {parts, ("".join(parts),)}:
                self._exceptions.setdefault(spelling[0], []).append(spelling)

    def hit(self, text: str) -> str | None:
        """The policy's term that ``text`` contains, or ``None``; a hit inside an exception does not count.
        Base-64 words are read as well. Source: operator policy, for R19."""
        found = self._hit(segments(text))
        if found is None and len(text) >= 8:
            for word in text.split():
                plain = decoded(word.strip(_PUNCTUATION))
                found = self._hit(segments(plain)) if plain else None
                if found is not None:
                    break
        return found

    def _hit(self, words: tuple[str, ...]) -> str | None:
        free = self._free(words)
        for index, word in enumerate(words):
            if not free[index]:
                continue
            for spelling, term in self._candidates(word):
                end = index + len(spelling)
                if all(free[index:end]) and _same(words[index:end], spelling):
                    return term
            found = self._part_of(word)
            if found is not None:
                return found
        return None

    def _candidates(self, word: str) -> Iterable[tuple[tuple[str, ...], str]]:
        for form in _singulars(word):
            yield from self._words.get(form, ())

    def _part_of(self, word: str) -> str | None:
        if len(word) > _COMPOUND:
            for fused, term in self._compounds.items():
                if word.startswith(fused) or word.endswith(fused):
                    return term
        for fused, term in self._unspaced.items():
            if fused in word:
                return term
        return None

    def _free(self, words: tuple[str, ...]) -> list[bool]:
        free = [True] * len(words)
        for index, word in enumerate(words):
            for phrase in self._exceptions.get(word, ()):
                end = index + len(phrase)
                if words[index:end] == phrase:
                    free[index:end] = [False] * len(phrase)
        return free


def _singulars(word: str) -> tuple[str, ...]:
    if len(word) > 3 and word.endswith("s"):
        return (word, word[:-1])
    return (word,)


def _same(words: tuple[str, ...], spelling: tuple[str, ...]) -> bool:
    return len(words) == len(spelling) and all(
        part in _singulars(word) for word, part in zip(words, spelling, strict=True)
    )


def _without_spaces(text: str) -> bool:
    """Scripts that write words without spaces: Han, kana, Hangul (particles follow), Thai."""
    return any(
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\u0e00" <= char <= "\u0e7f" for char in text
    )


@lru_cache(maxsize=16)
def matcher(deny: tuple[str, ...], allow: tuple[str, ...]) -> Matcher:
    """The matcher of one policy's vocabulary; the same terms give the same matcher."""
    return Matcher(deny, allow)
