"""A provider on loopback that speaks TLS and says what a test scripts, down to the bytes; for tests of every folder.

``ProviderServer(folder)`` makes an authority of its own in ``folder``; whoever asks must have ``SSL_CERT_FILE`` set to
``ca_file`` (``trusting`` gives the environment for it). What is asked is in ``seen``; what is answered is a ``Speech``.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from tests.providers.authority import Authority

#: Longer than any test may take: a thread that outlives it is a fault of the test.
PATIENCE: Final = 20.0


class Manner(Enum):
    """What a client meets at the port."""

    TLS = auto()
    PLAIN = auto()  # a web server that knows no TLS
    MUTE = auto()  # takes the connection and says nothing


@dataclass(frozen=True, slots=True)
class Seen:
    """One request: ``target`` is the path with its query as it stood on the wire; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    header_names: tuple[str, ...]

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True, strict_parsing=True)


#: What the server does with a connection once it has read the request; it is closed afterwards.
Speech = Callable[[socket.socket], None]


def raw(data: bytes) -> Speech:
    """Exactly these bytes."""
    return lambda connection: connection.sendall(data)


def reply(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Speech:
    """A whole reply; its length is added unless ``headers`` give one."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body))} | (headers or {})
    head = f"HTTP/1.1 {status} Told\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items()) + "\r\n"
    return raw(head.encode("latin-1") + body)


def says(value: Any, status: int = 200) -> Speech:
    """A whole reply with ``value`` as JSON, such as ``{"status": "pending"}``."""
    return reply(json.dumps(value).encode(), status)


def silence(connection: socket.socket) -> None:
    """Nothing, until the client goes."""
    connection.recv(1)


def drips(head: bytes, piece: bytes) -> Speech:
    """``head``, and then ``piece`` again and again, never late and never at an end, until the client goes."""

    def speak(connection: socket.socket) -> None:
        connection.sendall(head)
        while True:
            connection.sendall(piece)
            time.sleep(0.01)

    return speak


def resets(data: bytes) -> Speech:
    """``data``, and then the connection is broken rather than closed."""

    def speak(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    return speak


@dataclass
class ProviderServer:
    """One server; a context manager, or ``start`` and ``stop``. Scripted with ``script`` and ``about``:

    ``server.script(says({"status": "pending"}), reply(b"", 500))`` answers these in turn, and the last one ever after;
    ``server.about(elicitation_id, says(…), …)`` does the same for what is asked about one elicitation, and goes first.
    Unscripted, the answer is ``{"status": "unknown"}``. Scripts can be replaced while the server runs.
    """

    folder: Path
    authority: Authority | None = None
    names: tuple[str, ...] = ("localhost", "127.0.0.1")
    expired: bool = False
    path: str = "/status"
    manner: Manner = Manner.TLS
    seen: list[Seen] = field(default_factory=list)
    #: How many connections were taken, whether or not a request came through.
    connections: int = 0

    def __post_init__(self) -> None:
        self.authority = self.authority or Authority(self.folder)
        self._certificate = self.authority.issue(self.names, expired=self.expired)
        self._script: list[Speech] = [says({"status": "unknown"})]
        self._about: dict[str, list[Speech]] = {}
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self.stopping = threading.Event()

    @property
    def ca_file(self) -> Path:
        assert self.authority is not None
        return self.authority.ca_file

    @property
    def trusting(self) -> dict[str, str]:
        """The environment in which this server's certificate is trusted."""
        return {"SSL_CERT_FILE": str(self.ca_file)}

    @property
    def status_url(self) -> str:
        return f"https://localhost:{self.port}{self.path}"

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    def script(self, *speeches: Speech) -> None:
        with self._lock:
            self._script = list(speeches)

    def about(self, elicitation_id: str, *speeches: Speech) -> None:
        with self._lock:
            self._about[elicitation_id] = list(speeches)

    def start(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self._run(self._accept)
        return self

    def stop(self) -> None:
        self.stopping.set()
        with self._lock:
            waiting = [self._listener, *self._open]
        for each in waiting:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive(), thread.name

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True, name=f"provider-{work.__name__}")
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._open.add(connection)
            self._run(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        taken = connection
        connection.settimeout(PATIENCE)
        try:
            match self.manner:
                case Manner.TLS:
                    connection = self._context().wrap_socket(connection, server_side=True)
                    with self._lock:
                        self._open = (self._open - {taken}) | {connection}
                case Manner.PLAIN:
                    connection.sendall(b"HTTP/1.1 400 Told\r\nContent-Length: 0\r\n\r\n")
                case Manner.MUTE:
                    pass
            request = _read(connection)
            if request is not None:
                with self._lock:
                    self.seen.append(request)
                    speech = self._next(request)
                speech(connection)
        except OSError:
            pass  # the client has gone, which is what many tests want it to do
        finally:
            with self._lock:
                self._open -= {taken, connection}
            connection.close()

    def _next(self, request: Seen) -> Speech:
        words = urlsplit(request.target).query
        script = next((said for about, said in self._about.items() if about in words), self._script)
        return script.pop(0) if len(script) > 1 else script[0]

    def _context(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._certificate)
        return context


def _read(connection: socket.socket) -> Seen | None:
    """One request without a body; nothing when the client closes before its end."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = connection.recv(4096)
        if not piece:
            return None
        head += piece
    line, *lines = head.decode("latin-1").partition("\r\n\r\n")[0].split("\r\n")
    method, target, _ = line.split(" ")
    pairs = [(name.lower(), value.strip()) for name, _, value in (each.partition(":") for each in lines)]
    return Seen(method, target, dict(pairs), tuple(name for name, _ in pairs))
