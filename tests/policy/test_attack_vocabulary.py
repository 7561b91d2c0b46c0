"""Words that were asked with and not found: one question decides, whether anyone would mind the value in a log file."""

from urllib.parse import quote

import pytest

from tests.policy.asking import ask_form, ask_url, destination, first, placed, rules

STRING = {"type": "string"}


@pytest.mark.parametrize(
    "text", ["Κωδικός", "κωδικός", "ΚΩΔΙΚΟΣ", "Ο κωδικός σας", "Δώστε τον κωδικό σας", "neos_κωδικός"]
)
def test_attack_a_code_without_more_is_a_password_in_greek(text: str) -> None:
    for place in ("name", "title", "message"):
        assert any(rule.startswith("form.credential_") for rule in rules(placed(place, text)))


@pytest.mark.parametrize(
    "text",
    ["Ταχυδρομικός κωδικός", "Κωδικός προϊόντος", "Κωδικός χώρας", "Κωδικός κράτησης", "Ο κωδικός της χώρας",
     "Κωδικός έκπτωσης", "Πηγαίος κωδικός", "Κωδικοποίηση", "κωδικό όνομα"],
)  # fmt: skip
def test_attack_the_code_of_a_place_or_a_thing_is_none(text: str) -> None:
    assert rules(placed("title", text)) == []


INSTRUMENTS = ["creditcard", "credit_card", "creditCard", "my-credit-card", "debit_card", "bank_account", "bankAccount"]


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_attack_a_free_field_named_after_a_means_of_payment_asks_for_its_number(name: str) -> None:
    for field in (STRING, {"type": "integer"}, {"type": "number"}, {"type": "string", "maxLength": 30}):
        assert first(ask_form({name: field})) == "form.credential_name"


@pytest.mark.parametrize("name", INSTRUMENTS)
def test_attack_to_choose_a_means_of_payment_is_an_ordinary_question(name: str) -> None:
    for field in (
        {"type": "boolean"},
        {"type": "string", "enum": ["yes", "no"]},
        {"type": "string", "oneOf": [{"const": name, "title": "Credit card"}, {"const": "b", "title": "Bank account"}]},
    ):
        assert rules(ask_form({name: field})) == []
    assert rules(placed("choice", name)) == []


@pytest.mark.parametrize("name", ["card", "cards", "number_of_cards", "greeting_card", "sim_card", "account", "phone"])
def test_attack_other_cards_and_accounts_have_no_such_number(name: str) -> None:
    assert rules(ask_form({name: STRING})) == []


@pytest.mark.parametrize(
    "text", ["iban", "IBAN", "your IBAN", "ibanNumber", "bank account number", "Credit card details"]
)
def test_attack_with_an_iban_money_can_be_drawn_so_it_is_a_payment_credential(text: str) -> None:
    for place in ("name", "title", "message"):
        assert any(rule.startswith("form.credential_") for rule in rules(placed(place, text)))


@pytest.mark.parametrize("text", ["Liban", "Caliban", "Account holder", "Bank", "bank_name", "BIC"])
def test_attack_the_name_of_a_bank_or_of_its_customer_is_no_secret(text: str) -> None:
    assert rules(placed("title", text)) == []


@pytest.mark.parametrize(
    "text", ["mnemonic", "walletMnemonic", "Enter your mnemonic", "bearer", "Bearer", "auth_bearer"]
)
def test_attack_a_wallets_words_and_a_header_are_credentials(text: str) -> None:
    for place in ("name", "title", "message"):
        assert any(rule.startswith("form.credential_") for rule in rules(placed(place, text)))


@pytest.mark.parametrize(
    "text", ["Name of the bearer", "Ring bearer", "cost_bearer", "Bearer bonds", "The bearer of this ticket",
             "Mnemonic devices help", "Load bearing wall", "forbearer"],
)  # fmt: skip
def test_attack_a_bearer_of_something_and_an_aid_to_memory_are_none(text: str) -> None:
    assert rules(placed("title", text)) == []


@pytest.mark.parametrize("name", ["iban", "bearer", "mnemonic", "κωδικός"])
def test_attack_the_same_words_are_found_in_a_parameters_name(name: str) -> None:
    raw = f"https://consent.example.com/start?{quote(name)}=1"
    assert "url.parameter_secret" in rules(ask_url(raw, under=destination(paths=["/"])))
