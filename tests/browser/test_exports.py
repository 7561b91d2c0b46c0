"""An auditor in Chromium: exports are asked for, watched, taken and verified with what the page offers; so is a log."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from config.environment import ROOT
from tests.browser.conftest import Running, Visitor
from tests.commands.running import environment, up

pytestmark = pytest.mark.browser

#: Milliseconds within which the desk's sweeps have done what was asked.
PATIENCE = 60_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A desk of these tests' own, with two logs."""
    state = tmp_path_factory.mktemp("desk")
    with up(state, DESK_LOG_LEVEL="WARNING") as desk:
        desk.first_page()
        assert desk.process.stdout is not None
        said = re.search(r"password: (\S+)", desk.process.stdout.readline())
        assert said
        seed = [sys.executable, "-m", "tests.browser.ledger_seed"]
        subprocess.run(seed, cwd=ROOT, env=environment(state), timeout=240, check=True)
        yield Running(desk.address, said[1], {})


def taken(visitor: Visitor, link: Locator, folder: Path) -> Path:
    """The file behind a link or a button, under the name that the desk gave it."""
    with visitor.page.expect_download(timeout=PATIENCE) as downloading:
        link.click()
    file = folder / downloading.value.suggested_filename
    downloading.value.save_as(file)
    return file


def verdict(visitor: Visitor, folder: Path, *more: str) -> str:
    """The first line that the verifier says when it is run as the page says, beside what was taken from there."""
    section = visitor.page.get_by_role("region", name="How to verify it")
    taken(visitor, section.get_by_role("link", name="verify.py"), folder)
    taken(visitor, section.get_by_role("link", name="the log's key"), folder)
    _, *arguments = shlex.split(section.locator("code").first.inner_text())
    done = subprocess.run(
        [sys.executable, "-I", *arguments, *more], cwd=folder, capture_output=True, text=True, check=False
    )
    return f"{done.stdout.splitlines()[0]}, exit code {done.returncode}"


def test_an_export_is_asked_for_taken_and_verified_with_what_the_page_offers(visitor: Visitor, tmp_path: Path) -> None:
    page, wide = visitor.page, {}

    def picture(name: str) -> None:
        visitor.picture(f"export-{name}")
        wide[name] = visitor.too_wide()

    visitor.sign_in()
    page.get_by_role("link", name="Logs, checkpoints and keys").click()
    page.locator("#result_list tbody th").get_by_role("link", name="acme").click()
    kept = taken(visitor, page.get_by_role("link", name="the newest checkpoint"), tmp_path)
    page.get_by_role("link", name="Home").click()
    page.get_by_role("region", name="For auditors").get_by_role("link", name="Exports").click()
    page.get_by_role("link", name="New export").click()
    page.get_by_label("Tenant").select_option("acme")
    page.get_by_label("Since").fill("yesterday")
    page.get_by_role("button", name="Export").click()
    visitor.reads("Write a time as 2026-01-31 12:00, in UTC.")
    picture("missing")
    page.get_by_label("Since").fill("")
    page.get_by_role("radio", name="CSV").check()
    file = taken(visitor, page.get_by_role("button", name="Export"), tmp_path)
    page.get_by_role("link", name="Back to the list").click()
    visitor.reads("Sent as a stream")
    picture("list")
    page.locator("#result_list tbody th a").first.click()
    visitor.reads("entries went out, to the end.")
    picture("sent")
    assert verdict(visitor, tmp_path, "--checkpoint", kept.name) == "verified, exit code 0"
    file.write_bytes(file.read_bytes().replace(b",shown,", b",admit,", 1))
    assert verdict(visitor, tmp_path) == "edited, exit code 1"
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_a_large_export_becomes_a_job_whose_page_leads_to_the_file(visitor: Visitor, tmp_path: Path) -> None:
    page = visitor.page
    visitor.sign_in()
    visitor.go("/admin/audit/export/add/")
    page.get_by_label("Tenant").select_option("globex")
    page.get_by_role("button", name="Export").click()
    page.wait_for_url("**/change/")
    visitor.picture("export-begun")
    download = page.get_by_role("link", name="Download globex-")
    expect(download).to_be_visible(timeout=PATIENCE)  # the page looks again by itself
    visitor.picture("export-ready")
    assert visitor.too_wide() <= 0
    taken(visitor, download, tmp_path)
    assert verdict(visitor, tmp_path) == "verified, exit code 0"
    assert visitor.wrong == []


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("Under way", "40 entries so far"),
        ("Stopped", "The disk is full. Make room, then let it go on."),
        ("Not kept any more", "Ask for a new export."),
    ],
)
def test_an_export_says_how_it_stands(visitor: Visitor, state: str, words: str) -> None:
    page = visitor.page
    visitor.sign_in()
    visitor.go("/admin/audit/export/")
    page.locator("#result_list tbody tr").filter(has_text=state).get_by_role("link").first.click()
    standing = page.get_by_role("region", name="How it stands")
    expect(standing).to_contain_text(state)
    expect(standing).to_contain_text(words)
    shown = state != "Not kept any more"
    assert standing.get_by_role("progressbar", name="Progress").is_visible() == shown
    assert standing.get_by_role("button", name="Let it go on").is_visible() == (state == "Stopped")
    visitor.picture(f"export-{state}")
    assert visitor.too_wide() <= 0
    assert visitor.wrong == []


def test_a_log_is_verified_now_and_shows_its_checkpoints(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_in()
    page.get_by_role("link", name="Logs, checkpoints and keys").click()
    visitor.picture("logs")
    assert visitor.too_wide() <= 0
    page.locator("#result_list tbody th").get_by_role("link", name="acme").click()
    page.wait_for_url("**/change/")
    standing = page.get_by_role("region", name="How it stands")

    def size(pattern: str) -> int:
        found = re.search(pattern, standing.inner_text())
        return int(found[1]) if found else 0

    sealed = size(r"Sealed up to\s+(\d+)")
    assert sealed >= 700
    page.get_by_role("button", name="Verify now").click()
    visitor.reads("It will be verified from the first leaf on")
    visitor.picture("log-verifying")
    expect(page.get_by_role("button", name="Verify now")).to_be_visible(timeout=PATIENCE)  # it looks again by itself
    assert "Verified" in standing.inner_text()
    assert size(r"Up to size (\d+)") >= sealed
    page.get_by_text("Show", exact=True).first.click()
    visitor.picture("log")
    assert visitor.too_wide() <= 0
    assert visitor.wrong == []
