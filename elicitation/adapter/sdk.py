"""The official Python SDK, 1.x, speaking 2025-11-25: what a session declared, who calls, and how to put a question.

The only module that imports the SDK. It takes a ``Context`` of FastMCP or a low-level ``RequestContext``.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

import anyio
from mcp import McpError, types
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.version import SUPPORTED_PROTOCOL_VERSIONS

from elicitation.adapter.conversation import ClientFacts
from elicitation.adapter.errors import CannotAsk, ClientFailed, MalformedAnswer
from elicitation.adapter.values import Subject
from elicitation.policy.decision import Delivery, Mode, Wire


class SdkConversation:
    """One request of one session. Capabilities count as they were received at ``initialize`` (R1, R5)."""

    delivery = Delivery.CREATE

    def __init__(self, ctx: Any) -> None:
        """Raises :class:`CannotAsk` where the session never negotiated a protocol that this wire serves."""
        request = getattr(ctx, "request_context", ctx)
        self._session = request.session
        self._related = request.request_id
        declared = self._session.client_params
        if declared is None:
            raise CannotAsk("This session never declared what its client can do, so nobody may be asked.")
        facts = declared.model_dump(by_alias=True, mode="json", exclude_unset=True)
        self.wire = _wire(facts.get("protocolVersion"))
        client = facts.get("clientInfo", {})
        capabilities = facts.get("capabilities", {})
        self.client = ClientFacts(
            name=str(client.get("name", "")),
            version=str(client.get("version", "")),
            # Raw, for the policy to judge; what else the client can do is not the desk's business.
            capabilities={name: capabilities[name] for name in ("elicitation",) if name in capabilities},
        )
        self.request_id = str(self._related)
        self.listener = SdkListener(self._session)

    async def send(self, params: Mapping[str, object]) -> Mapping[str, object]:
        """Put exactly ``params`` on the wire, tied to the call that waits (R18), and return the client's raw result.

        Raises :class:`ClientFailed` and :class:`MalformedAnswer`.
        """
        request = _request(params)
        try:
            # A plain Result keeps whatever came: an unknown action must be seen, not lost in a validation error.
            result = await self._session.send_request(
                types.ServerRequest(request),
                types.Result,
                metadata=ServerMessageMetadata(related_request_id=self._related),
            )
        except McpError as error:
            raise ClientFailed(error.error.code) from None  # the client's own words stay out of logs
        except ValueError:
            raise MalformedAnswer("it is not a result of the protocol") from None
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise ClientFailed from None
        raw: dict[str, object] = result.model_dump(by_alias=True, exclude_unset=True)
        return raw


class SdkListener:
    """The client of one session. Notifications go beside the call, which has usually ended (over streamable HTTP: on
    the stream that the client opened for them)."""

    def __init__(self, session: Any) -> None:
        self._session = weakref.ref(session)

    @property
    def gone(self) -> bool:
        """Whether the session has ended. Where this SDK does not let it be seen, it is seen when memory is freed."""
        session = self._session()
        stream: Any = getattr(session, "_write_stream", None)
        return session is None or (hasattr(stream, "statistics") and stream.statistics().open_send_streams == 0)

    async def completed(self, wire_id: str) -> None:
        """Send ``notifications/elicitation/complete``. Raises :class:`ClientFailed` where the session has ended."""
        session = self._session()
        if session is None:
            raise ClientFailed
        try:
            await session.send_elicit_complete(wire_id)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError):
            raise ClientFailed from None


def authorized_subject(ctx: Any) -> Subject | None:
    """The person of this very call, from its verified access token: ``sub``, and ``iss`` among the claims (R49).

    Read from the HTTP request that carries the call: a session outlives one request and is no proof of identity
    (R48). ``None`` where there is no verified token, or where it lacks either name.
    """
    http = getattr(getattr(ctx, "request_context", ctx), "request", None)
    user = http.scope.get("user") if http is not None else None
    token = getattr(user, "access_token", None)
    subject, claims = getattr(token, "subject", None), getattr(token, "claims", None) or {}
    issuer = claims.get("iss")
    if not subject or not isinstance(issuer, str) or not issuer:
        return None
    return Subject(issuer, subject)


def _wire(requested: object) -> Wire:
    """The wire of the session: what the client asked for, or the SDK's newest where it cannot speak that (R5).

    Older revisions have neither modes nor url elicitation.
    """
    negotiated = requested if requested in SUPPORTED_PROTOCOL_VERSIONS else types.LATEST_PROTOCOL_VERSION
    if negotiated == Wire.V2025_11_25:
        return Wire.V2025_11_25
    raise CannotAsk("The client and this server did not agree on MCP 2025-11-25, so nobody may be asked.")


def _request(params: Mapping[str, object]) -> Any:
    """The SDK's request, which must carry ``params`` and nothing else, or :class:`CannotAsk`."""
    kind = types.ElicitRequestURLParams if params.get("mode") == Mode.URL else types.ElicitRequestFormParams
    try:
        request = types.ElicitRequest(params=kind.model_validate(params))
        if request.model_dump(by_alias=True, mode="json", exclude_none=True)["params"] == params:
            return request
    except ValueError:  # pydantic's validation errors among them, which quote values
        pass
    raise CannotAsk("This SDK would alter the admitted question, so nobody was asked.")
