"""The desk as a tool of an MCP server sees it: ask a form, offer a link, and finish what the link began."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Final, Self

import anyio
import httpx

from elicitation.adapter import replies
from elicitation.adapter.answer import ClientAnswer
from elicitation.adapter.calls import NOT_KNOWN, Calls, entry_path
from elicitation.adapter.conversation import Conversation
from elicitation.adapter.errors import CannotAsk, ClientFailed, DeskUnavailable, MalformedAnswer, Refused
from elicitation.adapter.moves import Admitted, Connect, Moves, Resolver
from elicitation.adapter.relay import Relay, Watched
from elicitation.adapter.values import (
    Consumed,
    Entry,
    FormAnswer,
    FormOutcome,
    Moved,
    Operation,
    Retried,
    Subject,
    Ticket,
    UrlAnswer,
    UrlOutcome,
)
from elicitation.policy.answers import Action, Content, ContentFault, check_content
from elicitation.policy.decision import Mode, Wire
from elicitation.policy.lifecycle import State

#: Below the shortest limit of a call among the published clients (60 seconds), so that the end is ours to report.
TIMEOUT: Final = 55.0
#: A tool that blocks longer than this runs into the limits of automatic clients.
LONGEST_WAIT: Final = 24.0
#: The desk holds one call no longer than this, in whole seconds (page 30, ``wait``).
LONGEST_CALL: Final = 20
#: Between two tries where the desk cannot be reached, in seconds.
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 2.0


class Desk:
    """The desk, for the tools of one MCP server. Safe to share between calls; close it with the server.

    ``subject`` resolves the person of a call; by default it reads the verified access token of MCP authorization
    (R49). A server that learns identities in another way passes its own resolver, which must not take the client's
    word for it (R50). ``timeout`` bounds one move, in seconds, and must stay below the client's own limit. ``client``
    is an HTTP client of the caller's, for proxies or certificates of their own; the caller closes it.

    While a link is open, a task of the running event loop follows the desk's completions and notifies the client that
    was asked, and only that one (R35, R36); with ``relay=False`` nobody is notified. It ends with the last open link,
    with :meth:`aclose`, or with the loop. Nothing depends on it: what counts is what :meth:`result` says.
    """

    def __init__(
        self,
        base_url: str,
        key: str,
        *,
        client: httpx.AsyncClient | None = None,
        timeout: float = TIMEOUT,
        subject: Resolver | None = None,
        connect: Connect | None = None,
        relay: bool = True,
    ) -> None:
        self._calls = Calls(base_url, key, client)
        self._relay = Relay(self._calls) if relay else None
        self._moves = Moves(self._calls, timeout, subject or _authorized, connect or _connected)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Stop following completions, and close the HTTP client, unless the caller brought it."""
        if self._relay is not None:
            await self._relay.aclose()
        await self._calls.aclose()

    async def ask_form(
        self,
        ctx: Any,
        *,
        operation: Operation,
        purpose: str,
        message: str,
        schema: Mapping[str, object],
        subject: Subject | None = None,
        window_seconds: int | None = None,
        predecessor: str | None = None,
    ) -> FormAnswer:
        """Put a form to the person. Its content is checked here and goes to the tool alone; the desk hears "present".

        ``ctx`` is the SDK's context of the call; ``subject``, when given, stands in for the resolver. Raises
        ``Denied``, ``DeskUnavailable`` and ``CannotAsk`` when nobody was asked; ``NoAnswer``, ``ClientFailed`` and
        ``MalformedAnswer`` when nothing was decided; ``DeskUnavailable`` when the answer could not be recorded.
        """
        admitted = await self._moves.admit(
            ctx,
            operation,
            purpose,
            {"mode": Mode.FORM.value, "message": message, "requestedSchema": schema},
            subject=subject,
            window_seconds=window_seconds,
            predecessor=predecessor,
        )
        if admitted.params is None:
            return FormAnswer(FormOutcome.NOT_TAKEN, admitted.state, admitted.ticket)
        answer = await self._moves.put(admitted, admitted.params)
        if answer.content is Content.PRESENT and (faults := _faults(admitted.params, answer.values)):
            await self._moves.call_ended(admitted.ticket)
            raise MalformedAnswer("its content does not fit the form", faults)
        try:
            state = await self._moves.report(admitted.ticket, answer)
        except Refused as refusal:
            if refusal.code != "answer.content_missing":
                raise
            await self._moves.call_ended(admitted.ticket)
            raise MalformedAnswer("it accepts the form without content") from None
        match answer.action, state:
            case Action.ACCEPT, State.ACCEPTED:
                return FormAnswer(FormOutcome.ACCEPTED, state, admitted.ticket, answer.values)
            case Action.DECLINE, State.DECLINED:
                return FormAnswer(FormOutcome.DECLINED, state, admitted.ticket)
            case Action.CANCEL, State.CANCELLED:
                return FormAnswer(FormOutcome.CANCELLED, state, admitted.ticket)
            case _:
                return FormAnswer(FormOutcome.NOT_TAKEN, state, admitted.ticket)

    async def ask_url(
        self,
        ctx: Any,
        *,
        operation: Operation,
        purpose: str,
        message: str,
        url: str,
        subject: Subject | None = None,
        window_seconds: int | None = None,
        predecessor: str | None = None,
    ) -> UrlAnswer:
        """Offer a link. The answer is consent to open it, never completion: :meth:`result` says what came of it.

        Raises as :meth:`ask_form` does. Leave the elicitation's id out of ``url``: the desk writes it in.
        """
        admitted = await self._moves.admit(
            ctx,
            operation,
            purpose,
            {"mode": Mode.URL.value, "message": message, "url": url},
            subject=subject,
            window_seconds=window_seconds,
            predecessor=predecessor,
        )
        if admitted.params is None:
            return UrlAnswer(_unasked(admitted.state), admitted.state, admitted.ticket)
        answer, state = await self._offer(admitted, admitted.params)
        match answer.action, state:
            case Action.ACCEPT, State.CONSENT_PENDING | State.RETRY_REQUIRED | State.COMPLETE:
                outcome = UrlOutcome.CONSENTED
            case Action.DECLINE, State.DECLINED:
                outcome = UrlOutcome.DECLINED
            case Action.CANCEL, State.CANCELLED:
                outcome = UrlOutcome.CANCELLED
            case _:
                outcome = UrlOutcome.NOT_TAKEN
        return UrlAnswer(outcome, state, admitted.ticket)

    async def wait(self, ticket: Ticket, seconds: float = 20.0) -> Entry:
        """The entry once its state has changed or is final, or after ``seconds`` (at most 24).

        A desk that cannot be reached meanwhile is tried again until then. Raises ``Refused`` and ``DeskUnavailable``.
        """
        ends = time.monotonic() + min(seconds, LONGEST_WAIT)
        first: State | None = None
        pause = FIRST_PAUSE
        while True:
            began = time.monotonic()
            asked = min(int(max(ends - began, 0.0) + 0.05), LONGEST_CALL)
            try:
                reply = await self._calls.wait(entry_path(ticket.id, "wait"), asked, failing=NOT_KNOWN)
            except DeskUnavailable:
                left = ends - time.monotonic()
                if left <= 0:
                    raise
                await anyio.sleep(min(pause * random.uniform(0.5, 1.5), left))  # noqa: S311 - not a secret
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            entry, now = replies.entry(reply.body), time.monotonic()
            first, left = first or entry.state, ends - now
            if entry.state.terminal or entry.state is not first or left <= 0:
                return entry
            if reply.retry_after is not None:  # too many wait at this desk: it did not wait for this call
                pause_asked = reply.retry_after * random.uniform(1.0, 1.5)  # noqa: S311 - not a secret
                await anyio.sleep(min(pause_asked, left))
            elif now - began < asked:  # sooner than it had to: the state changed during the call
                return entry
            elif left < 1:  # less than the desk can be asked to wait
                await anyio.sleep(left)

    async def consume(self, ticket: Ticket) -> Consumed:
        """Take the result for the waiting operation. Repeating it gives the same reference, ``already_applied``."""
        body = {"subject": ticket.subject.as_json(), "operation": ticket.operation.as_json(ticket.request_id)}
        return replies.consumed(await self._post(ticket, "consume", body))

    async def result(self, ticket: Ticket, seconds: float = 20.0) -> Consumed:
        """Wait for the outside work, then take its result; ``NOT_COMPLETE`` while there is none."""
        await self.wait(ticket, seconds)
        return await self.consume(ticket)

    async def lost(self, ticket: Ticket) -> Moved:
        """Report that the person says the work is done, and no confirmation has come. Raises ``Refused``."""
        return replies.moved(await self._post(ticket, "lost", {"subject": ticket.subject.as_json()}))

    async def retry(self, ticket: Ticket) -> Retried:
        """Ask for the lost confirmation again; the work is not repeated. Raises ``Refused``."""
        return replies.retried(await self._post(ticket, "retry", {"subject": ticket.subject.as_json()}))

    async def cancel(self, ticket: Ticket) -> Moved:
        """Give the question up, on behalf of the service. Raises ``Refused`` when it has ended already."""
        return replies.moved(await self._post(ticket, "cancel", {"subject": ticket.subject.as_json()}))

    async def _offer(self, admitted: Admitted, params: Mapping[str, object]) -> tuple[ClientAnswer, State]:
        """Put a link to the client and report the answer; meanwhile and afterwards its completion is watched for."""
        talk, wire_id = admitted.conversation, params.get("elicitationId")
        watched = None
        if self._relay is not None and talk.wire is Wire.V2025_11_25 and talk.listener and isinstance(wire_id, str):
            watched = self._relay.watch(admitted.ticket.id, wire_id, talk.listener, admitted.expires_at)
        try:
            answer = await self._moves.put(admitted, params)
            state = await self._moves.report(admitted.ticket, answer)
        except (CannotAsk, ClientFailed):
            self._forget(watched)  # not put, or refused: this client does not know the id
            raise
        if state.terminal and state is not State.COMPLETE:
            self._forget(watched)
        return answer, state

    def _forget(self, watched: Watched | None) -> None:
        if self._relay is not None:
            self._relay.forget(watched)

    async def _post(self, ticket: Ticket, call: str, body: Mapping[str, object]) -> Mapping[str, object]:
        return (await self._calls.post(entry_path(ticket.id, call), body, failing=NOT_KNOWN)).body


def _unasked(state: State) -> UrlOutcome:
    """Why the desk gave no question to put: the work may be done, or is, or the entry has ended."""
    match state:
        case State.COMPLETE:
            return UrlOutcome.RESULT_WAITING
        case State.RETRY_REQUIRED:
            return UrlOutcome.RETRY_REQUIRED
        case State.ADMITTED | State.CONSENT_PENDING | State.ACCEPTED | State.DECLINED | State.CANCELLED | State.EXPIRED:
            return UrlOutcome.NOT_TAKEN


def _faults(params: Mapping[str, object], values: object) -> tuple[ContentFault, ...]:
    """What is wrong with a form's content, held against the schema that was admitted."""
    schema = params.get("requestedSchema")
    return check_content(schema if isinstance(schema, dict) else {}, values)


def _authorized(ctx: Any) -> Subject | None:
    from elicitation.adapter import sdk  # only a server that uses the default needs the SDK here

    return sdk.authorized_subject(ctx)


def _connected(ctx: Any) -> Conversation:
    from elicitation.adapter import sdk

    return sdk.SdkConversation(ctx)
