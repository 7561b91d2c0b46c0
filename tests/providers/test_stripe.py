"""Stripe's search of PaymentIntents: every row of the table, and only what is about this elicitation."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from elicitation.policy import identifiers
from elicitation.providers import Answer, Problem, Status, ask, stripe
from elicitation.providers.answers import NoAnswer
from tests.providers.server import ProviderServer, reply, says

ID = identifiers.mint_text(bytes(range(16)))
OTHER = identifiers.mint_text(bytes(range(1, 17)))
AT_TWELVE = 1_769_860_800
TWELVE = datetime(2026, 1, 31, 12, tzinfo=UTC)
FAILED, PENDING, UNKNOWN = Answer(Status.FAILED), Answer(Status.PENDING), Answer(Status.UNKNOWN)


def charge(created: int = AT_TWELVE, *, amount_refunded: int = 0, disputed: bool = False) -> dict[str, Any]:
    return {
        "id": "ch_3Qa",
        "object": "charge",
        "amount": 2000,
        "amount_refunded": amount_refunded,
        "created": created,
        "disputed": disputed,
        "refunded": amount_refunded == 2000,
        "status": "succeeded",
    }


def intent(status: str, name: str = "pi_3QaBcD", about: str = ID, **members: Any) -> dict[str, Any]:
    """As Stripe sends it, shortened; with the client's secret that every intent carries."""
    return {
        "id": name,
        "object": "payment_intent",
        "amount": 2000,
        "client_secret": f"{name}_secret_YrKJUKribcBjcG8H",
        "created": AT_TWELVE - 60,
        "latest_charge": charge() if status == "succeeded" else None,
        "metadata": {"elicitation_id": about, "order": "7"},
        "status": status,
    } | members


REFUNDED = intent("succeeded", "pi_refunded", latest_charge=charge(amount_refunded=2000))
CANCELED = intent("canceled", "pi_canceled")
MOVING = intent("processing", "pi_moving")
WAITING = intent("requires_action", "pi_waiting")


def completed(name: str = "pi_3QaBcD", at: datetime = TWELVE) -> Answer:
    return Answer(Status.COMPLETED, name, at)


def found(*intents: dict[str, Any], has_more: bool = False) -> dict[str, Any]:
    return {
        "object": "search_result",
        "url": "/v1/payment_intents/search",
        "has_more": has_more,
        "next_page": None,
        "data": list(intents),
    }


def told(*intents: dict[str, Any], has_more: bool = False) -> Answer:
    return stripe.read(json.dumps(found(*intents, has_more=has_more)).encode(), ID)


def test_the_search_is_asked_for_the_id_and_the_charge_in_one_request(provider: ProviderServer) -> None:
    provider.path = "/v1/payment_intents/search"
    provider.script(says(found(MOVING)))
    assert ask("stripe", provider.status_url, "rk_test_key", ID) == PENDING
    (seen,) = provider.seen
    assert (seen.method, seen.path) == ("GET", "/v1/payment_intents/search")
    assert seen.query == {
        "query": [f"metadata['elicitation_id']:'{ID}'"],
        "limit": ["10"],
        "expand[]": ["data.latest_charge"],
    }
    assert seen.headers["authorization"] == "Bearer rk_test_key"
    assert "stripe-version" not in seen.headers


@pytest.mark.parametrize(
    ("intents", "answer"),
    [
        ([intent("succeeded")], completed()),
        ([intent("succeeded", latest_charge=charge(amount_refunded=500))], completed()),
        ([intent("succeeded", latest_charge=charge(disputed=True))], completed()),
        ([CANCELED, WAITING, MOVING, intent("succeeded")], completed()),
        ([REFUNDED, intent("succeeded")], completed()),
        ([intent("processing")], PENDING),
        ([intent("requires_capture", latest_charge=charge())], PENDING),
        ([CANCELED, WAITING, MOVING], PENDING),
        ([REFUNDED, intent("requires_capture")], PENDING),
        ([intent("requires_payment_method")], UNKNOWN),
        ([intent("requires_confirmation")], UNKNOWN),
        ([intent("requires_action")], UNKNOWN),
        ([intent("a_word_of_next_year")], UNKNOWN),
        ([CANCELED, WAITING], UNKNOWN),
        ([REFUNDED, WAITING], UNKNOWN),
        ([CANCELED], FAILED),
        ([REFUNDED], FAILED),
        ([CANCELED, REFUNDED, CANCELED], FAILED),
        ([], UNKNOWN),
    ],
    ids=lambda value: "+".join(each["status"] for each in value) or "none" if isinstance(value, list) else value.status,
)
def test_each_row_of_the_table(intents: list[dict[str, Any]], answer: Answer) -> None:
    assert told(*intents) == answer
    assert told(*reversed(intents)) == answer


def test_of_several_payments_the_earliest_counts() -> None:
    later = intent("succeeded", "pi_a", latest_charge=charge(AT_TWELVE + 5), created=AT_TWELVE - 500)
    earlier = intent("succeeded", "pi_b", latest_charge=charge(AT_TWELVE))
    assert told(later, earlier) == told(earlier, later) == completed("pi_b")
    undone = intent("succeeded", "pi_c", latest_charge=charge(AT_TWELVE - 5, amount_refunded=2000))
    assert told(undone, later, earlier) == completed("pi_b")


def test_of_payments_in_one_second_the_same_one_counts_in_any_order() -> None:
    assert told(intent("succeeded", "pi_b"), intent("succeeded", "pi_a")) == completed("pi_a")
    assert told(intent("succeeded", "pi_a"), intent("succeeded", "pi_b")) == completed("pi_a")


def test_a_payment_without_a_charge_has_the_time_of_its_intent() -> None:
    assert told(intent("succeeded", latest_charge=None, created=AT_TWELVE)) == completed()


@pytest.mark.parametrize(
    "metadata",
    [{"elicitation_id": OTHER}, {"elicitation_id": ID.upper()}, {"elicitation_id": f"{ID} "}, {"other": ID}, {}],
    ids=["another", "in capitals", "with a blank", "under another name", "none"],
)
def test_a_payment_for_anything_else_is_passed_over(metadata: dict[str, str]) -> None:
    elsewhere = intent("succeeded", metadata=metadata)
    assert told(elsewhere) == UNKNOWN
    assert told(elsewhere, MOVING) == PENDING
    assert told(elsewhere, CANCELED) == FAILED
    assert told(intent("requires_action", metadata=metadata), CANCELED) == FAILED


def test_where_more_were_found_than_sent_nothing_is_called_failed() -> None:
    assert told(CANCELED, has_more=True) == UNKNOWN
    assert told(MOVING, has_more=True) == PENDING
    assert told(intent("succeeded"), has_more=True) == completed()


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"data": []},
        {"data": {}, "has_more": False},
        {"error": {"type": "invalid_request_error"}},
        found([]),  # type: ignore[arg-type]
        found({key: value for key, value in intent("succeeded").items() if key != "latest_charge"}),
        found({key: value for key, value in intent("succeeded").items() if key != "metadata"}),
        found(intent("succeeded", latest_charge="ch_3Qa")),
        found(intent("succeeded", latest_charge={"created": AT_TWELVE})),
        found(intent("succeeded", latest_charge={"created": AT_TWELVE, "refunded": None})),
        found(intent("succeeded", latest_charge={"created": AT_TWELVE, "refunded": "false"})),
        found(intent("succeeded", latest_charge={"created": True, "refunded": False})),
        found(intent("succeeded", latest_charge={"created": float(AT_TWELVE) + 0.5, "refunded": False})),
        found(intent("succeeded", latest_charge=charge(-1))),
        found(intent("succeeded", latest_charge=charge(10**30))),
        found(intent("succeeded", "pi_3QaBcD_secret_YrKJUKribcBjcG8H")),
        found(intent("succeeded", "")),
        found(intent("succeeded", metadata={"elicitation_id": 7})),
        found(intent("succeeded") | {"status": None}),
    ],
    ids=lambda value: str(number) if (number := len(json.dumps(value))) else "",
)
def test_what_stripe_would_not_send_is_malformed(value: Any) -> None:
    with pytest.raises(NoAnswer) as failure:
        stripe.read(json.dumps(value).encode(), ID)
    assert failure.value.problem is Problem.MALFORMED


def test_ten_intents_as_large_as_stripe_sends_them_are_read(provider: ProviderServer) -> None:
    metadata = {"elicitation_id": ID} | {f"note-{number}": "x" * 500 for number in range(12)}
    intents = [intent("canceled", f"pi_{number}", metadata=metadata, description="y" * 20_000) for number in range(10)]
    provider.script(reply(json.dumps(found(*intents), indent=2).encode()))
    assert ask("stripe", provider.status_url, "rk_test_key", ID) == FAILED


def test_a_key_that_stripe_refuses_is_no_answer(provider: ProviderServer) -> None:
    provider.script(says({"error": {"type": "invalid_request_error"}}, 401))
    assert ask("stripe", provider.status_url, "rk_test_key", ID) == Answer(Status.UNREACHABLE, problem="status_4xx")
