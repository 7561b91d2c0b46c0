"""The tour in Chromium: sign in, a stuck entry, cancel, timeline, ledger, under the policy that the desk sends."""

from __future__ import annotations

import re

import pytest

from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser


def test_an_operator_finds_a_stuck_entry_and_cancels_it(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    page = visitor.page
    stuck = visitor.desk.ids["stuck"][["light", "dark", "phone"].index(request.node.callspec.params["visitor"])]
    visitor.go("/")
    visitor.picture("01-sign-in")
    visitor.sign_in()
    waiting = page.get_by_role("region", name="Waiting for an operator")
    assert "Retry, or have the provider send its confirmation again" in waiting.inner_text()
    visitor.picture("02-index")
    waiting.get_by_role("link", name=stuck).click()
    assert page.get_by_role("heading", level=1).inner_text() == stuck
    assert "Retry required" in page.get_by_role("region", name="Where it stands").inner_text()
    visitor.picture("03-stuck")
    page.get_by_role("link", name="Cancel it, with a reason").click()
    visitor.picture("04-cancel")
    page.get_by_role("button", name="Cancel this elicitation").click()
    visitor.reads("Choose a reason.")
    page.get_by_label("Reason").select_option("provider_outage")
    page.get_by_label("Note").fill("Provider ticket 42")
    visitor.picture("05-reason")
    page.get_by_role("button", name="Cancel this elicitation").click()
    page.wait_for_url(f"**/{stuck}/change/")
    timeline = page.get_by_role("region", name="Timeline, oldest first")
    assert "An operator cancelled it: the provider is out of order." in timeline.inner_text()
    visitor.picture("06-cancelled")
    timeline.get_by_role("link", name="The same on the ledger").click()
    rows = page.locator("#result_list tbody tr")
    assert "cancel" in rows.first.inner_text()
    assert rows.count() >= 7
    visitor.picture("07-ledger")
    assert visitor.too_wide() <= 0
    visitor.go("/")
    assert stuck not in page.inner_text("body")
    assert visitor.wrong == []


def test_every_page_fits_its_window_and_breaks_no_rule(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_in()
    ids = visitor.desk.ids
    entries = "/admin/elicitation/elicitation/"
    pages = {
        "list": entries,
        "list-filtered": f"{entries}?state=open",
        "list-found": f"{entries}?q=%20%22{ids['paid'][0].upper()}%22",
        "list-empty": f"{entries}?state=DECLINED",
        "paid": f"{entries}{ids['paid'][0]}/change/",
        "late": f"{entries}{ids['late'][0]}/change/",
        "late-close": f"{entries}{ids['late'][0]}/close/",
        "held": f"{entries}{ids['held'][0]}/change/",
        "held-cancel": f"{entries}{ids['held'][0]}/cancel/",
        "pending": f"{entries}{ids['pending'][0]}/change/",
        "pending-lost": f"{entries}{ids['pending'][0]}/lost/",
        "unbound": f"{entries}{ids['unbound'][0]}/change/",
        "stuck-retry": f"{entries}{ids['stuck'][3]}/retry/",
        "stuck": f"{entries}{ids['stuck'][3]}/change/",
        "form": f"{entries}{ids['form'][0]}/change/",
        "stranger": f"{entries}{ids['stranger'][0]}/change/",
        "taken-back": f"{entries}{ids['taken_back'][0]}/change/",
        "named": f"{entries}{ids['named'][0]}/change/",
        "ledger": "/admin/audit/ledgerentry/",
        "decisions": "/admin/elicitation/decision/",
        "revisions": "/admin/elicitation/policyrevision/",
        "tenants": "/admin/elicitation/tenant/",
        "services": "/admin/elicitation/service/",
        "providers": "/admin/elicitation/provider/",
        "provider": "/admin/elicitation/provider/1/change/",
        "clients": "/admin/elicitation/client/",
        "users": "/admin/auth/user/",
        "part": "/admin/elicitation/",
        "password": "/admin/password_change/",
    }
    wide = {}
    visitor.go(entries)
    page.locator("summary", has_text="State").click()
    visitor.picture("list-choosing")
    wide["list-choosing"] = visitor.too_wide()
    page.get_by_role("link", name="Complete", exact=True).click()
    assert page.get_by_role("link", name=ids["paid"][0]).count() == 1
    for name, path in pages.items():
        visitor.go(path)
        visitor.picture(name)
        wide[name] = visitor.too_wide()
    for name in ("ledger", "decisions", "revisions"):
        visitor.go(pages[name])
        page.locator("#result_list tbody th a").first.click()
        page.wait_for_url("**/change/")
        visitor.picture(f"{name}-one")
        wide[f"{name}-one"] = visitor.too_wide()
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_a_page_that_is_not_there_or_not_for_everybody_fits_its_window(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_in()
    visitor.go("/admin/elicitation/provider/999999/change/")
    assert page.get_by_role("heading", level=1).inner_text() == "Not Found"
    visitor.picture("not-there")
    wide = visitor.too_wide()
    visitor.go("/admin/")
    page.context.clear_cookies(name=re.compile("csrf"))
    page.get_by_role("button", name="Log out").click()
    visitor.reads("Forbidden")
    visitor.picture("not-allowed")
    assert max(wide, visitor.too_wide()) <= 0
    assert page.locator("#content").evaluate("each => parseFloat(getComputedStyle(each).paddingLeft)") > 0


def test_the_keys_of_a_provider_stack_on_a_phone_and_no_id_breaks(visitor: Visitor) -> None:
    page = visitor.page
    visitor.sign_in()
    visitor.go("/admin/elicitation/provider/1/change/")
    keys = page.get_by_role("region", name="Keys")
    lines = "each => each.getClientRects().length"
    assert [each.evaluate(lines) for each in keys.locator("tbody code").all()] == [1]
    phone = page.viewport_size is not None and page.viewport_size["width"] < 768
    first, second = (keys.locator("tbody td").nth(number).bounding_box() for number in range(2))
    assert first
    assert second
    assert (second["y"] > first["y"]) is phone
    assert visitor.wrong == []


def test_an_operator_marks_as_lost_retries_and_closes(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    page = visitor.page
    number = ["light", "dark", "phone"].index(request.node.callspec.params["visitor"])
    pending, late = visitor.desk.ids["pendings"][number], visitor.desk.ids["lates"][number]
    entries = "/admin/elicitation/elicitation/"
    visitor.sign_in()
    visitor.go(f"{entries}{pending}/change/")
    page.get_by_role("link", name="Mark the confirmation as lost").click()
    page.get_by_role("button", name="Mark the confirmation as lost").click()
    page.wait_for_url(f"**/{pending}/change/")
    page.get_by_role("link", name="Retry", exact=True).click()
    page.get_by_role("button", name="Retry", exact=True).click()
    page.wait_for_url(f"**/{pending}/change/")
    visitor.reads("Still not confirmed: no confirmation is held")
    visitor.picture("retried")
    visitor.go(f"{entries}{late}/change/")
    page.get_by_role("link", name="Close late evidence, with a reason").click()
    page.get_by_label("Reason").select_option("refunded")
    page.get_by_role("button", name="Close the late evidence").click()
    page.wait_for_url(f"**/{late}/change/")
    assert (
        "An operator closed the late evidence" in page.get_by_role("region", name="Timeline, oldest first").inner_text()
    )
    visitor.picture("closed")
    assert visitor.too_wide() <= 0
    assert visitor.wrong == []


def test_what_the_policy_refuses_would_have_been_seen(visitor: Visitor) -> None:
    visitor.sign_in()
    visitor.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>')")
    visitor.page.wait_for_timeout(100)
    assert any("refused by the policy: style-src" in text for text in visitor.wrong)
