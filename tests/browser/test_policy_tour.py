"""A change of the policy in Chromium: one person drafts and tries it, another approves and activates it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser

from config.environment import ROOT
from tests.browser.conftest import Running, Visitor
from tests.browser.policy_seed import PASSWORD
from tests.commands.running import environment, up

pytestmark = pytest.mark.browser

DRAFTS = "/admin/elicitation/policydraft/"
SCHEMA = '{"type": "object", "properties": {"apiKey": {"type": "string"}}, "required": ["apiKey"]}'


@dataclass(slots=True)
class Person(Visitor):
    """A visitor who may sign in as one of the policy's people."""

    kind: str = ""

    def become(self, name: str) -> None:
        self.page.context.clear_cookies()
        self.go("/admin/login/")
        self.page.get_by_label("Username").fill(f"{name}-{self.kind}")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        self.page.wait_for_url(f"{self.desk.address}/admin/")

    def seen(self, name: str) -> None:
        self.picture(name)
        assert self.too_wide() <= 0, name


@pytest.fixture(scope="module")
def policy_desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, int]]:
    """A desk of its own: what is activated here must not surprise another tour."""
    state = tmp_path_factory.mktemp("policy-desk")
    with up(state, DESK_LOG_LEVEL="WARNING") as desk:
        desk.first_page()
        made: dict[str, int] = {}
        for seed in ("seed", "policy_seed"):
            done = subprocess.run(
                [sys.executable, "-m", f"tests.browser.{seed}"],
                cwd=ROOT,
                env=environment(state),
                stdout=subprocess.PIPE,
                text=True,
                timeout=120,
                check=True,
            )
            made |= json.loads(done.stdout)
        yield Running(desk.address, "", {}), made["draft"]


@pytest.fixture(params=["light", "dark", "phone"])
def visitor(
    request: pytest.FixtureRequest,
    policy_desk: tuple[Running, int],
    chromium: Browser,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Person]:
    kind: str = request.param
    context = chromium.new_context(
        color_scheme="dark" if kind == "dark" else "light",
        viewport={"width": 390, "height": 844} if kind == "phone" else {"width": 1440, "height": 900},
        has_touch=kind == "phone",
    )
    context.set_default_timeout(15_000)
    person = Person(context.new_page(), policy_desk[0], tmp_path_factory.mktemp(f"policy-{kind}"), kind=kind)
    person.listen()
    yield person
    context.close()


def test_one_person_drafts_a_destination_and_another_brings_it_into_force(visitor: Person) -> None:
    page, origin = visitor.page, f"https://{visitor.kind}.example.net"
    visitor.become("erin")
    visitor.go(DRAFTS)
    visitor.seen("01-drafts")
    page.get_by_role("link", name="New draft").click()
    page.get_by_label("Title").fill(f"A page for {visitor.kind} days")
    visitor.seen("02-new")
    page.get_by_role("button", name="Begin the draft").click()
    page.wait_for_url("**/edit/")
    visitor.seen("03-editor")

    page.get_by_role("button", name="Add a destination").click()
    page.wait_for_url("**/edit/#new")
    new = page.locator("details.destination").last
    assert 0 <= page.evaluate("document.querySelector('#new summary').getBoundingClientRect().top") < 400
    new.get_by_label("Origin", exact=True).fill(f"{origin}/start")
    new.get_by_label("Provider", exact=True).select_option("example-pay")
    new.get_by_label("Tenants", exact=True).fill("acme")
    new.get_by_label("Services", exact=True).fill("booking")
    new.get_by_label("Payment", exact=True).check()
    new.get_by_label("Path prefixes", exact=True).fill("/start")
    new.get_by_label("Parameters", exact=True).fill("flow = ^[a-z]{1,16}$\ne = elicitation_id")
    page.get_by_role("button", name="Save").click()
    assert "must be an https origin" in page.get_by_role("alert").inner_text().lower()
    assert new.get_by_label("Parameters", exact=True).input_value() == "flow = ^[a-z]{1,16}$\ne = elicitation_id"
    visitor.seen("04-wrong")

    new.get_by_label("Origin", exact=True).fill(origin)
    page.get_by_label("Tenant", exact=True).fill("acme")
    page.get_by_label("Service", exact=True).fill("booking")
    page.get_by_label("URL", exact=True).fill(f"{origin}/start?flow=pay&token=x")
    page.get_by_role("button", name="Try the link").click()
    link = page.get_by_role("group", name="A link")
    assert "Denied" in link.inner_text()
    assert "url.parameter_not_listed" in link.inner_text()
    page.get_by_label("URL", exact=True).fill(f"{origin.upper().replace('HTTPS', 'https')}/start?flow=pay")
    page.get_by_label("Schema").fill(SCHEMA)
    page.get_by_label("Id", exact=True).fill("surcharge-1042")
    page.get_by_role("button", name="Try the id").click()
    assert "Admitted" in link.inner_text()
    assert f"{origin}/start?flow=pay&e=elc_" in link.inner_text()
    assert "Denied" in page.get_by_role("group", name="A form").inner_text()
    assert "id.sequential" in page.get_by_role("group", name="An id").inner_text()
    visitor.seen("05-tried")
    page.screenshot(path=visitor.pictures / "05-tried-window.png")

    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/change/")
    changes = page.get_by_role("region", name="What it changes")
    assert origin in changes.inner_text()
    assert "28 of 28 cases of the drill match" in page.get_by_role("region", name="Drill").inner_text()
    assert page.get_by_role("button", name="Approve").count() == 0
    page.get_by_role("button", name="Replay under this draft").click()
    assert "0 would be refused" in page.get_by_role("region", name="Replay").inner_text()
    visitor.seen("06-draft")
    draft = page.url.partition("?")[0].removeprefix(visitor.desk.address)

    visitor.become("amir")
    visitor.go(draft)
    assert page.get_by_role("link", name="Edit").count() == 0
    page.get_by_role("link", name="Activate").click()
    visitor.reads("Nobody else has approved the draft")
    page.go_back()
    page.get_by_role("button", name="Approve this content").click()
    visitor.reads("Approved as it stands now")
    visitor.seen("07-approved")
    page.get_by_role("link", name="Activate").click()
    visitor.seen("08-activate")
    page.get_by_role("button", name="Bring it into force").click()
    visitor.reads("is in force.")
    visitor.seen("09-activated")
    page.get_by_role("link", name="revision", exact=False).first.click()
    visitor.reads(origin)
    visitor.seen("10-revision")
    assert visitor.wrong == []


def test_a_draft_with_everything_in_its_way_says_so(visitor: Person, policy_desk: tuple[Running, int]) -> None:
    page = visitor.page
    visitor.become("erin")
    visitor.go(f"{DRAFTS}{policy_desk[1]}/change/?days=7")
    for words in ("own-wallet-is-admitted", "Look again", "would be refused", "badge number", "[U+202E]"):
        visitor.reads(words)
    visitor.reads("pending entries would no longer be admitted")
    visitor.seen("11-everything")
    visitor.go(f"{DRAFTS}{policy_desk[1]}/edit/")
    visitor.seen("12-editor")
    for source in ("", "?source=operator"):
        visitor.go(f"/admin/rules/{source}")
        visitor.seen(f"13-rules{'-operator' if source else ''}")
    visitor.go("/admin/rules/#url.fragment")
    assert page.locator("[id='url.fragment']").is_visible()
    visitor.go("/admin/elicitation/policyrevision/")
    visitor.seen("14-revisions")
    assert visitor.wrong == []
