"""Is this value in the ledger? Found by keyed digest or exact id, within one tenant, on the record, never repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.apps import apps
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import LedgerEntry
from audit.verify import Format
from elicitation.models import Evidence, Subject, Tenant
from elicitation.services import actors, asking_the_ledger, exports
from elicitation.services.asking_the_ledger import Found, Ids, Result, Value
from elicitation.services.lookup import Person
from elicitation.services.retention import HoldReason, place_hold
from tests import builders
from tests.builders import ALICE, Desk
from tests.steps import act, complete

pytestmark = pytest.mark.django_db

AUDITOR = actors.Actor(actors.ActorKind.OPERATOR, "7", "auditor")
SECRET = "pi_1_dont_write_me_down"


def person(who: dict[str, str]) -> Person:
    return Person(who["iss"], who["sub"])


def ask(tenant: Tenant, value: Value) -> Found:
    """Asked, with a look at what that wrote."""
    before = list(LedgerEntry.objects.order_by("pk").values())
    found = asking_the_ledger.ask(tenant, value, AUDITOR)
    *rest, told = LedgerEntry.objects.order_by("pk").values()
    assert rest == before
    said = {name: each for name, each in told.items() if each not in (None, "") and name not in ("id", "at")}
    assert said == {
        "tenant": tenant.slug,
        "event": "value_asked",
        "outcome": "recorded" if found.entries else "unknown",
        "place": {Person: "/subject", Result: "/result_ref", Ids: "/elicitationId"}[type(value)],
        "actor_kind": "operator",
        "actor_id": "7",
        "role": "auditor",
        "format_version": 1,
    }
    return found


def events(found: Found) -> list[str]:
    return [row.event for row in found.entries]


def test_a_person_who_was_asked_is_found_and_another_is_not(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    assert events(ask(desk.acme, person(ALICE))) == ["evidence", "answer_accept", "admit"]
    for stranger in (Person(ALICE["iss"], "bob"), Person("https://other.example", "alice"), Person("", "alice")):
        assert not ask(desk.acme, stranger).entries


def test_a_person_is_found_within_the_tenant_alone(desk: Desk) -> None:
    desk.admit()
    assert not ask(desk.globex, person(ALICE)).entries


def test_a_person_who_was_erased_is_not_found_any_more(desk: Desk) -> None:
    desk.admit()
    Subject.objects.all().delete()
    assert not ask(desk.acme, person(ALICE)).entries


def test_a_result_is_found_by_its_exact_reference(desk: Desk) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "answer", action="accept", content="absent")
    desk.event(public_id, SECRET)
    found = ask(desk.acme, Result(SECRET))
    assert [(row.event, row.elicitation_id) for row in found.entries] == [
        ("evidence", builders.entry_of(public_id).uid)
    ]
    for other in (SECRET[:-1], SECRET.upper(), f" {SECRET}", ""):
        assert not ask(desk.acme, Result(other)).entries
    assert not ask(desk.globex, Result(SECRET)).entries


def test_what_was_written_under_an_older_key_is_found_while_the_key_is_live(desk: Desk, settings: Any) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "answer", action="accept", content="absent")
    desk.event(public_id, SECRET)
    old = settings.DESK_DIGEST_KEYS
    settings.DESK_DIGEST_KEYS = {"new": b"n" * 32} | old
    assert ask(desk.acme, Result(SECRET)).entries
    assert ask(desk.acme, person(ALICE)).entries
    settings.DESK_DIGEST_KEYS = {"new": b"n" * 32}
    assert not ask(desk.acme, Result(SECRET)).entries


def _elicitation(desk: Desk, uid: UUID) -> Ids:
    return Ids((uid,))


def _decision(desk: Desk, uid: UUID) -> Ids:
    decision = LedgerEntry.objects.get(elicitation_id=uid, event="admit").decision_id
    assert decision is not None
    return Ids((decision,))


def _evidence(desk: Desk, uid: UUID) -> Ids:
    return Ids((Evidence.objects.get(elicitation__uid=uid).uid,))


@pytest.mark.parametrize("named", [_elicitation, _decision, _evidence])
def test_an_elicitation_is_found_by_every_id_of_the_desk(desk: Desk, named: Callable[[Desk, UUID], Ids]) -> None:
    public_id = desk.admit().json()["id"]
    complete(desk, public_id)
    ids = named(desk, builders.entry_of(public_id).uid)
    assert events(ask(desk.acme, ids)) == ["evidence", "answer_accept", "admit"]
    assert not ask(desk.globex, ids).entries


def test_it_is_found_by_the_services_own_id(desk: Desk) -> None:
    wire = str(uuid4())
    reply = desk.admit(request={"mode": "url", "message": "Pay", "url": builders.PAY_URL, "elicitationId": wire})
    assert reply.status_code == 201, reply.json()
    assert events(ask(desk.acme, Ids((), (wire,)))) == ["admit"]
    assert not ask(desk.globex, Ids((), (wire,))).entries


def test_an_export_and_a_hold_are_found_by_theirs(desk: Desk) -> None:
    exports.seal_all()
    log = exports.log_of("acme")
    export = exports.ask(log, exports.Wanted(Format.JSONL), AUDITOR)
    hold = place_hold(log, None, AUDITOR, HoldReason.LEGAL)
    assert events(ask(desk.acme, Ids((export.uid,)))) == ["exported"]
    assert events(ask(desk.acme, Ids((hold.uid,)))) == ["hold_placed"]
    assert not ask(desk.acme, Ids((uuid4(),))).entries


def test_only_the_newest_entries_are_shown_and_that_there_are_more_is_said(desk: Desk) -> None:
    for number in range(7):
        public_id = desk.admit(operation=builders.operation(target=f"tool_{number}")).json()["id"]
        act(desk, public_id, "answer", action="accept", content="absent")
        desk.event(public_id, f"pi_{number}")
    found = ask(desk.acme, person(ALICE))
    assert (len(found.entries), found.more) == (20, True)
    pks = [row.pk for row in found.entries]
    assert pks == sorted(pks, reverse=True)


def test_no_query_reads_the_ledger_through(desk: Desk) -> None:
    """Each one names an index's leading columns with equality."""
    for value in (person(ALICE), Result(SECRET), Ids((uuid4(),)), Ids((), ("abcd-efgh",))):
        with CaptureQueriesContext(connection) as queries:
            asking_the_ledger.ask(desk.acme, value, AUDITOR)
        for query in queries:
            text = query["sql"]
            if text.startswith("SELECT") and '"audit_ledgerentry"' in text:
                assert any(
                    wanted in text.replace("= ANY", "IN")
                    for wanted in ('"elicitation_id" IN', '"result_digest" IN', '"event" IN', "0 = 1")
                ), text


# The page


ASK = "/admin/ask/"


@pytest.fixture
def auditor(admin_client: Any) -> Any:
    return admin_client


def fields(desk: Desk, kind: str, value: str, issuer: str = "") -> dict[str, Any]:
    return {"tenant": desk.acme.pk, "kind": kind, "value": value, "issuer": issuer}


def test_the_page_answers_and_repeats_nothing_of_what_was_asked(desk: Desk, auditor: Any) -> None:
    public_id = desk.admit().json()["id"]
    act(desk, public_id, "answer", action="accept", content="absent")
    desk.event(public_id, SECRET)
    for given in (fields(desk, "result", SECRET), fields(desk, "person", ALICE["sub"], ALICE["iss"])):
        reply = auditor.post(ASK, given)
        page = reply.content.decode()
        assert reply.status_code == 200
        assert '<h2 id="answer-title">Yes</h2>' in page
        assert f"/admin/answers/{public_id}/" in page
        assert SECRET not in page
        assert ALICE["iss"] not in page
        assert "no-store" in reply["Cache-Control"]
    assert '<h2 id="answer-title">No</h2>' in auditor.post(ASK, fields(desk, "result", "pi_none")).content.decode()


def test_the_value_is_in_no_table_and_no_line_of_the_log(
    desk: Desk, auditor: Any, caplog: pytest.LogCaptureFixture
) -> None:
    auditor.post(ASK, fields(desk, "result", SECRET))
    auditor.post(ASK, fields(desk, "person", SECRET, f"https://{SECRET}.example"))
    for model in apps.get_models():
        assert SECRET not in json.dumps(list(model._default_manager.values()), default=str)
    assert caplog.records
    assert not any(SECRET in repr(vars(record)) for record in caplog.records)


def test_a_value_in_an_address_is_not_looked_at(desk: Desk, auditor: Any) -> None:
    before = LedgerEntry.objects.count()
    page = auditor.get(ASK, fields(desk, "result", SECRET)).content.decode()
    assert SECRET not in page
    assert LedgerEntry.objects.count() == before


@pytest.mark.parametrize(
    ("kind", "value", "issuer", "says"),
    [
        ("person", "alice", "", "issuer and subject together"),
        ("id", "??", "", "no id in what you pasted"),
        ("result", "", "", "This field is required"),
        ("nonsense", "x", "", "Select a valid choice"),
    ],
)
def test_what_cannot_be_asked_is_said_at_its_field_and_not_recorded(
    desk: Desk, auditor: Any, kind: str, value: str, issuer: str, says: str
) -> None:
    before = LedgerEntry.objects.count()
    assert says in auditor.post(ASK, fields(desk, kind, value, issuer)).content.decode()
    assert LedgerEntry.objects.count() == before


def test_who_may_not_see_logs_may_not_ask(desk: Desk, client: Any, django_user_model: Any) -> None:
    client.force_login(django_user_model.objects.create_user("support", is_staff=True))
    before = LedgerEntry.objects.count()
    assert client.get(ASK).status_code == 403
    assert client.post(ASK, fields(desk, "result", SECRET)).status_code == 403
    assert LedgerEntry.objects.count() == before
