"""The review of signals in the admin: done once, with a reason, on the record, and told honestly."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.test import Client

from audit.models import LedgerEntry, Outgoing, Signal
from elicitation.admin.reviewing import WORDS, Verb
from elicitation.admin.waiting import Queue
from elicitation.services.reviewing import RESOLVE_REASONS, ResolveReason
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import listed, look, signed_in
from tests.elicitation.admin_pages import page_of as page_of_entry
from tests.elicitation.queued import one_in
from tests.elicitation.signal_pages import ABOUT, SIGNALS, opened, page_of
from tests.people import staff

pytestmark = pytest.mark.django_db

SECRET = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


def at(signal: Signal, verb: str) -> str:
    return f"{SIGNALS}{signal.pk}/{verb}/"


def do(client: Client, signal: Signal, verb: str, **data: object) -> Any:
    seen = {"seen": signal.status, "count": signal.count, "reason": "handled"}
    return client.post(at(signal, verb), seen | data)


def offered(page: str) -> list[str]:
    """The verbs that the page of a signal offers; the main one has a star."""
    found = re.findall(rf'<a class="button( default)?" href="[^"]*/({"|".join(Verb)})/"', page)
    return [verb + ("*" if main else "") for main, verb in found]


def stored() -> list[Any]:
    """All that a review could change."""
    return [list(model._default_manager.order_by("pk").values()) for model in (Signal, LedgerEntry, LogEntry, Outgoing)]


def conflict(desk: Desk) -> tuple[str, Signal]:
    public_id = one_in(desk, Queue.CONFLICT, 1)
    return public_id, Signal.objects.get(rule="conflicting_result")


@pytest.mark.parametrize(
    ("status", "verbs", "said"),
    [
        ("open", ["resolve*", "acknowledge"], ""),
        ("acknowledged", ["resolve*"], "It is acknowledged already."),
        ("resolved", [], "It is resolved already."),
    ],
)
def test_only_what_its_status_allows_is_offered(operator: Client, status: str, verbs: list[str], said: str) -> None:
    signal = opened()
    Signal.objects.update(status=status)
    before = stored()
    assert offered(look(operator, page_of(signal))) == verbs
    for verb in Verb:
        page = look(operator, at(signal, verb))
        known = any(verb == each.rstrip("*") for each in verbs)
        assert (WORDS[verb].meaning in page, 'name="seen"' in page) == (known, known)
        assert known or said in page
    assert stored() == before, "looking changes nothing"


def test_a_signal_is_acknowledged_on_the_record_and_waits_to_be_resolved(desk: Desk, operator: Client) -> None:
    public_id, signal = conflict(desk)
    response = do(operator, signal, "acknowledge", note="Asked them, ticket 7")
    assert (response.status_code, response["Location"]) == (302, page_of(signal))
    signal.refresh_from_db()
    assert (signal.status, signal.count) == ("acknowledged", 1)
    row = LedgerEntry.objects.get(event="signal_acknowledged")
    assert (row.tenant, row.rule, row.rule_source, row.reason_code, row.repeat_count) == (
        "acme",
        "signal.conflicting_result",
        "operator",
        "",
        1,
    )
    page = look(operator, page_of(signal))
    assert "Acknowledged: it goes on counting, and waits to be resolved." in page
    assert "Acknowledged. Note: Asked them, ticket 7" in page
    assert listed(look(operator, "/admin/?queue=conflict")) == [public_id], "it still waits for somebody"
    assert (
        "An operator looks at the signal &quot;Two results for one elicitation&quot;."
        in look(operator, page_of_entry(public_id))
    )  # fmt: skip


@pytest.mark.parametrize("reason", list(ResolveReason))
def test_a_signal_is_resolved_with_a_reason_and_leaves_its_queue(
    desk: Desk, operator: Client, reason: ResolveReason
) -> None:
    public_id, signal = conflict(desk)
    assert listed(look(operator, "/admin/?queue=conflict")) == [public_id]
    response = do(operator, signal, "resolve", reason=reason, note="Ticket 7")
    assert (response.status_code, response["Location"]) == (302, page_of(signal))
    signal.refresh_from_db()
    assert signal.status == "resolved"
    row = LedgerEntry.objects.get(event="signal_resolved")
    olga = str(User.objects.get().pk)
    assert (row.elicitation_id, row.actor_kind, row.actor_id, row.role) == (
        builders.entry_of(public_id).uid,
        "operator",
        olga,
        "operator",
    )
    assert (row.rule, row.rule_source, row.reason_code, row.repeat_count) == (
        "signal.conflicting_result",
        "operator",
        reason,
        1,
    )
    page = look(operator, page_of(signal))
    assert "Resolved; the ledger has the reason." in page
    assert f"Resolved: {RESOLVE_REASONS[reason]}. Note: Ticket 7".replace("'", "&#x27;") in page
    assert "Nothing: it is resolved." in page
    assert "Ticket" not in str([vars(each) for each in builders.ledger()])
    assert listed(look(operator, "/admin/?queue=conflict")) == []
    assert builders.entry_of(public_id).state == "COMPLETE", "the entry itself is not touched"


def test_what_happens_after_a_signal_was_resolved_opens_another(desk: Desk, operator: Client) -> None:
    public_id, signal = conflict(desk)
    do(operator, signal, "acknowledge")
    signal.refresh_from_db()
    do(operator, signal, "resolve")
    desk.event(public_id, "pi_third")
    rows = Signal.objects.filter(rule="conflicting_result").order_by("pk").values_list("status", "count")
    assert list(rows) == [("resolved", 1), ("open", 1)]
    assert listed(look(operator, "/admin/?queue=conflict")) == [public_id]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"reason": ""}, "Choose a reason."),
        ({"reason": "refunded"}, "Select a valid choice"),
        ({"reason": "other"}, "Say what the other reason is."),
        ({"reason": "other", "note": "ask alice@id.example.com"}, "looks like a secret or an address (email)"),
        ({"note": SECRET}, "looks like a secret or an address"),
        ({"note": "x" * 201}, "at most 200 characters"),
        ({"seen": "resolved"}, "Open this page anew"),
        ({"seen": ""}, "Open this page anew"),
        ({"count": "0"}, "Open this page anew"),
        ({"count": "9" * 40}, "Open this page anew"),
        ({"count": "many"}, "Open this page anew"),
    ],
)
def test_a_form_that_says_too_little_or_too_much_changes_nothing(
    operator: Client, data: dict[str, str], said: str
) -> None:
    signal = opened()
    before = stored()
    response = do(operator, signal, "resolve", **data)
    page = response.content.decode()
    assert (response.status_code, said in page) == (200, True)
    assert SECRET not in page
    assert "alice" not in page
    assert stored() == before


@pytest.mark.parametrize(("data", "said"), [({"note": SECRET}, "secret"), ({"seen": "acknowledged"}, "anew")])
def test_an_acknowledgement_is_asked_for_as_strictly(operator: Client, data: dict[str, str], said: str) -> None:
    signal = opened()
    before = stored()
    response = do(operator, signal, "acknowledge", **data)
    page = response.content.decode()
    assert (response.status_code, said in page, SECRET in page) == (200, True, False)
    assert stored() == before


@pytest.mark.parametrize(
    ("first", "second", "now"),
    [
        ("acknowledge", "acknowledge", "acknowledged"),
        ("acknowledge", "resolve", "acknowledged"),
        ("resolve", "acknowledge", "resolved"),
        ("resolve", "resolve", "resolved"),
    ],
)
def test_the_second_of_two_operators_is_told_how_it_stands(operator: Client, first: str, second: str, now: str) -> None:
    signal = opened()
    assert do(operator, signal, first).status_code == 302
    before = stored()
    refused = do(operator, signal, second, reason="false_alarm", note="Mine")
    page = refused.content.decode()
    assert refused.status_code == 409
    assert f"Somebody was first. Nothing was changed by you. It is now: {now}, count 1." in page
    assert stored() == before


def test_more_events_since_the_page_was_opened_are_told_before_it_is_resolved(operator: Client) -> None:
    signal = opened()
    opened()
    before = stored()
    refused = do(operator, signal, "resolve", reason="false_alarm", note="Ticket 7")
    page = refused.content.decode()
    assert refused.status_code == 409
    assert "It has happened again since this page was opened." in page
    assert "It is now: open, count 2." in page
    assert stored() == before
    assert "Ticket 7</textarea>" in page, "what was written is not lost"
    assert '<option value="false_alarm" selected>' in page
    signal.refresh_from_db()
    assert do(operator, signal, "resolve").status_code == 302


@pytest.mark.parametrize("verb", list(Verb))
@pytest.mark.parametrize("permissions", [[], ["view_signal"], ["review_signal"], ["view_signal", "resend_outgoing"]])
def test_who_may_not_review_is_refused_and_nothing_changes(desk: Desk, permissions: list[str], verb: Verb) -> None:
    signal = opened()
    client, before = signed_in(staff("sam", *permissions)), stored()
    assert client.get(at(signal, verb)).status_code == 403
    assert do(client, signal, verb).status_code == 403
    assert stored() == before
    if "view_signal" in permissions:
        assert offered(look(client, page_of(signal))) == []


def test_who_may_view_and_review_needs_no_more(desk: Desk) -> None:
    _, signal = conflict(desk)
    sam = staff("sam", "view_signal", "review_signal")
    client = signed_in(sam)
    assert offered(look(client, page_of(signal))) == ["resolve*", "acknowledge"]
    assert do(client, signal, "resolve").status_code == 302
    assert LedgerEntry.objects.get(event="signal_resolved").actor_id == str(sam.pk)


@pytest.mark.parametrize("verb", list(Verb))
def test_a_forged_post_and_a_stranger_change_nothing(operator: Client, verb: Verb) -> None:
    signal = opened()
    forged = Client(enforce_csrf_checks=True, raise_request_exception=False)
    forged.force_login(User.objects.get())
    before = stored()
    assert do(forged, signal, verb).status_code == 403
    assert do(Client(), signal, verb).status_code == 302
    assert stored() == before


@pytest.mark.parametrize("verb", list(Verb))
def test_a_signal_that_is_not_there_is_not_found(operator: Client, verb: Verb) -> None:
    for number in ("0", "99", "9" * 30):
        assert operator.get(f"{SIGNALS}{number}/{verb}/").status_code == 404
        assert operator.post(f"{SIGNALS}{number}/{verb}/").status_code == 404


def test_when_the_ledger_cannot_be_written_the_signal_stays(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise DatabaseError("the disk is full")

    signal = opened()
    before = stored()
    monkeypatch.setattr("elicitation.services.reviewing.append", broken)
    for verb in Verb:
        with transaction.atomic():
            assert do(operator, signal, verb).status_code >= 500
    assert stored() == before


@pytest.mark.parametrize("rule", sorted(ABOUT))
def test_every_kind_of_signal_can_be_reviewed(operator: Client, rule: str) -> None:
    tenant, about = ABOUT[rule]
    signal = opened(rule, about, tenant)
    assert do(operator, signal, "acknowledge").status_code == 302
    signal.refresh_from_db()
    assert do(operator, signal, "resolve").status_code == 302
    look(operator, f"/admin/audit/ledgerentry/{LedgerEntry.objects.latest('pk').pk}/change/")


def test_an_entry_leads_to_the_signals_about_it_until_they_are_resolved(desk: Desk, operator: Client) -> None:
    public_id, signal = conflict(desk)
    link = f'<a href="{page_of(signal)}">Two results for one elicitation</a> (open)'
    assert link in look(operator, page_of_entry(public_id))
    sam = staff("sam", "view_elicitation")
    assert page_of(signal) not in look(signed_in(sam), page_of_entry(public_id))
    do(operator, signal, "resolve")
    assert page_of(signal) not in look(operator, page_of_entry(public_id))
