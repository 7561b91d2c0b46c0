"""A text as the vocabulary reads it: the detection copy, and the words in it."""

from __future__ import annotations

import re
import unicodedata
from typing import Final


def _pairs(written: str, read: str) -> dict[str, str]:
    return dict(zip(written, read, strict=True))


#: Letters that a reader takes for Latin ones. Terms are folded alike, so that a Cyrillic term still meets itself.
_LOOKALIKES: Final = {
    **_pairs("авекмнорстухѕіјԁɡһԛԝѡӏьѵ", "abekmhopctyxsijdghqwwlbv"),
    **_pairs("АВЕКМНОРСТУХЅІЈԌҺԚԜѴ", "ABEKMHOPCTYXSIJGHQWV"),
    **_pairs("αβεικνορτυχγωη", "abeikvoptuxywn"),
    **_pairs("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    **_pairs("օոսհցԁ", "onuhgd"),
    **_pairs("ᎪᏴᏟᎠᎬᏀᎻᏆᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "ABCDEGHIJKLMPRSTVWZ"),
    **_pairs("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    **_pairs("ıɑɩłøđħŧŁØĐĦŦ", "iailodhtLODHT"),
    # Letters in boxes, discs and flags have no compatibility form.
    **{chr(start + n): chr(65 + n) for start in (0x1F150, 0x1F170, 0x1F1E6) for n in range(26)},
}
_FOLD: Final = str.maketrans(_LOOKALIKES)

#: Characters that show nothing, beside the category Cf: fillers, the grapheme joiner, variation selectors; and the
#: Arabic stretch.
_INVISIBLE: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0\u0640")
_SELECTORS: Final = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0))
#: From here on scripts write vowels as marks, which belong to the word.
_FIRST_VOWEL_SIGN: Final = "\u0900"
#: From here on scripts write words without spaces; a Latin word among them is one of its own.
_FIRST_UNSPACED: Final = "\u2e80"

_ASCII_WORD: Final = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
#: Spelled-out words (``p-a-s-s``) are joined from this many letters on; two are enough where a letter is a syllable.
_SPELLED: Final = 3
_SPELLED_SYLLABLES: Final = 2

_LEET_SPOT: Final = re.compile(r"[A-Za-z][013457@$!]|[013457@$!][A-Za-z]")
_LEET_RUN: Final = re.compile(r"[A-Za-z0-9@$!]+")
_LEET: Final = (str.maketrans("013457@$!", "oieastasi"), str.maketrans("013457@$!", "oleastasi"))


def detection_copy(text: str) -> str:
    """The text as the vocabulary reads it, case kept: compatibility forms and accents resolved, invisible characters
    and stray marks removed, lookalikes folded. The original is never changed."""
    if text.isascii():
        return text
    kept: list[str] = []
    for char in unicodedata.normalize("NFKD", text):
        if char <= "~" or not _dropped(char, kept[-1] if kept else ""):
            kept.append(char)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_FOLD)


def _dropped(char: str, previous: str) -> bool:
    if char in _INVISIBLE or any(ord(char) in selectors for selectors in _SELECTORS):
        return True
    category = unicodedata.category(char)
    if category in ("Mn", "Mc"):
        vowel = unicodedata.combining(char) in (0, 9) and previous >= _FIRST_VOWEL_SIGN
        return not vowel
    return category in ("Cf", "Me")


def segments(text: str) -> tuple[str, ...]:
    """The words of a name or a sentence, case folded: snake, kebab, camel case, acronyms, digits apart."""
    words = _apart(text)
    return tuple(words if 1 not in map(len, words) else _join_spelled(words))


def spelled(text: str) -> tuple[str, ...]:
    """The runs of single letters in a text, each in one piece, whatever letters stand before and after it."""
    words = _apart(text)
    if 1 not in map(len, words):
        return ()
    runs = "".join(word if len(word) == 1 and word.isalpha() else " " for word in words).split()
    return tuple(run for run in runs if len(run) >= _SPELLED)


def _apart(text: str) -> list[str]:
    copy = detection_copy(text)
    found = _ASCII_WORD.findall(copy) if copy.isascii() else _words(copy)
    return [word.casefold() for word in found]


def leet_readings(text: str) -> tuple[str, ...]:
    """What a text says when digits and signs inside its words stand for letters, where there are such words."""
    copy = detection_copy(text)
    if _LEET_SPOT.search(copy) is None:
        return ()
    return _read_leet(copy, _LEET[0]), _read_leet(copy, _LEET[1])


def _read_leet(copy: str, table: dict[int, int]) -> str:
    def read(run: re.Match[str]) -> str:
        return run.group().rstrip("!").translate(table) if _LEET_SPOT.search(run.group()) else run.group()

    return _LEET_RUN.sub(read, copy)


def unspaced(text: str) -> bool:
    """Whether a text holds scripts that write words without spaces: Han, kana, Hangul (particles follow), Thai."""
    return any(
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\u0e00" <= char <= "\u0e7f" for char in text
    )


def _words(copy: str) -> list[str]:
    words: list[str] = []
    word = ""
    for index, char in enumerate(copy):
        if not char.isalnum() and unicodedata.category(char)[0] != "M":
            if word:
                words.append(word)
                word = ""
            continue
        if word and _new_word(word[-1], char, copy[index + 1 : index + 2]):
            words.append(word)
            word = ""
        word += char
    if word:
        words.append(word)
    return words


def _new_word(previous: str, char: str, following: str) -> bool:
    if previous.isdigit() is not char.isdigit():
        return True
    if (previous < "\x7f" and char >= _FIRST_UNSPACED) or (previous >= _FIRST_UNSPACED and char < "\x7f"):
        return True
    if char.isupper():
        return previous.islower() or (previous.isupper() and following.islower())
    return False


def _join_spelled(words: list[str]) -> list[str]:
    joined: list[str] = []
    run: list[str] = []
    for word in [*words, ""]:
        if len(word) == 1 and not word.isdigit():
            run.append(word)
            continue
        least = _SPELLED_SYLLABLES if run and min(run) >= _FIRST_UNSPACED else _SPELLED
        joined.extend(["".join(run)] if len(run) >= least else run)
        run = []
        joined.append(word)
    return joined[:-1]
