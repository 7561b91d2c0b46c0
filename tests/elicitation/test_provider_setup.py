"""How a provider is set up: its scheme, its look-up, its secrets; at the shell and in the admin, on the ledger."""

from __future__ import annotations

import base64
import io
import re
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings
from django.utils import timezone

from elicitation.models import KeyUse, Provider, ProviderKey
from elicitation.services import keys, parties
from elicitation.services.keys import KeyProblem
from elicitation.services.parties import STRIPE_SEARCH, NotChanged
from tests import builders
from tests.builders import Desk
from tests.elicitation.set_up import API_KEY, STATUS_URL, columns, stored

pytestmark = pytest.mark.django_db

SIGNING = "whsec_" + base64.b64encode(bytes(range(32))).decode()
STRIPE_SIGNING = "whsec_" + "Kq7" * 11


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


def run(*words: str) -> None:
    call_command("provider_key", *words, skip_checks=True)


# The look-up


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ({"scheme": "stripe"}, ("stripe", "", "")),
        ({"lookup": "generic", "status_url": STATUS_URL}, ("standard", "generic", STATUS_URL)),
        ({"lookup": "stripe"}, ("standard", "stripe", STRIPE_SEARCH)),
        ({"lookup": "stripe", "status_url": ""}, ("standard", "stripe", STRIPE_SEARCH)),
        ({"lookup": "stripe", "status_url": "https://[2001:db8::1]:8443/search"}, None),
    ],
)
def test_a_provider_is_set_up_and_the_ledger_says_so(
    desk: Desk, setting: dict[str, Any], expected: tuple[str, str, str] | None
) -> None:
    assert parties.change_provider(desk.pay, **setting)
    row = columns(desk.pay)
    wanted = expected or ("standard", "stripe", setting["status_url"])
    assert (row["scheme"], row["lookup"], row["status_url"]) == wanted
    last = builders.ledger()[-1]
    assert (last.event, last.tenant, last.provider, last.role) == ("provider_changed", "acme", "example-pay", "shell")


def test_what_is_not_named_stays_and_the_same_again_changes_nothing(desk: Desk) -> None:
    parties.change_provider(desk.pay, lookup="generic", status_url=STATUS_URL)
    parties.change_provider(desk.pay, scheme="stripe")
    row = columns(desk.pay)
    assert (row["scheme"], row["lookup"], row["status_url"]) == ("stripe", "generic", STATUS_URL)
    before = stored(desk)
    assert not parties.change_provider(desk.pay, scheme="stripe", lookup="generic")
    assert stored(desk) == before


def test_a_new_lookup_begins_without_the_failures_of_the_old_one(desk: Desk) -> None:
    parties.change_provider(desk.pay, lookup="generic", status_url=STATUS_URL)
    paused = {"lookup_failures": 7, "lookup_paused_until": timezone.now() + timedelta(minutes=5)}
    Provider.objects.filter(pk=desk.pay.pk).update(**paused)
    parties.change_provider(desk.pay, scheme="stripe")
    assert columns(desk.pay)["lookup_failures"] == 7
    parties.change_provider(desk.pay, status_url=f"{STATUS_URL}/2")
    row = columns(desk.pay)
    assert (row["lookup_failures"], row["lookup_paused_until"]) == (0, None)
    parties.change_provider(desk.pay, lookup="")
    row = columns(desk.pay)
    assert (row["lookup"], row["status_url"]) == ("", "")


@pytest.mark.parametrize(
    "address",
    [
        "http://pay.example.com/status",
        "HTTPS://pay.example.com/status",
        "https://",
        "https:///status",
        "https://user@pay.example.com/",
        "https://user:CANARY@pay.example.com/",
        "https://pay.example.com/status?key=CANARY",
        "https://pay.example.com/status#CANARY",
        "https://pay.example.com?x",
        "https://pay.example.com\\@evil.example/",
        "https://pay.example.com:0/",
        "https://pay.example.com:99999/",
        "https://pay .example.com/",
        "https://pay.example.com/a b",
        "https://pay.example.com/é",
        "https://pay.example.com/\n",
        "//pay.example.com/status",
        "pay.example.com",
        "https://pay.example.com/" + "a" * 300,
    ],
)
def test_an_address_that_is_not_plain_https_is_refused_and_not_repeated(desk: Desk, address: str) -> None:
    before = stored(desk)
    with pytest.raises(NotChanged) as refused:
        parties.change_provider(desk.pay, lookup="generic", status_url=address)
    assert "CANARY" not in str(refused.value)
    assert stored(desk) == before


@pytest.mark.parametrize(
    "setting",
    [
        {"lookup": "generic"},
        {"lookup": "generic", "status_url": ""},
        {"status_url": STATUS_URL},
        {"lookup": "", "status_url": STATUS_URL},
        {"lookup": "CANARY"},
        {"scheme": "CANARY"},
    ],
)
def test_a_lookup_and_its_address_go_together(desk: Desk, setting: dict[str, Any]) -> None:
    before = stored(desk)
    with pytest.raises(NotChanged) as refused:
        parties.change_provider(desk.pay, **setting)
    assert "CANARY" not in str(refused.value)
    assert stored(desk) == before


# The secrets


def test_a_secret_for_lookups_verifies_nothing_and_one_for_webhooks_asks_nothing(desk: Desk) -> None:
    assert keys.lookup_key(desk.pay) is None
    ring = keys.provider_keys(desk.pay)
    keys.import_provider_key(desk.pay, SIGNING, KeyUse.LOOKUP)
    assert keys.provider_keys(desk.pay) == ring
    assert desk.deliver(b'{"type": "x"}', secret=SIGNING).status_code == 401
    assert keys.lookup_key(desk.pay) == SIGNING
    keys.import_provider_key(desk.pay, API_KEY, KeyUse.LOOKUP)
    assert keys.lookup_key(desk.pay) == API_KEY
    assert keys.lookup_key(desk.other_pay) is None


def test_a_secret_is_kept_sealed_for_its_provider_and_use_alone(desk: Desk) -> None:
    kid = keys.import_provider_key(desk.pay, API_KEY, KeyUse.LOOKUP)
    row = ProviderKey.objects.get(kid=kid)
    assert API_KEY not in str(vars(row))
    row.provider = desk.other_pay
    row.save()
    assert keys.lookup_key(desk.other_pay) is None
    ProviderKey.objects.filter(pk=row.pk).update(provider=desk.pay, use=KeyUse.WEBHOOK)
    assert kid not in keys.provider_keys(desk.pay)


def test_a_key_whose_seal_is_gone_is_left_out_and_the_others_are_good(desk: Desk, settings: Any) -> None:
    older = desk.pay_secret
    with override_settings(DESK_SEAL_KEYS={"n2": bytes(32)} | settings.DESK_SEAL_KEYS):
        newer = keys.create_provider_key(desk.pay)
    assert desk.deliver(b'{"type": "x"}', secret=newer).status_code == 401
    assert desk.deliver(b'{"type": "x"}', secret=older).status_code == 204


@pytest.mark.parametrize(
    ("scheme", "use", "secret"),
    [
        ("standard", KeyUse.WEBHOOK, ""),
        ("standard", KeyUse.WEBHOOK, "whsec_CANARY%"),
        ("standard", KeyUse.WEBHOOK, "whsec_" + base64.b64encode(bytes(23)).decode()),
        ("standard", KeyUse.WEBHOOK, "whsec_" + base64.b64encode(bytes(65)).decode()),
        ("stripe", KeyUse.WEBHOOK, "sk_live_CANARYCANARY"),
        ("stripe", KeyUse.WEBHOOK, "whsec_é" + "CANARY" * 3),
        ("standard", KeyUse.LOOKUP, "short"),
        ("standard", KeyUse.LOOKUP, "CANARY two words"),
        ("standard", KeyUse.LOOKUP, "CANARY\r\nx-injected: 1"),
        ("standard", KeyUse.LOOKUP, "CANARY\x00CANARY"),
        ("standard", KeyUse.LOOKUP, "CANARYé" * 3),
        ("standard", KeyUse.LOOKUP, "a" * 301),
    ],
)
def test_what_cannot_be_a_secret_is_refused_and_not_repeated(desk: Desk, scheme: str, use: KeyUse, secret: str) -> None:
    parties.change_provider(desk.pay, scheme=scheme)
    before = stored(desk)
    with pytest.raises(KeyProblem) as refused:
        keys.import_provider_key(desk.pay, secret, use)
    assert "CANARY" not in str(refused.value)
    assert stored(desk) == before


def test_a_secret_that_is_live_already_is_not_taken_twice(desk: Desk) -> None:
    keys.import_provider_key(desk.pay, SIGNING, KeyUse.WEBHOOK)
    before = stored(desk)
    with pytest.raises(KeyProblem):
        keys.import_provider_key(desk.pay, SIGNING, KeyUse.WEBHOOK)
    assert stored(desk) == before
    keys.import_provider_key(desk.pay, SIGNING, KeyUse.LOOKUP)


def test_no_secret_is_made_for_a_provider_that_makes_them_itself(desk: Desk) -> None:
    parties.change_provider(desk.pay, scheme="stripe")
    before = stored(desk)
    with pytest.raises(KeyProblem):
        keys.create_provider_key(desk.pay)
    assert stored(desk) == before


def test_one_key_is_revoked_or_all_and_each_is_on_the_ledger(desk: Desk) -> None:
    lookup = keys.import_provider_key(desk.pay, API_KEY, KeyUse.LOOKUP)
    keys.import_provider_key(desk.pay, SIGNING, KeyUse.WEBHOOK)
    assert keys.revoke_provider_keys(desk.pay, kid=lookup) == 1
    assert keys.lookup_key(desk.pay) is None
    assert len(keys.provider_keys(desk.pay)) == 2
    assert keys.revoke_provider_keys(desk.pay, kid=lookup) == 0
    assert keys.revoke_provider_keys(desk.other_pay, kid=keys.provider_keys(desk.pay).popitem()[0]) == 0
    assert keys.revoke_provider_keys(desk.pay) == 2
    assert keys.provider_keys(desk.pay) == {}
    entries = [row.signing_key_id for row in builders.ledger() if row.event == "key_revoked"]
    assert (len(entries), entries[0]) == (3, lookup)


# The shell


def test_a_stripe_provider_is_set_up_at_the_shell(desk: Desk, typed: Any, capsys: pytest.CaptureFixture[str]) -> None:
    run("set", "acme", "till", "--open", "--scheme", "stripe", "--lookup", "stripe")
    first = capsys.readouterr()
    assert first.out == f"signs: Stripe\nis asked: Stripe, at {STRIPE_SEARCH}\n"
    assert "no key for look-ups" in first.err
    assert "not heard" in first.err
    typed(f"{STRIPE_SIGNING}\n")
    run("import", "acme", "till")
    typed(API_KEY)
    run("import", "acme", "till", "--use", "lookup")
    told = capsys.readouterr()
    assert [line[0] for line in told.out.splitlines()] == ["w", "l"]
    assert "/api/v1/providers/till/events" in told.err
    till = Provider.objects.get(slug="till")
    assert keys.lookup_key(till) == API_KEY
    assert list(keys.provider_keys(till).values()) == [STRIPE_SIGNING.encode()]
    run("list", "acme", "till")
    listed = capsys.readouterr().out
    assert re.findall(r"^\w+  (\w+)  since .* (\w+)$", listed, re.MULTILINE) == [
        ("webhook", "live"),
        ("lookup", "live"),
    ]
    for secret in (STRIPE_SIGNING, API_KEY):
        assert secret not in told.out + told.err + listed
    events = [row.event for row in builders.ledger() if row.provider == "till"]
    assert events == ["provider_opened", "provider_changed", "key_created", "key_created"]


def test_a_made_secret_is_shown_once_and_revoked_by_its_id(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    run("create", "acme", "example-pay")
    secret = capsys.readouterr().out.strip()
    assert desk.deliver(b'{"type": "x"}', secret=secret).status_code == 204
    kid = next(iter(keys.provider_keys(desk.pay)))
    run("revoke", "acme", "example-pay", "--kid", kid)
    assert capsys.readouterr().err == "Revoked: 1.\n"
    assert desk.deliver(b'{"type": "x"}', secret=secret).status_code == 401
    assert desk.deliver(b'{"type": "x"}').status_code == 204
    run("revoke", "acme", "example-pay", "--all")
    assert "not heard any more" in capsys.readouterr().err
    assert desk.deliver(b'{"type": "x"}').status_code == 401


@pytest.mark.parametrize(
    "words",
    [
        ["create", "acme", "nobody"],
        ["create", "nobody", "example-pay"],
        ["list", "globex", "example-pay"],
        ["import", "acme", "example-pay"],
        ["revoke", "acme", "example-pay", "--kid", "w0"],
        ["set", "acme", "example-pay", "--lookup", "generic"],
        ["set", "acme", "example-pay", "--lookup", "generic", "--status-url", "http://CANARY.example/"],
    ],
)
def test_a_mistake_at_the_shell_is_one_sentence_and_changes_nothing(desk: Desk, typed: Any, words: list[str]) -> None:
    typed("CANARY is no secret\n")
    before = stored(desk)
    with pytest.raises(CommandError) as refused:
        run(*words)
    assert refused.value.returncode == 2
    assert "CANARY" not in str(refused.value)
    assert stored(desk) == before


def test_the_help_shows_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run("--help")
    assert ended.value.code == 0
    assert "provider_key import acme example-pay --use lookup <" in capsys.readouterr().out


# The admin
