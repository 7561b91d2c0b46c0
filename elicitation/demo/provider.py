"""The outside service of the demo: a page on which a person pays, and signed webhooks to the desk.

Run as ``python -m elicitation.demo.provider``. A real provider would stand behind the allow-listed https origin; here
the scripted person's browser is sent to this process instead.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from elicitation.demo.child import listen, read_config, serve
from elicitation.demo.marks import reference

PAGE = """<!doctype html><title>Pay</title><h1>consent.example.com</h1>
<form method="post"><label>Account <input name="account"></label><label>Card <input name="card"></label>
<button>Pay 40.00 EUR</button></form>"""


@dataclass
class Provider:
    """Charges, by elicitation. The card is used for the charge and forgotten; the desk never hears of it."""

    events_url: str
    secret: bytes
    accounts: dict[str, dict[str, str]]
    charges: dict[str, dict[str, Any]] = field(default_factory=dict)

    async def page(self, request: Request) -> Response:
        if "e" not in request.query_params:
            return PlainTextResponse("This link is incomplete.", status_code=404)
        return HTMLResponse(PAGE)

    async def pay(self, request: Request) -> Response:
        form = await request.form()
        account = self.accounts.get(str(form.get("account")))
        if account is None or not form.get("card"):
            return PlainTextResponse("Sign in and give a card.", status_code=400)
        elicitation_id = request.query_params["e"]
        self.charges[elicitation_id] = {
            "elicitation_id": elicitation_id,
            "result_ref": reference(),
            "occurred_at": _now(),
            "subject": account,  # whoever is signed in here: the desk compares it with the person who was asked
        }
        if request.query_params.get("flow") != "later":
            await self.confirm(elicitation_id)
        return HTMLResponse(f"<!doctype html><title>Paid</title><p>Thank you, {html.escape(account['sub'])}.</p>")

    async def confirm_again(self, request: Request) -> Response:
        """What the provider's own retry would do after an outage."""
        await self.confirm(request.path_params["elicitation_id"])
        return PlainTextResponse("Sent.")

    async def confirm(self, elicitation_id: str) -> None:
        """A signed ``elicitation.completed`` (Standard Webhooks). The desk answers 204 whatever it thinks of it."""
        event = {"type": "elicitation.completed", "timestamp": _now(), "data": self.charges[elicitation_id]}
        body = json.dumps(event).encode()
        name, at = f"msg_{secrets.token_hex(12)}", str(int(time.time()))
        mac = hmac.new(self.secret, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()
        headers = {
            "content-type": "application/json",
            "webhook-id": name,
            "webhook-timestamp": at,
            "webhook-signature": "v1," + base64.b64encode(mac).decode(),
        }
        async with httpx.AsyncClient() as client:
            response = await client.post(self.events_url, content=body, headers=headers, timeout=10)
        if response.status_code != 204:
            raise RuntimeError(f"the desk answered a webhook with {response.status_code}")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def main() -> None:
    config = read_config()
    secret = base64.b64decode(config["secret"].removeprefix("whsec_"))
    provider = Provider(config["events_url"], secret, config["accounts"])
    routes = [
        Route("/start", provider.page, methods=["GET"]),
        Route("/start", provider.pay, methods=["POST"]),
        Route("/charges/{elicitation_id}/confirm", provider.confirm_again, methods=["POST"]),
    ]
    serve(Starlette(routes=routes), listen())


if __name__ == "__main__":
    main()
