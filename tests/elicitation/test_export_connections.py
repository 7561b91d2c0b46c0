"""Exports over the desk's own web server, to clients whose connection ends early: whole, or plainly not."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import psycopg
import pytest

from audit.verify import Verdict, parse_key, verify
from config.environment import ROOT
from tests.commands.running import environment
from tests.peers.running import RunningDesk, running_desk

#: Leaves of each log, whose exports are much larger than what waits on its way to a client that does not read.
COUNT = 10_000
PAGES = "/admin/audit/export/"
PATIENCE = 60


@dataclass(frozen=True, slots=True)
class Auditor:
    """Somebody who is signed in, and whose machine takes little at a time."""

    client: httpx.Client
    logs: dict[str, str]

    def ask(self, tenant: str) -> Iterator[bytes]:
        """An export of the whole log, as it arrives."""
        form = {"log": self.logs[tenant], "format": "ocsf", "csrfmiddlewaretoken": self.client.cookies["csrftoken"]}
        with self.client.stream("POST", f"{PAGES}add/", data=form) as reply:
            assert reply.status_code == 200
            yield from reply.iter_raw()

    def newest(self) -> str:
        """What the page of the newest export says."""
        listed = self.client.get(PAGES).text
        address = re.search(rf'href="({PAGES}\d+/change/)', listed)
        assert address
        return self.client.get(address[1]).text

    def verdict(self, tenant: str, content: bytes, folder: Path) -> Verdict:
        """What the verifier says to somebody who has the log's key."""
        file = folder / "received"
        file.write_bytes(content)
        keys = self.client.get(f"/admin/audit/log/{self.logs[tenant]}/key/").text
        return verify(file, [parse_key(key) for key in keys.split()]).verdict


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDesk]:
    with running_desk(tmp_path_factory.mktemp("exporting")) as running:
        for tenant in ("acme", "globex"):
            beside(running, "fill", tenant, str(COUNT))
        yield running


def beside(desk: RunningDesk, *deed: str) -> None:
    """Do something to the desk's database, past the desk."""
    command = [sys.executable, "-m", "tests.audit.filling", *deed]
    subprocess.run(command, cwd=ROOT, env=environment(desk.state, **desk.settings), timeout=300, check=True)


@pytest.fixture(scope="module")
def auditor(desk: RunningDesk) -> Iterator[Auditor]:
    said = re.search(r"password: (\S+)", (desk.logs / "stdout").read_text())
    assert said
    little = httpx.HTTPTransport(socket_options=[(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)])
    with httpx.Client(base_url=desk.address, transport=little, timeout=PATIENCE) as client:
        client.get("/admin/login/")
        form = {"username": "operator", "password": said[1], "csrfmiddlewaretoken": client.cookies["csrftoken"]}
        assert client.post("/admin/login/", data=form).status_code == 302
        offered = re.findall(r'<option value="(\d+)"[^>]*>(\w+)</option>', client.get(f"{PAGES}add/").text)
        yield Auditor(client, {tenant: number for number, tenant in offered})


def test_a_client_that_goes_away_has_a_part_that_does_not_verify_and_the_page_says_so(
    auditor: Auditor, tmp_path: Path
) -> None:
    whole = b"".join(auditor.ask("acme"))
    assert auditor.verdict("acme", whole, tmp_path) is Verdict.VERIFIED
    assert "entries went out, to the end" in auditor.newest()
    coming, received = auditor.ask("acme"), b""
    while len(received) < len(whole) // 10:
        received += next(coming)
    coming.close()  # type: ignore[attr-defined]
    assert auditor.verdict("acme", received, tmp_path) is Verdict.TRUNCATED
    cut = auditor.newest()
    assert "Not sent to its end" in cut
    assert "was received has no manifest, and does not verify" in cut
    assert auditor.verdict("acme", b"".join(auditor.ask("acme")), tmp_path) is Verdict.VERIFIED
    assert auditor.client.get(PAGES).text.count("Not sent to its end") == 1


def an_entry_is_removed(desk: RunningDesk) -> None:
    beside(desk, "lose", "globex")


def the_database_ends_every_connection(desk: RunningDesk) -> None:
    with psycopg.connect(desk.settings["DATABASE_URL"], autocommit=True) as owner:
        owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def deeds(settings: dict[str, str]) -> list[Callable[[RunningDesk], None]]:
    """What can happen while an export is sent; SQLite has no connections that somebody else could end."""
    ends = [the_database_ends_every_connection] if "DATABASE_URL" in settings else []
    return [*ends, an_entry_is_removed]


def test_a_connection_is_cut_and_does_not_end_well_when_an_export_cannot_be_made_to_its_end(
    desk: RunningDesk, auditor: Auditor, tmp_path: Path
) -> None:
    for deed in deeds(desk.settings):
        coming = auditor.ask("globex")
        received = [next(coming)]
        deed(desk)
        with pytest.raises(httpx.RemoteProtocolError):
            received += coming
        assert auditor.verdict("globex", b"".join(received), tmp_path) is Verdict.TRUNCATED, deed.__name__
        assert "Not sent to its end" in auditor.newest()


def test_a_download_that_broke_goes_on_where_it_broke_and_the_joined_file_verifies(
    desk: RunningDesk, auditor: Auditor, tmp_path: Path
) -> None:
    made = desk.manage("service_key", "create", "acme", "auditor", "--scopes", "export", "--open")
    assert made.returncode == 0, made.stderr
    bearer = {"authorization": f"Bearer {made.stdout.strip()}"}
    asked = auditor.client.post("/api/v1/exports", json={"format": "csv"}, headers=bearer).json()
    deadline = time.monotonic() + PATIENCE
    while (shown := auditor.client.get(f"/api/v1/exports/{asked['id']}", headers=bearer).json())["state"] != "ready":
        assert time.monotonic() < deadline, shown
        time.sleep(0.2)
    received = b""
    with auditor.client.stream("GET", shown["download"], headers=bearer) as reply:
        size, tag = int(reply.headers["content-length"]), reply.headers["etag"]
        for data in reply.iter_raw():
            received += data
            if len(received) >= size // 10:
                break
    assert len(received) < size
    assert auditor.verdict("acme", received, tmp_path) is Verdict.TRUNCATED
    rest = auditor.client.get(shown["download"], headers=bearer | {"range": f"bytes={len(received)}-", "if-range": tag})
    assert (rest.status_code, len(rest.content)) == (206, size - len(received))
    assert auditor.verdict("acme", received + rest.content, tmp_path) is Verdict.VERIFIED
