"""Whoever works at the desk does everything once, with a mark in whatever can be filled: in the admin, at the shell."""

from __future__ import annotations

import io
import json
from typing import Any, Final

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from audit import retention
from audit.models import LegalHold, Log, Outgoing, Signal
from audit.signals import raise_signal
from elicitation.models import Evidence, HonourProposal, KeyUse, PolicyDraft
from elicitation.services import actors, clock, exports, keys, parties, revisions
from elicitation.services.keys import Scope
from elicitation.services.retention import order
from tests import builders
from tests.audit import pruned
from tests.elicitation.admin_pages import LIST, signed_in
from tests.elicitation.policy_pages import DRAFTS, typed
from tests.elicitation.policy_pages import page_of as page_of_draft
from tests.leaks.playing import Player

SIGNALS: Final = "/admin/audit/signal/"
HOLDS: Final = "/admin/audit/legalhold/"
PEOPLE: Final = "/admin/auth/user/"


def operators_notes(player: Player) -> None:
    mark = player.mark
    olga, oscar = (
        signed_in(User.objects.create_superuser(mark.keep(f"user.{name}", f"{name}-{mark(name)}")))
        for name in ("olga", "oscar")
    )

    def do(client: Client, public_id: str, verb: str, note: str, **data: str) -> None:
        seen = builders.entry_of(public_id).state
        response = client.post(f"{LIST}{public_id}/{verb}/", {"seen": seen, "note": mark(note)} | data)
        assert response.status_code == 302, (verb, response.status_code)

    do(olga, player.consented(), "cancel", "note.cancel", reason="other")
    stuck = player.consented()
    do(olga, stuck, "lost", "note.lost")
    do(olga, stuck, "retry", "note.retry")
    for verb in ("approve", "withdraw", "close"):
        late = player.consented()
        player.act(late, "cancel")
        player.event("completed", late, result_ref=f"pi_{mark(f'late.{verb}')}")
        row = Evidence.objects.get(elicitation=builders.entry_of(late))
        if verb == "close":
            do(olga, late, "close", "note.close", reason="refunded")
            continue
        do(olga, late, "propose", "note.propose", evidence=str(row.uid))
        proposal = HonourProposal.objects.latest("pk")
        do(oscar, late, verb, f"note.{verb}", proposal=str(proposal.uid))
    secret = {"seen": "CONSENT_PENDING", "reason": "other", "note": f"sk_live_{mark('note.secret')}4eC39H"}
    player.replies.append(olga.post(f"{LIST}{player.consented()}/cancel/", secret))
    for query in (f"q={mark('search')}", f"state={mark('search.state')}"):
        olga.get(f"{LIST}?{query}")
    player.replies.append(olga.post("/admin/lookup/", {"pasted": mark("lookup")}))
    stranger = Client(raise_request_exception=False)
    sign_in = {"username": mark("sign_in.name"), "password": mark("sign_in.password")}
    stranger.post("/admin/login/?next=/admin/", sign_in, headers=player.headers)


def people(player: Player) -> None:
    mark, boss = player.mark, signed_in(User.objects.get(username=player.mark("user.olga")))
    word = f"correct-horse-battery-staple-{mark('person.password')}"
    added = {"username": mark("person.name"), "usable_password": "true", "password1": word, "password2": word}
    assert boss.post(f"{PEOPLE}add/", added).status_code == 302
    person = User.objects.get(username=mark("person.name"))
    named = {
        "username": mark("person.name"),
        "first_name": mark("person.first"),
        "last_name": mark("person.last"),
        "email": f"{mark('person.email')}@example.com",
    }
    for more in (
        {"is_active": "on", "roles": ["Operator", "Auditor"], "tenants": ["acme"]},
        {"is_active": "on", "roles": ["Operator"], "whole_desk": "on"},
        {"roles": ["Operator"]},
    ):
        assert boss.post(f"{PEOPLE}{person.pk}/change/", named | more).status_code == 302
    again = f"another-horse-battery-staple-{mark('person.other_password')}"
    given = {"password1": again, "password2": again, "usable_password": "true"}
    assert boss.post(f"{PEOPLE}{person.pk}/password/", given).status_code == 302
    player.replies.append(boss.post(f"{PEOPLE}{person.pk}/change/", named | {"roles": [mark("person.role")]}))


def reviews(player: Player) -> None:
    mark, client = player.mark, signed_in(User.objects.get(username=player.mark("user.olga")))
    raise_signal("late_sweep", "desk", "expire", clock.now())
    signal = Signal.objects.latest("pk")
    for verb in ("acknowledge", "resolve"):
        signal.refresh_from_db()
        sent: dict[str, Any] = {
            "seen": signal.status,
            "count": signal.count,
            "reason": "handled",
            "note": mark(f"note.{verb}"),
        }
        assert client.post(f"{SIGNALS}{signal.pk}/{verb}/", sent).status_code == 302
    now = clock.now()
    message = Outgoing.objects.create(signal=signal, channel="email", status="dead", made_at=now, due_at=now)
    assert client.post(f"/admin/audit/outgoing/{message.pk}/resend/").status_code == 302


def drafts(player: Player) -> None:
    mark = player.mark
    editor, approver = (signed_in(User.objects.get(username=mark(f"user.{name}"))) for name in ("olga", "oscar"))
    document: dict[str, Any] = builders.document(usual_seconds=60).as_json()
    wrong = document | {"urls": {"max_length": mark("document.wrong")}}
    begun = {"title": f"A draft {mark('draft.title')}", "start": "document"}
    player.replies.append(editor.post(f"{DRAFTS}add/", begun | {"pasted": json.dumps(wrong)}))
    for number in range(3):
        pasted = json.dumps(document | {"forms": document["forms"] | {"max_fields": 7 + number}})
        assert editor.post(f"{DRAFTS}add/", begun | {"pasted": pasted}).status_code == 302
        draft = PolicyDraft.objects.latest("pk")
        if number == 0:
            assert editor.post(page_of_draft(draft, "discard"), {"seen": draft.digest}).status_code == 302
            continue
        fields = typed(draft, {"destinations.0.paths": [f"/start\r\n/{mark('draft.path')}"], "save": ["1"]})
        assert editor.post(page_of_draft(draft, "edit"), fields).status_code == 302
        draft.refresh_from_db()
        seen = {"seen": draft.digest}
        editor.post(page_of_draft(draft, "approve"), seen)  # whoever edited is refused
        assert approver.post(page_of_draft(draft, "approve"), seen).status_code == 302
        approver.post(page_of_draft(draft, "activate"), seen)
    assert mark("draft.path") in revisions.active().row.document


def at_the_shell(player: Player) -> None:
    mark = player.mark

    def run(*words: str, stdin: str = "") -> None:
        player.typed(stdin)
        call_command(*words, stdout=io.StringIO(), stderr=io.StringIO(), skip_checks=True)

    imported = f"rk_live_{mark('provider.key')}"
    run("provider_key", "import", "acme", "example-pay", "--use", "lookup", stdin=imported)
    run("provider_key", "set", "acme", "example-pay", "--lookup", "generic",
        "--status-url", f"https://pay.example.com/{mark('provider.status_url')}")  # fmt: skip
    run("provider_key", "revoke", "acme", "example-pay", "--kid", keys_of(player)[-1])
    run("service_key", "create", "acme", "booking", "--scopes", "read")
    document = player.folder / f"{mark('file.name')}.json"
    document.write_text(json.dumps(builders.document(usual_seconds=90).as_json()))
    run("policy", "import", str(document))
    run("policy", "activate", str(PolicyDraft.objects.latest("pk").pk), "--alone", f"Because {mark('alone.reason')}")
    run("drill")
    mistakes: list[tuple[tuple[str, ...], str]] = [
        (("provider_key", "set", "acme", "example-pay", "--lookup", "generic", "--status-url", mark("wrong.url")), ""),
        (("provider_key", "import", "acme", "example-pay"), f"{mark('wrong.key')} {mark('wrong.key')}"),
        (("service_key", "create", "acme", "booking", "--scopes", mark("wrong.scope")), ""),
        (("service_key", "create", mark("wrong.tenant"), "booking", "--scopes", "read", "--open"), ""),
        (("policy", "approve", "1", "--as", mark("wrong.person")), mark("wrong.password")),
    ]
    for words, stdin in mistakes:
        with pytest.raises(CommandError) as problem:
            run(*words, stdin=stdin)
        assert not mark.found(str(problem.value).replace(mark("wrong.person"), "").encode())


def keys_of(player: Player) -> list[str]:
    return [key.kid for key in player.desk.pay.keys.filter(use=KeyUse.LOOKUP).order_by("pk")]


def parties_names(player: Player) -> None:
    mark, by = player.mark, actors.administrator(1)
    tenant = parties.open_tenant("initech", mark("tenant.name"), by)
    service = parties.open_service(tenant, "desk", mark("service.name"), by)
    parties.open_provider(tenant, "initech-pay", mark("provider.name"), by)
    key = keys.create_service_key(service, ["read"], by)
    keys.revoke_service_key(service, key.split("_")[1], by)


def auditors(player: Player) -> None:
    mark, client = player.mark, signed_in(User.objects.get(username=player.mark("user.olga")))
    asked = player.consented()
    exports.seal_all()
    held = {"log": "acme", "elicitation": asked, "reason": "legal", "note": mark("note.hold")}
    assert client.post(f"{HOLDS}place/", held).status_code == 302
    player.replies.append(client.post(f"{HOLDS}place/", held | {"elicitation": mark("hold.elicitation")}))
    hold = LegalHold.objects.get()
    lifted = {"reason": "handled", "note": mark("note.lift")}
    assert client.post(f"{HOLDS}{hold.pk}/lift/", lifted).status_code == 302
    values = [
        {"kind": "person", "value": player.alice["sub"], "issuer": player.alice["iss"]},
        {"kind": "person", "value": mark("value.sub"), "issuer": mark("value.iss")},
        {"kind": "result", "value": f"pi_{mark('webhook.result_ref')}"},
        {"kind": "id", "value": mark("value.id")},
        {"kind": mark("value.kind"), "value": mark("value.wrong")},
    ]
    for value in values:
        player.replies.append(client.post("/admin/ask/", {"tenant": player.desk.acme.pk} | value))
    key = keys.create_service_key(player.desk.hotels, [Scope.EXPORT])
    player.call(f"ledger?cursor={mark('query')}", method="GET", key=key)
    player.call("exports", {"format": "jsonl", mark("member"): mark("member.value")}, key=key)
    player.call("exports", {"format": "jsonl", "event": mark("export.event")}, key=key)
    player.call(f"exports/{mark('path')}/file", method="GET", key=key)
    log = Log.objects.get(tenant="acme")
    wrong = {"log": log.pk, "format": "csv", "elicitation": mark("export.elicitation"), "since": mark("export.since")}
    client.post("/admin/audit/export/add/", wrong)  # the form is shown again, with what was typed
    client.get(f"/admin/answers/{mark('path')}/")
    _pack_and_prune(player, asked)


def _pack_and_prune(player: Player, asked: str) -> None:
    output = player.folder / f"{player.mark('file.export')}.csv"
    call_command("evidence_pack", asked, "--output", str(output.with_suffix(".json")), stderr=io.StringIO())
    call_command("export_ledger", "acme", "--format", "csv", "--output", str(output), stderr=io.StringIO())
    assert not player.mark.found(output.read_bytes() + output.with_suffix(".json").read_bytes())
    pruned.write(300)
    pruned.exported()
    order(retention.plan(Log.objects.get(tenant="acme"), 256), actors.shell())
