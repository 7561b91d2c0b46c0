"""Signals in Chromium: what happened, what to do, who was told, sending again, and the review by operators."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from config.environment import ROOT
from tests.audit.receivers import LOOPBACK, SECRET, Mailbox, mail_server, web_server
from tests.browser.conftest import Running, Visitor
from tests.commands.running import environment, up

pytestmark = pytest.mark.browser

SIGNALS = "/admin/audit/signal/"
MESSAGES = "/admin/audit/outgoing/"


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with mail_server() as box:
        yield box


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, mailbox: Mailbox) -> Iterator[Running]:
    """A desk of these tests' own, whose mail arrives and whose webhook is refused."""
    state = tmp_path_factory.mktemp("desk")
    with web_server() as hook:
        hook.status = 500
        channels = {
            "DESK_SIGNAL_EMAILS": "ops@example.com",
            "DESK_EMAIL_URL": f"smtp://{LOOPBACK}:{mailbox.port}",
            "DESK_EMAIL_FROM": "desk@example.com",
            "DESK_SIGNAL_WEBHOOK_URL": hook.url,
            "DESK_SIGNAL_WEBHOOK_SECRET": SECRET,
        }
        with up(state, DESK_LOG_LEVEL="WARNING", **channels) as desk:
            desk.first_page()
            assert desk.process.stdout is not None
            said = re.search(r"password: (\S+)", desk.process.stdout.readline())
            assert said
            subprocess.run(
                [sys.executable, "-m", "tests.browser.signal_seed"],
                cwd=ROOT,
                env=environment(state, **channels),
                stdout=subprocess.PIPE,
                timeout=120,
                check=True,
            )
            yield Running(desk.address, said[1], {})


def test_an_operator_reads_a_signal_and_sends_its_message_again(visitor: Visitor, mailbox: Mailbox) -> None:
    page = visitor.page
    visitor.sign_in()
    visitor.go(SIGNALS)
    assert page.locator("#result_list tbody tr").count() >= 6
    visitor.picture("signals")
    wide = {"signals": visitor.too_wide()}
    page.get_by_role("link", name="Two results for one elicitation").first.click()
    lead = page.get_by_role("region", name="What happened").inner_text()
    assert "contradicts what is recorded" in lead
    assert "Ask the provider which of the two is right" in lead
    told = page.get_by_role("region", name="Who was told")
    assert "Given up: the receiver reported a fault of its own" in told.inner_text()
    visitor.picture("signal")
    wide["signal"] = visitor.too_wide()
    assert any("Two results for one elicitation" in str(letter["Subject"]) for letter in mailbox.letters)
    visitor.go(f"{MESSAGES}?status=dead")
    visitor.picture("messages")
    wide["messages"] = visitor.too_wide()
    page.locator("#result_list tbody th a").first.click()
    page.wait_for_url("**/change/**")
    visitor.picture("message")
    wide["message"] = visitor.too_wide()
    page.get_by_role("link", name="Send it again").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Send this message again?"
    visitor.picture("resend")
    wide["resend"] = visitor.too_wide()
    page.get_by_role("button", name="Send it again").click()
    page.wait_for_url("**/change/")
    visitor.reads("It is sent again with the next pass.")
    visitor.picture("resent")
    wide["resent"] = visitor.too_wide()
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_signals_about_a_person_and_a_client_fit_their_window(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_in()
    for rule, words in (("wrong_user_person", "one person"), ("auto_answers", "x-client 2.1")):
        visitor.go(f"{SIGNALS}?rule={rule}")
        page.locator("#result_list tbody th a").first.click()
        page.wait_for_url("**/change/**")
        assert words in page.get_by_role("region", name="What happened").inner_text()
        visitor.picture(rule)
        assert visitor.too_wide() <= 0
    assert visitor.wrong == []


def test_an_operator_acknowledges_a_signal_and_resolves_it_with_a_reason(visitor: Visitor) -> None:
    page, wide = visitor.page, {}

    def picture(name: str) -> None:
        visitor.picture(name)
        wide[name] = visitor.too_wide()

    visitor.sign_in()
    visitor.go("/admin/?queue=conflict")
    page.get_by_role("region", name="Waiting for an operator").get_by_role("link").filter(has_text="elc_").first.click()
    picture("review-01-entry")
    page.get_by_role("link", name="Two results for one elicitation").click()
    page.wait_for_url(f"**{SIGNALS}**")
    picture("review-02-signal")
    page.get_by_role("link", name="Acknowledge it").click()
    assert page.get_by_role("heading", level=1).inner_text() == "Acknowledge this signal?"
    page.get_by_label("Note").fill("I ask the provider")
    picture("review-03-acknowledge")
    page.get_by_role("button", name="Acknowledge this signal").click()
    page.wait_for_url("**/change/")
    visitor.reads("Acknowledged: it goes on counting, and waits to be resolved.")
    assert page.get_by_role("link", name="Acknowledge it").count() == 0
    picture("review-04-acknowledged")
    page.get_by_role("link", name="Resolve it, with a reason").click()
    page.get_by_label("Reason").select_option("Another reason, in the operator's note")
    page.get_by_role("button", name="Resolve this signal").click()
    visitor.reads("Say what the other reason is.")
    picture("review-05-what-is-missing")
    page.get_by_label("Reason").select_option("What it told of is dealt with")
    page.get_by_label("Note").fill("They paid one of the two back")
    page.get_by_role("button", name="Resolve this signal").click()
    page.wait_for_url("**/change/")
    visitor.reads("Resolved; the ledger has the reason.")
    told = page.get_by_role("region", name="What operators did").inner_text()
    assert "I ask the provider" in told
    assert "They paid one of the two back" in told
    picture("review-06-resolved")
    visitor.go(f"{SIGNALS}{page.url.split('/')[-3]}/resolve/")
    visitor.reads("It is resolved already.")
    picture("review-07-already")
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []
