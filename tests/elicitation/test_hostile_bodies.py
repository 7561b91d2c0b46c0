"""Bodies that nobody should send: each is a 4xx that names the place, repeats nothing and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from elicitation.models import Decision, Elicitation
from tests import builders
from tests.builders import ALICE, Desk

pytestmark = pytest.mark.django_db

CANARY = "CANARY7h3q"
GOOD = json.dumps(builders.admission()).encode()


def replaced(old: str, new: str) -> bytes:
    assert old.encode() in GOOD
    return GOOD.replace(old.encode(), new.encode(), 1)


HOSTILE: dict[str, tuple[bytes, int, str, str | None]] = {
    "blank": (b" ", 400, "body.malformed", None),
    "not json": (f"{CANARY}{{".encode(), 400, "body.malformed", None),
    "not utf-8": (b'{"wire": "\xff"}', 400, "body.malformed", None),
    "utf-16": (GOOD.decode().encode("utf-16"), 400, "body.malformed", None),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 400, "body.malformed", None),
    "two values": (GOOD + GOOD, 400, "body.malformed", None),
    "array": (b"[]", 400, "body.invalid", ""),
    "null": (b"null", 400, "body.invalid", ""),
    "string": (f'"{CANARY}"'.encode(), 400, "body.invalid", ""),
    "2 MB": (b'{"wire": "' + b"a" * 2_000_000 + b'"}', 413, "body.too_large", None),
    "depth 500": (b'{"request": ' + b"[" * 500 + b"]" * 500 + b"}", 400, "body.too_deep", None),
    "unbalanced depth": (b"[" * 60_000, 400, "body.too_deep", None),
    "duplicate": (replaced('"wire"', f'"wire": "{CANARY}", "wire"'), 400, "body.duplicate_key", "/#1"),
    "duplicate deep": (replaced('"iss"', f'"iss": "{CANARY}", "iss"'), 400, "body.duplicate_key", "/subject/#1"),
    "duplicate in raw part": (
        replaced('"message"', f'"message": "{CANARY}", "message"'),
        400,
        "body.duplicate_key",
        "/request/#2",
    ),
    "nul": (replaced("alice", f"{CANARY}\\u0000"), 400, "body.text", "/subject/sub"),
    "nul in a name": (replaced('"message"', f'"{CANARY}\\u0000"'), 400, "body.text", "/request/#1"),
    "lone surrogate": (replaced("alice", f"{CANARY}\\ud800"), 400, "body.text", "/subject/sub"),
    "swapped surrogates": (replaced("Pay the", "\\udc00\\ud800"), 400, "body.text", "/request/message"),
    "5000 digits": (
        replaced('"wire"', '"window_seconds": ' + "9" * 5000 + ', "wire"'), 400, "body.number", "/window_seconds",
    ),
    "huge float": (replaced('"wire"', '"window_seconds": 1e999, "wire"'), 400, "body.number", "/window_seconds"),
    "nan": (replaced('"wire"', '"window_seconds": NaN, "wire"'), 400, "body.number", "/window_seconds"),
    "infinity in raw part": (replaced('"message"', '"x": -Infinity, "message"'), 400, "body.number", "/request/x"),
    "unknown member": (replaced('"wire"', f'"{CANARY}": 1, "wire"'), 400, "body.unknown_member", "/#0"),
    "unknown deep": (replaced('"iss"', f'"{CANARY}": 1, "iss"'), 400, "body.unknown_member", "/subject/#0"),
    "missing": (replaced('"wire": "2025-11-25", ', ""), 400, "body.missing_member", "/wire"),
    "missing deep": (replaced(', "sub": "alice"', ""), 400, "body.missing_member", "/subject/sub"),
    "wrong type": (replaced('"alice"', "7"), 400, "body.invalid", "/subject/sub"),
    "wrong enum": (replaced('"payment"', f'"{CANARY}"'), 400, "body.invalid", "/purpose"),
    "wrong wire": (replaced('"2025-11-25"', f'"{CANARY}"'), 400, "body.invalid", "/wire"),
    "too long": (replaced("alice", CANARY * 100), 400, "body.invalid", "/subject/sub"),
    "empty text": (replaced('"alice"', '""'), 400, "body.invalid", "/subject/sub"),
    "bool for int": (replaced('"wire"', '"window_seconds": true, "wire"'), 400, "body.invalid", "/window_seconds"),
    "float for int": (replaced('"wire"', '"window_seconds": 1.5, "wire"'), 400, "body.invalid", "/window_seconds"),
    "negative": (replaced('"wire"', '"window_seconds": -1, "wire"'), 400, "body.invalid", "/window_seconds"),
    "bad digest": (replaced("sha256:111", f"{CANARY}:111"), 400, "body.invalid", "/operation/arguments_digest"),
    "request a list": (replaced('"request": {', f'"request": ["{CANARY}"], "r": {{'), 400, "body.invalid", "/request"),
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_hostile_body_is_refused_by_place_and_repeats_nothing(desk: Desk, name: str) -> None:
    body, status, code, at = HOSTILE[name]
    entries = len(builders.ledger())
    response = desk.call("elicitations", body)
    assert (response.status_code, response.json()["code"], response.json().get("at")) == (status, code, at)
    assert response["Content-Type"] == "application/problem+json"
    assert CANARY not in response.content.decode()
    assert not Elicitation.objects.exists()
    assert not Decision.objects.exists()
    assert len(builders.ledger()) == entries


@pytest.mark.parametrize("verb", ["progress", "answer", "completion", "lost", "retry", "cancel", "consume"])
def test_every_call_reads_its_body_through_the_same_decoder(desk: Desk, verb: str) -> None:
    public_id = desk.admit().json()["id"]
    before = builders.snapshot(public_id)
    for body in (f'{{"subject": {{"iss": "{CANARY}", "iss": "x", "sub": "y"}}}}'.encode(), b"[" * 999, b"\xff", b"{}"):
        response = desk.call(f"elicitations/{public_id}/{verb}", body)
        assert response.status_code == 400
        assert CANARY not in response.content.decode()
    assert builders.snapshot(public_id) == before


@pytest.mark.parametrize("body", [b"[" * 999, b"\xff", b"{}", b"null", b'{"type": "elicitation.completed"}'])
def test_a_signed_but_malformed_delivery_is_400(desk: Desk, body: bytes) -> None:
    assert desk.deliver(body).status_code == 400


def test_a_body_that_is_not_declared_as_json_is_415(desk: Desk) -> None:
    from django.test import Client

    for media in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data; boundary=x"):
        response = Client().post(
            "/api/v1/elicitations", GOOD, content_type=media, headers={"authorization": f"Bearer {desk.key}"}
        )
        assert (response.status_code, response.json()["code"]) == (415, "body.media_type")


@pytest.mark.parametrize(
    "capabilities",
    [None, True, [], "url", 7, {}, {"elicitation": None}, {"elicitation": []}, {"elicitation": {"url": None}}],
)
def test_a_capability_of_any_shape_is_judged_and_never_raises(desk: Desk, capabilities: Any) -> None:
    client = {"name": "x", "version": "1", "capabilities": capabilities}
    response = desk.admit(client=client)
    assert response.status_code == 422
    assert response.json()["code"].startswith("capability.")


def test_an_absent_capability_is_not_negotiated(desk: Desk) -> None:
    assert desk.admit(client={"name": "x"}).json()["code"] == "capability.missing"


@pytest.mark.parametrize("public_id", ["x", "elc_", "ELC_" + "A" * 26, "elc_" + "a" * 27, "elc_%7F", "..", "elc_é"])
def test_a_malformed_id_in_the_path_is_nobodys(desk: Desk, public_id: str) -> None:
    assert desk.call(f"elicitations/{public_id}/lost", {"subject": ALICE}).status_code == 404
    assert desk.call(f"elicitations/{public_id}", method="GET").status_code == 404


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=201", "limit=x", "limit=١", "cursor=x", f"cursor=elc_{'a' * 26}", "state=DONE"]
)
def test_a_malformed_query_is_named(desk: Desk, query: str) -> None:
    response = desk.call(f"elicitations?{query}", method="GET")
    assert (response.status_code, response.json()["at"]) == (400, query.partition("=")[0])
