"""Marked secrets in every field that somebody can fill: they are found where people put them to be read, in an erasable
table, and nowhere else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from audit import vocabulary
from audit.models import LedgerEntry
from config.logging import JsonFormatter
from elicitation.models import Client
from elicitation.services import clock
from tests import builders
from tests.builders import Desk
from tests.leaks.marks import CANARY, Marks, tables, whole_database
from tests.leaks.outlets import outlets
from tests.leaks.playing import Player

pytestmark = pytest.mark.django_db

#: What people are called at the desk.
NAMES: Final = {
    "user.olga",
    "user.oscar",
    "olga",
    "oscar",
    "person.name",
    "person.first",
    "person.last",
    "person.email",
}
#: Where a mark may be, and which: what people call things, wrote for each other, or set.
PLACES: Final = {
    "auth_user": NAMES,
    "django_admin_log": {
        f"note.{verb}"
        for verb in ("acknowledge", "approve", "cancel", "close", "hold", "lift", "propose", "resolve", "withdraw")
    }
    | {"person.name"},
    "elicitation_client": {"client.name", "client.version"},
    "elicitation_decision": {"property", "url.name"},
    "elicitation_elicitation": {"operation.request_id"},
    "elicitation_policydraft": {"draft.path", "draft.title", "file.name"},
    "elicitation_policyrevision": {"alone.reason", "draft.path", "draft.title"},
    "elicitation_provider": {"provider.name", "provider.status_url"},
    "elicitation_service": {"service.name"},
    "elicitation_tenant": {"tenant.name"},
}  # fmt: skip
#: What whoever sent it is shown again, to be corrected.
SHOWN_AGAIN: Final = NAMES | {"lookup", "draft.title", "document.wrong", "note.hold", "hold.elicitation", "value.kind"}
#: Nothing writes these yet.
UNWRITTEN: Final = {"closed", "page_consent", "page_decline"}
LINK: Final = {"mode": "url", "message": f"Pay {CANARY}", "url": builders.PAY_URL}


def logged(caplog: pytest.LogCaptureFixture) -> bytes:
    lines = [JsonFormatter().format(record) for phase in ("setup", "call") for record in caplog.get_records(phase)]
    assert lines
    return "\n".join(lines).encode()


def test_a_mark_is_only_where_people_put_it_to_be_read_and_does_not_leave_with_the_ledger(
    player: Player, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert vocabulary.EVENTS - set(LedgerEntry.objects.values_list("event", flat=True)) == UNWRITTEN
    found = {table: player.mark.found(data) for table, data in tables().items()}
    assert {table: marks for table, marks in found.items() if marks} == PLACES
    assert player.mark.found(whole_database()) == set[str]().union(*PLACES.values())
    assert player.mark.found(b"".join(reply.content for reply in player.replies)) <= SHOWN_AGAIN
    left = {way: player.mark.found(data) for way, data in outlets(player.desk, settings, tmp_path).items()}
    assert left.pop("admin") <= NAMES
    assert left == {way: set() for way in left}
    assert player.mark.found(logged(caplog)) == set()


def test_a_planted_mark_is_found_by_every_way_that_tells_of_entries(desk: Desk, settings: Any, tmp_path: Path) -> None:
    """What leaves is searched in earnest: a mark that somebody wrote past the desk, where the database lets it."""
    mark = Marks()
    public_id = desk.admit().json()["id"]
    about = builders.entry_of(public_id).uid
    LedgerEntry.objects.create(
        tenant="acme", at=clock.now(), event="admit", elicitation_id=about, actor_kind="user", rule=mark("planted")
    )
    found = {way: mark.found(data) for way, data in outlets(desk, settings, tmp_path).items()}
    assert {way for way, marks in found.items() if not marks} == {"witness", "checkpoints"}
    assert mark.found(whole_database()) == mark.found(tables()["audit_ledgerentry"]) == {"planted"}


@pytest.mark.parametrize(
    "spell",
    [
        str.upper,
        lambda text: text.encode().hex(),
        lambda text: base64.b64encode(f"xy{text}".encode()).decode(),
        lambda text: base64.urlsafe_b64encode(f"a long word, {text}, and more".encode()).decode(),
        lambda text: hashlib.sha256(text.encode()).hexdigest(),
        lambda text: base64.b64encode(hashlib.md5(text.encode(), usedforsecurity=False).digest()).decode(),
    ],
)
def test_a_mark_is_found_however_it_is_spelled(spell: Callable[[str], str]) -> None:
    mark = Marks()
    for name in ("one", "two"):
        assert mark.found(f"…{spell(mark(name))}…".encode()) == {name}
    assert mark.found(spell(mark.letters("three")).encode()) == {"three"}


def test_a_secret_in_place_of_a_name_or_a_request_id_is_not_kept(desk: Desk) -> None:
    secret = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    client = {"name": secret, "version": secret, "capabilities": {"elicitation": {"url": {}}}}
    assert desk.admit(client=client, operation=builders.operation(request_id=secret)).status_code == 201
    assert secret.encode() not in whole_database()
    assert not Client.objects.filter(name=secret).exists()


@pytest.mark.parametrize(
    "url",
    [
        f"https://consent.example.com/start?flow={CANARY}",
        f"https://consent.example.com/start?api_token={CANARY}",
        f"https://consent.example.com/{CANARY}",
        f"https://{CANARY}.example.com/start",
        f"https://user:{CANARY}@consent.example.com/start",
        f"https://consent.example.com/start#{CANARY}",
        f"javascript:{CANARY}",
    ],
)
def test_no_refused_address_is_kept_or_repeated(desk: Desk, url: str, caplog: pytest.LogCaptureFixture) -> None:
    refused = desk.admit(request=LINK | {"url": url})
    assert refused.status_code == 422
    everything = refused.content + logged(caplog) + whole_database()
    assert CANARY.lower().encode() not in everything.lower()
