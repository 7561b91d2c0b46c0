"""One GET of a look-up: HTTPS to the given address alone, bounded in time and size whatever the other side does.

This is httpx's engine without httpx: no redirects, cookies, netrc, decompression or log lines to switch off, and a
place for sockets of our own, without which a reply that drips would outlast every limit.
"""

from __future__ import annotations

import ipaddress
import logging
import re
import ssl
import time
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import httpcore

from elicitation.providers.answers import Limits, NoAnswer, Problem
from elicitation.providers.sockets import Sockets

#: Printable ASCII without white space: what can stand in a header without being two.
_KEY: Final = re.compile(r"[!-~]{1,4096}")
_LABEL: Final = r"[A-Za-z0-9_-]{1,63}"
_ADDRESS: Final = re.compile(
    rf"https://(?P<authority>(?:(?P<name>{_LABEL}(?:\.{_LABEL})*)|\[(?P<ipv6>[0-9A-Fa-f:.]+)\])(?::(?P<port>[0-9]{{1,5}}))?)"
    r"(?P<path>/[!\"$->@-~]*)?(?P<query>\?[!\"$-~]*)?"
)
_PORT: Final = 443

# At DEBUG the library tells the headers of a reply, such as the address of a redirect.
logging.getLogger("httpcore").setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class _Place:
    host: str
    port: int
    authority: str
    target: str


def fetch(address: str, query: tuple[tuple[str, str], ...], key: str, limits: Limits) -> bytes:
    """The body of the 200 reply to ``GET address?query`` with ``key`` as the bearer's. Raises ``NoAnswer`` otherwise.

    Each call makes a connection of its own and closes it, so that threads, forks and providers share nothing.
    Certificates are held against the machine's trust store, and ``SSL_CERT_FILE`` or ``SSL_CERT_DIR`` where set, for
    authorities of one's own. ``HTTPS_PROXY`` and its like are not read: a look-up goes to the provider and nowhere
    else.
    """
    sockets = Sockets(time.monotonic() + limits.total_seconds, limits.connect_seconds)
    if not _KEY.fullmatch(key):
        raise NoAnswer(Problem.NO_KEY)
    place = _place(address, query)
    url = httpcore.URL(scheme="https", host=place.host, port=place.port, target=place.target)
    headers = (
        ("Host", place.authority),
        ("Authorization", f"Bearer {key}"),
        ("Accept", "application/json"),
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
        ("User-Agent", "elicitation-desk"),
    )
    try:
        with (
            httpcore.HTTPConnection(url.origin, _trust(), network_backend=sockets) as connection,
            connection.stream("GET", url, headers=headers) as response,
        ):
            _check(response)
            return _body(response, limits.body_bytes)
    except httpcore.ProtocolError:
        raise NoAnswer(Problem.CONNECT if sockets.ended else Problem.MALFORMED) from None


def _place(address: str, query: tuple[tuple[str, str], ...]) -> _Place:
    """Where to ask: ``query`` is added to the one that ``address`` may have. Raises ``NoAnswer`` unless it is https,
    and plain: no user, no fragment, nothing but ASCII."""
    read = _ADDRESS.fullmatch(address)
    if read is None:
        raise NoAnswer(Problem.NOT_HTTPS)
    port = int(read["port"] or _PORT)
    if not 0 < port < 65_536 or (read["ipv6"] and not _is_ipv6(read["ipv6"])):
        raise NoAnswer(Problem.NOT_HTTPS)
    own = f"{read['query']}&" if read["query"] else "?"
    return _Place(read["name"] or read["ipv6"], port, read["authority"], (read["path"] or "/") + own + urlencode(query))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _trust() -> ssl.SSLContext:
    try:
        return ssl.create_default_context()
    except OSError:  # the trust store cannot be read
        raise NoAnswer(Problem.TLS) from None


def _check(response: httpcore.Response) -> None:
    match response.status // 100:
        case 3:
            raise NoAnswer(Problem.REDIRECT)
        case 4:
            raise NoAnswer(Problem.STATUS_4XX)
        case 5:
            raise NoAnswer(Problem.STATUS_5XX)
        case _ if response.status != 200:
            raise NoAnswer(Problem.MALFORMED)
    for name, value in response.headers:
        if name.lower() == b"content-encoding" and value.strip().lower() != b"identity":
            raise NoAnswer(Problem.ENCODED)


def _body(response: httpcore.Response, most: int) -> bytes:
    body = bytearray()
    for piece in response.iter_stream():
        body += piece
        if len(body) > most:
            raise NoAnswer(Problem.TOO_LARGE)
    return bytes(body)
