"""The desk's own contract: one exact question, and an answer that is read strictly or not at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elicitation.policy import identifiers
from elicitation.providers import Answer, Problem, Status, ask, generic
from elicitation.providers.answers import NoAnswer
from tests.providers.server import ProviderServer, reply, says

ID = identifiers.mint_text(bytes(range(16)))
KEY = "key-of-the-desk"
PAID: dict[str, Any] = {"status": "completed", "result_ref": "pi_3QaBcD"}
ALICE = {"iss": "https://id.example", "sub": "u-4711"}


def asked(provider: ProviderServer) -> Answer:
    return ask("generic", provider.status_url, KEY, ID)


def told(value: Any) -> Answer:
    return generic.read(json.dumps(value).encode())


def refused(body: bytes) -> Problem:
    with pytest.raises(NoAnswer) as failure:
        generic.read(body)
    return failure.value.problem


def test_the_provider_sees_one_request_with_exactly_the_question(provider: ProviderServer) -> None:
    asked(provider)
    (seen,) = provider.seen
    assert provider.connections == 1
    assert (seen.method, seen.target) == ("GET", f"/status?elicitation_id={ID}")
    assert seen.headers == {
        "host": f"localhost:{provider.port}",
        "authorization": f"Bearer {KEY}",
        "accept": "application/json",
        "accept-encoding": "identity",
        "connection": "close",
        "user-agent": "elicitation-desk",
    }
    assert len(seen.header_names) == len(seen.headers)


def test_a_query_that_the_address_has_is_kept(provider: ProviderServer) -> None:
    ask("generic", f"{provider.status_url};v=1?account=7", KEY, ID)
    (seen,) = provider.seen
    assert seen.target == f"/status;v=1?account=7&elicitation_id={ID}"


def test_an_address_without_a_path_is_asked_at_its_root(provider: ProviderServer) -> None:
    ask("generic", f"https://localhost:{provider.port}", KEY, ID)
    (seen,) = provider.seen
    assert seen.target == f"/?elicitation_id={ID}"


def test_a_completion_brings_its_reference_its_time_and_its_person(provider: ProviderServer) -> None:
    provider.script(says(PAID | {"occurred_at": "2026-01-31T13:00:00.25+01:00", "subject": ALICE, "amount": [1, None]}))
    assert asked(provider) == Answer(
        Status.COMPLETED,
        "pi_3QaBcD",
        datetime(2026, 1, 31, 12, 0, 0, 250_000, tzinfo=UTC),
        ("https://id.example", "u-4711"),
    )


def test_a_completion_needs_no_more_than_its_reference() -> None:
    assert told(PAID) == Answer(Status.COMPLETED, "pi_3QaBcD")
    assert told(PAID | {"occurred_at": None, "subject": None}) == Answer(Status.COMPLETED, "pi_3QaBcD")


def test_a_failure_brings_its_time_and_its_person_and_no_reference() -> None:
    failed = told({"status": "failed", "result_ref": "pi_1", "occurred_at": "2026-01-31T12:00:00Z", "subject": ALICE})
    assert failed == Answer(
        Status.FAILED, None, datetime(2026, 1, 31, 12, tzinfo=UTC), ("https://id.example", "u-4711")
    )


@pytest.mark.parametrize("status", ["pending", "unknown"])
def test_what_has_not_ended_brings_nothing_else(status: str) -> None:
    assert told(PAID | {"status": status, "subject": ALICE}) == Answer(Status(status))


@pytest.mark.parametrize(
    "value",
    [
        [],
        "completed",
        None,
        {},
        {"status": "complete"},
        {"status": "COMPLETED", "result_ref": "pi_1"},
        {"status": "unreachable"},
        {"status": None},
        {"status": ["completed"], "result_ref": "pi_1"},
        {"status": "completed"},
        PAID | {"result_ref": None},
        PAID | {"result_ref": ""},
        PAID | {"result_ref": 7},
        PAID | {"result_ref": "x" * 256},
        PAID | {"result_ref": "two words"},
        PAID | {"result_ref": "pi_é"},
        PAID | {"result_ref": "pi_\ud800"},
        PAID | {"result_ref": "pi_1\n"},
        PAID | {"result_ref": "sk_live_4eC39HqLyjWDarjtT1zdp7dc"},
        PAID | {"result_ref": "pi_3QaBcD_secret_9XyZ12"},
        PAID | {"result_ref": "4111111111111111"},
        PAID | {"result_ref": "somebody@example.com"},
        PAID | {"occurred_at": "2026-01-31T12:00:00"},
        PAID | {"occurred_at": "2026-01-31"},
        PAID | {"occurred_at": "yesterday"},
        PAID | {"occurred_at": 1769860800},
        PAID | {"occurred_at": True},
        PAID | {"occurred_at": "1999-12-31T23:59:59Z"},
        PAID | {"occurred_at": "2200-01-01T00:00:00Z"},
        PAID | {"occurred_at": "0001-01-01T00:00:00+23:59"},
        PAID | {"occurred_at": "9999-12-31T23:59:59-23:59"},
        PAID | {"subject": "u-4711"},
        PAID | {"subject": {"iss": "https://id.example"}},
        PAID | {"subject": ALICE | {"sub": ""}},
        PAID | {"subject": ALICE | {"sub": 4711}},
        PAID | {"subject": ALICE | {"sub": "x" * 513}},
        PAID | {"subject": ALICE | {"sub": "u\x00"}},
        PAID | {"subject": ALICE | {"sub": "u\udfff"}},
    ],
    ids=lambda value: ascii(value)[:60],
)
def test_what_the_contract_does_not_say_is_malformed(value: Any) -> None:
    assert refused(json.dumps(value).encode()) is Problem.MALFORMED


@pytest.mark.parametrize(
    "body",
    [
        b'{"status": "pending", "status": "completed", "result_ref": "pi_1"}',
        b'{"status": "completed", "result_ref": "pi_1", "aside": [{"a": 1, "a": 2}]}',
        b'{"status": "pending", "subject": {"iss": "a", "iss": "a", "sub": "b"}}',
        b"[" * 60_000,
        b'{"status": "pending", "deep": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
    ],
    ids=["twice", "twice in what is not read", "twice in the subject", "deep", "deep in what is not read"],
)
def test_json_that_readers_would_read_differently_is_malformed(body: bytes) -> None:
    assert refused(body) is Problem.MALFORMED


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>completed</html>",
        b'{"status": "completed", "result_ref": "pi_1"',
        b'{"status": "pending"} {"status": "completed"}',
        b'{"status": "pending", "amount": NaN}',
        b'{"status": "pending", "amount": -Infinity}',
        b'{"status": "pending", "amount": ' + b"9" * 5000 + b"}",
        b"\xef\xbb\xbf" + b'{"status": "pending"}',
        '{"status": "pending"}'.encode("utf-16"),
        b'{"status": "pending", "note": "\xff"}',
        b'{"status": "pending", "note": "a\nb"}',
    ],
    ids=lambda body: ascii(body)[:50],
)
def test_what_is_not_json_is_told_apart(body: bytes) -> None:
    assert refused(body) is Problem.NOT_JSON


def test_letters_of_every_script_may_name_a_person(provider: ProviderServer) -> None:
    provider.script(reply(json.dumps(PAID | {"subject": ALICE | {"sub": "ålice-愛"}}, ensure_ascii=False).encode()))
    assert asked(provider).subject == ("https://id.example", "ålice-愛")


def test_a_refusal_of_the_contract_reaches_the_caller_as_a_code(provider: ProviderServer) -> None:
    provider.script(says({"status": "completed"}))
    assert asked(provider) == Answer(Status.UNREACHABLE, problem="malformed")


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["completed", "pi_1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["status", "result_ref", "occurred_at", "subject", "other"])


@settings(deadline=None)
@given(body=st.dictionaries(NAMES, VALUES).map(lambda value: json.dumps(value).encode()) | st.binary(max_size=200))
def test_whatever_comes_it_is_an_answer_or_a_problem(body: bytes) -> None:
    try:
        answer = generic.read(body)
    except NoAnswer:
        return
    assert (answer.result_ref is not None) == (answer.status is Status.COMPLETED)
    assert answer.problem == ""
