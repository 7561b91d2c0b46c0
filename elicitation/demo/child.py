"""How a process of the demo is told what to do, says that it is ready, and ends with its parent."""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from collections.abc import Mapping
from typing import Any

import uvicorn


def read_config() -> dict[str, Any]:
    """The parent's first line on standard input. Keys travel here: never as arguments, which any user can list."""
    config: dict[str, Any] = json.loads(sys.stdin.readline())
    # The pipe closes when the parent ends, however it ends; nothing of the demo outlives it.
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return config


def say(message: Mapping[str, object]) -> None:
    """One line of JSON for the parent."""
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def listen() -> socket.socket:
    """A socket on a free port of this machine."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    return listening


def serve(app: Any, listening: socket.socket) -> None:
    """Serve ``app`` until the parent ends. No access log: query strings and addresses are nobody's business."""
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=1)
    say({"port": listening.getsockname()[1]})
    uvicorn.Server(config).run(sockets=[listening])


def _end_with_parent() -> None:
    sys.stdin.read()
    os._exit(0)
