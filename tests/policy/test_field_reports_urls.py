"""Field reports on URLs: each named row as a test of its whole kind."""

import json
from urllib.parse import urlsplit

import can_ada
import pytest

from elicitation.policy.admission import Ruling
from tests.policy.asking import DESK_ID, REPOSITORY_TOKEN, ask_form, ask_url, destination, first, rules

HOST = "consent.example.com"
#: Every path of the host is open, so that only the rule under test can deny.
OPEN = destination(
    paths=["/"],
    parameters={
        "state": "^[!-~]{1,80}$",
        "calc": "^$",
        "flow": "^[a-z_]{1,20}$",
        "elicitationId": "^[0-9a-f-]{36}$",
    },
    opaque=["parameter:state"],
)


def judged(raw: str, message: str = "Please pay.") -> Ruling:
    ruling = ask_url(raw, under=OPEN, message=message)
    json.dumps(ruling.decision.as_json()).encode("ascii")
    return ruling


def denied(raw: str, *expected: str) -> None:
    """Denied by one of the rules named, with nothing to send and no part of the URL in the reply."""
    ruling = judged(raw)
    assert first(ruling) in expected
    assert ruling.request is None
    assert "example" not in json.dumps(ruling.decision.as_json())


SPOTS = {
    "the scheme": "ht{0}tps://consent.example.com/start",
    "after the scheme": "https:{0}//consent.example.com/start",
    "before the host": "https://{0}consent.example.com/start",
    "in the host": "https://con{0}sent.example.com/start",
    "after the host": "https://consent.example.com{0}/start",
    "before the port": "https://consent.example.com{0}:443/start",
    "in the path": "https://consent.example.com/st{0}art",
    "in a name": "https://consent.example.com/start?fl{0}ow=auth",
    "in a value": "https://consent.example.com/start?flow=au{0}th",
    "in the fragment": "https://consent.example.com/start#to{0}p",
    "at the front": "{0}https://consent.example.com/start",
    "at the end": "https://consent.example.com/start{0}",
}
everywhere = pytest.mark.parametrize("spot", SPOTS.values(), ids=SPOTS)


@everywhere
@pytest.mark.parametrize("sign", ["\\", "\\\\", "\\@", "/\\", "\\."])
def test_b12_a_backslash_is_denied_wherever_it_stands(spot: str, sign: str) -> None:
    denied(spot.format(sign), "url.forbidden_character")


@pytest.mark.parametrize("evil", ["evil.example", "evil.example:443", "[::1]", "127.0.0.1"])
@pytest.mark.parametrize("sign", ["\\@", "\\", "\\.", "\\/", "%5c@", "%5C"])
def test_b12_a_backslash_between_two_hosts_is_denied_in_either_order(sign: str, evil: str) -> None:
    expected = ("url.forbidden_character", "url.userinfo", "url.authority_escape")
    denied(f"https://{evil}{sign}{HOST}/", *expected)
    denied(f"https://{HOST}{sign}{evil}/", *expected)


@pytest.mark.parametrize("host", [HOST, f"{HOST}:443", "evil.example", "CONSENT.example.com"])
@pytest.mark.parametrize(
    "userinfo",
    ["", ":", "a", "a:b", ":b", "a@b", HOST, f"{HOST}:443", "%40", "a%3Ab", "consent.example.com%2f", "a:b@c"],
)
def test_b13_userinfo_is_denied_even_when_empty_and_even_before_a_listed_host(userinfo: str, host: str) -> None:
    for rest in ("", "/", "/start", "?flow=auth", "#top"):
        denied(f"https://{userinfo}@{host}{rest}", "url.userinfo")


@pytest.mark.parametrize("at", ["/@start", "/start@here", "/start?state=a@b"])
def test_b13_an_at_sign_behind_the_authority_is_no_userinfo(at: str) -> None:
    assert "url.userinfo" not in rules(judged(f"https://{HOST}{at}"))


ASKING = [
    "Please enter your API key on the next page",
    "Sign in with your password there.",
    "Введите пароль на следующей странице",
    "Type your card number at the shop.",
]


@pytest.mark.parametrize("message", ASKING)
@pytest.mark.parametrize("path", ["/ui/set_api_key", "/password/new", "/connect/token", "/oauth/secret", "/pin"])
def test_b18_url_mode_may_ask_for_a_secret_in_its_path_and_its_message(path: str, message: str) -> None:
    ruling = judged(f"https://{HOST}{path}", message)
    assert rules(ruling) == []
    assert ruling.request is not None
    assert ruling.request["message"] == message


@pytest.mark.parametrize(
    "query",
    [
        "elicitationId=6fa459ea-ee8a-4ca4-894e-db77e160355e",
        "state=aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY",
        "flow=token_exchange",
        "flow=set_api_key",
    ],
)
def test_b18_words_in_a_plain_value_and_opaque_state_are_admitted(query: str) -> None:
    assert rules(judged(f"https://{HOST}/ui?{query}")) == []


@pytest.mark.parametrize("name", ["api_key", "apiKey", "access-token", "pwd", "senha", "%70assword", "client_secret"])
def test_b18_a_parameters_name_is_held_against_the_vocabulary(name: str) -> None:
    assert "url.parameter_secret" in rules(judged(f"https://{HOST}/ui?{name}=x"))


@pytest.mark.parametrize("message", ASKING)
def test_b18_the_same_text_in_a_form_is_denied(message: str) -> None:
    assert first(ask_form({"answer": {"type": "string"}}, message=message)) == "form.credential_message"


INVISIBLE = [chr(code) for code in (*range(0x21), *range(0x7F, 0xA1))]
INVISIBLE += ["\u1680", "\u2003", "\u200b", "\u2028", "\u2029", "\u202e", "\u202f", "\u2060", "\u3000", "\ufeff"]
INVISIBLE += ["\r\nSet-Cookie:x"]


@everywhere
def test_b31_white_space_and_control_characters_are_denied_wherever_they_stand(spot: str) -> None:
    for sign in INVISIBLE:
        denied(spot.format(sign), "url.forbidden_character")


@pytest.mark.parametrize("scheme", ["java\tscript:alert(1)", "\x1fjavascript:alert(1)", "data\n:text/html,x"])
def test_b31_a_scheme_is_not_put_together_from_pieces(scheme: str) -> None:
    denied(scheme, "url.forbidden_character")


def test_b31_what_is_admitted_is_byte_for_byte_what_was_checked() -> None:
    raw = f"https://{HOST}/start/here?flow=auth"
    ruling = ask_url(raw, under=destination(paths=["/"], parameters={"flow": "^[a-z]{1,9}$"}, opaque=[]))
    assert ruling.request is not None
    assert ruling.request["url"] == raw


@pytest.mark.parametrize(
    "host",
    [
        "consent\u3002example\u3002com",
        "consent\uff0eexample\uff0ecom",
        "c\u043ensent.example.com",
        "consent.ex\u0430mple.com",
        "\uff43onsent.example.com",
        "consent.example.com\uff0f@evil.example",
        "consent.example.com\uff20evil.example",
        "consent.example.com\u2044evil.example",
        "consent.example.com\u2100evil.example",
        "consent.exam\u00adple.com",
        "b\u00fccher.example",
    ],
)
def test_b34_a_host_with_other_than_plain_letters_is_denied(host: str) -> None:
    denied(f"https://{host}/start", "url.forbidden_character")


@pytest.mark.parametrize("number", range(0x20, 0x7F, 3))
def test_b34_a_host_with_an_escape_is_denied_whatever_the_escape_says(number: int) -> None:
    for escape in (f"%{number:02x}", f"%{number:02X}"):
        for host in (
            f"consent{escape}example.com",
            f"{HOST}{escape}",
            f"{HOST}{escape}evil.example",
            f"{escape}{HOST}",
        ):
            denied(f"https://{host}/start", "url.authority_escape", "url.userinfo")
            denied(f"https://{host}@evil.example/", "url.userinfo")


@pytest.mark.parametrize(
    "host",
    ["xn--bcher-kva.example", "xn--consent-example-9fb.com", "xn--80ak6aa92e.com", "xn--", "a.xn--p1ai", "XN--P1AI"],
)
def test_b34_an_a_label_that_is_not_listed_is_denied_as_one(host: str) -> None:
    denied(f"https://{host}/start", "url.punycode")


def test_b34_an_a_label_is_admitted_only_exactly_as_it_is_listed() -> None:
    listed = destination(origin="https://xn--bcher-kva.example", paths=["/"])
    assert rules(ask_url("https://xn--bcher-kva.example/", under=listed)) == []
    for other in ("xn--bcher-kvb.example", "www.xn--bcher-kva.example", "bucher.example", "xn--bcher-kva.example.com"):
        assert not ask_url(f"https://{other}/", under=listed).decision.admitted


SCHEMES = [
    *["javascript", "JavaScript", "data", "file", "vbscript", "blob", "about", "ftp", "ws", "wss", "http", "intent"],
    *["mailto", "tel", "sms", "itms-services", "vscode", "ms-settings", "chrome", "view-source", "jar", "ssh", "x"],
]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_b35_every_scheme_but_https_is_denied(scheme: str) -> None:
    for rest in (f"//{HOST}/start", "alert(1)", "text/html,x", "///x", "", f"https://{HOST}/start"):
        denied(f"{scheme}:{rest}", "url.scheme")


@pytest.mark.parametrize(
    "raw",
    ["https:consent.example.com", "https:///consent.example.com", "https:/consent.example.com/",
     "//consent.example.com", "/start", "start", "?flow=auth", "consent.example.com", "https", "https:", "https://",
     "https:///", "https://?x",
     "https://#x", "https//consent.example.com", ":https://consent.example.com"],
)  # fmt: skip
def test_b35_a_url_without_its_parts_is_denied(raw: str) -> None:
    denied(raw, "url.malformed", "url.scheme")


@pytest.mark.parametrize(
    "host",
    ["[fe80::1%25en0]", "[fe80::1%en0]", "[consent.example.com]", "consent.example.com[.x]", "[::1", "::1]",
     "[]", "[::g]", "[v1.x]", "[::1].example.com", "[::1]evil", "[1]", "[::1]:x", "[0::1]", "[::127.0.0.1]",
     "[::1%25]"],
)  # fmt: skip
def test_b35_a_bracketed_host_is_denied_without_an_exception(host: str) -> None:
    denied(f"https://{host}/", "url.malformed", "url.authority_escape", "url.ip_literal", "url.not_canonical")


def test_b35_nothing_and_too_much_are_denied() -> None:
    denied("", "url.missing")
    for length in (2049, 9_000, 1_000_000):
        denied(f"https://{HOST}/".ljust(length, "a"), "url.too_long", "request.too_large")


def test_b35_the_control_is_admitted_and_reads_alike_everywhere() -> None:
    raw = f"https://{HOST}/?state=abc&calc"
    ruling = judged(raw)
    assert rules(ruling) == []
    assert ruling.request is not None
    sent = str(ruling.request["url"])
    assert sent == raw
    assert can_ada.parse(sent).href == urlsplit(sent).geturl() == sent


def test_b35_each_reason_is_its_own() -> None:
    reasons = {first(judged(raw)) for raw in (
        "", "javascript:x", "https:x", "https://u@h/", "https://a%62/", "https://a./", "https://[::1]/",
        "https://xn--p1ai/",
        "https://a b/", f"https://{HOST}:0443/", f"https://{HOST}/..", f"https://{HOST}/#x", f"https://{HOST}/?state",
        f"https://{HOST}/?x=1", f"https://{HOST}/?calc&calc", f"https://{HOST}/?;", f"https://{HOST}/?otp=1",
        "https://b/",
        f"https://{HOST}/{REPOSITORY_TOKEN}")}  # fmt: skip
    assert len(reasons) == 19


def test_a_denied_url_is_not_written_to_and_carries_no_id() -> None:
    ruling = judged("https://evil.example/")
    assert DESK_ID not in repr(ruling.decision.as_json())
