"""Sockets with one deadline over everything: finding the host, reaching it, the handshake, each piece of a reply."""

from __future__ import annotations

import contextlib
import queue
import socket
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import httpcore

from elicitation.providers.answers import NoAnswer, Problem

#: What ``getaddrinfo`` gives: family, type, protocol, canonical name, address.
Found = tuple[int, int, int, str, Any]

_READ_AT_ONCE: Final = 16_384  # a TLS record's plain text


class Sockets(httpcore.NetworkBackend):
    """Makes streams that end at ``deadline``, on the monotonic clock. The library's own time limits start anew with
    every piece that arrives, and are not used. ``ended`` tells that the other side has said all it will say, in order
    or by breaking off, which Python's versions do not tell apart alike. Raises ``NoAnswer``."""

    def __init__(self, deadline: float, connect_seconds: float) -> None:
        self.deadline = deadline
        self.connect_seconds = connect_seconds
        self.ended = False

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        until = min(self.deadline, time.monotonic() + self.connect_seconds)
        problem = Problem.CONNECT
        addresses = _find(host, port, until)
        for number, (family, kind, protocol, _, address) in enumerate(addresses):
            connection = socket.socket(family, kind, protocol)
            try:
                # An address that swallows everything must leave time for the others.
                connection.settimeout(_left(until) / (len(addresses) - number))
                connection.connect(address)
            except OSError as error:
                connection.close()
                problem = Problem.TIMEOUT if isinstance(error, TimeoutError) else Problem.CONNECT
            except NoAnswer:
                connection.close()
                raise
            else:
                return _Stream(connection, self)
        raise NoAnswer(problem)


class _Stream(httpcore.NetworkStream):
    def __init__(self, connection: socket.socket, sockets: Sockets) -> None:
        self._socket = connection
        self._sockets = sockets

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with _named():
            self._socket.settimeout(_left(self._sockets.deadline))
            piece = self._socket.recv(min(max_bytes, _READ_AT_ONCE))
        self._sockets.ended = not piece
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        with _named():
            self._socket.settimeout(_left(self._sockets.deadline))
            self._socket.sendall(buffer)

    def close(self) -> None:
        self._socket.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        try:
            with _named():
                self._socket.settimeout(min(_left(self._sockets.deadline), self._sockets.connect_seconds))
                spoken = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except BaseException:
            self.close()
            raise
        return _Stream(spoken, self._sockets)


def _find(host: str, port: int, until: float) -> Sequence[Found]:
    """The addresses of ``host``. The system's resolver has limits of its own, longer than ours and not to be changed:
    it works in a thread that is left to it when our time is up."""
    found: queue.SimpleQueue[Sequence[Found] | OSError] = queue.SimpleQueue()

    def look() -> None:
        try:
            found.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except OSError as error:
            found.put(error)

    threading.Thread(target=look, name="find-provider", daemon=True).start()
    try:
        addresses = found.get(timeout=_left(until))
    except queue.Empty:
        raise NoAnswer(Problem.TIMEOUT) from None
    if isinstance(addresses, OSError):
        raise NoAnswer(Problem.CONNECT)
    return addresses


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise NoAnswer(Problem.TIMEOUT)
    return left


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """A failure of the connection, by its kind."""
    try:
        yield
    except TimeoutError:
        raise NoAnswer(Problem.TIMEOUT) from None
    except ssl.SSLError:
        raise NoAnswer(Problem.TLS) from None
    except OSError:
        raise NoAnswer(Problem.CONNECT) from None
