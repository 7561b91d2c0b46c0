"""Whatever stands at the address and whatever it says, a look-up ends in time, in a code, and after one request."""

from __future__ import annotations

import gzip
import json
import logging
import time
from collections.abc import Callable

import pytest

from elicitation.policy import identifiers
from elicitation.providers import Answer, Limits, Status, ask
from tests.providers.server import ProviderServer, Speech, drips, raw, reply, resets, silence

ID = identifiers.mint_text(bytes(range(16)))
KEY = "key-of-the-desk"
PENDING = b'{"status": "pending"}'
QUICK = Limits(connect_seconds=0.8, total_seconds=0.8)
#: Far above the limits in use here, and far below the patience of the servers.
SOON = 5.0
CANARY = "canary-7f3a"


def unreachable(problem: str) -> Answer:
    return Answer(Status.UNREACHABLE, problem=problem)


def asked(provider: ProviderServer, limits: Limits | None = None) -> Answer:
    return ask("generic", provider.status_url, KEY, ID, limits)


@pytest.mark.parametrize("status", [300, 301, 302, 303, 304, 307, 308])
def test_a_redirect_is_not_followed(provider: ProviderServer, elsewhere: ProviderServer, status: int) -> None:
    provider.script(reply(b"", status, {"Location": elsewhere.status_url}))
    assert asked(provider) == unreachable("redirect")
    assert (len(provider.seen), elsewhere.connections) == (1, 0)


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        *((status, "status_4xx") for status in (400, 401, 403, 404, 429)),
        *((status, "status_5xx") for status in (500, 502, 503)),
        *((status, "malformed") for status in (201, 202, 204, 206, 600)),
    ],
)
def test_only_200_is_an_answer(provider: ProviderServer, status: int, problem: str) -> None:
    provider.script(reply(b"" if status == 204 else PENDING, status))
    assert asked(provider) == unreachable(problem)
    assert len(provider.seen) == 1


@pytest.mark.parametrize(
    "speech",
    [
        silence,
        drips(b"HTTP/1.1 200 Told\r\nX-A: ", b"a"),
        drips(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drips(b"HTTP/1.1 200 Told\r\nContent-Length: 60000\r\n\r\n", b" "),
        drips(b"HTTP/1.1 200 Told\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n"),
        drips(b"HTTP/1.1 200 Told\r\n\r\n" + PENDING, b" "),
    ],
    ids=["silence", "a dripping header", "interim replies", "a dripping body", "dripping chunks", "no end"],
)
def test_time_runs_out_however_the_provider_spends_it(provider: ProviderServer, speech: Speech) -> None:
    provider.script(speech)
    began = time.monotonic()
    assert asked(provider, QUICK) == unreachable("timeout")
    assert time.monotonic() - began < SOON
    assert len(provider.seen) == 1


@pytest.mark.parametrize("end", [raw, resets], ids=["closed", "reset"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"HTTP/1.1 200 Told\r\n",
        b"HTTP/1.1 200 Told\r\nContent-Length: 60000\r\n\r\n" + PENDING,
        b"HTTP/1.1 200 Told\r\nTransfer-Encoding: chunked\r\n\r\n15\r\n" + PENDING,
    ],
    ids=["before a reply", "in its head", "in its body", "in its chunks"],
)
def test_a_connection_that_ends_too_early_is_no_connection(
    provider: ProviderServer, data: bytes, end: Callable[[bytes], Speech]
) -> None:
    provider.script(end(data))
    assert asked(provider) == unreachable("connect")
    assert len(provider.seen) == 1


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 Told\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 Told\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\n" + PENDING,
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + PENDING,
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 Told\r\nX-A: " + b"a" * 200_000,
        b"\x00" * 1000 + b"\r\n\r\n",
    ],
    ids=["coding", "lengths", "upgrade", "ssh", "large head", "noise"],
)
def test_what_is_no_reply_of_http_is_malformed(provider: ProviderServer, data: bytes) -> None:
    provider.script(raw(data))
    assert asked(provider) == unreachable("malformed")
    assert len(provider.seen) == 1


def test_a_body_is_read_up_to_its_bound_and_no_further(provider: ProviderServer) -> None:
    most = Limits().body_bytes
    assert most == 65_536
    provider.script(reply(PENDING.ljust(most)), reply(PENDING.ljust(most + 1)))
    assert asked(provider) == Answer(Status.PENDING)
    assert asked(provider) == unreachable("too_large")


def test_a_body_without_end_is_not_read_to_its_end(provider: ProviderServer) -> None:
    provider.script(drips(b"HTTP/1.1 200 Told\r\nContent-Length: 999999999999\r\n\r\n", b" " * 30_000))
    assert asked(provider) == unreachable("too_large")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd", "identity, gzip"])
def test_a_compressed_body_is_not_opened(provider: ProviderServer, coding: str) -> None:
    bomb = gzip.compress(b" " * 10_000_000)
    assert len(bomb) < Limits().body_bytes
    provider.script(reply(bomb, headers={"content-ENCODING": coding}))
    assert asked(provider) == unreachable("encoded")


def test_a_body_that_says_it_is_plain_is_read(provider: ProviderServer) -> None:
    provider.script(reply(PENDING, headers={"Content-Encoding": "Identity"}))
    assert asked(provider) == Answer(Status.PENDING)


def test_a_web_page_is_not_json(provider: ProviderServer) -> None:
    provider.script(reply(b"<!doctype html><p>completed", headers={"Content-Type": "text/html"}))
    assert asked(provider) == unreachable("not_json")


@pytest.mark.parametrize(
    "speech",
    [
        reply(json.dumps({"status": CANARY, CANARY: CANARY}).encode(), headers={f"X-{CANARY}": CANARY}),
        reply(CANARY.encode()),
        reply(b"", 302, {"Location": f"https://{CANARY}.example.com/{CANARY}"}),
        reply(CANARY.encode(), 500),
        raw(CANARY.encode() + b"\r\n\r\n"),
        resets(CANARY.encode()),
    ],
    ids=["malformed", "not json", "redirect", "error", "not http", "reset"],
)
def test_nothing_of_address_key_or_reply_is_logged_or_told(
    provider: ProviderServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str], speech: Speech
) -> None:
    caplog.set_level(logging.DEBUG)
    provider.path = f"/{CANARY}"
    provider.script(speech)
    answer = ask("generic", f"{provider.status_url}?account={CANARY}", f"key-{CANARY}", ID)
    assert answer.status is Status.UNREACHABLE
    assert caplog.records == []
    assert CANARY not in "".join([repr(answer), *capfd.readouterr()])
