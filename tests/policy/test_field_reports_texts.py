"""Field reports on the texts of a form, credentials and links: each named row as a test of its whole kind."""

import json

import pytest

from elicitation.policy.document import DEFAULT_DOCUMENT, lay_over
from tests.policy.asking import DOCUMENT, STRING, ask_form, first, forms, placed, rules

PLACES = {
    "message": "/request/message",
    "name": "/request/requestedSchema/properties/#0",
    "title": "/request/requestedSchema/properties/#0/title",
    "description": "/request/requestedSchema/properties/#0/description",
    "comment": "/request/requestedSchema/properties/#0/$comment",
    "choice": "/request/requestedSchema/properties/#0/enum/1",
    "name of a choice": "/request/requestedSchema/properties/#0/enumNames/1",
    "title of a choice": "/request/requestedSchema/properties/#0/oneOf/0/title",
    "value of a choice": "/request/requestedSchema/properties/#0/oneOf/0",
    "default": "/request/requestedSchema/properties/#0/default",
    "example": "/request/requestedSchema/properties/#0/examples",
    "title of the form": "/request/requestedSchema/title",
    "description of the form": "/request/requestedSchema/description",
}
every_place = pytest.mark.parametrize("place", PLACES)


@every_place
@pytest.mark.parametrize(
    "text",
    ["password", "API key", "paste the token here", "Use my password", "type your card number", "пароль", "密码"],
)
def test_b14_a_secret_asked_for_is_denied_with_the_place_and_no_other_way(place: str, text: str) -> None:
    ruling = placed(place, text)
    assert first(ruling).startswith("form.credential_")
    deciding = ruling.decision.deciding
    assert deciding is not None
    assert deciding.place == PLACES[place]
    shown = ruling.decision.as_json()
    assert shown["fallback"] == "none"
    assert shown["requestedMode"] == "form"
    assert ruling.request is None
    if place != "name":
        assert text not in json.dumps(shown, ensure_ascii=False)


@every_place
def test_b14_a_secret_given_away_is_denied_in_every_place(place: str) -> None:
    for text in ("sk-" + "abcdefgh12345678", "4242 4242 4242 4242", "Bearer " + "abcdefgh12345678"):
        ruling = placed(place, text)
        assert "form.credential_value" in rules(ruling)
        assert text not in json.dumps(ruling.decision.as_json())


@pytest.mark.parametrize(
    "shape", ["password", "PASSWORD", "secret", "token", "new-password", "one-time-code", "cc-number"]
)
def test_b14_a_format_that_the_protocol_does_not_have_hides_no_secret(shape: str) -> None:
    ruling = ask_form({"field": {**STRING, "format": shape}})
    assert not ruling.decision.admitted
    assert first(ruling) in ("form.credential_format", "form.format")


@pytest.mark.parametrize("mark", [True, 1, "yes", {}], ids=repr)
def test_b14_a_field_that_is_only_written_is_a_secret(mark: object) -> None:
    assert first(ask_form({"field": {**STRING, "writeOnly": mark}})) == "form.credential_format"
    assert rules(ask_form({"field": {**STRING, "writeOnly": False}})) == []


@every_place
@pytest.mark.parametrize("text", ["full_name", "email", "username", "phone", "Your e-mail address"])
def test_b14_profile_data_is_admitted_in_every_place(place: str, text: str) -> None:
    assert rules(placed(place, text)) == []


ORDINARY = ["max_tokens", "token_count", "tokenizer", "author", "authorized_region", "secretary_name",
            "keyboard_layout", "primary_key_column", "passport_country", "pin_to_top", "shipping_pin_code",
            "compass_heading",
            "The price is risk-adjusted."]  # fmt: skip
SECRET = ["token", "apiKey", "api-key", "APIKEY", "accessToken", "passwd2", "card_pin", "cvv", "otp", "client_secret",
          "seed_phrase"]  # fmt: skip


def spellings(name: str) -> list[str]:
    """A name of several words as code writes it in other places."""
    words = name.replace("-", "_").split("_")
    camel = words[0] + "".join(word.capitalize() for word in words[1:])
    return [name, "_".join(words), "-".join(words), " ".join(words), ".".join(words), camel,
            camel[:1].upper() + camel[1:], name.upper(), f"my_{name}", f"{name}_2", f"{name}s"]  # fmt: skip


@every_place
def test_b48_a_word_that_only_contains_a_credential_is_admitted_in_every_place(place: str) -> None:
    for text in ORDINARY:
        assert rules(placed(place, text)) == [], text


@pytest.mark.parametrize("name", [name for name in ORDINARY if " " not in name])
def test_b48_an_ordinary_name_is_admitted_however_it_is_spelled(name: str) -> None:
    for spelling in spellings(name):
        assert rules(placed("name", spelling)) == [], spelling


@pytest.mark.parametrize("name", SECRET)
def test_b48_a_credentials_name_is_denied_however_it_is_spelled(name: str) -> None:
    for spelling in spellings(name):
        assert first(placed("name", spelling)) == "form.credential_name", spelling


def test_b48_an_exception_is_data_of_the_policy_and_covers_its_own_words_only() -> None:
    vocabulary = DEFAULT_DOCUMENT.as_json()["vocabulary"]
    assert isinstance(vocabulary, dict)
    wider = lay_over(DOCUMENT, {"vocabulary": {**vocabulary, "allow": [*vocabulary["allow"], "parking token"]}})
    for name, admitted in (("parking_token", True), ("parkingToken", True), ("token", False), ("token_parking", False)):
        assert ask_form({name: STRING}, under=wider).decision.admitted is admitted
    assert not ask_form({"parking_token": STRING}).decision.admitted


WORDS = ["password", "apikey", "passphrase", "secret", "credential"]
DISGUISES = {
    "zero-width space": lambda word: "\u200b".join(word),
    "word joiner": lambda word: word[:3] + "\u2060" + word[3:],
    "soft hyphen": lambda word: word[:2] + "\u00ad" + word[2:],
    "byte order mark": lambda word: word[:2] + "\ufeff" + word[2:],
    "variation selector": lambda word: word[:2] + "\ufe0f" + word[2:],
    "tag characters": lambda word: word[:2] + "\U000e0041" + word[2:],
    "fullwidth": lambda word: "".join(chr(ord(char) + 0xFEE0) for char in word),
    "mathematical": lambda word: "".join(chr(ord(char) - 97 + 0x1D41A) for char in word),
    "circled": lambda word: "".join(chr(ord(char) - 97 + 0x24D0) for char in word),
    "squared": lambda word: "".join(chr(ord(char) - 97 + 0x1F170) for char in word),
    "Cyrillic": lambda word: word.translate(str.maketrans("aeopcysi", "аеорсуѕі")),
    "Greek": lambda word: word.translate(str.maketrans("aoik", "αοικ")),
    "combining strokes": lambda word: "\u0336".join(word),
    "accents": lambda word: word.translate(str.maketrans("aeio", "áèïõ")),
    "hyphens": lambda word: "-".join(word),
    "spaces": lambda word: " ".join(word),
    "underscores": lambda word: "_".join(word),
    "dots and capitals": lambda word: ".".join(word.upper()),
    "a break": lambda word: word[:4] + " " + word[4:],
    "pairs": lambda word: "-".join(word[start : start + 2] for start in range(0, len(word), 2)),
    "digits": lambda word: word.translate(str.maketrans("aeios", "43105")),
    "signs": lambda word: word.translate(str.maketrans("as", "@$")),
}


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("word", WORDS)
def test_b49_a_disguised_word_is_denied_and_the_text_is_left_as_it_was(word: str, disguise: str) -> None:
    text = DISGUISES[disguise](word)
    for place in ("name", "title", "description", "message", "choice"):
        ruling = placed(place, text if place != "message" else f"Please give us your {text}.")
        assert any(rule.startswith("form.credential_") for rule in rules(ruling)), (place, text)


@pytest.mark.parametrize("text", ["senhora_nome", "clave_producto", "mot_cle", "parola_chiave", "Kennzeichen", "Hałas"])
def test_b49_a_word_that_is_a_secret_in_no_language_is_admitted(text: str) -> None:
    for place in ("name", "title", "description", "message", "choice", "default"):
        assert rules(placed(place, text)) == []


LINKS = ["https://evil.example/pay", "http://evil.example", "HTTPS://EVIL.EXAMPLE/", "[pay](https://evil.example)",
         "[pay](x)", "evil.example/pay", "www.evil.example", '<a href="https://evil.example">pay</a>', "< a href=x>",
         "mailto:a@b.example", "javascript:alert(1)", "data:text/html,x", "tel:+4930123456", "ftp://evil.example",
         "//evil.example/pay",
         "xn--p1ai.example/pay", "evil.example:8443/pay", "slack://open", "evil.com"]  # fmt: skip


@every_place
def test_b64_a_link_is_denied_in_every_place_or_flagged_where_the_policy_says_so(place: str) -> None:
    for link in LINKS:
        assert "form.link" in rules(placed(place, f"See {link}")), link


@pytest.mark.parametrize("link", LINKS)
def test_b64_a_flagged_link_is_admitted_unchanged_and_reported(link: str) -> None:
    ruling = ask_form({"field": STRING}, message=f"See {link} now", under=forms(links="flag"))
    assert rules(ruling) == ["form.link_flagged"]
    assert ruling.request is not None
    assert ruling.request["message"] == f"See {link} now"
    assert link not in json.dumps(ruling.decision.as_json())


SIGNS = ["\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\x00", "\x08", "\x1b", "\x7f", "\x9b"]


@every_place
def test_b64_a_text_that_turns_around_or_hides_is_denied_in_every_place(place: str) -> None:
    for sign in SIGNS:
        assert "text.hidden_characters" in rules(placed(place, f"Pay{sign} here")), repr(sign)
