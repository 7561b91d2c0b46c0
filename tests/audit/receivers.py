"""A mail server and a web server on this machine that take in what the desk sends, and answer as a test wants."""

from __future__ import annotations

import base64
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"
SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
KEY = b"k" * 32


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False


@dataclass(slots=True)
class Mailbox:
    """What arrived; ``answers`` are replies to commands other than the usual ones."""

    answers: dict[str, str] = field(default_factory=dict)
    raw: list[bytes] = field(default_factory=list)
    port: int = 0

    @property
    def letters(self) -> list[EmailMessage]:
        return [message_from_bytes(one, policy=policy.default) for one in self.raw]


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """Speaks as much SMTP (RFC 5321) as a sender needs."""
    box = Mailbox()

    class Session(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.say("220 mail.example.com")
            while line := self.rfile.readline():
                word = line.split()[0].decode().upper() if line.split() else ""
                if not self.obey(word):
                    return

        def obey(self, word: str) -> bool:
            if word in box.answers:
                self.say(box.answers[word])
            elif word == "EHLO":
                self.say("250-mail.example.com\r\n250 AUTH PLAIN")
            elif word == "DATA":
                self.say("354 go on")
                lines = []
                while (line := self.rfile.readline()) != b".\r\n":
                    lines.append(line[1:] if line.startswith(b"..") else line)
                box.raw.append(b"".join(lines))
                self.say("250 kept")
            else:
                self.say("221 bye" if word == "QUIT" else "235 in" if word == "AUTH" else "250 fine")
            return word != "QUIT"

        def say(self, text: str) -> None:
            self.wfile.write(text.encode() + b"\r\n")

    with _serving(Server((LOOPBACK, 0), Session)) as server:
        box.port = server.server_address[1]
        yield box


@dataclass(slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Hook:
    """What arrived. ``status`` is the answer, ``raw`` another one in its place; while ``hold`` is set there is none."""

    status: int = 204
    raw: bytes = b""
    requests: list[Request] = field(default_factory=list)
    hold: threading.Event | None = None
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/desk?channel=1"


@contextmanager
def web_server() -> Iterator[Hook]:
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            hook.requests.append(Request(self.path, headers, body))
            if hook.hold is not None:
                hook.hold.wait(30)
                return
            if hook.raw:
                self.wfile.write(hook.raw)
                return
            self.send_response(hook.status)
            if hook.status // 100 == 3:
                self.send_header("Location", f"http://{LOOPBACK}:{hook.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is written beside the test's own output."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    with _serving(server):
        hook.port = server.server_address[1]
        try:
            yield hook
        finally:
            if hook.hold is not None:
                hook.hold.set()


@contextmanager
def _serving(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
