"""What an operator sees in the admin: lists that stay fast, exact search, an entry in words, nothing that is secret."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import NoReverseMatch, reverse

from audit.models import LedgerEntry
from elicitation.admin.elicitations import ElicitationAdmin
from elicitation.models import Client as McpClient
from elicitation.models import (
    Decision,
    Elicitation,
    Evidence,
    PolicyRevision,
    Provider,
    ProviderKey,
    RefusedAttempt,
    Service,
    ServiceKey,
    Subject,
    Tenant,
)
from tests import builders
from tests.builders import ALICE, Desk
from tests.elicitation.admin_pages import LIST, listed, look, page_of, signed_in
from tests.steps import act, ask, lose

pytestmark = pytest.mark.django_db

SHOWN = (Elicitation, Decision, PolicyRevision, Tenant, Service, Provider, McpClient, LedgerEntry)
HOSTILE = "<script>alert(1)</script>\u202egnp.exe"


@pytest.fixture
def operator(desk: Desk) -> Client:
    return signed_in(User.objects.create_superuser("olga"))


def test_the_list_shows_the_newest_first_in_pages_without_counting(
    desk: Desk, operator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ElicitationAdmin, "list_per_page", 2)
    ids = [ask(desk, number) for number in range(5)]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        first = look(operator, LIST)
    assert not [query["sql"] for query in queries if "COUNT(" in query["sql"] or "OFFSET" in query["sql"]]
    assert listed(first) == [ids[4], ids[3]]
    assert "Newest</a>" not in first
    older = re.search(r'href="(\?before=\d+)" rel="next"', first)
    assert older
    second = look(operator, LIST + older[1])
    assert listed(second) == [ids[2], ids[1]]
    assert "Newest</a>" in second
    last = re.search(r'href="(\?before=\d+)" rel="next"', second)
    assert last
    third = look(operator, LIST + last[1])
    assert (listed(third), 'rel="next"' in third) == ([ids[0]], False)


def test_the_list_reads_as_many_rows_in_as_many_queries(desk: Desk, operator: Client) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            look(operator, LIST)
        return len(captured)

    ask(desk, 1)
    few = queries()
    for number in range(2, 9):
        ask(desk, number)
    assert queries() == few


@pytest.mark.parametrize("before", ["x", "-1", "²", "9" * 30, "1e3", ""])
def test_a_page_that_is_no_number_is_the_newest_page(desk: Desk, operator: Client, before: str) -> None:
    public_id = ask(desk, 1)
    assert listed(look(operator, f"{LIST}?before={before}")) == [public_id]


def test_a_list_says_when_it_is_empty(operator: Client) -> None:
    assert "No question has been admitted yet" in look(operator, LIST)
    assert "Nothing matches these filters" in look(operator, f"{LIST}?state=COMPLETE")
    assert "Nothing has this id" in look(operator, f"{LIST}?q=elc_{'a' * 26}")
    assert "nothing was searched" in look(operator, f"{LIST}?q=%20")


@pytest.mark.parametrize(
    "query",
    ["result_digest__startswith=t1", "subject__digest__startswith=t1", "result_ref__contains=a", "uid=1", "p=x&o=3"],
)
def test_columns_that_are_not_offered_cannot_be_filtered_by(desk: Desk, operator: Client, query: str) -> None:
    ask(desk, 1)
    status = operator.get(f"{LIST}?{query}").status_code
    assert status == (200 if query.startswith("p=") else 400)


def test_the_state_is_what_a_reader_is_told_before_the_sweep_has_run(desk: Desk, operator: Client) -> None:
    over, held, live = (ask(desk, number) for number in range(3))
    desk.event(held)
    for public_id in (over, held):
        builders.age(public_id, 3600)
    assert {builders.entry_of(public_id).state for public_id in (over, held, live)} == {"ADMITTED"}
    for state, expected in (("EXPIRED", over), ("RETRY_REQUIRED", held), ("ADMITTED", live)):
        assert listed(look(operator, f"{LIST}?state={state}")) == [expected]
    assert listed(look(operator, f"{LIST}?state=open")) == [live, held]
    page = look(operator, page_of(over))
    assert "Expired</span>" in page
    assert "the next sweep writes it down" in page


def test_filters_by_purpose_mode_and_tenant_are_offered(desk: Desk, operator: Client) -> None:
    link, form = ask(desk, 1), ask(desk, 2, form=True)
    assert listed(look(operator, f"{LIST}?mode__exact=url")) == [link]
    assert listed(look(operator, f"{LIST}?purpose__exact=choice")) == [form]
    assert listed(look(operator, f"{LIST}?tenant__id__exact={desk.globex.pk}")) == []
    assert listed(look(operator, f"{LIST}?tenant__id__exact={desk.acme.pk}")) == [form, link]


def test_the_page_of_an_entry_answers_who_when_and_what_now(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    desk.event(public_id)  # held until consent
    act(desk, public_id, "progress", event="shown")
    page = look(operator, page_of(public_id))
    for words in (
        "The question was allowed; no answer has been reported yet.",
        "A confirmation is held until the person&#x27;s answer is reported. Report the answer; do not cancel.",
        '<td data-name="For whom">the person who was asked</td>',
        "by policy revision 2",
        "Timeline, oldest first",
        "The client showed the question.",
        "A confirmation arrived before the person&#x27;s consent.",
        "Held until consent",
        "example-pay",
        "All times are UTC.",
        "Cancel it, with a reason",
    ):
        assert words in page
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", page)


def test_no_page_shows_who_the_person_is_or_what_the_result_was(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    act(desk, public_id, "answer", action="accept", content="absent")
    desk.event(public_id, "pi_MARKED")
    entry = builders.entry_of(public_id)
    evidence = Evidence.objects.get()
    assert entry.subject is not None
    assert entry.result_digest is not None
    unseen = [
        ALICE["sub"],
        ALICE["iss"],
        str(entry.subject.handle),
        entry.subject.digest,
        "pi_MARKED",
        entry.result_ref,
        evidence.result_ref,
        entry.result_digest.partition(":")[2],
        entry.operation_digest.partition(":")[2],
        desk.key,
        desk.pay_secret,
        *(key.digest for key in ServiceKey.objects.all()),
        *(key.sealed_secret for key in ProviderKey.objects.all()),
    ]
    paths = [page_of(public_id), f"{LIST}{public_id}/cancel/", "/admin/"]
    for model in SHOWN:
        name = f"{model._meta.app_label}/{model._meta.model_name}"
        paths.append(f"/admin/{name}/")
        if model in (Decision, PolicyRevision, LedgerEntry):
            paths += [f"/admin/{name}/{row.pk}/change/" for row in model._default_manager.all()]
    for path in paths:
        page = look(operator, path)
        for value in unseen:
            assert value not in page, path


def test_nothing_can_be_added_changed_or_deleted(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    before, revision = builders.snapshot(public_id), PolicyRevision.objects.values().last()
    for model in SHOWN:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        for verb, args in (("add", []), ("delete", [1]), ("history", [1])):
            with pytest.raises(NoReverseMatch):
                reverse(f"{name}_{verb}", args=args)
        assert operator.post(reverse(f"{name}_changelist"), {"action": "delete_selected"}).status_code in (200, 403)
    for model in (Decision, PolicyRevision, LedgerEntry):
        row = model._default_manager.order_by("pk")[0]
        address = reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_change", args=[row.pk])
        assert operator.post(address, {"status": "superseded"}).status_code == 403
    assert operator.post(page_of(public_id), {"state": "COMPLETE"}).status_code in (200, 405)
    assert builders.snapshot(public_id) == before
    assert PolicyRevision.objects.values().last() == revision


def test_keys_people_and_counters_have_no_page(operator: Client) -> None:
    for model in (ServiceKey, ProviderKey, Subject, RefusedAttempt):
        assert not admin.site.is_registered(model)


def test_a_hostile_client_name_is_inert_and_its_direction_mark_is_seen(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    entry = builders.entry_of(public_id)
    McpClient.objects.update(name=HOSTILE)
    clients = "/admin/elicitation/client/"
    decision = f"/admin/elicitation/decision/{entry.decision_id}/change/"
    for path in (LIST, page_of(public_id), clients, decision, "/admin/elicitation/decision/"):
        page = look(operator, path)
        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)&lt;/script&gt;[U+202E]gnp.exe" in page
        assert "\u202e" not in page


def test_no_page_needs_more_than_the_content_security_policy_allows(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    decision = Decision.objects.latest("pk").pk
    paths = ["/admin/", LIST, page_of(public_id), f"{LIST}{public_id}/cancel/", "/admin/audit/ledgerentry/"]
    for path in [*paths, f"/admin/elicitation/decision/{decision}/change/", "/admin/elicitation/policyrevision/"]:
        page = look(operator, path)
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=|javascript:", page), path
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), path


def test_an_unknown_id_has_no_page(desk: Desk, operator: Client) -> None:
    for object_id in (f"elc_{'a' * 26}", "elc_x", "999999", "9" * 40, "²", "x", UUID(int=1)):
        look(operator, f"{LIST}{object_id}/change/", status=404)


def test_the_row_number_that_django_links_to_leads_to_the_same_page(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    assert public_id in look(operator, f"{LIST}{builders.entry_of(public_id).pk}/change/")


def test_a_person_without_rights_sees_nothing(desk: Desk) -> None:
    public_id = ask(desk, 1)
    client = Client(raise_request_exception=False)
    assert client.get(page_of(public_id)).status_code == 302
    client.force_login(User.objects.create_user("sam", is_staff=True))
    for path in (LIST, page_of(public_id), f"{LIST}{public_id}/cancel/", "/admin/audit/ledgerentry/"):
        look(client, path, status=403)
    assert "Waiting for an operator" not in look(client, "/admin/")


def test_the_first_page_says_what_waits_oldest_first_with_its_next_step(desk: Desk, operator: Client) -> None:
    assert "No entry waits for an operator" in look(operator, "/admin/")
    lost, fine, late, missed = (ask(desk, number) for number in range(4))
    lose(desk, lost)
    act(desk, late, "cancel")
    desk.event(late, "pi_2")
    builders.age(missed, timedelta(hours=2).total_seconds())
    page = look(operator, "/admin/")
    assert listed(page) == [missed, lost, late]
    assert fine not in page
    for words in ("Retry, or have the provider send", "money may have moved", "/readyz"):
        assert words in page


def test_the_ledger_is_searched_by_the_id_that_people_know(desk: Desk, operator: Client) -> None:
    wanted, other = ask(desk, 1), ask(desk, 2)
    page = operator.get("/admin/audit/ledgerentry/", {"q": f" {wanted.upper()} "}).content.decode()
    assert listed(page) == [wanted]
    assert other not in page
    assert "policy_activated" in look(operator, "/admin/audit/ledgerentry/?event=policy_activated")


def test_a_denial_is_explained_in_words_with_its_place_and_source(desk: Desk, operator: Client) -> None:
    denied = desk.admit(request={"mode": "url", "message": "Pay", "url": "https://evil.example.net/start?flow=pay"})
    assert denied.status_code == 422
    row = Decision.objects.latest("pk")
    page = look(operator, f"/admin/elicitation/decision/{row.pk}/change/")
    for words in ("Denied", "url.origin_not_listed", "Source: operator", "/url"):
        assert words in page
    assert "none came of it" in page
    assert str(row.uid) in operator.get("/admin/elicitation/decision/", {"q": str(row.uid)}).content.decode()


def test_a_decision_leads_to_its_elicitation(desk: Desk, operator: Client) -> None:
    public_id = ask(desk, 1)
    decision = builders.entry_of(public_id).decision_id
    assert listed(look(operator, f"/admin/elicitation/decision/{decision}/change/")) == [public_id]


@pytest.mark.parametrize("name", ["booking", "acme/booking", "Booking", ""])
def test_a_service_is_named_once(desk: Desk, operator: Client, name: str) -> None:
    public_id = ask(desk, 1)
    Service.objects.filter(slug="booking").update(name=name)
    assert "<dd>acme/booking</dd>" in look(operator, page_of(public_id))
    Service.objects.filter(slug="booking").update(name="Rooms")
    assert "<dd>acme/booking <bdi>Rooms</bdi></dd>" in look(operator, page_of(public_id))


def test_the_first_page_leads_to_the_rules_and_to_the_api(operator: Client) -> None:
    page = look(operator, "/admin/")
    assert 'href="/admin/rules/"' in page
    assert 'href="/api/docs/"' in page


def test_a_policy_revision_is_shown_as_inert_text(desk: Desk, operator: Client) -> None:
    row = PolicyRevision.objects.latest("number")
    page = look(operator, f"/admin/elicitation/policyrevision/{row.pk}/change/")
    assert row.digest in page
    assert "&quot;origin&quot;: &quot;https://consent.example.com&quot;" in page
