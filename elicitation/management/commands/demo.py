"""``manage.py demo``: a real MCP server, client and provider go through the running desk, every flow once."""

from __future__ import annotations

import importlib
import json
import secrets
import sys
import urllib.error
import urllib.request
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from audit.models import LedgerEntry
from elicitation.demo.expected import FLOWS, Flow
from elicitation.demo.processes import ROOT, Child, ProcessFailed
from elicitation.management.base import DeskCommand
from elicitation.models import Elicitation, Provider, Service, Tenant
from elicitation.policy import identifiers
from elicitation.policy.document import Document, parse
from elicitation.services import drafts, keys, parties, revisions
from elicitation.services.timeline import timeline

TENANT: Final = "demo"
TENANT_NAME: Final = "Demo (made by manage.py demo)"
SERVICE: Final = "booking"
PROVIDER: Final = "demo-pay"
SCOPES: Final = keys.OF_SERVICES
DESTINATION: Final[Mapping[str, object]] = {
    "origin": "https://consent.example.com",
    "provider": PROVIDER,
    "tenants": [TENANT],
    "services": [SERVICE],
    "purposes": ["payment"],
    "paths": ["/start"],
    "parameters": {"flow": "^[a-z]{1,16}$", "e": "elicitation_id"},
    "opaque": [],
    "binding": "subject",
    "sources": ["webhook"],
    "connect_page": False,
    "reuse_results": False,
    "usual_seconds": 60,
}
ISSUER: Final = "https://id.example.com"
READY_SECONDS: Final = 30.0
FLOW_SECONDS: Final = 120.0


class CannotRun(Exception):
    """One sentence for the person at the terminal; exit code 2."""


@dataclass(frozen=True, slots=True)
class Played:
    """One flow as it went: ``happened`` is what the tools returned, ``lines`` the timeline as the admin shows it."""

    flow: Flow
    id: str
    happened: tuple[str, ...]
    problem: str
    state: str
    lines: tuple[tuple[str, str], ...]
    on_ledger: bool

    @property
    def as_expected(self) -> bool:
        return self.happened == self.flow.happened and self.state == self.flow.state and self.on_ledger

    def as_json(self) -> dict[str, object]:
        return {
            "flow": self.flow.name,
            "id": self.id,
            "happened": list(self.happened),
            "expected": list(self.flow.happened),
            "state": self.state,
            "expected_state": self.flow.state,
            "ok": self.as_expected,
            "problem": self.problem,
            "timeline": [{"at": at, "text": text} for at, text in self.lines],
        }


class Command(DeskCommand):
    help = (
        "Play every flow against the running desk: a booking server, an MCP client and a payment provider, each in a\n"
        "process of its own (from .venv-demo), in the tenant 'demo'. Values that must stay out of the desk carry a\n"
        "mark: what is typed into forms and on the payment page, messages, labels, arguments, people, references.\n\n"
        "Example: manage.py demo --format json --base-url http://127.0.0.1:8000\n\n"
        "Exit codes: 0 every flow ended as expected, 1 one did not, 2 could not run."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("--format", choices=("table", "json"), default="table")
        parser.add_argument("--base-url", default=settings.DESK_BASE_URL, help="where the desk runs")

    def handle(self, *args: Any, base_url: str, **options: Any) -> None:
        try:
            played = self._play(base_url.rstrip("/"))
        except (CannotRun, ProcessFailed) as problem:
            self.note(str(problem))
            sys.exit(2)
        if options["format"] == "json":
            self.stdout.write(json.dumps(_summary(played), indent=2))
        else:
            self._show(played)
        if not all(each.as_expected for each in played):
            sys.exit(1)

    def _play(self, base_url: str) -> list[Played]:
        _refuse_other_tenants()
        _expect(base_url, "/healthz", {}, f"No desk answers at {base_url}; start it with: python3 manage.py up")
        python = _environment()
        service, provider = _open_parties()
        self._allow_destination()
        key = keys.create_service_key(service, SCOPES)
        try:
            other = f"The desk at {base_url} does not use this command's database; give both the same settings."
            _expect(base_url, "/api/v1/elicitations", {"Authorization": f"Bearer {key}"}, other)
            return self._run(python, base_url, key, keys.create_provider_key(provider))
        finally:
            keys.revoke_service_key(service, key.split("_")[1])
            keys.revoke_provider_keys(provider)

    def _run(self, python: Path, base_url: str, key: str, secret: str) -> list[Played]:
        run = secrets.token_hex(4)
        people = {name: {"iss": ISSUER, "sub": f"{name}-CANARY-{run}"} for name in ("alice", "bob")}
        token = secrets.token_urlsafe(24)
        with ExitStack() as running:

            def start(module: str, config: Mapping[str, object]) -> Child:
                return running.enter_context(Child(python, f"elicitation.demo.{module}", config))

            self.note("Starting the provider, the booking server and the client ...")
            events = f"{base_url}/api/v1/providers/{PROVIDER}/events"
            provider = start("provider", {"events_url": events, "secret": secret, "accounts": people})
            server = start("server", {"desk_url": base_url, "key": key, "tokens": {token: people["alice"]}})
            provider_url, server_url = (
                f"http://127.0.0.1:{child.hear(READY_SECONDS)['port']}" for child in (provider, server)
            )
            places = {"provider_url": provider_url, "server_url": f"{server_url}/mcp"}
            client = start("client", {**places, "token": token, "run": run})
            played = []
            for flow in FLOWS:
                self.note(f"{flow.name}: {flow.story} ...")
                played.append(_played(flow, client.hear(FLOW_SECONDS)))
            return played

    def _allow_destination(self) -> None:
        """Bring the demo's destination into force, in a revision activated alone, unless it is there already."""
        document = revisions.active().document
        if any(each.as_json() == DESTINATION for each in document.destinations):
            return
        try:
            revision = drafts.activate_alone(_with_destination(document), "demo")
        except drafts.NotPossible as problem:
            raise CannotRun(f"The demo's destination cannot be allowed: {problem}") from None
        self.note(f"Policy revision {revision.number} is in force: it allows the demo's destination.")

    def _show(self, played: list[Played]) -> None:
        rows = [("flow", "what happened", "state", "")]
        for each in played:
            verdict = "ok" if each.as_expected else "not as expected"
            rows.append((each.flow.name, ", ".join(each.happened), each.state, verdict))
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            cells = [text.ljust(width) for text, width in zip(row, widths, strict=False)]
            self.stdout.write("  ".join([*cells, row[3]]).rstrip())
        for each in played:
            self.stdout.write(f"\n{each.flow.name}: {each.flow.story}  {each.id}".rstrip())
            if not each.as_expected:
                self.stdout.write(f"  expected {', '.join(each.flow.happened)}, then {each.flow.state}")
            if each.problem:
                self.stdout.write(f"  {each.problem}")
            for at, text in each.lines:
                self.stdout.write(f"  {at}  {text}")
        right = sum(each.as_expected for each in played)
        self.stdout.write(f"\n{right} of {len(played)} flows ended as expected.")


def _refuse_other_tenants() -> None:
    if Tenant.objects.exclude(slug=TENANT, name=TENANT_NAME).exists():
        raise CannotRun("This desk has other tenants; the demo runs on a desk of its own.")


def _open_parties() -> tuple[Service, Provider]:
    """The demo's tenant with its service and provider: those of an earlier run, or new ones."""
    try:
        tenant = Tenant.objects.filter(slug=TENANT).first() or parties.open_tenant(TENANT, TENANT_NAME)
        service = tenant.services.filter(slug=SERVICE).first() or parties.open_service(tenant, SERVICE, "Bookings")
        provider = Provider.objects.filter(slug=PROVIDER).first() or parties.open_provider(tenant, PROVIDER, "Demo Pay")
    except parties.NotOpened as problem:
        raise CannotRun(f"The demo's tenant cannot be opened: {problem}") from None
    if any(party.closed_at for party in (tenant, service, provider)):
        raise CannotRun("The demo's tenant, service or provider has been closed.")
    return service, provider


def _with_destination(document: Document) -> Document:
    content = document.as_json()
    kept = [each.as_json() for each in document.destinations if each.tenants != (TENANT,)]
    return parse(json.dumps(content | {"destinations": [*kept, DESTINATION]}))


def _environment() -> Path:
    """The interpreter of .venv-demo, made from its lock where it is absent."""
    entry = importlib.import_module("manage")
    folder = ROOT / ".venv-demo"
    try:
        entry.install(folder, "demo")
    except entry.CannotStart as problem:
        raise CannotRun(str(problem)) from None
    return Path(entry.venv_python(folder))


def _expect(base_url: str, path: str, headers: Mapping[str, str], otherwise: str) -> None:
    """Raises :class:`CannotRun` with ``otherwise`` unless the desk answers 200 at ``path``."""
    if not base_url.startswith(("http://", "https://")):
        raise CannotRun("--base-url is not an address such as http://127.0.0.1:8000.")
    # Proxies of the environment are for the outside, and the desk is near.
    near = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    request = urllib.request.Request(base_url + path, headers=dict(headers))  # noqa: S310 - checked above
    try:
        with near.open(request, timeout=10) as response:
            status = response.status
    except (urllib.error.URLError, OSError, ValueError):
        status = 0
    if status != 200:
        raise CannotRun(otherwise)


def _played(flow: Flow, message: Mapping[str, object]) -> Played:
    """What the client said about ``flow``, beside what the desk has on record."""
    raw = identifiers.parse(str(message.get("id", "")))
    entry = Elicitation.objects.filter(uid=UUID(bytes=raw)).first() if raw else None
    happened, problem = message.get("happened"), str(message.get("problem", ""))
    assert isinstance(happened, list)
    if message.get("flow") != flow.name:
        raise ProcessFailed(f"The demo's client said something else than how {flow.name} went.")
    if entry is None:
        return Played(flow, "", tuple(happened), problem, "", (), on_ledger=False)
    ledger = LedgerEntry.objects.filter(elicitation_id=entry.uid)
    return Played(
        flow,
        str(message["id"]),
        tuple(happened),
        problem,
        entry.state,
        tuple((f"{line.at:%H:%M:%S}", str(line.text)) for line in timeline(entry)),
        on_ledger=not flow.on_ledger or ledger.filter(outcome=flow.on_ledger).exists(),
    )


def _summary(played: list[Played]) -> dict[str, object]:
    return {
        "ok": all(each.as_expected for each in played),
        "tenant": TENANT,
        "policy_revision": revisions.active().number,
        "flows": [each.as_json() for each in played],
    }
