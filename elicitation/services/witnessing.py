"""Sending a checkpoint to the witness: one request, bounded in time and size, outside of any transaction."""

from __future__ import annotations

import ssl
import time
from typing import Final

import httpcore
from django.conf import settings

from audit.witness import NotWitnessed, Problem, Reply
from elicitation.providers import answers
from elicitation.providers.sockets import Sockets

#: Seconds for one request, whatever the other side does; of them to find and reach the host.
TOTAL_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 2.0
#: A reply is a few lines.
MOST_BYTES: Final = 65_536

_SOCKET_PROBLEMS: Final = {
    answers.Problem.CONNECT: Problem.UNREACHABLE,
    answers.Problem.TIMEOUT: Problem.TIMEOUT,
    answers.Problem.TLS: Problem.TLS,
}


def post(body: bytes) -> Reply:
    """What the witness says to an ``add-checkpoint`` of this body. A redirect is not followed. Raises
    ``NotWitnessed``."""
    sockets = Sockets(time.monotonic() + TOTAL_SECONDS, CONNECT_SECONDS)
    headers: dict[bytes | str, bytes | str] = {
        "Content-Type": "text/plain; charset=utf-8",
        "Content-Length": str(len(body)),
        "Accept-Encoding": "identity",
        "Connection": "close",
        "User-Agent": "elicitation-desk",
    }
    try:
        with (
            httpcore.ConnectionPool(ssl.create_default_context(), network_backend=sockets) as pool,
            pool.stream(
                "POST", f"{settings.DESK_WITNESS_URL}/add-checkpoint", headers=headers, content=body
            ) as response,
        ):
            return Reply(response.status, _body(response))
    except answers.NoAnswer as failure:
        raise NotWitnessed(_SOCKET_PROBLEMS.get(failure.problem, Problem.MALFORMED)) from None
    except httpcore.ProtocolError:
        raise NotWitnessed(Problem.UNREACHABLE if sockets.ended else Problem.MALFORMED) from None


def _body(response: httpcore.Response) -> bytes:
    body = b""
    for piece in response.iter_stream():
        body += piece
        if len(body) > MOST_BYTES:
            raise NotWitnessed(Problem.MALFORMED)
    return body
