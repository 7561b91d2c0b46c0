"""The three steps of every move: have it admitted, put it to the client, report what came back."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import anyio

from elicitation.adapter import replies
from elicitation.adapter.answer import ClientAnswer, read_answer
from elicitation.adapter.calls import NOT_ASKED, NOT_RECORDED, Calls, entry_path
from elicitation.adapter.conversation import Conversation
from elicitation.adapter.errors import AdapterError, CannotAsk, NoAnswer, Refused
from elicitation.adapter.values import Operation, Subject, Ticket
from elicitation.policy.decision import Mode
from elicitation.policy.lifecycle import State

log = logging.getLogger(__name__)

#: Kept back from the person's time, so that the answer is reported before the client's own limit.
REPORTING: Final = 5.0
#: A question that fails within this time never left; one that did not fail was handed to the client.
HANDED_OVER: Final = 0.1
#: A person gets this long even where the desk has used up the time of the move.
SHORTEST: Final = 1.0

Resolver = Callable[[Any], Subject | None]
Connect = Callable[[Any], Conversation]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A question that the desk allowed. ``params`` goes on the wire as it is; ``None``: nobody is to be asked.

    ``deadline`` is the move's own, on the monotonic clock; ``expires_at`` is the entry's.
    """

    conversation: Conversation
    ticket: Ticket
    state: State
    params: Mapping[str, object] | None
    mode: Mode
    deadline: float
    expires_at: datetime | None


class Moves:
    """The steps, over one desk. ``timeout`` bounds a whole move, in seconds."""

    def __init__(self, calls: Calls, timeout: float, resolve: Resolver, connect: Connect) -> None:
        self._calls = calls
        self._timeout = timeout
        self._resolve = resolve
        self._connect = connect

    async def admit(
        self,
        ctx: Any,
        operation: Operation,
        purpose: str,
        request: Mapping[str, object],
        *,
        subject: Subject | None,
        window_seconds: int | None,
        predecessor: str | None,
    ) -> Admitted:
        """Ask the desk. Raises ``CannotAsk``, ``Refused`` or ``DeskUnavailable``; nobody was asked then."""
        deadline = time.monotonic() + self._timeout
        conversation = self._connect(ctx)
        who = subject or self._resolve(ctx)
        if who is None:
            raise CannotAsk("MCP authorization does not say who is calling, so nobody may be asked.")
        body: dict[str, object] = {
            "wire": conversation.wire,
            "delivery": conversation.delivery,
            "client": conversation.client.as_json(),
            "subject": who.as_json(),
            "operation": operation.as_json(conversation.request_id),
            "purpose": purpose,
            "request": request,
        }
        if window_seconds is not None:
            body["window_seconds"] = window_seconds
        if predecessor is not None:
            body["predecessor"] = predecessor
        reply = (await self._calls.post("elicitations", body, failing=NOT_ASKED)).body
        wire_id = reply.get("wire_id")
        ticket = Ticket(
            id=replies.text(reply, "id"),
            wire_id=wire_id if isinstance(wire_id, str) else "",
            subject=who,
            operation=operation,
            request_id=conversation.request_id,
        )
        params = reply.get("request")
        mode = Mode(str(request["mode"]))
        if params is not None and (not isinstance(params, dict) or params.get("mode") != mode):
            raise replies.unreadable("request")
        return Admitted(
            conversation=conversation,
            ticket=ticket,
            state=replies.word(reply, "state", State),
            params=params,
            mode=mode,
            deadline=deadline,
            expires_at=replies.moment(reply, "expires_at"),
        )

    async def put(self, admitted: Admitted, params: Mapping[str, object]) -> ClientAnswer:
        """Put the admitted question to the client and read its answer.

        Raises ``NoAnswer``, ``ClientFailed`` or ``MalformedAnswer`` after telling the desk that the call ended.
        """
        try:
            return await self._answer(admitted, params)
        except anyio.get_cancelled_exc_class():
            await self.call_ended(admitted.ticket)
            raise
        except AdapterError:
            await self.call_ended(admitted.ticket)
            raise

    async def _answer(self, admitted: Admitted, params: Mapping[str, object]) -> ClientAnswer:
        ticket, raw, failure = admitted.ticket, None, None
        started = answered = time.monotonic()
        told = anyio.Event()
        with anyio.move_on_after(max(admitted.deadline - started - REPORTING, SHORTEST)):
            async with anyio.create_task_group() as group:
                group.start_soon(self._handed_over, ticket, told)
                try:
                    raw = await admitted.conversation.send(params)
                except Exception as error:  # raised again below, outside the group, so that it keeps its own type
                    failure = error
                answered = time.monotonic()
                group.cancel_scope.cancel()
        if failure is not None:
            raise failure
        if not told.is_set():
            await self._progress(ticket, "delivered")
        if raw is None:
            raise NoAnswer
        return read_answer(admitted.mode, raw, round((answered - started) * 1000))

    async def report(self, ticket: Ticket, answer: ClientAnswer) -> State:
        """Tell the desk what the person did; the state afterwards. A person's answer is reported even if the call is
        cancelled meanwhile. Raises ``Refused`` and ``DeskUnavailable``; the answer must not be used then."""
        body = {
            "subject": ticket.subject.as_json(),
            "action": answer.action,
            "content": answer.content,
            "latency_ms": answer.latency_ms,
        }
        try:
            with anyio.CancelScope(shield=True):
                reply = await self._calls.post(entry_path(ticket.id, "answer"), body, failing=NOT_RECORDED)
        except Refused as refusal:
            if refusal.code == "transition.refused":
                return replies.word({"state": refusal.state}, "state", State)
            raise
        return replies.word(reply.body, "state", State)

    async def call_ended(self, ticket: Ticket) -> None:
        """Tell the desk that nobody waits any more; also while this task is being cancelled."""
        with anyio.move_on_after(REPORTING, shield=True):
            await self._progress(ticket, "call_ended")

    async def _handed_over(self, ticket: Ticket, told: anyio.Event) -> None:
        await anyio.sleep(HANDED_OVER)
        await self._progress(ticket, "delivered")
        told.set()

    async def _progress(self, ticket: Ticket, event: str) -> None:
        """Progress is worth recording and not worth failing for: the answer's own report decides."""
        body = {"subject": ticket.subject.as_json(), "event": event}
        try:
            await self._calls.post(entry_path(ticket.id, "progress"), body, failing=NOT_RECORDED)
        except AdapterError as error:
            log.warning("%s of %s could not be reported: %s", event, ticket.id, type(error).__name__)
