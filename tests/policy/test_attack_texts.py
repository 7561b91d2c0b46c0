"""Attacks by a form's texts: links in other spellings, words and secrets in members that nobody read."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from elicitation.policy.admission import Ruling, decide
from elicitation.policy.texts import carries_link
from tests.policy.asking import (
    DOCUMENT,
    JWT,
    REPOSITORY_TOKEN,
    SERVICE_KEY,
    URL,
    ask,
    ask_form,
    ask_url,
    first,
    form_request,
    placed,
    rules,
)

LINKS = {
    "an address with a path": ["192.168.0.1/x", "10.0.0.1:8080/admin", "10.0.0.1/24/x", "[::1]/x", "[2001:db8::1]:8/x"],
    "this machine with a path": ["localhost/x", "localhost:3000/a", "LOCALHOST/login"],
    "fullwidth letters": ["ｅｖｉｌ.com/x", "ｅｖｉｌ.com", "evil.ｃｏｍ", "ｌｏｃａｌｈｏｓｔ/x"],
    "another full stop": ["evil。com/x", "evil｡com/x", "evil．com", "evil․com", "请打开evil。com/登录"],
    "letters in between that show nothing": ["ev\u200bil.com", "evil\u00ad.com", "evil.c\u2060om"],
    "lookalikes": ["еvil.com", "evil.соm"],
    "a country's domain": [
        "evil.de",
        "Visit evil.co.uk now",
        "shop.evil.fr.",
        "bank-login.ru",
        "evil.com.au",
        "x-y.ai",
    ],
    "letters of another script right behind": ["evil.com打开", "evil.deで"],
    "an element": ["<img src=x>", "<svg", "<SVG/onload=alert(1)>", "<iframe>", "< img", "<form action=/x>", "<script>"],
    "an attribute": ["<x onclick=y>", "<b style = x>", "<use xlink:href=x>", "<link rel=x>"],
}
HARMLESS = [
    "e.g. this", "version 2.0.1", "file.txt", "Node.js", "Please choose. Then go", "z.B. so", "10.0.0.0/8",
    "10.0.0.0/24.", "IP address, e.g. 192.168.0.1", "localhost", "localhost:5432", "a < b", "<5 km", "5</b", "<name>",
    "<region>-<number>", "x <y and z = 3", "etc.", "Mo.Di.Mi.Do.Fr.", "messages.de-DE", "main.py", "script.sh",
    "README.md", "3.5/5", "and/or", "km/h", "Dr.Who", "p.m.", "U.S.A.", "请选择。然后", "支持iOS。Android/iPad均可",
    "тыс.руб/мес", "Choose a plan.For example basic", "Wählen Sie.Dann weiter", "ann@company.de", "St.Gallen", "Nr.5",
    "選んでください。Appを使う", "Büro (z. B. München)", "１．はじめに",
]  # fmt: skip


@pytest.mark.parametrize("place", ["message", "title", "choice", "default"])
@pytest.mark.parametrize("text", [text for texts in LINKS.values() for text in texts])
def test_attack_a_link_is_found_in_every_spelling(text: str, place: str) -> None:
    assert "form.link" in rules(placed(place, text))
    assert "form.link" in rules(placed(place, f"Go to {text}"))


@pytest.mark.parametrize("text", HARMLESS)
def test_attack_full_stops_and_angle_brackets_alone_make_no_link(text: str) -> None:
    assert not carries_link(text)
    assert not carries_link(f"Enter: {text}")


@pytest.mark.parametrize(
    "piece", ["a.", "a", "aaa.", "abc-", "<a", "<x ", "<x a", "1.", "[::", "é.", "a\u3002", "ａ．", "localhost:1"]
)
def test_attack_a_long_text_of_pieces_of_links_is_read_in_linear_time(piece: str) -> None:
    began = time.perf_counter()
    carries_link(piece * 5000)
    assert time.perf_counter() - began < 1


ASKING = ["Your password", "Passwort eingeben", "Κωδικός", "apiKey"]


@pytest.mark.parametrize("wrap", [lambda text: text, lambda text: {"label": text}, lambda text: [1, {"a": [text]}]])
@pytest.mark.parametrize("text", ASKING)
def test_attack_a_text_in_an_unknown_keyword_is_read_like_any_other(text: str, wrap: Callable[[str], object]) -> None:
    for keyword in ("x-label", "x-ui", "x-"):
        assert first(ask_form({"field": {"type": "string", keyword: wrap(text)}})) == "form.credential_text"
        root: Any = {keyword: wrap(text)}
        assert first(ask_form({}, **root)) == "form.credential_text"


def test_attack_an_unknown_keyword_asks_by_its_own_name_and_by_the_names_in_it() -> None:
    for keyword, value in (("x-password", True), ("x-ui", {"apiKey": 1}), ("x-ui", {"widget": "password"})):
        assert first(ask_form({"field": {"type": "string", keyword: value}})) == "form.credential_text"


def test_attack_an_unknown_keyword_carries_no_link_no_secret_and_no_hidden_character() -> None:
    for text, rule in (
        ("https://evil.example/", "form.link"),
        (SERVICE_KEY, "form.credential_value"),
        ("a\u202eb", "text.hidden_characters"),
    ):
        assert first(ask_form({"field": {"type": "string", "x-label": text}})) == rule


@pytest.mark.parametrize("value", [1, True, None, ["region"], {"order": [1, 2], "label": "Region"}, "Region"])
def test_attack_a_harmless_unknown_keyword_is_passed_on(value: Any) -> None:
    ruling = ask_form({"field": {"type": "string", "x-label": value}}, **{"x-order": value})
    assert rules(ruling) == []


def ask_beside(name: str, aside: object) -> Ruling:
    return decide(ask({**form_request({}), name: aside}), DOCUMENT, 1)


SECRETS = [SERVICE_KEY, REPOSITORY_TOKEN, JWT, "Bearer abcdef123456", "4242 4242 4242 4242", "https://u:p@example.com/"]


@pytest.mark.parametrize("secret", SECRETS)
def test_attack_what_travels_beside_the_question_carries_no_secret(secret: str) -> None:
    asides: list[Any] = [{"note": secret}, {"a": [{"b": secret}]}, {f"com.example/{secret}": 1}]
    for aside in asides:
        for name in ("_meta", "task"):
            for ruling in (ask_url(URL, **{name: aside}), ask_beside(name, aside)):
                assert first(ruling) == "form.credential_value"
                assert ruling.request is None
                assert secret not in repr(ruling.decision)


@pytest.mark.parametrize(
    "aside",
    [{"note": "password"}, {"progressToken": "6fa459ea-ee8a-4ca4-894e-db77e160355e"}, {"a": [1, None, {"b": 2.5}]}],
)
def test_attack_words_beside_the_question_ask_nobody_and_are_passed_on(aside: dict[str, object]) -> None:
    ruling = ask_url(URL, _meta=aside)
    assert rules(ruling) == []
    assert ruling.request is not None
    assert ruling.request["_meta"] == aside


def test_attack_definitions_that_nothing_refers_to_carry_no_secret() -> None:
    secret: Any = {"a": {"default": SERVICE_KEY}}
    harmless: Any = {"a": {"title": "Region"}}
    for keyword in ("$defs", "definitions"):
        assert first(ask_form({}, **{keyword: secret})) == "form.credential_value"
        assert rules(ask_form({}, **{keyword: harmless})) == []
