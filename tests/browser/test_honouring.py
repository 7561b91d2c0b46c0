"""Honouring in Chromium: one operator chooses a confirmation and proposes, another reads and approves it."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Visitor
from tests.browser.seed import SECOND

pytestmark = pytest.mark.browser

ENTRIES = "/admin/elicitation/elicitation/"


def sign_in_as_second(visitor: Visitor) -> None:
    visitor.page.context.clear_cookies()
    visitor.go("/")
    visitor.page.get_by_label("Username").fill("second")
    visitor.page.get_by_label("Password").fill(SECOND)
    visitor.page.get_by_role("button", name="Log in").click()
    visitor.page.wait_for_url(f"{visitor.desk.address}/admin/")


def test_one_operator_proposes_and_another_honours(visitor: Visitor, request: pytest.FixtureRequest) -> None:
    page = visitor.page
    kept = visitor.desk.ids["kept"][["light", "dark", "phone"].index(request.node.callspec.params["visitor"])]
    wide = {}

    def picture(name: str) -> None:
        visitor.picture(name)
        wide[name] = visitor.too_wide()

    visitor.sign_in()
    picture("01-everything")
    page.get_by_role("navigation", name="Queues").get_by_role("link", name="Late evidence").click()
    waiting = page.get_by_role("region", name="Waiting for an operator")
    assert "then have two operators honour it" in waiting.inner_text()
    picture("02-late")
    waiting.get_by_role("link", name=kept).click()
    picture("03-entry")
    page.get_by_role("link", name="Propose to honour the confirmation").click()
    picture("04-propose")
    page.get_by_role("button", name="Propose to honour it").click()
    body = page.inner_text("body")
    assert "Choose the confirmation" in body
    assert "Say for the second operator why" in body
    picture("05-what-is-missing")
    page.get_by_role("radio", name="names the person").check()
    page.get_by_label("Why").fill("Their record says paid, ticket 42")
    page.get_by_role("button", name="Propose to honour it").click()
    page.wait_for_url(f"**/{kept}/change/")
    assert "It waits for a second operator" in page.get_by_role("region", name="Where it stands").inner_text()
    assert page.get_by_role("link", name="Approve the proposal").count() == 0
    picture("06-proposed")
    sign_in_as_second(visitor)
    page.get_by_role("navigation", name="Queues").get_by_role("link", name="Waits for a second operator").click()
    picture("07-second")
    page.get_by_role("link", name=kept).click()
    page.get_by_role("link", name="Approve the proposal to honour the confirmation").click()
    visitor.reads("Their record says paid, ticket 42")
    picture("08-approve")
    page.get_by_role("button", name="Approve and honour it").click()
    page.wait_for_url(f"**/{kept}/change/")
    assert "Complete" in page.get_by_role("region", name="Where it stands").inner_text()
    assert "Two operators honoured" in page.get_by_role("region", name="Timeline, oldest first").inner_text()
    picture("09-honoured")
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_queues_and_what_is_unresolved_fit_their_window(visitor: Visitor) -> None:
    ids, wide = visitor.desk.ids, {}
    visitor.sign_in()
    pages = {
        "unbound": "/admin/?queue=unbound",
        "early": "/admin/?queue=early",
        "lost": "/admin/?queue=lost",
        "empty": "/admin/?queue=withdrawn",
        "filtered": f"{ENTRIES}?queue=late",
        "unresolved": f"{ENTRIES}{ids['unresolved'][0]}/change/",
        "unresolved-close": f"{ENTRIES}{ids['unresolved'][0]}/close/",
        "nothing-to-approve": f"{ENTRIES}{ids['paid'][0]}/approve/",
    }
    for name, path in pages.items():
        visitor.go(path)
        visitor.picture(name)
        wide[name] = visitor.too_wide()
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []
