"""URLs: what is admitted is what a browser opens, at an origin that is listed, without a secret."""

from urllib.parse import urlsplit

import can_ada
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy.admission import decide
from elicitation.policy.decision import Purpose
from elicitation.policy.document import lay_over
from tests.policy.asking import DESK_ID, DOCUMENT, SERVICE_KEY, URL, ask, ask_url, destination, first, rules

HOST = "https://consent.example.com"
LONG = "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY"


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        (URL, f"{URL}&e={DESK_ID}"),
        (f"{HOST}/start", f"{HOST}/start?e={DESK_ID}"),
        ("HTTPS://Consent.Example.COM:443/start", f"{HOST}/start?e={DESK_ID}"),
        (f"{HOST}/start/here/now", f"{HOST}/start/here/now?e={DESK_ID}"),
        (f"{HOST}/ui/set_api_key", f"{HOST}/ui/set_api_key?e={DESK_ID}"),
        (f"{HOST}/start?flow=token_exchange", f"{HOST}/start?flow=token_exchange&e={DESK_ID}"),
        (f"{HOST}/start?state={LONG}", f"{HOST}/start?state={LONG}&e={DESK_ID}"),
        (
            f"{HOST}/start/6fa459ea-ee8a-4ca4-894e-db77e160355e",
            f"{HOST}/start/6fa459ea-ee8a-4ca4-894e-db77e160355e?e={DESK_ID}",
        ),
    ],
)
def test_an_admitted_url_is_sent_normalised_with_the_desks_id(raw: str, sent: str) -> None:
    ruling = ask_url(raw, message="Please enter your API key on the next page")
    assert rules(ruling) == []
    assert ruling.request is not None
    assert ruling.request["url"] == sent
    assert ruling.request["elicitationId"] == DESK_ID
    assert ruling.traits.origin == HOST


def test_an_empty_path_becomes_a_slash() -> None:
    ruling = ask_url(
        "https://consent.example.com?flow=auth",
        under=destination(paths=["/"], parameters={"flow": "^[a-z]+$"}, opaque=[]),
    )
    assert ruling.request is not None
    assert ruling.request["url"] == f"{HOST}/?flow=auth"


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (None, "url.missing"),
        ("", "url.missing"),
        (7, "url.missing"),
        (f"{HOST}/{'a' * 2048}", "url.too_long"),
        ("https://evil.example\\@consent.example.com/", "url.forbidden_character"),
        ("https://consent.example.com\\@evil.example/", "url.forbidden_character"),
        ("https://consent.example.com\\.evil.example/", "url.forbidden_character"),
        ("https://con\tsent.example.com/", "url.forbidden_character"),
        (f"{HOST}/start\n", "url.forbidden_character"),
        (f" {HOST}/start", "url.forbidden_character"),
        (f"\x1f{HOST}/start", "url.forbidden_character"),
        ("java\tscript:alert(1)", "url.forbidden_character"),
        (f"{HOST}/a\r\nSet-Cookie:x", "url.forbidden_character"),
        (f"{HOST}/start\u2028", "url.forbidden_character"),
        ("https://consent.exаmple.com/start", "url.forbidden_character"),
        ("https://consent.example.com@evil.example/", "url.userinfo"),
        ("https://consent.example.com:443@evil.example/", "url.userinfo"),
        ("https://a@b@consent.example.com/", "url.userinfo"),
        ("https://:@consent.example.com/", "url.userinfo"),
        ("https://@consent.example.com/start", "url.userinfo"),
        ("http://consent.example.com/start", "url.scheme"),
        ("javascript:alert(1)", "url.scheme"),
        ("data:text/html,x", "url.scheme"),
        ("https:/consent.example.com/start", "url.malformed"),
        ("https:consent.example.com", "url.malformed"),
        ("//consent.example.com/start", "url.malformed"),
        ("consent.example.com/start", "url.malformed"),
        ("https:///start", "url.malformed"),
        ("https://consent%2eexample.com/start", "url.authority_escape"),
        ("https://consent.example.com./start", "url.trailing_dot"),
        ("https://consent.example.com:/start", "url.not_canonical"),
        ("https://consent.example.com:0443/start", "url.not_canonical"),
        ("https://consent.example.com:65536/start", "url.not_canonical"),
        ("https://consent..example.com/start", "url.malformed"),
        ("https://consent.example.com.attacker.net/start", "url.origin_not_listed"),
        ("https://consent.example.com:8443/start", "url.origin_not_listed"),
        ("https://example.com/start", "url.origin_not_listed"),
        ("https://a.consent.example.com/start", "url.origin_not_listed"),
        ("https://xn--consent-example-9fb.com/start", "url.punycode"),
        ("https://192.0.2.1/start", "url.ip_literal"),
        ("https://127.1/start", "url.ip_literal"),
        ("https://0x7f000001/start", "url.ip_literal"),
        ("https://[2001:db8::1]/start", "url.ip_literal"),
        ("https://[::ffff:192.0.2.1]/start", "url.ip_literal"),
        (f"{HOST}/", "url.path_not_listed"),
        (f"{HOST}/startle", "url.path_not_listed"),
        (f"{HOST}/start/../admin", "url.path_escape"),
        (f"{HOST}/start/%2e%2e/admin", "url.path_escape"),
        (f"{HOST}/start/%2E./admin", "url.path_escape"),
        (f"{HOST}/start%2fadmin", "url.path_escape"),
        (f"{HOST}/start%5cadmin", "url.path_escape"),
        (f"{HOST}/start/%252e", "url.path_escape"),
        (f"{HOST}/start%00", "url.path_escape"),
        (f"{HOST}/start/%ff", "url.path_escape"),
        (f"{HOST}/start//", "url.path_escape"),
        (f"{HOST}/start/{{x}}", "url.not_canonical"),
        (f"{HOST}/start/%zz", "url.not_canonical"),
        (f"{HOST}/start/{LONG}", "url.value_secret"),
        (f"{HOST}/start/alice%40example.com", "url.value_secret"),
        (f"{HOST}/start?api_token=x", "url.parameter_secret"),
        (f"{HOST}/start?api%5ftoken=x", "url.parameter_secret"),
        (f"{HOST}/start?Access_Token=x", "url.parameter_secret"),
        (f"{HOST}/start?p%D0%B0ssword=x", "url.parameter_secret"),
        (f"{HOST}/start?surprise=x", "url.parameter_not_listed"),
        (f"{HOST}/start?Flow=auth", "url.parameter_not_listed"),
        (f"{HOST}/start?fl%6fw=auth", "url.parameter_not_listed"),
        (f"{HOST}/start?flow=AUTH", "url.parameter_value"),
        (f"{HOST}/start?flow", "url.parameter_value"),
        (f"{HOST}/start?flow=auth&flow=auth", "url.parameter_repeated"),
        (f"{HOST}/start?flow=auth&FLOW=auth", "url.parameter_repeated"),
        (f"{HOST}/start?flow=auth;x=y", "url.query_malformed"),
        (f"{HOST}/start?flow[]=auth", "url.query_malformed"),
        (f"{HOST}/start?flow%5B%5D=auth", "url.query_malformed"),
        (f"{HOST}/start?flow=a%253Db", "url.query_malformed"),
        (f"{HOST}/start?flow=%ff", "url.query_malformed"),
        (f"{HOST}/start?flow='a'", "url.query_malformed"),
        (f"{HOST}/start?&flow=auth", "url.query_malformed"),
        (f"{HOST}/start?", "url.query_malformed"),
        (f"{HOST}/start?e={DESK_ID}", "url.parameter_bound"),
        (f"{HOST}/start?flow={LONG}", "url.value_secret"),
        (f"{HOST}/start?next={SERVICE_KEY}", "url.value_secret"),
        (f"{HOST}/start?next=4242424242424242", "url.value_secret"),
        (f"{HOST}/start?next=https%3A%2F%2Fexample.com%2F%3Fapi_key%3Dx", "url.parameter_secret"),
        (f"{HOST}/start?next=https://u:p@example.com/", "url.value_secret"),
        (f"{HOST}/start?next=%2F%2Fexample.com%3Fpassword=x", "url.parameter_secret"),
        (f"{HOST}/start#top", "url.fragment"),
        (f"{HOST}/start#", "url.fragment"),
    ],
)
def test_every_other_url_is_denied_by_its_own_rule(raw: object, rule: str) -> None:
    ruling = ask_url(raw)
    assert first(ruling) == rule
    assert ruling.request is None
    assert ruling.wire_id is None


def test_an_opaque_place_is_exempt_from_the_shape_tests_alone() -> None:
    link = destination(
        paths=["/c/pay"],
        parameters={"token": "^[A-Za-z0-9_-]{1,80}$"},
        opaque=["path:2", "parameter:token", "fragment"],
    )
    raw = f"{HOST}/c/pay/cs_test_{LONG}?token=EC-{LONG}#fid{LONG}"
    ruling = ask_url(raw, under=link)
    assert rules(ruling) == []
    assert first(ask_url(f"{HOST}/c/pay/x/{LONG}", under=link)) == "url.value_secret"
    assert first(ask_url(f"{HOST}/c/pay/x#{'a' * 513}", under=link)) == "url.too_long"
    assert first(ask_url(f"{HOST}/c/pay/x?token={'a' * 81}", under=link)) == "url.parameter_value"


def test_the_desks_id_stands_before_an_opaque_fragment() -> None:
    link = destination(opaque=["fragment"])
    ruling = ask_url(f"{HOST}/start#place", under=link)
    assert ruling.request is not None
    assert ruling.request["url"] == f"{HOST}/start?e={DESK_ID}#place"


def test_a_listed_address_and_a_listed_a_label_are_admitted_exactly() -> None:
    assert rules(ask_url("https://192.0.2.1/start", under=destination(origin="https://192.0.2.1"))) == []
    assert rules(ask_url("https://[2001:db8::1]/start", under=destination(origin="https://[2001:db8::1]"))) == []
    bucher = destination(origin="https://xn--bcher-kva.example")
    assert rules(ask_url("https://xn--bcher-kva.example/start", under=bucher)) == []
    assert first(ask_url("https://xn--bcher-kvb.example/start", under=bucher)) == "url.punycode"


@pytest.mark.parametrize(("tenant", "service"), [("mallory", "booking"), ("acme", "other")])
def test_an_origin_of_others_is_as_good_as_not_listed(tenant: str, service: str) -> None:
    request = {"mode": "url", "message": "Please pay.", "url": URL}
    ruling = decide(ask(request, Purpose.PAYMENT, tenant=tenant, service=service), DOCUMENT, 1)
    assert rules(ruling) == ["url.origin_not_listed"]
    assert ruling.destination is None
    assert ruling.traits.origin == ""


def test_a_destination_serves_its_own_purposes_only() -> None:
    request = {"mode": "url", "message": "Please pay.", "url": URL}
    ruling = decide(ask(request, Purpose.EXTERNAL_TRANSACTION), DOCUMENT, 1)
    assert rules(ruling) == ["destination.purpose"]


def test_a_url_that_grows_too_long_by_the_id_is_denied() -> None:
    tight = destination(parameters={"flow": "^[a-z]{1,200}$", "e": "elicitation_id"}, opaque=[])
    raw = f"{HOST}/start?flow={'a' * 200}"
    assert rules(ask_url(raw, under=lay_over(tight, {"urls": {"max_length": len(raw) + 5}}))) == ["url.too_long"]
    assert rules(ask_url(raw, under=lay_over(tight, {"urls": {"max_length": len(raw) + 40}}))) == []


pieces = st.lists(
    st.sampled_from(
        ["https", "HTTPS", "http", "://", ":", "/", "//", "consent.example.com", "Consent.Example.com", "evil.example",
         "@", ":443", ":8443", ".", "..", "/start", "/ui", "?", "flow=auth", "&", "next=", "%2e", "%2F",
         "%41", "#", "a", "é", "\\", " ", "\t", "'", "{", "|", "^", "~",
         "[", "]", ";", "=", "+", "xn--", "0x7f.1", "127.0.0.1", "%"]
    ),
    max_size=9,
)  # fmt: skip


@settings(max_examples=200)
@given(
    st.one_of(
        pieces.map("".join), pieces.map(lambda all_: URL + "".join(all_)), pieces.map(lambda all_: HOST + "".join(all_))
    )
)
def test_an_admitted_url_means_one_thing_to_every_reader(raw: str) -> None:
    ruling = ask_url(raw, under=destination(paths=["/"], opaque=["fragment"]))
    if ruling.request is None:
        return
    sent = str(ruling.request["url"])
    browser = can_ada.parse(sent)
    assert browser.href == sent
    python = urlsplit(sent)
    assert python.geturl() == sent
    assert browser.origin == f"{python.scheme}://{python.netloc}" == HOST
    assert browser.pathname == python.path
    assert browser.search.removeprefix("?") == python.query
    assert not browser.username
    assert not browser.password
    # Nothing but the case of the origin, its port and the empty path may differ from what was asked.
    assert can_ada.parse(raw).href == sent.replace(f"?e={DESK_ID}", "").replace(f"&e={DESK_ID}", "")
