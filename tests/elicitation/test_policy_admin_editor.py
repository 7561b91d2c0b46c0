"""The editor: what is typed becomes the document or is told where it is wrong, and can be tried before it is saved."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import Client

from elicitation.admin import editor_typed
from elicitation.admin.editor_typed import from_document, judge, renumbered
from elicitation.models import PolicyDraft, Provider
from elicitation.policy.document import DEFAULT_DOCUMENT, Document, lay_over
from elicitation.services import clock
from tests import builders
from tests.builders import DESTINATION, Desk
from tests.elicitation.admin_pages import look, signed_in
from tests.elicitation.policy_pages import (
    EDITOR,
    draft_by,
    new_destination,
    page_of,
    person,
    said,
    send,
    snapshot,
    stored,
    typed,
)

pytestmark = pytest.mark.django_db
CANARY = "canary-7f3a"


@pytest.fixture
def erin(desk: Desk) -> User:
    return person("erin", *EDITOR)


@pytest.fixture
def editor(erin: User) -> Client:
    return signed_in(erin)


@pytest.fixture
def draft(erin: User) -> PolicyDraft:
    return draft_by(erin)


def many(count: int) -> Document:
    listed = [DESTINATION | {"origin": f"https://pay{number}.example.com"} for number in range(count)]
    return lay_over(DEFAULT_DOCUMENT, {"destinations": listed})


@pytest.mark.parametrize("document", [DEFAULT_DOCUMENT, builders.document(), many(3)])
def test_a_form_that_is_sent_back_as_it_came_is_the_same_document(document: Document) -> None:
    back = judge(renumbered(from_document(document, "[]")), document)
    assert (back.problem, back.document, back.cases) == (None, document, "[]")


def test_what_is_typed_in_every_section_is_saved(editor: Client, draft: PolicyDraft) -> None:
    before = stored(draft)
    response = send(
        editor,
        draft,
        {
            "purposes.profile.mode": "",
            "purposes.choice.window_seconds": "600",
            "windows.retry_seconds": "7200",
            "limits.pending_per_subject": "3",
            "forms.multi_select": "on",
            "forms.links": "flag",
            "forms.empty_confirmation": [],
            "vocabulary.deny": "door code\r\n\r\n  badge … number \r\nпароль",
            "urls.max_length": "1024",
            "identifiers.min_length": "24",
            "legacy.flat_url_required_error": "on",
            "signals.lost_rate.ratio": "0.25",
            "wires": ["2025-11-25"],
        }
        | new_destination(1),
    )
    assert (response.status_code, response.url) == (302, page_of(draft))
    after = stored(draft)
    assert [str(wire) for wire in after.wires] == ["2025-11-25"]
    assert after.vocabulary.deny == ("door code", "badge … number", "пароль")
    assert after.vocabulary.allow == before.vocabulary.allow
    assert (after.forms.multi_select, after.forms.empty_confirmation, after.forms.links) == (True, False, "flag")
    assert (after.urls.max_length, after.identifiers.min_length, after.windows.retry_seconds) == (1024, 24, 7200)
    assert (after.signals.lost_rate.ratio, after.limits.pending_per_subject) == (0.25, 3)
    assert after.legacy.flat_url_required_error
    purposes = {str(purpose): rule.window_seconds for purpose, rule in after.purposes.items()}
    assert "profile" not in purposes
    assert purposes["choice"] == 600
    assert after.destinations[0] == before.destinations[0]
    assert after.destinations[1].as_json() == DESTINATION | {
        "origin": "https://wallet.example.net",
        "services": ["booking"],
        "purposes": ["payment"],
        "paths": ["/pay"],
        "sources": ["webhook"],
    }


WRONG: dict[str, tuple[dict[str, Any], str, str]] = {
    "origin": ({"destinations.0.origin": f"https://{CANARY}/x"}, "destinations.0.origin", "Must be an https origin"),
    "pattern": (
        {"destinations.0.parameters": f"e = elicitation_id\n\nflow = ^({CANARY})+$"},
        "destinations.0.parameters",
        "Line 3: Must be a pattern",
    ),
    "parameter twice": (
        {"destinations.0.parameters": f"{CANARY} = ^a$\n{CANARY} = ^b$"},
        "destinations.0.parameters",
        "Line 2: Lists something twice.",
    ),
    "no sign": (
        {"destinations.0.parameters": f"{CANARY}"},
        "destinations.0.parameters",
        "Line 1: Must be a string of 1 to 256 characters.",
    ),
    "path": ({"destinations.0.paths": f"/start\n{CANARY}"}, "destinations.0.paths", "Line 2: Must be a plain path"),
    "provider": ({"destinations.0.provider": f"{CANARY} x"}, "destinations.0.provider", "Must be a provider"),
    "no purpose": ({"destinations.0.purposes": []}, "destinations.0.purposes", "Must not be empty."),
    "opaque": ({"destinations.0.opaque": f"{CANARY}"}, "destinations.0.opaque", "Line 1: Must be fragment"),
    "no number": ({"windows.max_seconds": CANARY}, "windows.max_seconds", "Must be a whole number from 1 to 604800."),
    "no whole number": ({"limits.pending_per_subject": "1.5"}, "limits.pending_per_subject", "Must be a whole number"),
    "nothing": ({"urls.max_length": ""}, "urls.max_length", "Must be a whole number"),
    "infinite": ({"signals.lost_rate.ratio": "1e999"}, "signals.lost_rate.ratio", "Must be a number from 0 to 1."),
    "purpose": ({"purposes.payment.mode": "form"}, "purposes.payment.mode", "Must be url"),
    "window": (
        {"purposes.payment.window_seconds": "99999"},
        "purposes.payment.window_seconds",
        "Must be a whole number",
    ),
    "word": ({"vocabulary.deny": f"password\n…\n{CANARY}"}, "vocabulary.deny", "Line 2: Must hold a word."),
    "wires": ({"wires": []}, "wires", "Must not be empty."),
    "wire": ({"wires": [CANARY]}, "wires", "Must be one of"),
    "cases": ({"cases": f'[{{"case_id": "{CANARY}"}}]'}, "cases", "At /0/mode: is missing."),
    "cases twice": ({"cases": f'{{"{CANARY}": 1, "{CANARY}": 2}}'}, "cases", "a key is written twice"),
    "cases no json": ({"cases": f"\n{{{CANARY}"}, "cases", "not JSON at line"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_told_at_its_field_and_nothing_is_lost(editor: Client, draft: PolicyDraft, kind: str) -> None:
    changes, name, sentence = WRONG[kind]
    before = snapshot()
    response = send(editor, draft, changes | {"limits.asks_per_subject_hour": "77"})
    page = response.content.decode()
    assert response.status_code == 200
    assert snapshot() == before
    field = re.search(rf'<div class="field[^"]* errors">(?:(?!</div>).)*?name="{re.escape(name)}"', page, re.DOTALL)
    assert field, "the error stands at the field"
    assert sentence in said(response)
    assert f'href="#f-{name}"' in page
    assert 'name="limits.asks_per_subject_hour" id="f-limits.asks_per_subject_hour" value="77"' in page
    errors = " ".join(re.findall(r'class="error(?:list|note)".*?</p>', page, re.DOTALL))
    assert sentence.split(":")[0] in errors
    assert CANARY not in errors


def test_an_origin_that_stands_twice_for_one_service_is_told_at_the_second(editor: Client, draft: PolicyDraft) -> None:
    response = send(editor, draft, new_destination(1, {"origin": "https://CONSENT.example.com:443"}))
    assert "Destinations › number 2 : Repeats the origin of another" in said(response)
    assert 'href="#f-destinations.1.origin"' in response.content.decode()


def test_a_form_that_did_not_arrive_whole_empties_nothing(editor: Client, draft: PolicyDraft) -> None:
    whole = typed(draft, {"save": "Save"})
    for name in ("vocabulary.deny", "destinations.0.paths", "cases", "purposes.payment.mode"):
        before = snapshot()
        response = editor.post(page_of(draft, "edit"), {key: value for key, value in whole.items() if key != name})
        assert "It did not arrive whole" in said(response)
        assert snapshot() == before
    before = snapshot()
    assert editor.post(page_of(draft, "edit"), {"save": "Save"}).status_code == 200
    assert snapshot() == before


def test_destinations_are_added_and_removed_without_saving(editor: Client, draft: PolicyDraft) -> None:
    before = snapshot()
    page = send(editor, draft, {"destinations.0.usual_seconds": "77"}, button="add").content.decode()
    assert 'name="destinations.1.origin"' in page
    assert "A new destination" in page
    assert re.search(r'<details class="destination" id="new" open>\s*<summary>A new destination', page)
    assert 'edit/#new">Add a destination' in page
    assert 'value="77"' in page
    two = typed(draft, new_destination(1)) | {"remove": "0"}
    page = editor.post(page_of(draft, "edit"), two).content.decode()
    assert 'name="destinations.0.origin" id="f-destinations.0.origin" value="https://wallet.example.net"' in page
    assert 'name="destinations.1.origin"' not in page
    assert snapshot() == before
    kept = {name: value for name, value in typed(draft, new_destination(5)).items() if "tions.0." not in name}
    assert editor.post(page_of(draft, "edit"), kept | {"save": "Save"}).status_code == 302
    assert [each.origin for each in stored(draft).destinations] == ["https://wallet.example.net"]


def test_destinations_of_one_origin_are_told_apart(editor: Client, erin: User) -> None:
    twice = [DESTINATION, DESTINATION | {"tenants": ["globex", "initech"], "paths": ["/other"]}]
    page = look(editor, page_of(draft_by(erin, lay_over(DEFAULT_DOCUMENT, {"destinations": twice})), "edit"))
    assert "example-pay, for acme</bdi>" in page
    assert "example-pay, for globex, initech</bdi>" in page


def test_many_destinations_are_edited_a_page_at_a_time(
    editor: Client, erin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(editor_typed, "SHOWN", 2)
    monkeypatch.setattr("elicitation.admin.editor.SHOWN", 2)
    draft = draft_by(erin, many(5))
    page = look(editor, page_of(draft, "edit", "?first=2"))
    assert re.findall(r'name="destinations\.(\d)\.origin"', page) == ["2", "3"]
    assert 'Destinations <span class="quiet">(5)</span>' in page
    assert 'href="?first=4#destinations"' in page
    form = from_document(stored(draft), "[]", 2) | {"version": ["0"]}
    form["destinations.3.origin"] = ["https://new.example.com"]
    del form["destinations.2.connect_page"], form["destinations.2.origin"]
    data = {name: value for name, value in typed(draft).items() if "destinations." not in name}
    data |= {name: value for name, value in form.items() if name.startswith("destinations.3.") and value}
    assert editor.post(page_of(draft, "edit"), data | {"first": "2", "save": "Save"}).status_code == 302
    origins = [each.origin for each in stored(draft).destinations]
    assert origins == [f"https://{name}.example.com" for name in ("pay0", "pay1", "new", "pay4")]
    for first in ("x", "²", "99999999999", "-1"):
        assert editor.get(page_of(draft, "edit", f"?first={first}")).status_code == 200


def test_a_closed_provider_stays_chosen_and_is_said_to_be_closed(editor: Client, draft: PolicyDraft) -> None:
    assert 'value="example-pay" selected' in look(editor, page_of(draft, "edit"))
    Provider.objects.update(closed_at=clock.now())
    page = look(editor, page_of(draft, "edit"))
    assert re.search(r'value="example-pay" selected>example-pay \(not open\)', page)


def test_who_saves_second_is_told_what_the_first_saved_and_keeps_their_own_text(
    editor: Client, desk: Desk, draft: PolicyDraft
) -> None:
    dana = signed_in(person("dana", *EDITOR))
    opened = typed(draft, {"destinations.0.usual_seconds": "77"})
    send(dana, draft, {"destinations.0.usual_seconds": "88"})
    before = snapshot()
    late = editor.post(page_of(draft, "edit"), opened | {"save": "Save"})
    page = late.content.decode()
    assert late.status_code == 409
    assert "Not saved. The draft was edited meanwhile" in said(late)
    assert "Usual time 88 s (1 min) 77 s (1 min)" in said(late)
    assert 'name="destinations.0.usual_seconds" id="f-destinations.0.usual_seconds" value="77"' in page
    assert snapshot() == before
    assert 'name="version" value="1"' in page
    assert editor.post(page_of(draft, "edit"), opened | {"version": "1", "save": "Save"}).status_code == 302
    assert stored(draft).destinations[0].usual_seconds == 77


@pytest.mark.parametrize("version", ["", "x", "-1", "²", "7"])
def test_a_save_that_does_not_say_what_it_was_made_from_is_refused(
    editor: Client, draft: PolicyDraft, version: str
) -> None:
    before = snapshot()
    assert send(editor, draft, {"version": version}).status_code == 409
    assert snapshot() == before


def test_hostile_text_is_inert_in_every_field(editor: Client, draft: PolicyDraft) -> None:
    attack = '"></textarea><script>alert(1)</script>'
    fields = [name for name in typed(draft) if name not in ("version", "first")]
    changes = dict.fromkeys(fields, attack) | {f"try.{name}": attack for name in ("url", "schema", "id", "tenant")}
    page = send(editor, draft, changes, button="try").content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


@pytest.mark.parametrize("typed_text", ["9" * 400, "-5", "0x10", "1_000", "١٢", "1e3", " 12 ", "3.0", "NaN", "true"])
def test_whatever_is_typed_as_a_number_is_read_or_named(editor: Client, draft: PolicyDraft, typed_text: str) -> None:
    response = send(editor, draft, {"forms.max_fields": typed_text})
    if typed_text == " 12 ":
        assert response.status_code == 302
    else:
        assert "Must be a whole number from 1 to 200." in said(response)


def test_names_of_fields_that_are_not_ours_change_nothing(editor: Client, draft: PolicyDraft) -> None:
    before = stored(draft)
    foreign = QueryDict(mutable=True)
    strange = {"destinations.x.origin": "a", "destinations..origin": "b", "vocabulary": "c", "signals.new.count": "1"}
    foreign.update(strange)
    assert send(editor, draft, dict(foreign.items())).status_code == 302
    assert stored(draft) == before
