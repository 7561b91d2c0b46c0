"""What the probes, the error pages and the headers say, and what they keep to themselves."""

from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import Client, override_settings
from django.urls import path
from django.utils import timezone

from audit import triggers
from config.urls import handler400, handler403, handler404, handler500  # noqa: F401 - Django looks for them here
from elicitation.models import Heartbeat
from elicitation.services.sweeps.registry import SWEEPS

CANARY = "canary-51b0"


def fail(request: HttpRequest) -> HttpResponse:
    raise ValueError(CANARY)


urlpatterns = [path("api/fail", fail), path("fail", fail)]


@pytest.fixture
def beating(db: None) -> None:
    for name in SWEEPS:
        Heartbeat.objects.update_or_create(name=name, defaults={"at": timezone.now(), "count": 0})


def test_the_process_is_alive_without_a_database() -> None:
    reply = Client().get("/healthz")  # pytest refuses database access here
    assert (reply.status_code, reply.json()) == (200, {"status": "ok"})


@pytest.mark.usefixtures("beating")
def test_ready_when_every_part_is() -> None:
    reply = Client().get("/readyz")
    assert reply.status_code == 200
    assert reply.json() == {
        "status": "ok",
        "parts": {"database": "ok", "migrations": "ok", "ledger": "ok"} | {f"sweep {name}": "ok" for name in SWEEPS},
    }


@pytest.mark.usefixtures("beating")
def test_a_sweep_that_never_ran_or_fell_silent_is_named() -> None:
    Heartbeat.objects.update(at=timezone.now() - timedelta(seconds=75))
    silent = Client().get("/readyz")
    Heartbeat.objects.all().delete()
    absent = Client().get("/readyz")
    assert (silent.status_code, absent.status_code) == (503, 503)
    assert silent.json()["parts"]["sweep expire"] == "has not run for 75 s"
    assert absent.json()["parts"]["sweep expire"] == "has not run yet"
    assert absent.json()["parts"]["ledger"] == "ok"


@pytest.mark.usefixtures("beating")
def test_a_missing_trigger_and_a_missing_migration_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triggers, "missing", lambda connection: ["audit_ledgerentry_no_update"])
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'sessions'")
    parts = Client().get("/readyz").json()["parts"]
    assert parts["ledger"] == "1 of its triggers are missing"
    assert parts["migrations"] == "1 not applied"


def test_a_database_that_does_not_answer_is_told_without_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise OperationalError(f'connection to "{CANARY}" failed')

    monkeypatch.setattr(connection, "cursor", refuse)
    reply = Client().get("/readyz")
    assert reply.status_code == 503
    assert set(reply.json()["parts"].values()) == {"the database does not answer"}
    assert CANARY not in reply.content.decode()


@pytest.mark.parametrize(
    ("address", "kind"), [("/fail", "text/html; charset=utf-8"), ("/api/fail", "application/problem+json")]
)
@override_settings(ROOT_URLCONF=__name__)
def test_errors_are_plain_and_repeat_nothing(address: str, kind: str) -> None:
    client = Client(raise_request_exception=False)
    for reply in (
        client.get(f"{address}?q={CANARY}"),
        client.get(f"{address}/{CANARY}"),
        client.get(address, headers={"host": f"{CANARY}.example.com"}),
        Client(enforce_csrf_checks=True).post(address, {"q": CANARY}),
    ):
        assert reply.status_code in (500, 404, 400, 403)
        assert reply["Content-Type"] == kind
        assert CANARY not in reply.content.decode()
        assert reply["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'")


@pytest.mark.django_db
def test_pages_are_not_stored_and_say_nothing_to_other_sites() -> None:
    page = Client().get("/admin/login/")
    assert "no-store" in page["Cache-Control"]
    assert page["Referrer-Policy"] == "same-origin"
    assert page["X-Frame-Options"] == "DENY"
    assert "unsafe" not in page["Content-Security-Policy"]
    assert Client().get("/healthz")["Cache-Control"] == "no-store"


def test_the_first_page_leads_to_the_admin() -> None:
    assert Client().get("/")["Location"] == "/admin/"


def test_a_file_of_ours_may_be_stored() -> None:
    reply = Client().get("/static/admin/css/base.css")
    assert reply.status_code == 200
    assert "no-store" not in reply["Cache-Control"]
