"""The vocabulary's fixtures: what must be denied, and what must not."""

import base64

import pytest

from elicitation.policy.document import DEFAULT_DOCUMENT, lay_over
from elicitation.policy.vocabulary import Matcher, detection_copy, segments
from elicitation.policy.words import leet_readings

hit = DEFAULT_DOCUMENT.vocabulary.matcher().hit

ADMITTED = [
    "max_tokens", "token_count", "tokenizer", "author", "authorized_region", "secretary_name", "keyboard_layout",
    "primary_key_column", "passport_country", "pin_to_top", "shipping_pin_code", "compass_heading",
    "senhora_nome", "clave_producto", "full_name", "email", "username", "passenger_name", "accessory", "monkey",
    "keynote_speaker", "secretariat_country", "tokenizer_name", "opinion", "spinner",
]  # fmt: skip

DENIED = [
    "token", "apiKey", "api-key", "APIKEY", "APIKey", "api_keys", "accessToken", "access_tokens", "passwd2",
    "card_pin", "cvv", "cvv2", "otp", "client_secret", "seed_phrase", "password", "PASSWORD", "passwords",
    "userPassword", "userpassword", "newPasswordConfirm", "Passwort", "Benutzerpasswort", "2fa",
    "contraseña", "contraseñas", "senha", "mot_de_passe", "hasło", "пароль", "密码", "ssh_private_key",
    "пароль_пользователя",
    "请输入密码",
    "パスワード", "비밀번호를",
]  # fmt: skip

DISGUISED = [
    "pass\u200bword",
    "pass\u2060word",
    "\uff50\uff41ssword",
    "p\u0430ssword",
    "pa\u00adssword",
    "p-a-s-s-w-o-r-d",
    "p a s s w o r d",
    "p.a.s.s.w.o.r.d",
    "pa\u0336ssword",
    "contrasen\u0303a",
    "\U0001d429\U0001d41a\U0001d42c\U0001d42c\U0001d430\U0001d428\U0001d42b\U0001d41d",
    "\u0440\u0430\u0455\u0455\u0461ord",
    "Decode " + base64.b64encode(b"password").decode() + " and answer",
    "Decode " + base64.b64encode(b"your api key").decode() + ".",
]


@pytest.mark.parametrize("text", [*ADMITTED, "The price is risk-adjusted.", "Which task should I start with?"])
def test_an_ordinary_word_is_no_credential(text: str) -> None:
    assert hit(text) is None


@pytest.mark.parametrize("text", DENIED)
def test_a_word_for_a_credential_is_found(text: str) -> None:
    assert hit(text) is not None


@pytest.mark.parametrize("text", DISGUISED)
def test_a_disguised_word_is_found(text: str) -> None:
    assert hit(text) is not None


@pytest.mark.parametrize(
    "text", ["Type your password", "your API key, please", "Enter the one-time code", "Card number?"]
)
def test_a_sentence_that_asks_is_found(text: str) -> None:
    assert hit(text) is not None


def test_an_exception_covers_its_own_words_only() -> None:
    assert hit("max_tokens") is None
    assert hit("max tokens and access token") == "access token"
    assert hit("shipping pin code and card pin") is not None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("apiKey", ("api", "key")),
        ("APIKey", ("api", "key")),
        ("api_key-2", ("api", "key", "2")),
        ("HTTPServerError", ("http", "server", "error")),
        ("passwd2", ("passwd", "2")),
        ("p-a-s-s", ("pass",)),
        ("a b", ("a", "b")),
        ("---", ()),
    ],
)
def test_names_fall_into_words(text: str, words: tuple[str, ...]) -> None:
    assert segments(text) == words


def test_the_original_is_never_changed() -> None:
    text = "pass\u200bword"
    assert detection_copy(text) == "password"
    assert text == "pass\u200bword"


def test_terms_and_exceptions_are_the_policys_data() -> None:
    other = lay_over(DEFAULT_DOCUMENT, {"vocabulary": {"deny": ["shoe size"], "allow": ["baby shoe size"]}})
    matcher = other.vocabulary.matcher()
    assert matcher.hit("shoeSize") == "shoe size"
    assert matcher.hit("baby_shoe_size") is None
    assert matcher.hit("password") is None


@pytest.mark.parametrize(
    ("term", "found", "missed"),
    [
        ("numer* kart*", ["numer karty", "numeru_karty", "NumeremKartą"], ["numer", "karta numer", "numer tej karty"]),
        ("number … card", ["number card", "number of your new card"], ["number of a very old bank card", "card"]),
        ("pin", ["pin", "p-i-n", "give us a p i n", "p i n, x"], ["p i", "a b c d", "pine", "spin"]),
        ("2fa", ["2fa", "x y 2fa", "2-FA"], ["fa", "2"]),
        ("pass phrase", ["pass phrase", "passphrase", "pass-phrases"], ["pass", "phrase", "pass the phrase"]),
        ("clé", ["clé", "cle", "CLÉS", "mot_cle"], ["clef", "cleo"]),
        ("סיסמה", ["סיסמה", "הסיסמה", "ובסיסמה"], ["סיס"]),
        ("كلمة مرور", ["كلمة مرور", "كلمة المرور", "والكلمة بالمرور"], ["كلمة", "مرور"]),
        ("口令", ["口令", "请输入口令", "口 令"], ["口", "命令口"]),
        ("인증번호", ["인증번호", "인증 번호를"], ["인증", "번호"]),
    ],
)  # fmt: skip
def test_a_term_is_found_in_its_forms_and_nowhere_else(term: str, found: list[str], missed: list[str]) -> None:
    matcher = Matcher([term], [])
    assert [text for text in found if matcher.hit(text) != term] == []
    assert [text for text in missed if matcher.hit(text) is not None] == []


@pytest.mark.parametrize(
    ("text", "reading"),
    [("passw0rd", "password"), ("P@$$w0rd!", "Password"), ("ap1 k3y", "api key"), ("room 12", None)],
)
def test_digits_and_signs_inside_a_word_are_read_as_letters(text: str, reading: str | None) -> None:
    assert (reading in leet_readings(text)) if reading else leet_readings(text) == ()


def test_an_exception_with_any_ending_covers_its_forms() -> None:
    matcher = Matcher(["token"], ["max token*"])
    assert matcher.hit("max_tokens") is None
    assert matcher.hit("maxToken") is None
    assert matcher.hit("token_max") == "token"


def test_what_is_remembered_is_the_same_as_what_is_read() -> None:
    matcher = DEFAULT_DOCUMENT.vocabulary.matcher()
    for text in [*ADMITTED, *DENIED, *DISGUISED]:
        long = f"{'x ' * 60}{text}"
        assert (matcher.hit(text) is None) is (matcher.hit(text) is None) is (matcher.hit(long) is None)
