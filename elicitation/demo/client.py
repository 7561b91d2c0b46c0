"""The client of the demo: a real MCP client, and the people who sit in front of it, by script.

Run as ``python -m elicitation.demo.client``. It plays every flow and says, one line of JSON each, what happened.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import anyio
import httpx
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client

from elicitation.demo.child import read_config, say
from elicitation.demo.marks import marked

ORIGIN = "https://consent.example.com"
#: Seconds that a person needs to read a question; the desk doubts an answer that comes at once.
READING = 1.2


class Person:
    """Somebody with a client and a browser. ``says`` is the action they choose when asked."""

    def __init__(self, account: str, provider_url: str, says: str = "accept") -> None:
        self.account = account
        self.provider_url = provider_url
        self.says = says
        self.link = ""

    async def asked(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        """What the client shows, and the person's answer (R23: declining and cancelling are always offered)."""
        await anyio.sleep(READING)
        if params.mode == "url":
            # Shown in full and opened only after the yes, in a browser that client and model cannot see (R58, R59).
            self.link = params.url
            return types.ElicitResult(action=self.says)
        content = {"room": "street", "note": marked("note")} if self.says == "accept" else None
        return types.ElicitResult(action=self.says, content=content)

    async def pays(self, link: str) -> None:
        """Open the link in a browser, look at the page, and pay.

        The allow-listed origin belongs to nobody: this browser, and only it, maps it to the demo's provider.
        """
        if not link.startswith(f"{ORIGIN}/"):
            raise RuntimeError("the link does not lead to the destination that was allowed")
        url = self.provider_url + link.removeprefix(ORIGIN)
        async with httpx.AsyncClient(timeout=20) as browser:
            (await browser.get(url)).raise_for_status()
            filled = {"account": self.account, "card": marked("card")}
            (await browser.post(url, data=filled)).raise_for_status()

    @asynccontextmanager
    async def client(self, server_url: str, token: str) -> AsyncIterator[ClientSession]:
        """A session of this person with the booking server."""
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(30, read=120)) as http,
            streamable_http_client(server_url, http_client=http) as (read, write, _),
            ClientSession(
                read,
                write,
                elicitation_callback=self.asked,
                client_info=types.Implementation(name="demo-client", version="1.0"),
            ) as session,
        ):
            await session.initialize()
            yield session


class Play:
    """The flows, each with a booking of its own. ``happened`` collects the outcomes that the tools returned."""

    def __init__(self, config: dict[str, Any], session: ClientSession, alice: Person, bob: Person) -> None:
        self.provider_url = config["provider_url"]
        self.run = config["run"]
        self.session = session
        self.alice = alice
        self.bob = bob
        self.flow = ""
        self.happened: list[str] = []

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        limit = timedelta(seconds=60)
        booking = f"B-{self.run}-{self.flow}"
        result = await self.session.call_tool(tool, {"booking": booking, **arguments}, read_timeout_seconds=limit)
        text = result.content[0].text if result.content else ""
        if result.isError:
            raise RuntimeError(f"{tool}: {text}")
        reply: dict[str, Any] = json.loads(text)
        self.happened.append(reply["outcome"])
        return reply

    async def form(self) -> str:
        reply = await self.call("choose_room", remark=marked("argument"))
        await self.call("take_result", seconds=0)
        return reply["id"]

    async def payment(self) -> str:
        reply = await self.call("pay_surcharge", flow="pay")
        await self.alice.pays(self.alice.link)
        await self.call("take_result", seconds=20)
        repeated = await self.call("take_result", seconds=0)
        self.happened.append(f"{repeated['effects']} effect")
        return reply["id"]

    async def declined(self) -> str:
        self.alice.says = "decline"
        reply = await self.call("pay_surcharge", flow="pay")
        self.alice.says = "accept"
        return reply["id"]

    async def lost(self) -> str:
        reply = await self.call("pay_surcharge", flow="later")
        await self.alice.pays(self.alice.link)
        await self.call("say_done")
        await self.call("find_confirmation")
        async with httpx.AsyncClient(timeout=20) as http:
            (await http.post(f"{self.provider_url}/charges/{reply['id']}/confirm")).raise_for_status()
        await self.call("take_result", seconds=20)
        return reply["id"]

    async def wrong_user(self) -> str:
        reply = await self.call("pay_surcharge", flow="pay")
        await self.bob.pays(self.alice.link)  # Alice's link reached Bob, who is signed in as himself
        await self.call("look")
        await self.alice.pays(self.alice.link)
        await self.call("take_result", seconds=20)
        return reply["id"]

    async def abandoned(self) -> str:
        reply = await self.call("pay_surcharge", flow="pay")
        await self.call("look")
        await self.call("give_up")
        await self.call("take_result", seconds=0)
        return reply["id"]

    async def play(self) -> None:
        for flow in (self.form, self.payment, self.declined, self.lost, self.wrong_user, self.abandoned):
            self.flow, self.happened = flow.__name__, []
            entry, problem = "", ""
            try:
                entry = await flow()
            except Exception as error:  # one flow's failure is that flow's result
                problem = f"{type(error).__name__}: {error}"
            say({"flow": self.flow, "id": entry, "happened": self.happened, "problem": problem})


async def main() -> None:
    config = read_config()
    alice, bob = (Person(name, config["provider_url"]) for name in ("alice", "bob"))
    async with alice.client(config["server_url"], config["token"]) as session:
        await Play(config, session, alice, bob).play()
    say({"done": True})


if __name__ == "__main__":
    anyio.run(main)
