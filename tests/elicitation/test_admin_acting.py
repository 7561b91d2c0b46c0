"""What an operator does to an entry beside cancelling it: only what its state allows, once, and told honestly."""

from __future__ import annotations

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from elicitation.admin.acting_words import WORDS, Verb
from elicitation.models import Evidence
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import at, consented, do, late, listed, look, offered, page_of, signed_in
from tests.people import staff
from tests.steps import act, ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


def test_only_what_the_table_allows_is_offered_the_next_step_first(desk: Desk, operator: Client) -> None:
    asked, pending, stuck, form = ask(desk, 2), consented(desk, 3), consented(desk, 4), ask(desk, 5, form=True)
    act(desk, stuck, "lost")
    paid = consented(desk, 6)
    desk.event(paid, "pi_paid")
    over = late(desk)
    expected = {
        asked: ["cancel*"],
        pending: ["lost*", "cancel"],
        stuck: ["retry*", "cancel"],
        form: ["cancel*"],
        paid: [],
        over: ["propose*", "close"],
    }
    for public_id, verbs in expected.items():
        assert offered(look(operator, page_of(public_id))) == verbs
        for verb in Verb:
            page = look(operator, at(public_id, verb))
            known = any(verb == each.rstrip("*") for each in verbs)
            assert (WORDS[verb].otherwise in page, 'name="seen"' in page) == (not known, known)


def test_an_error_that_asks_for_a_link_may_be_lost_before_any_answer(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1, delivery="url_required")
    assert offered(look(operator, page_of(public_id))) == ["cancel*", "lost"]


def test_a_confirmation_is_marked_as_lost_on_the_record(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    response = do(operator, public_id, "lost", "CONSENT_PENDING")
    assert (response.status_code, response.url) == (302, page_of(public_id))
    row = builders.ledger(public_id)[-1]
    assert (row.event, row.actor_kind, row.state_to) == ("lost", "operator", "RETRY_REQUIRED")
    page = look(operator, page_of(public_id))
    assert "neither done nor failed, and a retry is needed" in page
    assert "Marked the confirmation as lost." in page


def test_a_retry_without_a_confirmation_says_so(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    act(desk, public_id, "lost")
    assert do(operator, public_id, "retry", "RETRY_REQUIRED").status_code == 302
    page = look(operator, page_of(public_id))
    assert "Still not confirmed: no confirmation is held, and nobody may be asked (the provider has no" in page
    assert '<li class="warning">' in page
    assert builders.entry_of(public_id).state == "RETRY_REQUIRED"


def test_a_retry_says_why_what_is_held_does_not_count(desk: Desk, operator: Client) -> None:
    public_id = consented(desk)
    desk.event(public_id, subject=None)
    act(desk, public_id, "lost")
    do(operator, public_id, "retry", "RETRY_REQUIRED")
    said = "Still not confirmed: a confirmation is held, but it does not say whose it is."
    assert said in look(operator, page_of(public_id))


def test_a_retry_completes_with_what_was_held(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    desk.event(public_id)
    act(desk, public_id, "lost")
    do(operator, public_id, "retry", "RETRY_REQUIRED")
    page = look(operator, page_of(public_id))
    assert "Confirmed: the confirmation was found, and it passes every check." in page
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_late_evidence_is_closed_with_a_reason_and_leaves_the_list(desk: Desk, operator: Client) -> None:
    public_id = late(desk)
    assert listed(look(operator, "/admin/")) == [public_id]
    assert do(operator, public_id, "close", "CANCELLED", reason="refunded", note="Ticket 7").status_code == 302
    row = builders.ledger(public_id)[-1]
    assert (row.event, row.reason_code, row.state_to) == ("close", "refunded", "CANCELLED")
    assert Evidence.objects.get().status == "closed"
    page = look(operator, page_of(public_id))
    assert "An operator closed the late evidence: the work was taken back, such as money refunded." in page
    assert "Note: Ticket 7" in page
    assert "Ticket" not in str([vars(each) for each in builders.ledger()])
    assert "No entry waits for an operator" in look(operator, "/admin/")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"reason": ""}, "Choose a reason."),
        ({"reason": "security"}, "Select a valid choice"),
        ({"reason": "other"}, "Say what the other reason is."),
        ({"reason": "other", "note": "ask alice@id.example.com"}, "looks like a secret or an address (email)"),
    ],
)
def test_closing_needs_a_proper_reason(desk: Desk, operator: Client, data: dict[str, str], said: str) -> None:
    public_id = late(desk)
    before = builders.snapshot(public_id)
    response = do(operator, public_id, "close", "CANCELLED", **data)
    assert (response.status_code, said in response.content.decode()) == (200, True)
    assert (builders.snapshot(public_id), LogEntry.objects.count()) == (before, 0)


@pytest.mark.parametrize("verb", ["close", "lost"])
def test_the_second_of_two_operators_is_told(desk: Desk, operator: Client, verb: str) -> None:
    public_id = late(desk) if verb == "close" else consented(desk)
    seen = builders.entry_of(public_id).state
    assert do(operator, public_id, verb, seen, reason="duplicate").status_code == 302
    before = builders.snapshot(public_id)
    second = do(operator, public_id, verb, seen, reason="refunded")
    assert second.status_code == 409
    assert "Nothing was changed by you." in second.content.decode()
    assert (builders.snapshot(public_id), LogEntry.objects.count()) == (before, 1)


@pytest.mark.parametrize("verb", list(Verb))
def test_a_reader_may_do_none_of_it(desk: Desk, verb: Verb) -> None:
    public_id = consented(desk)
    sam = staff("sam", "view_elicitation")
    client, before = signed_in(sam), builders.snapshot(public_id)
    assert offered(look(client, page_of(public_id))) == []
    assert client.get(at(public_id, verb)).status_code == 403
    assert do(client, public_id, verb, "CONSENT_PENDING", reason="other", note="x").status_code == 403
    assert builders.snapshot(public_id) == before


@pytest.mark.parametrize("verb", list(Verb))
def test_a_forged_post_is_refused(desk: Desk, operator: Client, verb: Verb) -> None:
    public_id = consented(desk)
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)
    client.force_login(User.objects.get())
    before = builders.snapshot(public_id)
    assert do(client, public_id, verb, "CONSENT_PENDING", reason="duplicate").status_code == 403
    assert builders.snapshot(public_id) == before


def test_held_evidence_waits_for_an_operator_and_says_why(desk: Desk, operator: Client) -> None:
    early, unbound, withdrawn = ask(desk, 1), consented(desk, 2), consented(desk, 3)
    desk.event(early, "pi_early")
    desk.event(unbound, "pi_unbound", subject=None)
    page = look(operator, "/admin/")
    assert listed(page) == [unbound]
    assert "A confirmation is held: nobody says whose it is." in page
    act(desk, early, "lost")
    builders.withdraw_destination()
    desk.event(withdrawn, "pi_withdrawn")
    page = look(operator, "/admin/")
    assert listed(page) == [early, unbound, withdrawn]
    assert "A confirmation is held that came before the person had agreed." in page
    assert "A confirmation is held: the policy has withdrawn its destination." in page


def test_evidence_that_was_held_before_the_end_is_not_said_to_have_come_after_it(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    desk.event(public_id)
    do(operator, public_id, "cancel", "ADMITTED", reason="test_traffic")
    for path in ("/admin/", page_of(public_id)):
        page = look(operator, path)
        assert "A confirmation is kept that the entry could not use" in page
        assert "after it had ended" not in page
    assert "It was held for that." in look(operator, page_of(public_id))
