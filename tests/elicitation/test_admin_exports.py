"""Exports and logs in the admin: asking, watching, taking, letting go on, and everything that verifies offline."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from audit import verify
from audit.models import Export, LedgerEntry, Log
from audit.seal import seal
from audit.verify import Verdict, parse_key, parse_note
from elicitation.services import exports
from tests.builders import Desk
from tests.people import staff

pytestmark = pytest.mark.django_db

ADD, LIST, LOGS = "/admin/audit/export/add/", "/admin/audit/export/", "/admin/audit/log/"


@pytest.fixture
def log(desk: Desk, settings: Any, tmp_path: Path) -> Log:
    """Acme's, with something sealed."""
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    desk.admit(form=True)
    while seal(timezone.now()):
        pass
    return Log.objects.get(tenant="acme")


def person(*permissions: str) -> Client:
    """Somebody of the staff who may do this and no more."""
    client = Client()
    client.force_login(staff(f"staff{User.objects.count()}", *permissions))
    return client


@pytest.fixture
def auditor() -> Client:
    return person("view_export", "add_export", "view_log", "verify_log")


def order(log: Log, **more: Any) -> dict[str, Any]:
    return {"log": log.pk, "format": "jsonl"} | more


def text_of(page: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page.content.decode()))


def verdict(content: bytes, log: Log, folder: Path) -> Verdict:
    path = folder / "taken"
    path.write_bytes(content)
    return verify.verify(path, [parse_key(key) for key in exports.verifier_keys(log)]).verdict


@pytest.mark.parametrize("format_", ["jsonl", "csv", "ocsf"])
def test_a_small_export_comes_at_once_and_verifies(auditor: Client, log: Log, tmp_path: Path, format_: str) -> None:
    sent = auditor.post(ADD, order(log, format=format_))
    content = b"".join(sent.streaming_content)  # type: ignore[attr-defined]
    assert verdict(content, log, tmp_path) is Verdict.VERIFIED
    export = Export.objects.get()
    assert (export.status, export.count) == (Export.Status.SENT, log.size)
    assert export.finished_at is not None
    assert LedgerEntry.objects.get(event="exported").role == "auditor"
    assert "the end" in text_of(auditor.get(f"{LIST}{export.pk}/change/"))
    assert f"acme-{log.size}" in sent["Content-Disposition"]


def test_a_large_one_becomes_a_job_with_a_page_that_looks_again_until_it_is_ready(
    auditor: Client, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "SMALL", 0)
    asked = auditor.post(ADD, order(log))
    export = Export.objects.get()
    assert asked["Location"] == f"{LIST}{export.pk}/change/"
    waiting = auditor.get(asked["Location"]).content.decode()
    assert '<meta http-equiv="refresh"' in waiting
    assert "<progress" in waiting
    assert auditor.get(f"{LIST}{export.pk}/file/").status_code == 404
    exports.carry_on(60)
    ready = auditor.get(asked["Location"]).content.decode()
    assert "http-equiv" not in ready
    for link in ("file/", "verify.py", f"{LOGS}{log.pk}/key/", f"{LOGS}{log.pk}/checkpoint/"):
        assert link in ready
    taken = auditor.get(f"{LIST}{export.pk}/file/")
    assert verdict(b"".join(taken.streaming_content), log, tmp_path) is Verdict.VERIFIED  # type: ignore[attr-defined]
    assert "acme" in text_of(auditor.get(LIST))


def test_what_is_needed_to_verify_comes_from_the_desk_as_files(auditor: Client, log: Log, tmp_path: Path) -> None:
    verifier = auditor.get("/admin/audit/export/verify.py")
    assert verifier.content == Path(verify.__file__).read_bytes()
    key = tmp_path / "acme.vkey"
    key.write_bytes(auditor.get(f"{LOGS}{log.pk}/key/").content)
    assert [each.name for each in verify.read_keys(key)] == [log.origin]
    note = parse_note(auditor.get(f"{LOGS}{log.pk}/checkpoint/").content.decode())
    assert verify.parse_checkpoint(note.text).size == log.size


def test_an_export_that_stopped_says_why_and_goes_on_when_told(auditor: Client, log: Log) -> None:
    auditor.post(ADD, order(log))
    Export.objects.update(status=Export.Status.FAILED, problem="disk_full", finished_at=timezone.now())
    export = Export.objects.get()
    page = f"{LIST}{export.pk}/"
    assert "The disk is full" in text_of(auditor.get(f"{page}change/"))
    assert auditor.get(f"{page}resume/").status_code == 405
    assert "It goes on" in text_of(auditor.post(f"{page}resume/", follow=True))
    export.refresh_from_db()
    assert export.status == Export.Status.WAITING
    assert "nothing was changed" in text_of(auditor.post(f"{page}resume/", follow=True))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"since": "yesterday"}, "Write a time as"),
        ({"to_size": "1"}, "no checkpoint of this size"),
        ({"from_size": "1"}, "no checkpoint of this size"),
        ({"elicitation": "elc_x"}, "Give one id"),
        ({"format": "xml"}, "Select a valid choice"),
        ({"policy_revision": str(10**12)}, "less than or equal to"),
        ({"policy_revision": str(2**31)}, "less than or equal to"),
        ({"policy_revision": "9" * 5000}, "Enter a whole number"),
        ({"from_size": str(2**63)}, "less than or equal to"),
        ({"to_size": str(10**30)}, "less than or equal to"),
        ({"since": "0001-01-01T00:00:00+14:00"}, "Write a time as"),
        ({"until": "9999-12-31T23:59:59-12:00"}, "Write a time as"),
        ({"log": str(10**30)}, "Select a valid choice"),
    ],
)
def test_a_form_that_means_nothing_says_where(auditor: Client, log: Log, more: dict[str, str], said: str) -> None:
    page = auditor.post(ADD, order(log) | more)
    assert said in text_of(page)
    assert not Export.objects.exists()
    assert not LedgerEntry.objects.filter(event="exported").exists()


@pytest.mark.parametrize(
    "more",
    [
        {"policy_revision": str(2**31 - 1)},
        {"since": "0001-01-01 00:00"},
        {"until": "9999-12-31T23:59:59Z"},
        {"since": "2026-01-01T00:00:00+02:00"},
    ],
)
def test_what_a_column_can_hold_is_taken(auditor: Client, log: Log, tmp_path: Path, more: dict[str, str]) -> None:
    sent = auditor.post(ADD, order(log, **more))
    assert verdict(b"".join(sent.streaming_content), log, tmp_path) is Verdict.SELECTION  # type: ignore[attr-defined]


def test_with_nothing_sealed_the_form_says_so(auditor: Client) -> None:
    assert "Nothing is sealed yet" in text_of(auditor.get(ADD))


@pytest.mark.parametrize(
    ("permissions", "method", "path"),
    [
        ((), "get", LIST),
        (("view_log",), "get", LIST),
        (("view_export",), "get", ADD),
        (("view_export",), "post", ADD),
        (("view_export",), "post", "{export}resume/"),
        (("add_export",), "get", "{export}file/"),
        ((), "get", "/admin/audit/export/verify.py"),
        (("view_export",), "get", LOGS),
        (("view_log",), "post", "{log}verify/"),
        (("view_export",), "get", "{log}key/"),
    ],
)
def test_who_may_not_is_refused(
    auditor: Client, log: Log, permissions: tuple[str, ...], method: str, path: str
) -> None:
    b"".join(auditor.post(ADD, order(log)).streaming_content)  # type: ignore[attr-defined]
    export, before = Export.objects.get(), LedgerEntry.objects.count()
    address = path.format(export=f"{LIST}{export.pk}/", log=f"{LOGS}{log.pk}/")
    assert getattr(person(*permissions), method)(address, order(log)).status_code == 403
    assert (Export.objects.count(), LedgerEntry.objects.count()) == (1, before)


def test_a_log_says_how_far_it_is_sealed_and_is_verified_when_told(auditor: Client, log: Log) -> None:
    page = f"{LOGS}{log.pk}/change/"
    shown = text_of(auditor.get(page))
    assert re.search(rf"Sealed up to\s+{log.size}", shown)
    assert re.search(r"Witnessed up to\s+0", shown)
    assert re.search(r"Unsealed tail\s+0", shown)
    auditor.post(f"{LOGS}{log.pk}/verify/")
    assert '<meta http-equiv="refresh"' in auditor.get(page).content.decode()
    from audit import nightly

    nightly.verify(timezone.now(), 30)
    assert "Verified" in text_of(auditor.get(page))
    assert "acme" in text_of(auditor.get(LOGS))


def test_no_page_has_an_inline_script_or_style(auditor: Client, log: Log) -> None:
    b"".join(auditor.post(ADD, order(log)).streaming_content)  # type: ignore[attr-defined]
    export = Export.objects.get()
    for path in (LIST, ADD, f"{LIST}{export.pk}/change/", LOGS, f"{LOGS}{log.pk}/change/"):
        page = auditor.get(path)
        assert page.status_code == 200
        assert not re.search(r"<script(?![^>]*\bsrc=)|<style|style=", page.content.decode())
