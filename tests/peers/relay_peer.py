"""Runs in .venv-demo: clients of the published SDK, their servers in processes of their own, and the provider.

Plays every scene against a running desk and says, as JSON, what each client heard. ``test_relay.py`` asserts.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.fastmcp import FastMCP
from mcp.shared.memory import create_connected_server_and_client_session as connected

from elicitation.demo.processes import INHERITED, ROOT, Child
from elicitation.demo.provider import Provider
from tests.peers.relay_server import CONFIG, Tools

SERVER = "tests.peers.relay_server"
#: A scene that takes longer has failed.
PATIENCE = 60.0


class Client:
    """A client that says yes to every link and keeps which completions it heard of."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.heard: list[str] = []
        self.session: ClientSession | None = None

    async def answer(self, context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        assert isinstance(params, types.ElicitRequestURLParams)
        self.asked.append(params.elicitationId)
        return types.ElicitResult(action="accept")

    async def hear(self, message: Any) -> None:
        if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ElicitCompleteNotification):
            self.heard.append(message.root.params.elicitationId)

    async def call(self, tool: str, booking: str) -> dict[str, Any]:
        assert self.session is not None
        result = await self.session.call_tool(tool, {"booking": booking})
        assert not result.isError, result.content
        said: dict[str, Any] = json.loads(result.content[0].text)
        return said

    @asynccontextmanager
    async def connected(self, read: Any, write: Any) -> AsyncIterator[Client]:
        async with ClientSession(
            read, write, elicitation_callback=self.answer, message_handler=self.hear
        ) as self.session:
            await self.session.initialize()
            yield self


class Line:
    """The way from the servers to the desk, in loopback bytes; while it is cut every connection breaks."""

    def __init__(self, desk_url: str) -> None:
        self.desk_port = int(desk_url.rpartition(":")[2])
        self.port = 0
        self.cut = False
        self.broken = 0
        self.open: set[asyncio.StreamWriter] = set()

    @asynccontextmanager
    async def laid(self) -> AsyncIterator[Line]:
        server = await asyncio.start_server(self.carry, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            self.drop()

    def drop(self) -> None:
        for writer in self.open:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut:
            self.broken += 1
            writer.transport.abort()
            return
        desk_reader, desk_writer = await asyncio.open_connection("127.0.0.1", self.desk_port)
        ends = {writer, desk_writer}
        self.open |= ends
        await asyncio.gather(pump(reader, desk_writer), pump(desk_reader, writer))
        self.open -= ends


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


class Play:
    """The scenes. ``config`` names the desk, the service's key and the provider's address and secret."""

    def __init__(self, config: dict[str, Any], line: Line) -> None:
        secret = base64.b64decode(config["secret"].removeprefix("whsec_"))
        self.provider = Provider(config["events_url"], secret, {})
        self.subject = config["subject"]
        self.server = {name: config[name] for name in ("key", "subject")}
        self.server["desk_url"] = f"http://127.0.0.1:{line.port}"
        self.line = line

    async def confirm(self, entry_id: str) -> None:
        self.provider.charges[entry_id] = {
            "elicitation_id": entry_id,
            "result_ref": f"pi_{entry_id[-20:]}",
            "occurred_at": datetime.now(UTC).isoformat(),
            "subject": self.subject,
        }
        await self.provider.confirm(entry_id)

    async def paid(self, client: Client, booking: str) -> str:
        """Ask, confirm, and wait until the client has heard of it: whatever came before has been heard by then."""
        asked = await client.call("ask", booking)
        await self.confirm(asked["id"])
        await until(lambda: asked["id"] in client.heard)
        entry_id: str = asked["id"]
        return entry_id

    @asynccontextmanager
    async def over_stdio(self) -> AsyncIterator[Client]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        environment = kept | {"PYTHONPATH": str(ROOT), CONFIG: json.dumps(self.server)}
        started = StdioServerParameters(
            command=sys.executable, args=["-m", SERVER, "stdio"], env=environment, cwd=str(ROOT)
        )
        async with stdio_client(started) as (read, write), Client().connected(read, write) as client:
            yield client

    def http_server(self) -> tuple[Child, str]:
        child = Child(Path(sys.executable), SERVER, self.server)
        return child, f"http://127.0.0.1:{child.hear(PATIENCE)['port']}/mcp"

    @asynccontextmanager
    async def over_http(self, url: str) -> AsyncIterator[Client]:
        async with (
            streamable_http_client(url) as (read, write, _),
            Client().connected(read, write) as client,
        ):
            yield client

    async def one_client(self, client: Client) -> dict[str, Any]:
        first, second = await self.paid(client, "first"), await self.paid(client, "second")
        return {"ids": [first, second], "asked": client.asked, "heard": client.heard}

    async def pipes(self) -> dict[str, Any]:
        async with self.over_stdio() as client:
            said = await self.one_client(client)
            return said | {"taken": await client.call("take", "first"), "asked_in_all": len(client.asked)}

    async def two_clients(self) -> dict[str, Any]:
        server, url = self.http_server()
        with server:
            async with self.over_http(url) as one, self.over_http(url) as other:
                hers = (await one.call("ask", "hers"))["id"]
                his = await self.paid(other, "his")
                await self.confirm(hers)
                await until(lambda: one.heard)
                last = await self.paid(other, "last")
                return {"hers": [hers], "his": [his, last], "one": one.heard, "other": other.heard}

    async def within_the_call(self) -> dict[str, Any]:
        server, url = self.http_server()
        with server:
            async with self.over_http(url) as client:
                call = asyncio.create_task(client.call("take", "same call"))
                await until(lambda: client.asked)
                await self.confirm(client.asked[0])
                taken = await call
                await until(lambda: client.heard)
                return {"asked": client.asked, "heard": client.heard, "taken": taken}

    async def restart(self) -> dict[str, Any]:
        server, url = self.http_server()
        with server, suppress(Exception):  # its end, with the server under it, is not what this is about
            async with self.over_http(url) as before:
                asked = (await before.call("ask", "long"))["id"]
                server.stop()
        server, url = self.http_server()
        with server:
            async with self.over_http(url) as after:
                await self.confirm(asked)
                own = await self.paid(after, "own")
                taken = await after.call("take", "long")
                return {"before": before.heard, "asked": asked, "own": own, "after": after.heard, "taken": taken}

    async def left(self) -> dict[str, Any]:
        """A client leaves while its link is open; its server, in this process, lives on and frees no memory."""
        tools, server, client = Tools(self.server), FastMCP("peer", log_level="WARNING"), Client()
        server.add_tool(tools.ask, structured_output=False)
        gc.disable()
        async with connected(
            server._mcp_server, elicitation_callback=client.answer, message_handler=client.hear
        ) as client.session:
            await client.call("ask", "left")
            during = following()
        await until(lambda: not following())
        gc.enable()
        await tools.desk.aclose()
        return {"during": during, "after": following()}

    async def outage(self) -> dict[str, Any]:
        server, url = self.http_server()
        with server:
            async with self.over_http(url) as client:
                asked = (await client.call("ask", "outage"))["id"]
                self.line.cut = True
                self.line.drop()
                await self.confirm(asked)
                await until(lambda: self.line.broken >= 6)  # it tries, fails, rests, and tries again
                during = list(client.heard)
                self.line.cut = False
                await until(lambda: client.heard)
                last = await self.paid(client, "after the outage")
                return {"asked": asked, "during": during, "last": last, "heard": client.heard}


def following() -> int:
    return sum(task.get_name() == "elicitation-relay" for task in asyncio.all_tasks())


async def until(met: Callable[[], object]) -> None:
    with anyio.fail_after(PATIENCE):
        while not met():
            await anyio.sleep(0.02)


async def main() -> None:
    config = json.loads(sys.stdin.readline())
    async with Line(config["desk_url"]).laid() as line:
        play = Play(config, line)
        scenes = (play.pipes, play.two_clients, play.within_the_call, play.restart, play.left, play.outage)
        print(json.dumps({scene.__name__: await scene() for scene in scenes}))  # noqa: T201 - the parent reads it


if __name__ == "__main__":
    anyio.run(main)
