"""A witness on this machine that makes every check of C2SP tlog-witness, and answers as a test wants besides."""

from __future__ import annotations

import base64
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from audit.verify import (
    COSIGNATURE,
    EMPTY_ROOT,
    BadSignature,
    Checkpoint,
    Malformed,
    from_base64,
    key_id,
    parse_checkpoint,
    parse_key,
    parse_note,
    verify_consistency,
    verify_note,
)

LOOPBACK = "127.0.0.1"
NAME = "witness.example.com/w1"
SEED = b"w" * 32


def key(seed: bytes = SEED) -> str:
    """The verifier key for cosignatures of a seed."""
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    encoded = base64.b64encode(bytes([COSIGNATURE]) + public).decode()
    return f"{NAME}+{key_id(NAME, COSIGNATURE, public).hex()}+{encoded}"


@dataclass(slots=True)
class Witness:
    """``keys`` are the logs' verifier keys that it trusts. ``answer`` is given in place of what the checks say."""

    keys: list[str] = field(default_factory=list)
    seen: dict[str, Checkpoint] = field(default_factory=dict)
    requests: list[bytes] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    answer: tuple[int, bytes] | None = None
    seed: bytes = SEED
    time: int = 1_790_000_000
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}/submit"

    def judge(self, body: bytes) -> tuple[int, bytes]:
        """The status and body of the reply, by the specification's checks in its order."""
        head, _, text = body.decode().partition("\n\n")
        old_line, *lines = head.split("\n")
        word, _, number = old_line.partition(" ")
        note = parse_note(text)
        checkpoint = parse_checkpoint(note.text)
        keys = [found for found in map(parse_key, self.keys) if found.name == checkpoint.origin]
        if not keys:
            return 404, b""
        try:
            signers = verify_note(note, keys)
        except BadSignature:
            return 403, b""
        if not signers:
            return 403, b""
        old = int(number)
        if word != "old" or number != str(old) or old > checkpoint.size or len(lines) > 63:
            return 400, b""
        last = self.seen.get(checkpoint.origin, Checkpoint(checkpoint.origin, 0, EMPTY_ROOT))
        if old != last.size:
            return 409, b"%d\n" % last.size
        proof = [from_base64(line) for line in lines]
        if not verify_consistency(old, last.root, checkpoint.size, checkpoint.root, proof):
            return 422, b""
        self.seen[checkpoint.origin] = checkpoint
        return 200, self.cosignature(note.text)

    def cosignature(self, text: str) -> bytes:
        private = Ed25519PrivateKey.from_private_bytes(self.seed)
        made = private.sign(f"cosignature/v1\ntime {self.time}\n{text}".encode())
        identity = key_id(NAME, COSIGNATURE, private.public_key().public_bytes_raw())
        line = base64.b64encode(identity + self.time.to_bytes(8, "big") + made).decode()
        return f"\u2014 {NAME} {line}\n".encode()


@contextmanager
def witness_server() -> Iterator[Witness]:
    witness = Witness()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with lock:
                witness.requests.append(body)
                try:
                    status, reply = witness.answer or (
                        witness.judge(body) if self.path == "/submit/add-checkpoint" else (404, b"")
                    )
                except (Malformed, ValueError):
                    status, reply = 400, b""
                witness.statuses.append(status)
            self.send_response(status)
            if status == 409:
                self.send_header("Content-Type", "text/x.tlog.size")
            if status // 100 == 3:
                self.send_header("Location", witness.url)
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing is written beside the test's own output."""

    server = ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.daemon_threads, server.block_on_close = True, False
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    witness.port = server.server_address[1]
    try:
        yield witness
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
