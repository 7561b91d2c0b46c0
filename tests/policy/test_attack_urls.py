"""Attacks on the URL grammar: steps behind a semicolon, and control characters in places that are opaque."""

import pytest

from elicitation.policy.document import DocumentError
from tests.policy.asking import SERVICE_KEY, ask_url, destination, first, rules

HOST = "https://consent.example.com"
#: Every path of the host is open, so that only the rule under test can deny.
OPEN = destination(paths=["/"])


@pytest.mark.parametrize("after", ["", "x", "x=1", "jsessionid=7", ";", "x;y"])
@pytest.mark.parametrize("semicolon", [";", "%3b", "%3B"])
@pytest.mark.parametrize("dots", ["..", "."])
def test_attack_dots_before_a_semicolon_are_a_step_to_a_server_that_drops_the_rest(
    dots: str, semicolon: str, after: str
) -> None:
    for rest in ("", "/", "/admin"):
        for path in (f"/start/{dots}{semicolon}{after}{rest}", f"/{dots}{semicolon}{after}{rest}"):
            assert first(ask_url(HOST + path, under=OPEN)) == "url.path_escape"


@pytest.mark.parametrize("segment", [";", ";x", ";x=1", "%3bx", ";;"])
def test_attack_a_segment_of_nothing_but_parameters_is_an_empty_one(segment: str) -> None:
    assert first(ask_url(f"{HOST}/start/{segment}/admin", under=OPEN)) == "url.path_escape"
    assert first(ask_url(f"{HOST}/start/{segment}", under=OPEN)) == "url.path_escape"


@pytest.mark.parametrize("path", ["/start/..%2e;/admin", "/start/%2e.;/admin", "/start/..%252f;/admin"])
def test_attack_escaped_dots_before_a_semicolon_are_denied_as_ever(path: str) -> None:
    assert first(ask_url(HOST + path, under=OPEN)) == "url.path_escape"


@pytest.mark.parametrize("path", ["/start/a;b", "/start/a;", "/start/a;v=1.2/b", "/start/...;x", "/start/a..;x/b"])
def test_attack_a_semicolon_behind_a_name_stays_under_the_prefix_for_every_server_and_is_admitted(path: str) -> None:
    assert rules(ask_url(HOST + path)) == []


@pytest.mark.parametrize("path", ["/start;x", "/start;x/here", "/start;/here"])
def test_attack_a_listed_segment_with_a_semicolon_is_another_segment(path: str) -> None:
    assert first(ask_url(HOST + path)) == "url.path_not_listed"


@pytest.mark.parametrize("name", ["access_token", "apiKey", "otp", "api%5fkey", "pwd"])
def test_attack_a_parameter_of_a_segment_is_held_against_the_vocabulary(name: str) -> None:
    for semicolon in (";", "%3B"):
        path = f"/start/a{semicolon}{name}=1/b"
        assert "url.parameter_secret" in rules(ask_url(HOST + path, under=OPEN))
        assert "url.parameter_secret" in rules(ask_url(HOST + path, under=destination(paths=["/"], opaque=["path:1"])))


def test_attack_a_parameter_of_a_segment_carries_no_secret_unless_the_segment_is_opaque() -> None:
    for value in (SERVICE_KEY, "9b1deb4d3b7d4bad9bdd2b0d7b3dcb6d"):
        raw = f"{HOST}/start/a;v={value}"
        assert first(ask_url(raw, under=OPEN)) == "url.value_secret"
        assert rules(ask_url(raw, under=destination(paths=["/"], opaque=["path:1"]))) == []


@pytest.mark.parametrize("path", ["/start/..;", "/..;/x", "/start/.;x", "/;x", "/a/./b", "/a/../b"])
def test_attack_a_prefix_with_such_a_step_is_not_listed_at_all(path: str) -> None:
    with pytest.raises(DocumentError, match="plain path"):
        destination(paths=[path])


@pytest.mark.parametrize("code", [*range(0x20), 0x7F])
def test_attack_an_opaque_place_takes_no_control_character(code: int) -> None:
    under = destination(
        paths=["/"], parameters={"state": "^[^x]{1,80}$"}, opaque=["path:1", "parameter:state", "fragment"]
    )
    for sign in {f"%{code:02x}", f"%{code:02X}"}:
        assert first(ask_url(f"{HOST}/?state=a{sign}b", under=under)) == "url.query_malformed"
        assert first(ask_url(f"{HOST}/?state={sign}", under=under)) == "url.query_malformed"
        assert first(ask_url(f"{HOST}/start/a{sign}b", under=under)) == "url.path_escape"
        assert first(ask_url(f"{HOST}/start#a{sign}b", under=under)) == "url.forbidden_character"


@pytest.mark.parametrize("sign", ["%C2%80", "%C2%85", "%C2%9F"])
def test_attack_the_later_control_characters_are_none_of_a_parameter(sign: str) -> None:
    under = destination(parameters={"state": "^[^x]{1,80}$"}, opaque=["parameter:state"])
    assert first(ask_url(f"{HOST}/start?state=a{sign}", under=under)) == "url.query_malformed"
    assert "url.query_malformed" in rules(ask_url(f"{HOST}/start?st{sign}=a", under=under))
    assert rules(ask_url(f"{HOST}/start?state=%C3%A9%20%21", under=under)) == []
