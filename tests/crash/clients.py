"""One elicitation as the clients of a crash run see it, and what its service, its user and its provider do."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from tests.crash.calling import Caller, GaveUp, Reply
from tests.providers.server import ProviderServer, says

ORIGIN: Final = "https://consent.example.com"
#: The page of a provider that can be asked what became of the work.
ASKED_ORIGIN: Final = "https://status.example.com"
_FORM: Final = {
    "mode": "form",
    "message": "Pick a region",
    "requestedSchema": {
        "type": "object",
        "properties": {"region": {"type": "string", "enum": ["eu", "us"]}},
        "required": ["region"],
    },
}
_LINK: Final = {"mode": "url", "message": "Pay the surcharge", "url": f"{ORIGIN}/start?flow=pay"}
_ASKED_LINK: Final = {**_LINK, "url": f"{ASKED_ORIGIN}/start?flow=pay"}
#: For how long a consumer asks for a result that it knows to be there, in seconds.
NEAR: Final = 20.0


class Kind(StrEnum):
    FORM = "form"
    PAID = "paid"
    EARLY = "paid before the answer"
    LOST = "lost and retried"
    FAILED = "failed at the provider"
    REVERSED = "paid and taken back"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    LATE = "paid about the deadline"
    ASKED = "found by asking"


@dataclass
class Flow:
    """One life as its client saw it.

    ``seen`` counts the ledger's events that a reply has acknowledged. ``told``: a signed completion got its 204.
    ``handed``: each result that a consumer was given, as outcome, reference, and whether it was reversed.
    """

    number: int
    kind: Kind
    run: str
    id: str = ""
    seen: Counter[str] = field(default_factory=Counter)
    told: bool = False
    handed: list[tuple[str, str | None, bool]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    finished: bool = False

    @property
    def reference(self) -> str:
        return f"pi_{self.run}_{self.number}"

    @property
    def subject(self) -> dict[str, str]:
        return {"iss": "https://id.example", "sub": f"person-{self.number}"}

    @property
    def operation(self) -> dict[str, Any]:
        digest = hashlib.sha256(f"{self.run} {self.number}".encode()).hexdigest()
        return {"method": "tools/call", "target": "pay_surcharge", "arguments_digest": f"sha256:{digest}"}


class Client:
    """What a service, its user and the provider do in one flow."""

    def __init__(self, flow: Flow, caller: Caller, provider: ProviderServer) -> None:
        self.flow = flow
        self.caller = caller
        self.provider = provider
        self.chance: random.Random = caller.chance

    def expect(self, reply: Reply, *statuses: int) -> bool:
        """Whether the reply is one of these; what it is instead is a problem of the flow."""
        if reply.status in statuses:
            return True
        code = reply.body.get("code") if isinstance(reply.body, dict) else None
        self.flow.problems.append(f"answered {reply.status} {code}")
        return False

    def admit(self, window: int | None = None) -> None:
        form = self.flow.kind is Kind.FORM
        body = {
            "wire": "2025-11-25",
            "delivery": "create",
            "client": {"name": "x-client", "version": "2.1", "capabilities": {"elicitation": {"form": {}, "url": {}}}},
            "subject": self.flow.subject,
            "operation": self.flow.operation,
            "purpose": "choice" if form else "payment",
            "request": {Kind.FORM: _FORM, Kind.ASKED: _ASKED_LINK}.get(self.flow.kind, _LINK),
            "window_seconds": window,
        }
        reply = self.caller.post("elicitations", body)
        if not self.expect(reply, 200, 201):
            raise GaveUp
        self.flow.id = reply.body["id"]
        self.flow.seen["admit"] += 1

    def event(self, name: str, seen: str = "", *, unless: str = "", **body: Any) -> bool:
        """One call on the entry; ``seen`` is what the ledger has to show for it, if anything, ``unless`` the entry came
        to that state first."""
        reply = self.caller.post(f"elicitations/{self.flow.id}/{name}", {"subject": self.flow.subject, **body})
        if unless and reply.status == 409 and reply.body["state"] == unless:
            return False
        done = self.expect(reply, 200)
        if done and seen:
            self.flow.seen[seen] += 1
        return done

    def answer(self, action: str, *, unless: str = "") -> bool:
        content = "present" if self.flow.kind is Kind.FORM and action == "accept" else "absent"
        return self.event("answer", f"answer_{action}", unless=unless, action=action, content=content)

    def tell(self, what: str = "completed", times: int = 1, at_once: int = 1) -> None:
        """The provider's event, delivered so often, each time from so many senders together."""
        data: dict[str, object] = {"elicitation_id": self.flow.id, "subject": self.flow.subject}
        if what != "failed":
            data["result_ref"] = self.flow.reference
        event: dict[str, object] = {"type": f"elicitation.{what}", "data": data}
        message = f"msg_{self.flow.run}_{self.flow.number}_{what}"
        for _ in range(times):
            self._deliver(event, message, at_once)
        self.flow.told |= what == "completed" and not self.flow.problems

    def _deliver(self, event: dict[str, object], message: str, at_once: int) -> None:
        replies: list[Reply | None] = [None] * at_once

        def send(number: int, caller: Caller) -> None:
            try:
                replies[number] = caller.deliver(event, message, asked=self.flow.kind is Kind.ASKED)
            except GaveUp:
                return
            finally:
                if caller is not self.caller:
                    caller.close()

        others = [threading.Thread(target=send, args=(number, self.caller.sibling())) for number in range(1, at_once)]
        for other in others:
            other.start()
        send(0, self.caller)
        for other in others:
            other.join()
        for reply in replies:
            if reply is None:
                raise GaveUp
            self.expect(reply, 204)

    def consume(self, seconds: float = NEAR) -> None:
        """Ask for the result until it is handed over."""
        body = {"subject": self.flow.subject, "operation": self.flow.operation}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            reply = self.caller.post(f"elicitations/{self.flow.id}/consume", body)
            if not self.expect(reply, 200):
                return
            if reply.body["outcome"] in ("applied", "already_applied"):
                self.flow.handed.append((reply.body["outcome"], reply.body["result_ref"], reply.body["reversed"]))
                self.flow.seen["consume"] = 1
                return
            time.sleep(0.25)
        self.flow.problems.append("the result was not handed over")

    def done_outside(self) -> None:
        """The work is done at the provider, which says so to whoever asks."""
        known = {"status": "completed", "result_ref": self.flow.reference, "subject": self.flow.subject}
        self.provider.about(self.flow.id, says(known))

    def state(self) -> str:
        reply = self.caller.get(f"elicitations/{self.flow.id}")
        return str(reply.body["state"]) if self.expect(reply, 200) else ""

    def pause(self) -> None:
        time.sleep(self.chance.uniform(0, 0.2))
