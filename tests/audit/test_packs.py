"""Evidence packs: one elicitation's entries, which an outsider verifies against the log's key alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.utils import timezone

from audit import note, packs, retention, seal, triggers, verify
from audit.models import LedgerEntry, Log
from audit.packs import NothingToPack
from audit.verify import Checkpoint, Report, Verdict
from elicitation.services import actors
from tests import builders, steps
from tests.audit.pruned import HELD, acme, exported, prune, seal_all, tampering, write
from tests.builders import Desk


def read(pack: bytes, folder: Path, kept: Sequence[Checkpoint] = ()) -> Report:
    """What the verifier says to somebody who has the log's key."""
    path = folder / "pack.json"
    path.write_bytes(pack)
    log = acme()
    keys = [verify.parse_key(note.verifier_key(log.origin, seed)) for seed in seal.keys().values()]
    return verify.verify(path, keys, kept)


def packed(uid: UUID = HELD) -> bytes:
    return packs.pack(acme(), uid, timezone.now(), seal.keys())


@pytest.mark.django_db
def test_a_pack_holds_every_entry_of_its_elicitation_and_verifies(tmp_path: Path) -> None:
    write(300)
    write(3, about=HELD)
    write(400)
    write(1, about=HELD)
    made = packed()
    said = json.loads(made)
    assert [each["index"] for each in said["entries"]] == [300, 301, 302, 703]
    assert (said["size"], said["count"], said["origin"]) == (704, 4, acme().origin)
    report = read(made, tmp_path)
    assert report.verdict is Verdict.SELECTION, str(report)
    assert report.sentences[0].startswith("4 entries of ")


@pytest.mark.django_db
def test_a_pack_says_nothing_about_others() -> None:
    write(5)
    write(2, about=HELD)
    write(5, tenant="globex", about=HELD)
    said = json.loads(packed())
    for each in said["entries"]:
        line = json.loads(each["line"])
        assert (line["tenant"], line["elicitation_id"]) == ("acme", str(HELD))
    assert "globex" not in json.dumps(said)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "verdict"),
    [
        (lambda said: said["entries"][0].update(line=said["entries"][0]["line"].replace("shown", "admit")), "edited"),
        (lambda said: said["entries"].pop(), "removed"),
        (lambda said: said["entries"].reverse(), "reordered"),
        (lambda said: said.update(made_at="2026-01-01T00:00:00.000000Z"), "edited"),
    ],
)
def test_a_pack_that_was_changed_does_not_verify(change: Any, verdict: str, tmp_path: Path) -> None:
    write(3, about=HELD)
    said = json.loads(packed())
    change(said)
    assert read((json.dumps(said) + "\n").encode(), tmp_path).verdict == verdict


@pytest.mark.django_db
def test_an_entry_that_was_edited_in_the_database_is_found_in_its_pack(tmp_path: Path) -> None:
    write(3, about=HELD)
    with tampering(triggers.LEDGER):
        LedgerEntry.objects.filter(pk=LedgerEntry.objects.latest("pk").pk).update(outcome="applied")
    assert read(packed(), tmp_path).verdict is Verdict.EDITED


@pytest.mark.django_db(transaction=True)
def test_after_a_prune_a_pack_still_proves_what_is_left(tmp_path: Path) -> None:
    write(300)
    exported()
    write(300, about=HELD)
    exported()
    assert retention.plan(acme(), 512).upto == 512
    prune(512)
    seal_all()
    made = packed()
    assert json.loads(made)["entries"][0]["index"] == 512
    assert read(made, tmp_path).verdict is Verdict.SELECTION


@pytest.mark.django_db
def test_there_is_no_pack_of_nothing() -> None:
    write(3)
    with pytest.raises(NothingToPack):
        packed()
    with pytest.raises(NothingToPack):
        packs.pack(Log.objects.create(tenant="globex", origin="x/globex"), HELD, timezone.now(), seal.keys())


@pytest.mark.django_db
def test_a_whole_flow_is_packed_from_the_shell_on_the_record(desk: Desk, tmp_path: Path) -> None:
    public_id = desk.admit().json()["id"]
    steps.complete(desk, public_id)
    steps.apply(desk, public_id)
    before = builders.snapshot(public_id)
    file = tmp_path / "new.json"
    call_command("evidence_pack", public_id, "--output", str(file), stderr=StringIO())
    report = read(file.read_bytes(), tmp_path)
    assert report.verdict is Verdict.SELECTION, str(report)
    events = [json.loads(each["line"])["event"] for each in json.loads(file.read_bytes())["entries"]]
    assert events == ["admit", "answer_accept", "evidence", "consume"]
    assert builders.snapshot(public_id) == before
    told = LedgerEntry.objects.latest("pk")
    assert (told.event, told.tenant, told.elicitation_id) == (
        "evidence_packed", "acme", builders.entry_of(public_id).uid,
    )  # fmt: skip
    assert (told.actor_kind, told.role) == (actors.shell().kind, "shell")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("given", "code", "says"),
    [("elc_nonsense", 2, "not an id"), ("elc_" + "a" * 26, 1, "no entry about"), ("there", 2, "there already")],
)
def test_the_command_says_why_there_is_no_pack(desk: Desk, tmp_path: Path, given: str, code: int, says: str) -> None:
    file = tmp_path / "pack.json"
    if given == "there":
        file.write_text("kept")
        given = desk.admit().json()["id"]
    before = LedgerEntry.objects.count()
    with pytest.raises(CommandError, match=says) as problem:
        call_command("evidence_pack", given, "--output", str(file))
    assert problem.value.returncode == code
    assert LedgerEntry.objects.count() == before
    assert not file.exists() or file.read_text() == "kept"
