"""Whoever calls the desk from outside tells it everything once, with a mark in whatever can be filled."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.test import Client

from elicitation.models import Provider, RefusedAttempt
from elicitation.services import clock, parties
from elicitation.services.sweeps import expiring, reconciling
from tests import builders
from tests.builders import Desk
from tests.elicitation.asked import can_be_asked
from tests.leaks.marks import Marks
from tests.providers.server import ProviderServer, reply, says

SIGNALS = "/admin/audit/signal/"


@dataclass
class Player:
    """Plays all the parts. ``replies`` are those that must repeat nothing of what was sent."""

    desk: Desk
    typed: Any
    folder: Path
    mark: Marks = field(default_factory=Marks)
    replies: list[Any] = field(default_factory=list)
    asked: int = 0

    @property
    def alice(self) -> dict[str, str]:
        return {"iss": f"https://id.example/{self.mark('subject.iss')}", "sub": f"{self.mark('subject.sub')}-alice"}

    @property
    def headers(self) -> dict[str, str]:
        names = ("user-agent", "referer", "cookie", "x-request-id", "x-forwarded-for", "accept-language", "traceparent")
        return {name: self.mark(f"header.{name}") for name in names}

    def call(self, path: str, body: Any = None, **options: Any) -> Any:
        """A call whose reply must repeat nothing."""
        response = self.desk.call(path, body, **options)
        self.replies.append(response)
        return response

    def operation(self) -> dict[str, Any]:
        self.asked += 1
        mark, digest = self.mark, self.mark.digest("operation.arguments_digest")
        return {
            "method": "tools/call",
            "target": f"tool_{mark('operation.target')}",
            "arguments_digest": f"sha256:{digest}",
            "question": f"{self.asked}-{mark('operation.question')}",
            "key": f"key-{mark('operation.key')}",
            "request_id": mark("operation.request_id"),
        }

    def body(self, *, form: bool = False, **changes: Any) -> dict[str, Any]:
        mark = self.mark
        capabilities = {"elicitation": {"form": {}, "url": {}}, mark("capability"): {mark("capability.in"): 1}}
        client = {"name": mark("client.name"), "version": mark("client.version"), "capabilities": capabilities}
        asked = {"subject": self.alice, "operation": self.operation(), "client": client}
        return builders.admission(form=form, request=self.form() if form else self.link(), **asked) | changes

    def form(self) -> dict[str, Any]:
        mark = self.mark
        region = {
            "type": "string",
            "title": f"l {mark('label')}",
            "description": f"x {mark('hint')}",
            "enum": [f"eu {mark('choice')}", "us"],
            "enumNames": [f"Europe {mark('choice.name')}", "US"],
            "default": f"eu {mark('choice')}",
        }
        schema = {"type": "object", "title": f"t {mark('title')}", "description": f"d {mark('description')}"}
        properties = {mark.letters("property"): region}
        return {
            "mode": "form",
            "message": f"Pick a region {mark('message.form')}",
            "requestedSchema": schema | {"properties": properties},
        }

    def link(self) -> dict[str, Any]:
        url = f"{builders.ORIGIN}/start?flow={self.mark.letters('url.value')}"
        return {"mode": "url", "message": f"Pay {self.mark('message.url')}", "url": url}

    def admit(self, **changes: Any) -> str:
        """The reply holds the request, for that is what is to be sent."""
        response = self.desk.call("elicitations", self.body(**changes))
        assert response.status_code == 201, response.json()
        public_id: str = response.json()["id"]
        return public_id

    def act(self, public_id: str, verb: str, **body: Any) -> Any:
        response = self.call(f"elicitations/{public_id}/{verb}", {"subject": self.alice} | body)
        assert response.status_code == 200, response.json()
        return response.json()

    def consented(self) -> str:
        public_id = self.admit()
        self.act(public_id, "answer", action="accept", content="absent")
        return public_id

    def event(self, kind: str, public_id: str, **data: Any) -> Any:
        """A provider's word, with more around it than is read."""
        mark = self.mark
        said = {
            "type": f"elicitation.{kind}",
            "timestamp": clock.now().isoformat(),
            "note": mark("webhook.note"),
            "data": {
                "elicitation_id": public_id,
                "subject": self.alice,
                "result_ref": f"pi_{mark('webhook.result_ref')}",
                "email": mark("webhook.email"),
            }
            | data,
        }
        response = self.desk.deliver(json.dumps(said).encode(), headers=self.headers)
        self.replies.append(response)
        return response


def calls(player: Player) -> None:
    form, link, gone = player.admit(form=True, purpose="choice"), player.consented(), player.admit()
    for event in ("delivered", "shown", "call_ended"):
        player.act(link, "progress", event=event)
    same = player.body()
    for status in (201, 200):
        assert player.desk.call("elicitations", same).status_code == status
    player.act(form, "answer", action="accept", content="present", latency_ms=840)
    for action in ("decline", "cancel"):
        player.act(player.admit(), "answer", action=action, content="absent")
    player.act(gone, "cancel")
    builders.age(player.admit(), 3600)
    expiring.expire()
    body = player.body()
    done = player.desk.call("elicitations", body).json()["id"]
    player.event("completed", done)
    player.call("elicitations", body)  # it was done before anybody agreed: nobody is asked twice
    player.act(done, "answer", action="accept", content="absent")
    # The service gets the reference that its provider sent: that is what it waits for.
    taken = player.desk.call(
        f"elicitations/{done}/consume", {"subject": player.alice, "operation": body["operation"]}
    ).json()
    assert taken["outcome"] == "applied"
    player.event("reversed", done)


def refused_calls(player: Player) -> None:
    mark, public_id = player.mark, player.consented()
    path = f"elicitations/{public_id}"
    answer = {"subject": player.alice, "action": "accept", "content": "present"}
    refused = [
        player.call(f"{path}/answer", answer | {mark("member"): mark("member.value")}),
        player.call(f"{path}/answer", answer | {"content": {"region": mark("content")}}),
        player.call(f"{path}/lost", {"subject": {"iss": mark("other.iss"), "sub": mark("other.sub")}}),
        player.call(f"elicitations/{mark('path')}", method="GET"),
        player.call(f"elicitations/{mark('path')}/lost", {"subject": player.alice}),
        player.call(f"elicitations?cursor={mark('query')}", method="GET"),
        player.call("elicitations", {}, key=mark("key")),
        player.call("elicitations", f'{{"{mark("name.cut")}'.encode()),
        player.call("elicitations", player.body(predecessor=mark("predecessor"))),
    ]
    assert {response.status_code for response in refused} <= {400, 401, 404, 422}
    headed = player.headers | {"authorization": f"Bearer {player.desk.key}"}
    player.replies.append(Client().get(f"/api/v1/{path}?state={mark('query')}", headers=headed))
    for place in ("wire", "delivery", "purpose", "subject", "operation", "request", "client"):
        player.call("elicitations", player.body() | {place: mark(f"body.{place}")})
    host, start = mark.letters("url.host"), f"{builders.ORIGIN}/start"
    named = f"{start}?{mark.letters('url.name')}={mark('url.other')}"
    for url in (f"https://{host}.example.com/start", f"{builders.ORIGIN}/{mark('url.path')}", named):
        player.call("elicitations", player.body(request=player.link() | {"url": url}))
    secret = {"type": "object", "properties": {"password": {"type": "string", "default": mark("password")}}}
    player.call("elicitations", player.body(form=True) | {"request": player.form() | {"requestedSchema": secret}})
    player.call("decisions", player.body())
    error = {"code": -32042, "message": mark("error.message"), "data": {"elicitations": [player.link()]}}
    asked = player.body()
    del asked["delivery"], asked["request"]
    player.desk.call("url-required-errors", asked | {"error": error})
    for _ in range(3):
        player.event("completed", public_id, subject={"iss": mark("other.iss"), "sub": mark("other.sub")})
    RefusedAttempt.objects.update(since="2026-01-01T00:00:00Z")
    expiring.expire()


def words_of_a_provider(player: Player) -> None:
    mark, desk = player.mark, player.desk
    reference = f"pi_{mark('other.result_ref')}"
    for kind in ("failed", "completed", "completed"):
        player.event(kind, player.consented(), result_ref=reference)
    waiting = player.consented()
    player.event("completed", waiting, subject=None)
    player.event("completed", waiting, result_ref=mark("contradicting"))
    player.event(mark.letters("webhook.kind"), waiting)
    player.event("completed", mark("webhook.id"))
    player.event("completed", waiting, result_ref=f"sk_live_{mark('webhook.secret')}4eC39H")
    forged = {name: mark(name) for name in ("webhook-id", "webhook-signature")}
    player.replies.append(desk.deliver(b"{}", headers=forged))
    player.replies.append(desk.deliver(mark("webhook.body").encode()))
    pending, asked = player.consented(), player.admit()
    builders.withdraw_destination()
    player.event("completed", pending, result_ref=f"pi_{mark('withdrawn')}")
    player.act(asked, "answer", action="accept", content="absent")
    builders.activate()


def answers_of_a_provider(player: Player, provider: ProviderServer) -> None:
    mark = player.mark
    can_be_asked(player.desk.pay, provider)
    done = {"status": "completed", "result_ref": f"pi_{mark('lookup.result_ref')}", "subject": player.alice}
    speeches = [
        says({"status": "pending", "note": mark("lookup.note")}),
        says({"status": mark("lookup.status")}),
        reply(mark("lookup.body").encode(), 500, {"X-Reason": mark("lookup.header")}),
        reply(b"", 302, {"Location": f"https://elsewhere.example/{mark('lookup.location')}"}),
        says(done | {"subject": {"iss": mark("other.iss"), "sub": mark("other.sub")}}),
        says(done | {"receipt": mark("lookup.receipt")}),
        says({"status": "failed", "reason": mark("lookup.reason"), "subject": player.alice}),
    ]
    for speech in speeches:
        public_id = player.consented()
        player.act(public_id, "lost")
        provider.script(speech)
        Provider.objects.update(lookup_failures=0, lookup_paused_until=None)
        player.act(public_id, "retry")
    Provider.objects.update(lookup_failures=0, lookup_paused_until=None)
    builders.age(player.consented(), 301)
    provider.script(says({"status": "pending", "note": mark("lookup.note")}))
    assert reconciling.reconcile()
    parties.change_provider(player.desk.pay, lookup="")
