"""What the moves need of a session, whatever SDK and wire it speaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from elicitation.policy.decision import Delivery, Wire

NAME_LENGTH: Final = 100
VERSION_LENGTH: Final = 50


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What the client said of itself. Name and version are shown, never decisive (R8)."""

    name: str
    version: str
    capabilities: Mapping[str, object] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """The facts for the desk; a name too long to be shown is cut, and decides nothing either way."""
        return {
            "name": self.name[:NAME_LENGTH],
            "version": self.version[:VERSION_LENGTH],
            "capabilities": dict(self.capabilities),
        }


class Listener(Protocol):
    """The client of one session, as long as the session lives. Holds it weakly: it must not live for this."""

    @property
    def gone(self) -> bool: ...

    async def completed(self, wire_id: str) -> None:
        """Notify the client, and no other, that the outside work of ``wire_id`` is done (R35 to R37).

        Raises whatever the transport raises where it cannot be told; nothing depends on it.
        """
        ...


class Conversation(Protocol):
    """One request of one session: the wire it speaks, and a way to put a question to its client."""

    @property
    def wire(self) -> Wire: ...

    @property
    def delivery(self) -> Delivery: ...

    @property
    def client(self) -> ClientFacts: ...

    @property
    def request_id(self) -> str: ...

    @property
    def listener(self) -> Listener | None:
        """Whoever is to be told of completions, beyond this request; ``None`` where the wire has no such word."""
        ...

    async def send(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """Put ``params`` to the client and return its raw result.

        Raises ``ClientFailed``, ``MalformedAnswer``, or ``CannotAsk`` when nothing was sent.
        """
        ...
