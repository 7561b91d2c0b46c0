"""Elicitations of another tenant: no door exports them, and what another tenant wrote about one is on no page of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import transaction
from django.test import Client

from audit.exporting.selection import Selection
from audit.ledger import Entry, append
from audit.models import Export, LedgerEntry, Log
from audit.verify import Format
from elicitation.services import actors, answering, clock, explaining, exports, keys, packs, timeline
from elicitation.services.exports import NoSuchElicitation, Wanted
from elicitation.services.keys import Scope
from elicitation.services.scoping import WHOLE_DESK
from elicitation.templatetags.desk import elc
from tests import builders
from tests.audit.pruned import exported, prune, seal_all, write
from tests.builders import Desk

pytestmark = pytest.mark.django_db(transaction=True)

#: Sixteen bytes that somebody might want to put somewhere.
CHOSEN = UUID(bytes=b"hunter2-password")


@pytest.fixture
def acmes(desk: Desk, settings: Any, tmp_path: Path) -> UUID:
    """An elicitation of acme's; globex has a log of its own."""
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    write(2, tenant="globex")
    return builders.entry_of(desk.admit().json()["id"]).uid


@pytest.fixture
def nothing_made() -> Iterator[None]:
    yield
    assert not Export.objects.exists()
    assert not LedgerEntry.objects.filter(event="exported").exists()


def refusals(about: UUID, ask: Any) -> tuple[Any, Any, Any]:
    """What is said of another tenant's elicitation, of none, and of bytes that somebody chose."""
    return ask(about), ask(uuid4()), ask(CHOSEN)


def test_over_the_api_a_foreign_one_is_as_unknown_as_an_absent_one(desk: Desk, acmes: UUID, nothing_made: None) -> None:
    key = keys.create_service_key(desk.mallory, [Scope.EXPORT])

    def ask(uid: UUID) -> tuple[int, Any]:
        reply = desk.call("exports", {"format": "jsonl", "elicitation_id": elc(uid)}, key=key)
        return reply.status_code, reply.json()

    foreign, absent, chosen = refusals(acmes, ask)
    assert foreign == absent == chosen
    assert (foreign[0], foreign[1]["code"], foreign[1]["at"]) == (404, "unknown", "/elicitation_id")


def test_over_the_api_ones_own_is_exported(desk: Desk, acmes: UUID) -> None:
    seal_all()
    key = keys.create_service_key(desk.hotels, [Scope.EXPORT])
    reply = desk.call("exports", {"format": "jsonl", "elicitation_id": elc(acmes)}, key=key)
    assert reply.status_code == 201
    assert LedgerEntry.objects.get(event="exported").elicitation_id == acmes


def test_in_the_admin_a_foreign_one_is_as_unknown_as_an_absent_one(
    acmes: UUID, nothing_made: None, admin_user: User
) -> None:
    client, log = Client(), Log.objects.get(tenant="globex")
    client.force_login(admin_user)

    def ask(uid: UUID) -> tuple[int, Any]:
        page = client.post("/admin/audit/export/add/", {"log": log.pk, "format": "jsonl", "elicitation": elc(uid)})
        return page.status_code, page.context["form"].errors

    foreign, absent, chosen = refusals(acmes, ask)
    assert foreign == absent == chosen
    assert foreign[0] == 409
    assert "no entry about this elicitation" in foreign[1]["elicitation"][0]


def test_the_command_knows_a_foreign_one_as_little_as_an_absent_one(
    acmes: UUID, nothing_made: None, tmp_path: Path
) -> None:
    def ask(uid: UUID) -> tuple[int, str]:
        with pytest.raises(CommandError) as refused:
            call_command("export_ledger", "globex", format="csv", output=tmp_path / "out", elicitation=uid)
        return refused.value.returncode, str(refused.value)

    foreign, absent, chosen = refusals(acmes, ask)
    assert foreign == absent == chosen
    assert foreign[0] == 1
    assert not list(tmp_path.glob("out*"))


def test_what_is_not_sealed_yet_is_known_and_what_was_pruned_is_not(acmes: UUID) -> None:
    seal_all()
    uid = uuid4()
    with transaction.atomic():
        append(clock.now(), Entry(tenant="acme", event="shown", actor_kind="client", elicitation_id=uid))
    log = Log.objects.get(tenant="acme")
    exports.ask(log, Wanted(Format.CSV, Selection(elicitation_id=uid)), actors.shell(), streamed=True)
    gone = uuid4()
    write(1, about=gone)
    write(300)
    exported()
    prune(256)
    with pytest.raises(NoSuchElicitation):
        exports.ask(log, Wanted(Format.CSV, Selection(elicitation_id=gone)), actors.shell(), streamed=True)


def by_globex(uid: UUID, event: str) -> None:
    """An entry of another tenant's about it, however it came there."""
    said = Entry(tenant="globex", event=event, actor_kind="service", actor_id="globex-audit", elicitation_id=uid)
    with transaction.atomic():
        append(clock.now(), said)


@pytest.mark.parametrize("event", ["exported", "evidence_packed", "consume"])
def test_what_another_tenant_wrote_about_it_is_on_no_page_of_it(
    desk: Desk, acmes: UUID, admin_client: Client, event: str
) -> None:
    entry = builders.entry_of(elc(acmes))
    before = [line.event for line in timeline.timeline(entry)]
    by_globex(acmes, event)
    seal_all()
    assert [line.event for line in timeline.timeline(entry)] == before
    found = answering.answers(acmes, WHOLE_DESK)
    assert found is not None
    assert {exhibit.row.tenant for exhibit in found.exhibits} == {"acme"}
    assert found.answers[2].short != "Yes, once"
    for page in (f"/admin/answers/{elc(acmes)}/", f"/admin/elicitation/elicitation/{elc(acmes)}/change/"):
        assert "globex-audit" not in admin_client.get(page, follow=True).content.decode()
    assert b"globex" not in packs.make("acme", acmes, actors.shell())


def test_what_another_tenant_refused_is_not_counted_as_a_stranger_here(desk: Desk, acmes: UUID) -> None:
    said = Entry(
        tenant="globex", event="refused", actor_kind="service", outcome="wrong_user_denied", elicitation_id=acmes
    )
    with transaction.atomic():
        append(clock.now(), said)
    assert explaining.strangers(builders.entry_of(elc(acmes))).count == 0


def test_an_elicitation_does_not_become_theirs_who_exported_it_once_its_own_entries_are_pruned() -> None:
    uid = uuid4()
    write(1, about=uid)
    write(3, tenant="globex")
    by_globex(uid, "exported")
    write(300)
    exported()
    assert answering.tenant_of(uid) == "acme"
    prune(256)
    assert answering.tenant_of(uid) is None
    assert answering.answers(uid, WHOLE_DESK) is None
