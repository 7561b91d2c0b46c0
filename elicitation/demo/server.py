"""The booking server of the demo: a real MCP server (streamable HTTP, MCP authorization) that asks through the desk.

Run as ``python -m elicitation.demo.server``. Its tools are what a server's author writes; the rest is set-up.
"""

from __future__ import annotations

from typing import Any

from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.fastmcp import Context, FastMCP
from pydantic import AnyHttpUrl

from elicitation.adapter import ConsumeOutcome, Desk, Operation, Ticket
from elicitation.adapter.sdk import authorized_subject
from elicitation.demo.child import listen, read_config, serve
from elicitation.demo.marks import marked

ROOMS = {
    "type": "object",
    "properties": {
        "room": {"type": "string", "title": "Room", "enum": ["garden", "street"], "default": "garden"},
        "note": {"type": "string", "title": "Note for the house", "description": marked("label"), "maxLength": 100},
    },
    "required": ["room"],
}
LINK = "https://consent.example.com/start?flow="


class Bookings:
    """The tools, and what the server remembers: a ticket for each question, an effect for each result."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.tickets: dict[tuple[str, str], Ticket] = {}
        self.effects: set[str] = set()

    async def choose_room(self, booking: str, remark: str, ctx: Context) -> dict[str, Any]:
        """Ask which room, by a form. The remark shows that a call's arguments stay in this process."""
        operation = Operation("choose_room", {"booking": booking, "remark": remark})
        answer = await self.desk.ask_form(
            ctx, operation=operation, purpose="choice", message=f"Which room? ({marked('message')})", schema=ROOMS
        )
        self.keep(ctx, booking, answer.ticket)
        chosen = (answer.content or {}).get("room")
        return {"id": answer.ticket.id, "outcome": answer.outcome, "room": chosen}

    async def pay_surcharge(self, booking: str, flow: str, ctx: Context) -> dict[str, Any]:
        """Offer the link to the payment page. The answer is consent; the payment is another matter."""
        operation = Operation("pay_surcharge", {"booking": booking})
        message = f"The late arrival costs 40.00 EUR. ({marked('message')})"
        answer = await self.desk.ask_url(ctx, operation=operation, purpose="payment", message=message, url=LINK + flow)
        self.keep(ctx, booking, answer.ticket)
        return {"id": answer.ticket.id, "outcome": answer.outcome}

    async def take_result(self, booking: str, seconds: float, ctx: Context) -> dict[str, Any]:
        """Wait for the result and use it: once, because the effect is keyed by the provider's reference."""
        result = await self.desk.result(self.ticket(ctx, booking), seconds)
        if result.outcome in (ConsumeOutcome.APPLIED, ConsumeOutcome.ALREADY_APPLIED):
            self.effects.add(f"{booking}/{result.result_ref}")
        effects = sum(effect.startswith(f"{booking}/") for effect in self.effects)
        return {"outcome": result.outcome, "effects": effects}

    async def look(self, booking: str, ctx: Context) -> dict[str, Any]:
        """Where the question stands."""
        return {"outcome": (await self.desk.wait(self.ticket(ctx, booking), seconds=0)).state}

    async def say_done(self, booking: str, ctx: Context) -> dict[str, Any]:
        """The person says that they paid, and no confirmation has come."""
        return {"outcome": (await self.desk.lost(self.ticket(ctx, booking))).state}

    async def find_confirmation(self, booking: str, ctx: Context) -> dict[str, Any]:
        """Ask for the lost confirmation; nobody pays again."""
        return {"outcome": (await self.desk.retry(self.ticket(ctx, booking))).outcome}

    async def give_up(self, booking: str, ctx: Context) -> dict[str, Any]:
        """Cancel the question, because the booking is no longer wanted."""
        return {"outcome": (await self.desk.cancel(self.ticket(ctx, booking))).state}

    def keep(self, ctx: Context, booking: str, ticket: Ticket) -> None:
        self.tickets[ticket.subject.sub, booking] = ticket

    def ticket(self, ctx: Context, booking: str) -> Ticket:
        """The caller's own ticket: by the person of this call, never by the session (R48)."""
        subject = authorized_subject(ctx)
        return self.tickets[subject.sub if subject else "", booking]


class Tokens:
    """The demo's authorization server, as a table: who each access token was issued to."""

    def __init__(self, people: dict[str, dict[str, str]], resource: str) -> None:
        self.people = people
        self.resource = resource

    async def verify_token(self, token: str) -> AccessToken | None:
        person = self.people.get(token)
        if person is None:
            return None
        claims = {"iss": person["iss"]}
        return AccessToken(
            token=token, client_id="demo", scopes=[], resource=self.resource, subject=person["sub"], claims=claims
        )


def main() -> None:
    config = read_config()
    listening = listen()
    resource = f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server = FastMCP(
        "booking",
        log_level="WARNING",
        token_verifier=Tokens(config["tokens"], resource),
        auth=AuthSettings(
            issuer_url=AnyHttpUrl("https://id.example.com"),
            resource_server_url=AnyHttpUrl(resource),
            validate_token_resource=True,
        ),
    )
    bookings = Bookings(Desk(config["desk_url"], config["key"]))
    for tool in (
        bookings.choose_room,
        bookings.pay_surcharge,
        bookings.take_result,
        bookings.look,
        bookings.say_done,
        bookings.find_confirmation,
        bookings.give_up,
    ):
        server.add_tool(tool, structured_output=False)
    serve(server.streamable_http_app(), listening)


if __name__ == "__main__":
    main()
