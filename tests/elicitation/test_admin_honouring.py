"""Honouring in the admin: one operator proposes, another approves, each on a page of its own and told the truth."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client

from elicitation.models import Elicitation, Evidence, HonourProposal
from elicitation.services import operators, recovery
from elicitation.services.status import Heard
from elicitation.services.sweeps import expiring
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import at, consented, do, late, listed, look, offered, page_of, signed_in
from tests.steps import act, ask

pytestmark = pytest.mark.django_db


@pytest.fixture
def olga(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


@pytest.fixture
def oscar(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("oscar"))


def propose(client: Client, public_id: str, note: str = "Their record says paid") -> HonourProposal:
    row = Evidence.objects.filter(elicitation=builders.entry_of(public_id)).latest("pk")
    seen = builders.entry_of(public_id).state
    assert do(client, public_id, "propose", seen, evidence=str(row.uid), note=note).status_code == 302
    return HonourProposal.objects.latest("pk")


def test_one_proposes_and_another_approves(desk: Desk, olga: Client, oscar: Client) -> None:
    public_id = late(desk)
    assert offered(look(olga, page_of(public_id))) == ["propose*", "close"]
    proposal = propose(olga, public_id)
    page = look(olga, page_of(public_id))
    assert offered(page) == ["withdraw", "close"]
    assert "olga proposes to honour a confirmation. It waits for a second operator, until" in page
    page = look(oscar, page_of(public_id))
    assert offered(page) == ["approve*", "withdraw", "close"]
    assert "An operator other than the one who proposed it compares the confirmation" in page
    page = look(oscar, at(public_id, "approve"))
    for words in ("Proposed by", "olga", "it names the person who was asked", "Note: Their record says paid"):
        assert words in page
    assert do(oscar, public_id, "approve", "CANCELLED", proposal=str(proposal.uid)).status_code == 302
    page = look(oscar, page_of(public_id))
    assert "Honoured: the entry is complete, and the waiting operation can take its result." in page
    assert "operators, from the confirmation at hand" in page
    assert "Two operators honoured the confirmation that had been kept." in page
    assert "How it ended" not in page
    assert builders.entry_of(public_id).state == "COMPLETE"


def test_the_proposer_is_told_to_wait_for_somebody_else(desk: Desk, olga: Client) -> None:
    public_id = late(desk)
    proposal = propose(olga, public_id)
    assert "No proposal waits for your approval." in look(olga, at(public_id, "approve"))
    before = builders.snapshot(public_id)
    response = do(olga, public_id, "approve", "CANCELLED", proposal=str(proposal.uid))
    assert response.status_code == 409
    assert "it waits for a second operator. Nothing was changed by you." in response.content.decode()
    assert builders.snapshot(public_id) == before


def test_a_proposal_needs_a_reason_for_the_second_person_and_no_secret(desk: Desk, olga: Client) -> None:
    public_id = late(desk)
    evidence, before = str(Evidence.objects.get().uid), builders.snapshot(public_id)
    for note, said in (("", "Say for the second operator why"), ("ask alice@id.example.com", "thrown away")):
        response = do(olga, public_id, "propose", "CANCELLED", evidence=evidence, note=note)
        assert (response.status_code, said in response.content.decode()) == (200, True)
    for wrong in ("", "x", "pi_late"):
        response = do(olga, public_id, "propose", "CANCELLED", evidence=wrong, note="Paid")
        assert "Open this page anew" in response.content.decode()
    assert (builders.snapshot(public_id), HonourProposal.objects.count(), LogEntry.objects.count()) == (before, 0, 0)


def test_of_several_confirmations_one_is_chosen_by_when_it_came(desk: Desk, olga: Client) -> None:
    public_id = late(desk)
    desk.event(public_id, "pi_second", subject=None)
    page = look(olga, at(public_id, "propose"))
    assert page.count('type="radio"') == 2
    assert ("names the person" in page, "does not say whose it is" in page, "pi_" in page) == (True, True, False)
    chosen = Evidence.objects.earliest("pk")
    do(olga, public_id, "propose", "CANCELLED", evidence=str(chosen.uid), note="The first one")
    assert HonourProposal.objects.get().evidence == chosen


def test_a_confirmation_that_is_gone_meanwhile_is_told_honestly(desk: Desk, olga: Client, oscar: Client) -> None:
    public_id = late(desk)
    evidence = str(Evidence.objects.get().uid)
    do(oscar, public_id, "close", "CANCELLED", reason="refunded")
    before = builders.snapshot(public_id)
    response = do(olga, public_id, "propose", "CANCELLED", evidence=evidence, note="Paid")
    assert response.status_code == 409
    assert "or it was settled already. Nothing was changed by you." in response.content.decode()
    assert builders.snapshot(public_id) == before


def test_the_second_of_two_approvers_is_told_the_real_state(desk: Desk, olga: Client, oscar: Client) -> None:
    public_id = late(desk)
    proposal = propose(olga, public_id)
    third = signed_in(User.objects.create_superuser("odile"))
    do(oscar, public_id, "approve", "CANCELLED", proposal=str(proposal.uid))
    before = builders.snapshot(public_id)
    response = do(third, public_id, "approve", "CANCELLED", proposal=str(proposal.uid))
    assert response.status_code == 409
    assert "Nothing was changed by you. It is now: Complete." in response.content.decode()
    assert builders.snapshot(public_id) == before


def test_a_proposal_of_another_entry_is_refused(desk: Desk, olga: Client, oscar: Client) -> None:
    first, second = late(desk), consented(desk, 2)
    act(desk, second, "cancel")
    desk.event(second, "pi_second")
    proposal = propose(olga, first)
    propose(olga, second)
    before = builders.snapshot(first), builders.snapshot(second)
    response = do(oscar, second, "approve", "CANCELLED", proposal=str(proposal.uid))
    assert "Open this page anew" in response.content.decode()
    assert (builders.snapshot(first), builders.snapshot(second)) == before


def test_a_void_proposal_is_shown_as_void_and_makes_room(desk: Desk, olga: Client, oscar: Client) -> None:
    public_id = late(desk)
    propose(olga, public_id)
    HonourProposal.objects.update(expires_at=F("expires_at") - timedelta(hours=24))
    page = look(oscar, page_of(public_id))
    assert "Void: nobody approved it within 24 hours" in page
    assert offered(page) == ["propose*", "close"]
    propose(oscar, public_id)
    act(desk, public_id, "progress", event="call_ended")
    page = look(olga, page_of(public_id))
    assert "Void: another proposal took its place" in page
    assert "Void: something happened to the entry" in page


def test_a_withdrawn_proposal_says_so(desk: Desk, olga: Client) -> None:
    public_id = late(desk)
    proposal = propose(olga, public_id)
    do(olga, public_id, "withdraw", "CANCELLED", proposal=str(proposal.uid), note="Refunded instead")
    page = look(olga, page_of(public_id))
    for words in ("The proposal is withdrawn; nothing else has changed.", "Withdrawn", "Note: Refunded instead"):
        assert words in page
    assert offered(page) == ["propose*", "close"]


def test_honouring_is_not_offered_while_another_entry_is_in_the_way(desk: Desk, olga: Client) -> None:
    public_id = consented(desk)
    act(desk, public_id, "cancel")
    successor = ask(desk, 1)
    desk.event(public_id, "pi_late")
    page = look(olga, page_of(public_id))
    assert offered(page) == ["close*"]
    assert "The operation has another entry that lives or has a result" in page
    assert (listed(page), "Followed by" in page) == ([successor], True)
    assert "Follows" in look(olga, page_of(successor))


def test_an_unresolved_outcome_is_closed_in_its_own_words(desk: Desk, olga: Client) -> None:
    public_id = consented(desk)
    act(desk, public_id, "lost")
    builders.age(public_id, 100_000)
    expiring.expire()
    page = look(olga, page_of(public_id))
    assert offered(page) == ["close*"]
    assert "Close the unresolved outcome, with a reason" in page
    assert "Look in the provider&#x27;s own record whether the work was done" in page
    assert do(olga, public_id, "close", "EXPIRED", reason="other", note="Never paid").status_code == 302
    page = look(olga, page_of(public_id))
    assert "The unresolved outcome is closed; the ledger has the reason." in page
    assert "An operator closed an outcome that nobody could find: another reason" in page
    assert offered(page) == []


def test_a_call_that_had_ended_before_the_confirmation_is_pointed_out(desk: Desk, olga: Client) -> None:
    public_id = consented(desk)
    act(desk, public_id, "progress", event="call_ended")
    desk.event(public_id)
    said = "It had ended before the confirmation came, and nobody has taken the result"
    assert said in look(olga, page_of(public_id))
    act(desk, public_id, "consume", operation=builders.operation(target="tool_1"))
    assert said not in look(olga, page_of(public_id))


def test_a_retry_asks_outside_of_any_transaction(desk: Desk, olga: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    public_id = consented(desk)
    act(desk, public_id, "lost")
    depth = len(connection.savepoint_ids)
    seen: list[int] = []
    heard = recovery.hear

    def hear(entry: Elicitation) -> Heard:
        seen.append(len(connection.savepoint_ids))
        return heard(entry)

    monkeypatch.setattr(operators, "hear", hear)
    do(olga, public_id, "retry", "RETRY_REQUIRED")
    assert seen == [depth]
    assert LogEntry.objects.get().change_message.startswith("Retried: ")
