"""An auditor in Chromium: three questions about an elicitation, a value looked for in the ledger, a legal hold."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.browser.conftest import Visitor

pytestmark = pytest.mark.browser

HOLDS = "/admin/audit/legalhold/"


def sealed(visitor: Visitor, path: str) -> None:
    """Open the page once what it shows is sealed, which takes a few seconds."""
    for _ in range(40):
        visitor.go(path)
        if "can still be changed" not in visitor.page.locator("body").inner_text():
            return
        time.sleep(0.5)
    raise AssertionError("not sealed")


def test_three_questions_about_an_elicitation_are_answered_with_their_evidence(
    visitor: Visitor, tmp_path: Path
) -> None:
    page, wide = visitor.page, {}
    visitor.sign_in()
    for name in ("paid", "late", "taken_back", "form", "unresolved"):
        public_id = visitor.desk.ids[name][0]
        sealed(visitor, f"/admin/answers/{public_id}/")
        visitor.picture(f"answers-{name}")
        wide[name] = visitor.too_wide()
    visitor.go(f"/admin/elicitation/elicitation/{visitor.desk.ids['paid'][0]}/change/")
    page.get_by_role("link", name="An auditor's questions").click()
    approved = page.get_by_role("region", name="Did a person approve this?")
    assert "Probably not" in approved.inner_text()
    assert "faster than a person reads" in approved.inner_text()
    assert "Yes, once" in page.get_by_role("region", name="Was the result used once?").inner_text()
    approved.get_by_role("link", name="[2]").click()
    assert page.url.endswith("#entry-2")
    with page.expect_download() as downloading:
        page.get_by_role("button", name="Download the evidence pack").click()
    file = tmp_path / "pack.json"
    downloading.value.save_as(file)
    assert json.loads(file.read_bytes())["count"] >= 4
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_a_value_is_looked_for_and_does_not_come_back_to_the_page(visitor: Visitor) -> None:
    page, wide = visitor.page, {}

    def asked(name: str, kind: str, value: str, issuer: str = "") -> str:
        page.get_by_label("Tenant").select_option("acme")
        page.get_by_role("radio", name=kind).check()
        page.get_by_label("The value").fill(value)
        page.get_by_label("The person's issuer").fill(issuer)
        page.get_by_role("button", name="Ask the ledger").click()
        page.wait_for_load_state()
        visitor.picture(f"value-{name}")
        wide[name] = visitor.too_wide()
        assert page.url == f"{visitor.desk.address}/admin/ask/"
        assert page.get_by_label("The value").input_value() == ""
        assert page.get_by_label("The person's issuer").input_value() == ""
        return page.locator("main").inner_text()

    visitor.sign_in()
    page.get_by_role("link", name="Is this value in the ledger?").click()
    visitor.picture("value")
    wide["value"] = visitor.too_wide()
    assert "Yes" in asked("result", "A provider's reference", "pi_paid")
    assert page.get_by_role("link").filter(has_text=visitor.desk.ids["paid"][0]).count() == 1
    assert "No entry of acme has it" in asked("none", "A provider's reference", "pi_none")
    assert "Yes" in asked("person", "A person", "alice", "https://id.example")
    assert "issuer and subject together" in asked("missing", "A person", "alice")
    assert "Yes" in asked("id", "An id", f" {visitor.desk.ids['late'][0].upper()} ")
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []


def test_a_legal_hold_is_placed_and_lifted_with_a_reason(visitor: Visitor) -> None:
    page, wide = visitor.page, {}

    def picture(name: str) -> None:
        visitor.picture(f"hold-{name}")
        wide[name] = visitor.too_wide()

    visitor.sign_in()
    sealed(visitor, f"/admin/answers/{visitor.desk.ids['paid'][0]}/")
    visitor.go(HOLDS)
    picture("list")
    page.get_by_role("link", name="Place a legal hold").click()
    page.get_by_label("Log").select_option("acme")
    page.get_by_label("Elicitation").fill(visitor.desk.ids["paid"][0])
    page.get_by_label("Reason").select_option("Another reason, in the note")
    page.get_by_role("button", name="Place the hold").click()
    visitor.reads("Say what the other reason is.")
    picture("missing")
    page.get_by_label("Reason").select_option("The law, or a proceeding, asks for it")
    page.get_by_label("Note").fill("Case 12 of this year")
    page.get_by_role("button", name="Place the hold").click()
    page.wait_for_url("**/change/")
    visitor.reads("It is held: no prune goes past it until the hold is lifted.")
    visitor.reads("Case 12 of this year")
    picture("held")
    page.get_by_role("link", name="Lift it, with a reason").click()
    picture("lift")
    page.get_by_label("Reason").select_option("What it was placed for is over")
    page.get_by_role("button", name="Lift this hold").click()
    page.wait_for_url("**/change/")
    visitor.reads("The hold is lifted.")
    assert page.get_by_role("link", name="Lift it").count() == 0
    picture("lifted")
    visitor.go("/admin/audit/prune/")
    picture("prunes")
    assert {name: width for name, width in wide.items() if width > 0} == {}
    assert visitor.wrong == []
