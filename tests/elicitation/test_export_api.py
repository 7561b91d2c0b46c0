"""The ledger over the API: an auditor's key shows its own tenant's log, makes exports, and opens nothing else."""

import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as configured
from django.test import Client
from django.utils import timezone

from audit import verify as verifier
from audit.models import Checkpoint, Export, LedgerEntry, Log
from audit.seal import seal
from audit.verify import Verdict, parse_checkpoint, parse_key, parse_note, verify, verify_consistency
from elicitation.services import exports, keys, reading
from elicitation.services.keys import KeyProblem, Scope
from tests.builders import Desk

pytestmark = pytest.mark.django_db


@pytest.fixture
def auditor(desk: Desk, settings: Any, tmp_path: Path) -> str:
    """The key of acme's auditor; some entries of both tenants are sealed."""
    settings.DESK_EXPORT_DIR = tmp_path / "exports"
    for question in ("a", "b", "c"):
        desk.admit(form=True, operation={"method": "tools/call", "target": question, "arguments_digest": DIGEST})
    seal_all()
    return keys.create_service_key(desk.hotels, [Scope.EXPORT])


DIGEST = "sha256:" + "1" * 64


def seal_all() -> None:
    while seal(timezone.now()):
        pass


def get(desk: Desk, path: str, key: str, **extra: Any) -> Any:
    return desk.call(path, method="GET", key=key, **extra)


def made(desk: Desk, key: str, **order: Any) -> str:
    """The id of an export that is ready."""
    answer = desk.call("exports", {"format": "jsonl"} | order, key=key)
    assert answer.status_code == 201, answer.json()
    exports.carry_on(60)
    return str(answer.json()["id"])


@pytest.mark.parametrize("others", [["read"], list(keys.OF_SERVICES)])
def test_an_auditors_key_has_one_scope_alone(desk: Desk, others: list[str]) -> None:
    with pytest.raises(KeyProblem, match="export and no other"):
        keys.create_service_key(desk.booking, ["export", *others])


def test_the_lines_come_in_the_order_of_the_log_a_page_at_a_time(desk: Desk, auditor: str) -> None:
    log, seen, cursor = Log.objects.get(tenant="acme"), [], ""
    while True:
        page = get(desk, f"ledger?limit=2{cursor}", auditor).json()
        seen += page["items"]
        if page["next"] is None:
            break
        cursor = f"&cursor={page['next']}"
    assert [line["index"] for line in seen] == list(range(log.size))
    assert {line["tenant"] for line in seen} == {"acme"}
    assert sum(line["event"] == "admit" for line in seen) == 3
    assert page["size"] == log.size


@pytest.mark.parametrize("query", ["cursor=-1", "cursor=x", "limit=0", "limit=201", "cursor=" + "9" * 19])
def test_a_page_that_cannot_be_is_refused(desk: Desk, auditor: str, query: str) -> None:
    assert get(desk, f"ledger?{query}", auditor).status_code == 400


def test_an_export_is_asked_for_followed_and_taken_and_it_verifies(desk: Desk, auditor: str, tmp_path: Path) -> None:
    log = Log.objects.get(tenant="acme")
    asked = desk.call("exports", {"format": "csv"}, key=auditor)
    assert asked.status_code == 201
    assert asked.json() | {"id": ""} == {
        "id": "",
        "state": "waiting",
        "problem": None,
        "progress": 0,
        "size": log.size,
        "download": None,
    }
    path = f"exports/{asked.json()['id']}"
    early = get(desk, f"{path}/file", auditor)
    assert (early.status_code, early.json()["code"]) == (409, "export.not_ready")
    exports.carry_on(60)
    shown = get(desk, path, auditor).json()
    assert (shown["state"], shown["progress"], shown["download"]) == ("ready", 100, f"/api/v1/{path}/file")
    taken = tmp_path / "taken.csv"
    taken.write_bytes(b"".join(get(desk, f"{path}/file", auditor).streaming_content))
    vkeys = get(desk, "checkpoints", auditor).json()["keys"]
    assert verify(taken, [parse_key(key) for key in vkeys]).verdict is Verdict.VERIFIED
    kept = LedgerEntry.objects.get(event="exported")
    assert (kept.tenant, kept.actor_kind, kept.actor_id) == ("acme", "service", "hotels")


def test_a_part_of_the_log_is_selected_by_time_checkpoint_event_and_entry(desk: Desk, auditor: str) -> None:
    entry = desk.admit().json()["id"]
    before = Log.objects.get(tenant="acme").size
    seal_all()
    after = Log.objects.get(tenant="acme").size
    for order, count in (
        ({"from": before}, after - before),
        ({"to": before}, before),
        ({"from": before, "to": before}, 0),
        ({"event": "admit"}, 4),
        ({"elicitation_id": entry}, 1),
        ({"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}, 0),
        ({"from": "2020-01-01T00:00:00+02:00"}, after),
    ):
        assert Export.objects.get(uid=made(desk, auditor, **order)).count == count, order


@pytest.mark.parametrize(
    ("order", "at"),
    [
        ({"from": 1}, "/from"),
        ({"to": 1}, "/to"),
        ({"event": "no_such"}, "/event"),
        ({"elicitation_id": "x"}, "/elicitation_id"),
        ({"format": "xml"}, "/format"),
        ({"from": "2020-01-01T00:00:00"}, "/from"),
    ],
)
def test_an_order_that_means_nothing_is_refused_by_its_place(desk: Desk, auditor: str, order: Any, at: str) -> None:
    refused = desk.call("exports", {"format": "jsonl"} | order, key=auditor)
    assert (refused.status_code, refused.json()["at"]) == (400, at)
    assert not Export.objects.exists()
    assert not LedgerEntry.objects.filter(event="exported").exists()


def test_a_download_that_broke_goes_on(desk: Desk, auditor: str) -> None:
    path = f"exports/{made(desk, auditor)}/file"
    whole = get(desk, path, auditor)
    content = b"".join(whole.streaming_content)
    assert (whole["Content-Length"], whole["Accept-Ranges"]) == (str(len(content)), "bytes")
    for asked, part in (("bytes=100-", content[100:]), ("bytes=0-9", content[:10]), ("bytes=-7", content[-7:])):
        answer = get(desk, path, auditor, HTTP_RANGE=asked, HTTP_IF_RANGE=whole["ETag"])
        assert answer.status_code == 206
        assert b"".join(answer.streaming_content) == part
        assert answer["Content-Range"].endswith(f"/{len(content)}")
    other = get(desk, path, auditor, HTTP_RANGE="bytes=100-", HTTP_IF_RANGE='"another"')
    assert (other.status_code, b"".join(other.streaming_content)) == (200, content)
    assert get(desk, path, auditor, HTTP_RANGE=f"bytes={len(content)}-").status_code == 416
    assert get(desk, path, auditor, HTTP_RANGE="bytes=0-1,3-4").status_code == 200


def test_mallory_sees_nothing_of_acmes_log(desk: Desk, auditor: str) -> None:
    export = made(desk, auditor)
    theirs = keys.create_service_key(desk.mallory, [Scope.EXPORT])
    for path in (f"exports/{export}", f"exports/{export}/file"):
        foreign, unknown = get(desk, path, theirs), get(desk, path.replace(export, "0" * 8 + export[8:]), theirs)
        assert foreign.status_code == unknown.status_code == 404
        assert foreign.content == unknown.content
    assert {line["tenant"] for line in get(desk, "ledger?limit=200", theirs).json()["items"]} == {"globex"}
    assert "acme" not in get(desk, "checkpoints", theirs).content.decode()


def test_checkpoints_and_proofs_between_them_verify(desk: Desk, auditor: str) -> None:
    for number in range(4):
        desk.admit(form=True, operation={"method": "tools/call", "target": str(number), "arguments_digest": DIGEST})
        seal_all()
    listed = get(desk, "checkpoints?limit=3", auditor).json()
    older = get(desk, f"checkpoints?cursor={listed['next']}", auditor).json()
    items = listed["items"] + older["items"]
    assert [item["size"] for item in items] == sorted((item["size"] for item in items), reverse=True)
    assert len(items) == Checkpoint.objects.filter(log__tenant="acme").count()
    points = [parse_checkpoint(parse_note(item["note"]).text) for item in items]
    new = points[0]
    for old in points:
        said = get(desk, f"checkpoints/consistency?old={old.size}&new={new.size}", auditor).json()
        proof = [base64.b64decode(each) for each in said["proof"]]
        assert verify_consistency(old.size, old.root, new.size, new.root, proof)
    for query in ("", "old=1", "old=5&new=4", f"old=1&new={new.size + 1}", "old=x&new=2"):
        assert get(desk, f"checkpoints/consistency?{query}", auditor).status_code == 400


def test_before_anything_is_sealed_there_is_nothing_and_that_is_said(desk: Desk) -> None:
    key = keys.create_service_key(desk.booking, [Scope.EXPORT])
    assert get(desk, "ledger", key).json() == {"items": [], "size": 0, "next": None}
    assert get(desk, "checkpoints", key).json()["items"] == []
    refused = desk.call("exports", {"format": "jsonl"}, key=key)
    assert (refused.status_code, refused.json()["code"]) == (409, "ledger.nothing_sealed")


def test_the_public_keys_are_open_to_everybody_and_name_no_tenant(desk: Desk, auditor: str) -> None:
    answer = Client().get("/ledger/keys")
    assert answer.status_code == 200
    assert [key["kid"] for key in answer.json()["keys"]] == list(configured.DESK_LEDGER_KEYS)
    public = {parse_key(key).public for key in exports.verifier_keys(Log.objects.get(tenant="acme"))}
    assert {base64.b64decode(key["public_key"]) for key in answer.json()["keys"]} == public
    assert "acme" not in answer.content.decode()
    for seed in configured.DESK_LEDGER_KEYS.values():
        assert base64.b64encode(seed).decode() not in answer.content.decode()


def test_too_many_unfinished_exports_are_refused(desk: Desk, auditor: str) -> None:
    for _ in range(exports.MOST_UNFINISHED):
        assert desk.call("exports", {"format": "jsonl"}, key=auditor).status_code == 201
    refused = desk.call("exports", {"format": "jsonl"}, key=auditor)
    assert (refused.status_code, refused.json()["code"]) == (429, "exports.too_many")


def test_so_many_files_of_a_log_are_kept_and_no_more(desk: Desk, auditor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exports, "MOST_KEPT", 2)
    for _ in range(exports.MOST_KEPT):
        made(desk, auditor)
    refused = desk.call("exports", {"format": "jsonl"}, key=auditor)
    assert (refused.status_code, refused.json()["code"]) == (429, "exports.too_many")
    assert "are kept; each goes after 7 days" in refused.json()["detail"]
    theirs = keys.create_service_key(desk.mallory, [Scope.EXPORT])
    desk.admit(desk.mallory_key, form=True)
    seal_all()
    assert desk.call("exports", {"format": "jsonl"}, key=theirs).status_code != 429
    Export.objects.update(finished_at=timezone.now() - exports.KEPT - timedelta(minutes=1))
    exports.let_go()
    assert desk.call("exports", {"format": "jsonl"}, key=auditor).status_code == 201


def test_that_the_lines_are_read_is_told_once_an_hour_of_each_reader(
    desk: Desk, auditor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not more often: whoever follows the log would read of nothing but their reading."""
    other = keys.create_service_key(desk.booking, [Scope.EXPORT])
    for key in (auditor, other, auditor, other):
        for query in ("", "?cursor=1", "?limit=2"):
            assert get(desk, f"ledger{query}", key).status_code == 200
            seal_all()
    told = list(LedgerEntry.objects.filter(event="exported").values_list("tenant", "actor_kind", "actor_id"))
    assert told == [("acme", "service", "hotels"), ("acme", "service", "booking")]
    monkeypatch.setattr(reading, "TOLD_EVERY", timedelta(0))
    get(desk, "ledger", auditor)
    assert LedgerEntry.objects.filter(event="exported", actor_id="hotels").count() == 2


def test_nothing_is_told_of_reading_a_log_that_is_not_there(desk: Desk) -> None:
    get(desk, "ledger", keys.create_service_key(desk.booking, [Scope.EXPORT]))
    assert not LedgerEntry.objects.filter(event="exported").exists()


def test_the_verifier_comes_beside_the_exports_and_is_described(desk: Desk, auditor: str) -> None:
    answer = get(desk, "exports/verifier", auditor)
    assert answer.content == Path(verifier.__file__).read_bytes()
    assert answer["Content-Disposition"] == 'attachment; filename="verify.py"'
    assert get(desk, "exports/verifier", desk.key).status_code == 403
    assert "/api/v1/exports/verifier" in Client().get("/api/schema/?format=json").json()["paths"]


def test_the_lines_are_the_bytes_that_were_hashed(desk: Desk, auditor: str) -> None:
    raw = get(desk, "ledger?limit=200", auditor).content
    path = exports.path_of(Export.objects.get(uid=made(desk, auditor)))
    for line in path.read_bytes().splitlines()[1:-1]:
        assert line in raw
        assert json.dumps(json.loads(line), separators=(",", ":")).encode() == line
