"""Runs in .venv-demo: an MCP server whose tools ask through the desk, over streamable HTTP or, if told so, over pipes.

A restarted one has forgotten everything, as any process has: its tools find their question by its operation.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from mcp.server.fastmcp import Context, FastMCP

from elicitation.adapter import Desk, Operation, Subject, UrlOutcome
from elicitation.demo.child import listen, read_config, serve

CONFIG = "PEER_CONFIG"


class Tools:
    def __init__(self, config: dict[str, Any]) -> None:
        self.subject = Subject(**config["subject"])
        self.desk = Desk(config["desk_url"], config["key"], subject=lambda ctx: self.subject)

    async def ask(self, booking: str, ctx: Context) -> dict[str, Any]:
        """Offer the link and return."""
        answer = await self.offer(booking, ctx)
        return {"id": answer.ticket.id, "outcome": answer.outcome}

    async def take(self, booking: str, ctx: Context) -> dict[str, Any]:
        """Offer the link, unless it is paid, and wait for the result within the same call."""
        answer = await self.offer(booking, ctx)
        if answer.outcome not in (UrlOutcome.CONSENTED, UrlOutcome.RESULT_WAITING):
            return {"id": answer.ticket.id, "outcome": answer.outcome}
        result = await self.desk.result(answer.ticket)
        return {"id": answer.ticket.id, "outcome": result.outcome, "result_ref": result.result_ref}

    async def offer(self, booking: str, ctx: Context) -> Any:
        operation = Operation("pay", {"booking": booking})
        url = "https://consent.example.com/start?flow=pay"
        return await self.desk.ask_url(ctx, operation=operation, purpose="payment", message="Pay.", url=url)


def main() -> None:
    stdio = sys.argv[1:] == ["stdio"]
    tools = Tools(json.loads(os.environ[CONFIG]) if stdio else read_config())
    server = FastMCP("peer", log_level="WARNING")
    for tool in (tools.ask, tools.take):
        server.add_tool(tool, structured_output=False)
    if stdio:
        server.run("stdio")
    else:
        serve(server.streamable_http_app(), listen())


if __name__ == "__main__":
    main()
