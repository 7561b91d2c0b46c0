"""Runs in .venv-demo: the adapter on the official SDK, client and server in one process, with a desk of the test's own.

Says, as JSON, what each client saw and what the adapter made of its answer. ``test_sdk.py`` asserts.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import httpx
from mcp import ClientSession, types
from mcp.server.fastmcp import Context, FastMCP
from mcp.shared.memory import create_connected_server_and_client_session as connected

from elicitation.adapter import AdapterError, Desk, Operation, Subject

ELC = "elc_" + "a" * 26
SCHEMA = {"type": "object", "properties": {"room": {"type": "string", "title": "Room", "default": "garden"}}}


class Peer:
    """One client, the server it is connected to, and the desk behind."""

    def __init__(self, answer: Any, mode: str) -> None:
        self.answer = answer
        self.mode = mode
        self.shown: list[Any] = []
        self.seen: list[tuple[str, Any]] = []
        client = httpx.AsyncClient(transport=httpx.MockTransport(self.desk))
        self.adapter = Desk("https://desk.example.com", "k", client=client, subject=self.subject)
        self.server = FastMCP("peer")
        self.server.add_tool(self.tool, name="tool")

    @staticmethod
    def subject(ctx: Any) -> Subject:
        return Subject("https://id.example.com", "alice")

    def desk(self, request: httpx.Request) -> httpx.Response:
        name, body = request.url.path.rpartition("/")[2], json.loads(request.content)
        self.seen.append((name, body))
        if name == "elicitations":
            sent = body["request"] | ({"elicitationId": ELC} if self.mode == "url" else {})
            return httpx.Response(201, json={"id": ELC, "wire_id": ELC, "state": "ADMITTED", "request": sent})
        states = {"accept": "CONSENT_PENDING" if self.mode == "url" else "ACCEPTED", "decline": "DECLINED"}
        return httpx.Response(200, json={"state": states.get(body.get("action"), "CANCELLED")})

    async def asked(self, context: Any, params: types.ElicitRequestParams) -> Any:
        self.shown.append(params.model_dump(by_alias=True, exclude_unset=True))
        return self.answer

    async def tool(self, ctx: Context) -> str:
        operation = Operation("tool", {})
        try:
            if self.mode == "url":
                url = "https://consent.example.com/start?flow=pay"
                answer: Any = await self.adapter.ask_url(
                    ctx, operation=operation, purpose="payment", message="Pay.", url=url
                )
                return json.dumps({"outcome": answer.outcome})
            answer = await self.adapter.ask_form(
                ctx, operation=operation, purpose="choice", message="Which?", schema=SCHEMA
            )
            return json.dumps({"outcome": answer.outcome, "content": answer.content})
        except AdapterError as error:
            return json.dumps({"error": type(error).__name__, "text": str(error)})

    async def play(self, session: ClientSession) -> dict[str, Any]:
        result = await session.call_tool("tool", {})
        return {"reply": json.loads(result.content[0].text), "shown": self.shown, "desk": self.seen}


async def with_answer(answer: Any, mode: str) -> dict[str, Any]:
    peer = Peer(answer, mode)
    async with connected(peer.server._mcp_server, elicitation_callback=peer.asked) as session:
        return await peer.play(session)


async def without_elicitation() -> dict[str, Any]:
    peer = Peer(None, "form")
    async with connected(peer.server._mcp_server) as session:
        return await peer.play(session)


async def on_an_older_revision() -> dict[str, Any]:
    import mcp.client.session as client

    peer, newest = Peer(None, "form"), types.LATEST_PROTOCOL_VERSION
    client.types.LATEST_PROTOCOL_VERSION = "2025-06-18"
    try:
        async with connected(peer.server._mcp_server, elicitation_callback=peer.asked) as session:
            client.types.LATEST_PROTOCOL_VERSION = newest
            return await peer.play(session)
    finally:
        client.types.LATEST_PROTOCOL_VERSION = newest


async def main() -> None:
    said = {
        "form": await with_answer(types.ElicitResult(action="accept", content={"room": "street"}), "form"),
        "url": await with_answer(types.ElicitResult(action="accept"), "url"),
        "decline": await with_answer(types.ElicitResult(action="decline"), "url"),
        "malformed": await with_answer(types.ElicitResult.model_construct(action="CANARY"), "url"),
        "error": await with_answer(types.ErrorData(code=-32602, message="CANARY"), "url"),
        "undeclared": await without_elicitation(),
        "older": await on_an_older_revision(),
    }
    print(json.dumps(said))  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    anyio.run(main)
