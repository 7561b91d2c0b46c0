"""Does a text ask for a credential? Whole words of a detection copy, against terms and exceptions of the policy."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from elicitation.policy.shapes import decoded
from elicitation.policy.words import detection_copy, leet_readings, segments, spelled, unspaced

__all__ = ["Matcher", "detection_copy", "matcher", "segments"]

#: From this length on a term is also found inside a compound: ``Benutzerpasswort``, ``newpasswordconfirm``.
_COMPOUND: Final = 8
#: From this length on a term is also found when it is split in two: ``pass word``.
_SPLIT: Final = 6
#: Words of at most this length may be pieces of a term that is split in many: ``pa ss wo rd``.
_PIECE: Final = 3
#: Terms of scripts without spaces are found across spaces from this length on.
_ACROSS: Final = 3
#: The sign in a term for words between, and how many there may be.
_GAP: Final = "…"
_MAX_GAP: Final = 3
#: From this length on a term is found among single letters: ``give us a p i n``.
_LETTERS: Final = 3
_MIN_BASE64: Final = 8
#: A service asks with the same names and labels again and again: so many of them, up to this length, are remembered.
_REMEMBERED: Final = 100
_MAX_REMEMBERED: Final = 4096
_PUNCTUATION: Final = ".,;:!?()[]<>\"'`"
#: Words that are written onto the next one: and, the, in, to, from, that. One or two of them in Hebrew.
_HEBREW: Final = re.compile(r"(?=[ושבלכמה]{1,2}[א-ת]{3})")
_ARABIC: Final = re.compile(r"[وف]?[بلك]?(?:ال)?(?=[ء-ي]{2})")


@dataclass(frozen=True, slots=True)
class _Part:
    """One word of a term: exact, or the beginning of a word; with or without other words before it."""

    word: str
    begins: bool = False
    gap: bool = False

    def fits(self, forms: tuple[str, ...]) -> bool:
        if self.begins:
            return any(form.startswith(self.word) for form in forms)
        return self.word in forms


@dataclass(frozen=True, slots=True)
class _Term:
    text: str
    first: _Part
    rest: tuple[_Part, ...]

    @property
    def fused(self) -> str:
        """The letters of a term without gaps, in one piece."""
        return "" if any(part.gap for part in self.rest) else "".join(part.word for part in (self.first, *self.rest))


def _term(text: str) -> _Term:
    parts: list[_Part] = []
    gap = False
    for piece in text.split():
        if piece == _GAP:
            gap = True
            continue
        words = segments(piece)
        for index, word in enumerate(words):
            last = index == len(words) - 1
            parts.append(_Part(word, begins=last and piece.endswith("*"), gap=gap and bool(parts)))
            gap = False
    return _Term(text, parts[0], tuple(parts[1:]))


class Matcher:
    """The terms and exceptions of one policy, made ready for matching."""

    def __init__(self, deny: Iterable[str], allow: Iterable[str]) -> None:
        terms = [_term(text) for text in deny if segments(text)]
        self._terms = _Index(terms)
        self._exceptions = _Index([_term(text) for text in allow if segments(text)])
        self._remembered = lru_cache(maxsize=_MAX_REMEMBERED)(self._read)
        fused = {term.fused: term.text for term in terms if term.fused}
        latin = {letters: text for letters, text in fused.items() if letters.isalpha() and not unspaced(letters)}
        self._split = {letters: text for letters, text in latin.items() if len(letters) >= _SPLIT}
        self._compounds: dict[str, list[str]] = {}
        for letters in latin:
            if len(letters) >= _COMPOUND:
                self._compounds.setdefault(letters[:_COMPOUND], []).append(letters)
        self._fused = fused
        self._spelled = [letters for letters in latin if len(letters) >= _LETTERS]
        self._unspaced = _alternatives(letters for letters in fused if unspaced(letters))
        self._across = _alternatives(letters for letters in fused if unspaced(letters) and len(letters) >= _ACROSS)
        self._harmless = _alternatives(
            letters for letters in ("".join(segments(text)) for text in allow) if unspaced(letters)
        )

    def hit(self, text: str) -> str | None:
        """The policy's term that ``text`` contains, or ``None``; a hit inside an exception does not count.
        Digits and signs that stand for letters and base-64 words are read as well. Source: operator policy, for
        R19."""
        return self._remembered(text) if len(text) <= _REMEMBERED else self._read(text)

    def _read(self, text: str) -> str | None:
        found = self._hit(segments(text))
        if found is None and not text.isascii():
            # Some capitals are taken for other Latin letters than their small ones.
            found = self._hit(segments(text.lower()))
        if found is None:
            for run in spelled(text):
                found = found or next((self._fused[letters] for letters in self._spelled if letters in run), None)
            for reading in leet_readings(text):
                found = found or self._hit(segments(reading))
        if found is None and len(text) >= _MIN_BASE64:
            for plain in _base64(text):
                found = found or self._hit(segments(plain))
        return found

    def _hit(self, words: tuple[str, ...]) -> str | None:
        every = [_forms(word) for word in words]
        # Exceptions are read only where there is something to except.
        if self._found(words, every, [True] * len(words)) is None:
            return None
        return self._found(words, every, self._free(every))

    def _found(self, words: tuple[str, ...], every: Sequence[tuple[str, ...]], free: Sequence[bool]) -> str | None:
        short = 0
        for index, word in enumerate(words):
            short += len(word) <= _PIECE
            if free[index]:
                found = self._starting(every, free, index) or self._inside(word)
                if found is None and index + 1 < len(words) and free[index + 1]:
                    found = next(filter(None, map(self._split.get, _forms(word + words[index + 1]))), None)
                if found is not None:
                    return found
        found = self._pieces(words, free) if short * _PIECE >= _SPLIT else None
        return found or self._spaced(words)

    def _starting(self, every: Sequence[tuple[str, ...]], free: Sequence[bool], index: int) -> str | None:
        for term in self._terms.starting(every[index]):
            end = _end(term.rest, every, index + 1)
            if end is not None and all(free[index:end]):
                return term.text
        return None

    def _inside(self, word: str) -> str | None:
        """A term within a compound, or within a word of a script that writes none apart."""
        for start in range(len(word) - _COMPOUND + 1):
            for letters in self._compounds.get(word[start : start + _COMPOUND], ()):
                if word.startswith(letters, start):
                    return self._fused[letters]
        if self._unspaced is None or word.isascii() or not unspaced(word):
            return None
        return self._search(self._unspaced, word)

    def _pieces(self, words: tuple[str, ...], free: Sequence[bool]) -> str | None:
        """A term in many short pieces."""
        run = ""
        for index, word in enumerate([*words, ""]):
            if 0 < len(word) <= _PIECE and free[index] and word.isalpha():
                run += word
            elif run:
                found = self._split.get(run) or self._inside(run)
                if found is not None:
                    return found
                run = ""
        return None

    def _spaced(self, words: tuple[str, ...]) -> str | None:
        """A term of a script without spaces, written with some."""
        whole = "".join(words)
        if self._across is None or len(words) < 2 or whole.isascii() or not unspaced(whole):
            return None
        return self._search(self._across, whole)

    def _search(self, terms: re.Pattern[str], text: str) -> str | None:
        found = terms.search(self._harmless.sub(" ", text) if self._harmless else text)
        return self._fused[found.group()] if found else None

    def _free(self, every: Sequence[tuple[str, ...]]) -> list[bool]:
        free = [True] * len(every)
        for index, forms in enumerate(every):
            for phrase in self._exceptions.starting(forms):
                end = _end(phrase.rest, every, index + 1)
                if end is not None:
                    free[index:end] = [False] * (end - index)
        return free


class _Index:
    """Terms by their first words: whole ones by the word, beginnings by their first letters."""

    _LETTERS: Final = 3

    def __init__(self, terms: Iterable[_Term]) -> None:
        self._whole: dict[str, list[_Term]] = {}
        self._begins: dict[str, list[_Term]] = {}
        for term in terms:
            self._add(term)
            if term.rest and term.fused:
                self._add(_Term(term.text, _Part(term.fused, begins=term.rest[-1].begins), ()))

    def _add(self, term: _Term) -> None:
        if term.first.begins:
            self._begins.setdefault(term.first.word[: self._LETTERS], []).append(term)
        else:
            self._whole.setdefault(term.first.word, []).append(term)

    def starting(self, forms: tuple[str, ...]) -> Sequence[_Term]:
        """The terms whose first word one of a word's forms is."""
        found: list[_Term] = []
        for form in forms:
            if form in self._whole:
                found += self._whole[form]
            for term in self._begins.get(form[: self._LETTERS], ()):
                if form.startswith(term.first.word):
                    found.append(term)
        return found


def _alternatives(letters: Iterable[str]) -> re.Pattern[str] | None:
    found = sorted(letters, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, found))) if found else None


def _forms(word: str) -> tuple[str, ...]:
    """The word, its singular, and what is left without the short words that are written onto it."""
    plain = (word, word[:-1]) if word[-1] == "s" and len(word) > 3 else (word,)
    if word.isascii():
        return plain
    if _HEBREW.match(word):
        return (*plain, word[1:], word[2:])
    prefix = _ARABIC.match(word)
    return (*plain, word[prefix.end() :]) if prefix and prefix.end() else plain


def _end(rest: tuple[_Part, ...], every: Sequence[tuple[str, ...]], index: int) -> int | None:
    """Where the rest of a term ends in the words that begin at ``index``, or ``None`` when it is not there."""
    if not rest:
        return index
    part = rest[0]
    for start in range(index, min(index + (_MAX_GAP if part.gap else 0) + 1, len(every))):
        if part.fits(every[start]):
            end = _end(rest[1:], every, start + 1)
            if end is not None:
                return end
    return None


def _base64(text: str) -> Iterator[str]:
    """What the words of a text say in base 64. Words that are written in one case are no base 64."""
    for piece in text.split():
        word = piece.strip(_PUNCTUATION)
        if len(word) >= _MIN_BASE64 and not word[1:].islower() and not word.isdigit():
            plain = decoded(word)
            if plain:
                yield plain


#: Matchers by the identity of their lists, which they keep alive; hashing a thousand terms takes longer than a match.
_READY: Final[dict[tuple[int, int], tuple[tuple[str, ...], tuple[str, ...], Matcher]]] = {}
_MAX_READY: Final = 64


def matcher(deny: tuple[str, ...], allow: tuple[str, ...]) -> Matcher:
    """The matcher of one policy's vocabulary; the same terms give the same matcher."""
    ready = _READY.get((id(deny), id(allow)))
    if ready is None:
        if len(_READY) >= _MAX_READY:
            _READY.clear()
        ready = (deny, allow, _matcher(deny, allow))
        _READY[id(deny), id(allow)] = ready
    return ready[2]


@lru_cache(maxsize=16)
def _matcher(deny: tuple[str, ...], allow: tuple[str, ...]) -> Matcher:
    return Matcher(deny, allow)
