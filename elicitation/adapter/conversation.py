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

    async def send(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """Put ``params`` to the client and return its raw result.

        Raises ``ClientFailed``, ``MalformedAnswer``, or ``CannotAsk`` when nothing was sent.
        """
        ...
