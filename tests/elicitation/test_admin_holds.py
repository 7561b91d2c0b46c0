"""Legal holds in the admin: placed and lifted with a reason, once, by who may; prunes to read."""

from __future__ import annotations

from typing import Any

import pytest

from audit.models import Export, LedgerEntry, LegalHold, Log, Prune
from elicitation.services import actors, clock, exports
from elicitation.services.retention import HoldReason, place_hold
from tests import builders
from tests.builders import Desk
from tests.elicitation.admin_pages import look, page_of
from tests.people import staff

pytestmark = pytest.mark.django_db

HOLDS = "/admin/audit/legalhold/"
PLACE = f"{HOLDS}place/"


@pytest.fixture
def log(desk: Desk) -> Log:
    exports.seal_all()
    return Log.objects.get(tenant="acme")


def held(log: Log) -> LegalHold:
    return place_hold(log, None, actors.operator(1), HoldReason.LEGAL)


def test_an_elicitation_is_held_by_its_pasted_id_with_a_reason(desk: Desk, log: Log, admin_client: Any) -> None:
    public_id = desk.admit().json()["id"]
    given = {"log": "acme", "elicitation": f" <{public_id.upper()}> ", "reason": "legal", "note": "Case 12."}
    reply = admin_client.post(PLACE, given)
    hold = LegalHold.objects.get()
    assert reply["Location"] == f"{HOLDS}{hold.pk}/change/"
    assert hold.elicitation_id == builders.entry_of(public_id).uid
    told = LedgerEntry.objects.latest("pk")
    assert (told.event, told.related_id, told.reason_code, told.role) == ("hold_placed", hold.uid, "legal", "auditor")
    page = look(admin_client, f"{HOLDS}{hold.pk}/change/")
    assert "Note: Case 12." in page
    assert public_id in page
    assert "It was put under a legal hold: the law, or a proceeding, asks for it." in look(
        admin_client, page_of(public_id)
    )


def test_a_whole_log_is_held_when_no_elicitation_is_named(log: Log, admin_client: Any) -> None:
    admin_client.post(PLACE, {"log": "acme", "reason": "security"})
    assert LegalHold.objects.get().elicitation_id is None
    assert "the whole log of acme" in look(admin_client, HOLDS)


@pytest.mark.parametrize(
    ("given", "status", "says"),
    [
        ({"reason": "legal"}, 200, "This field is required"),
        ({"log": "acme"}, 200, "Choose a reason."),
        ({"log": "acme", "reason": "other"}, 200, "Say what the other reason is."),
        ({"log": "acme", "reason": "legal", "elicitation": "nothing"}, 200, "Give the id of one elicitation"),
        ({"log": "acme", "reason": "legal", "elicitation": "elc_" + "a" * 26}, 409, "has no entry about"),
    ],
)
def test_what_cannot_be_held_is_said_and_nothing_changes(
    log: Log, admin_client: Any, given: dict[str, str], status: int, says: str
) -> None:
    before = LedgerEntry.objects.count()
    reply = admin_client.post(PLACE, given)
    assert reply.status_code == status
    assert says in reply.content.decode()
    assert (LegalHold.objects.count(), LedgerEntry.objects.count()) == (0, before)


def test_a_hold_is_lifted_once_with_a_reason(log: Log, admin_client: Any) -> None:
    hold = held(log)
    lift = f"{HOLDS}{hold.pk}/lift/"
    held_page = look(admin_client, f"{HOLDS}{hold.pk}/change/")
    assert lift in held_page
    assert "None" not in held_page
    admin_client.post(lift, {"reason": "handled"})
    hold.refresh_from_db()
    assert hold.lifted_at is not None
    assert LedgerEntry.objects.latest("pk").event == "hold_lifted"
    entries = LedgerEntry.objects.count()
    assert "It was lifted at" in admin_client.post(lift, {"reason": "handled"}).content.decode()
    assert LedgerEntry.objects.count() == entries
    assert lift not in look(admin_client, f"{HOLDS}{hold.pk}/change/")


def test_who_may_only_look_sees_holds_and_can_neither_place_nor_lift(log: Log, client: Any) -> None:
    hold, before = held(log), LedgerEntry.objects.count()
    client.force_login(staff("reader", "view_legalhold"))
    assert PLACE not in look(client, HOLDS)
    assert "lift/" not in look(client, f"{HOLDS}{hold.pk}/change/")
    for path in (PLACE, f"{HOLDS}{hold.pk}/lift/"):
        assert client.get(path).status_code == 403
        assert client.post(path, {"log": "acme", "reason": "legal"}).status_code == 403
    assert LedgerEntry.objects.count() == before


def test_prunes_are_listed_with_the_export_that_holds_what_went(log: Log, admin_client: Any) -> None:
    export = Export.objects.create(log=log, format="jsonl", size=log.size, made_at=clock.now(), actor_kind="operator")
    prune = Prune.objects.create(log=log, upto=256, export=export, ordered_at=clock.now())
    page = look(admin_client, "/admin/audit/prune/")
    assert str(prune.uid) in page
    assert "256" in page
    assert str(export.uid) in look(admin_client, f"/admin/audit/prune/{prune.pk}/change/")
