"""For MCP servers: ask the desk before asking the person, and hand it every answer. Needs the extra ``mcp``.

::

    desk = Desk("https://desk.example.com", key)

    @server.tool()
    async def book(room: str, ctx: Context) -> str:
        operation = Operation("book", {"room": room})
        answer = await desk.ask_form(ctx, operation=operation, purpose="choice", message="Which floor?", schema=FLOORS)

    @server.tool()
    async def pay(booking: str, ctx: Context) -> str:
        operation = Operation("pay", {"booking": booking})
        consent = await desk.ask_url(ctx, operation=operation, purpose="payment", message="Pay the fee.", url=PAY)
        paid = await desk.result(consent.ticket)  # also after a retry of the call: the same result, once applied

While a link is open, the client that was asked is notified of its completion; ``await desk.aclose()`` ends that.
"""

from elicitation.adapter.conversation import ClientFacts, Conversation
from elicitation.adapter.desk import Desk
from elicitation.adapter.errors import (
    AdapterError,
    CannotAsk,
    ClientFailed,
    Denied,
    DeskUnavailable,
    EvidenceWaiting,
    MalformedAnswer,
    NoAnswer,
    Refused,
)
from elicitation.adapter.values import (
    Consumed,
    ConsumeOutcome,
    Entry,
    FormAnswer,
    FormOutcome,
    Moved,
    MoveOutcome,
    Operation,
    Retried,
    RetryOutcome,
    Subject,
    Ticket,
    UrlAnswer,
    UrlOutcome,
)

__all__ = [
    "AdapterError",
    "CannotAsk",
    "ClientFacts",
    "ClientFailed",
    "ConsumeOutcome",
    "Consumed",
    "Conversation",
    "Denied",
    "Desk",
    "DeskUnavailable",
    "Entry",
    "EvidenceWaiting",
    "FormAnswer",
    "FormOutcome",
    "MalformedAnswer",
    "MoveOutcome",
    "Moved",
    "NoAnswer",
    "Operation",
    "Refused",
    "Retried",
    "RetryOutcome",
    "Subject",
    "Ticket",
    "UrlAnswer",
    "UrlOutcome",
]
