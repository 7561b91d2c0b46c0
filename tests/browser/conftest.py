"""A desk started by ``manage.py up``, filled, and Chromium in front of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from config.environment import ROOT
from tests.commands.running import environment, up

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
#: What the page's own policy refuses is told by an event, which the console does not always show as an error.
LISTEN = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`refused by the policy: ${event.effectiveDirective} ${event.blockedURI}`));
"""


@dataclass(frozen=True, slots=True)
class Running:
    address: str
    password: str
    ids: dict[str, list[str]]


@dataclass(slots=True)
class Visitor:
    """A page with everything that went wrong on it, and a folder for its pictures."""

    page: Page
    desk: Running
    pictures: Path
    wrong: list[str] = field(default_factory=list)

    def listen(self) -> None:
        self.page.on("console", lambda message: self._note(message.type in ("error", "warning"), message.text))
        self.page.on("pageerror", lambda problem: self._note(True, str(problem)))
        # A request that the next page cuts off has not failed.
        self.page.on(
            "requestfailed", lambda request: self._note(request.failure != "net::ERR_ABORTED", f"failed: {request.url}")
        )
        self.page.on("response", lambda reply: self._note(reply.status >= 400, f"{reply.status}: {reply.url}"))
        self.page.add_init_script(LISTEN)

    def _note(self, bad: bool, text: str) -> None:
        if bad:
            self.wrong.append(text)

    def go(self, path: str) -> None:
        self.page.goto(self.desk.address + path)

    def sign_in(self) -> None:
        self.go("/")
        self.page.get_by_label("Username").fill("operator")
        self.page.get_by_label("Password").fill(self.desk.password)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(f"{self.desk.address}/admin/")

    def reads(self, words: str) -> None:
        """The page says so, once it is there: a click may lead to another page."""
        expect(self.page.locator("body")).to_contain_text(words)

    def picture(self, name: str) -> None:
        self.page.screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def too_wide(self) -> int:
        """By how many pixels the page is wider than the window."""
        width: int = self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return width


@pytest.fixture(scope="package")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    state = tmp_path_factory.mktemp("desk")
    with up(state, DESK_LOG_LEVEL="WARNING") as desk:  # its pipe is read at the end only, so it must not fill
        desk.first_page()
        assert desk.process.stdout is not None
        said = re.search(r"password: (\S+)", desk.process.stdout.readline())
        assert said
        seeded = subprocess.run(
            [sys.executable, "-m", "tests.browser.seed"],
            cwd=ROOT,
            env=environment(state),
            stdout=subprocess.PIPE,
            text=True,
            timeout=120,
            check=True,
        )
        yield Running(desk.address, said[1], json.loads(seeded.stdout))


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(params=["light", "dark", "phone"])
def visitor(
    request: pytest.FixtureRequest, running: Running, chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visitor]:
    """Three people: one by day, one by night, one on a phone."""
    phone = request.param == "phone"
    context = chromium.new_context(
        color_scheme="dark" if request.param == "dark" else "light",
        viewport={"width": 390, "height": 844} if phone else {"width": 1280, "height": 900},
        has_touch=phone,
    )
    context.set_default_timeout(10_000)
    visitor = Visitor(context.new_page(), running, tmp_path_factory.mktemp(request.param))
    visitor.listen()
    yield visitor
    context.close()
